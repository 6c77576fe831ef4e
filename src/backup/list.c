/*
 * list.c
 *	  The files of a backup.
 *
 * It consists of flat arrays, 100 bytes per file and its path, since a list is
 * shared with workers as it is.
 */
#include "compat.h"

#include "backup/list.h"
#include "host/host.h"

static uint64
add_name(BackupList *list, const char *path)
{
	uint64		at = list->names_used;
	Size		size = strlen(path) + 1;

	if (at + size > list->names_room)
	{
		list->names_room = Max(2 * list->names_room, 64 * 1024);
		list->names = host_grow(list->names, list->names_room);
	}
	memcpy(list->names + at, path, size);
	list->names_used += size;
	return at;
}

void
backup_list_add(BackupList *list, const char *path, int64 size,
				ManifestAlgorithm algorithm, const uint8 *digest)
{
	BackupEntry *entry;

	HOST_MAKE_ROOM(list->entries, list->count, list->room);
	entry = &list->entries[list->count++];
	memset(entry, 0, sizeof(*entry));
	entry->size = size;
	entry->found = -1;
	entry->part = -1;
	entry->name = add_name(list, path);
	entry->algorithm = (uint8) algorithm;
	entry->ignored = backup_path_ignored(path);
	if (digest != NULL)
		memcpy(entry->digest, digest, manifest_digest_length(algorithm));
}

const char *
backup_list_path(const BackupList *list, uint32 entry)
{
	return list->names + list->entries[entry].name;
}

static int
compare_paths(const void *a, const void *b, void *list)
{
	return strcmp(backup_list_path(list, *(const uint32 *) a),
				  backup_list_path(list, *(const uint32 *) b));
}

/* Sorts the largest first, and those of one size by path. */
static int
compare_sizes(const void *a, const void *b, void *arg)
{
	const BackupList *list = arg;
	int64		x = list->entries[*(const uint32 *) a].size;
	int64		y = list->entries[*(const uint32 *) b].size;

	if (x != y)
		return x > y ? -1 : 1;
	return compare_paths(a, b, arg);
}

static uint32 *
sorted(BackupList *list, qsort_arg_comparator compare)
{
	uint32	   *numbers = host_alloc(mul_size(list->count, sizeof(uint32)) + 1);

	for (uint32 i = 0; i < list->count; i++)
		numbers[i] = i;
	qsort_arg(numbers, list->count, sizeof(uint32), compare, list);
	return numbers;
}

const char *
backup_list_end(BackupList *list)
{
	list->by_path = sorted(list, compare_paths);
	list->by_size = sorted(list, compare_sizes);
	for (uint32 i = 1; i < list->count; i++)
		if (compare_paths(&list->by_path[i - 1], &list->by_path[i], list) == 0)
			return backup_list_path(list, list->by_path[i]);
	return NULL;
}

int64
backup_list_find(const BackupList *list, const char *path)
{
	uint32		low = 0;
	uint32		high = list->count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		int			order = strcmp(path,
								   backup_list_path(list,
													list->by_path[middle]));

		if (order == 0)
			return list->by_path[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static void
free_array(void *array)
{
	if (array != NULL)
		pfree(array);
}

void
backup_list_free(BackupList *list)
{
	free_array(list->entries);
	free_array(list->names);
	free_array(list->by_path);
	free_array(list->by_size);
	memset(list, 0, sizeof(*list));
}
