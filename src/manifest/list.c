/*
 * list.c
 *	  The files of a backup.
 *
 * It consists of flat arrays, 100 bytes per file and its path, since a list is
 * shared with workers as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "host/print.h"
#include "manifest/list.h"

uint64_t
backup_list_add_name(BackupList *list, const char *path)
{
	uint64_t	at = list->names_used;
	size_t		size = strlen(path) + 1;

	if (at + size > list->names_room)
	{
		list->names_room = list->names_room == 0 ? 64 * 1024 : 2 * list->names_room;
		if (list->names_room < at + size)
			list->names_room = at + size;
		list->names = host_grow(list->names, list->names_room);
	}
	memcpy(list->names + at, path, size);
	list->names_used += size;
	return at;
}

void
backup_list_add(BackupList *list, const char *path, int64_t size,
				ManifestAlgorithm algorithm, const uint8_t *digest)
{
	BackupEntry *entry;

	HOST_MAKE_ROOM(list->entries, list->count, list->room);
	entry = &list->entries[list->count++];
	memset(entry, 0, sizeof(*entry));
	entry->size = size;
	entry->found = -1;
	entry->part = -1;
	entry->name = backup_list_add_name(list, path);
	entry->algorithm = (uint8_t) algorithm;
	entry->ignored = backup_path_ignored(path);
	if (digest != NULL)
		memcpy(entry->digest, digest, manifest_digest_length(algorithm));
}

void
backup_list_add_stored(BackupList *list, const BackupStored *stored)
{
	HOST_MAKE_ROOM(list->stored, list->stored_count, list->stored_room);
	list->stored[list->stored_count++] = *stored;
}

const char *
backup_list_path(const BackupList *list, uint32_t entry)
{
	return list->names + list->entries[entry].name;
}

/* What an entry is sorted by. */
typedef struct Key
{
	const char *path;
	int64_t		size;
	uint32_t	entry;
} Key;

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(((const Key *) a)->path, ((const Key *) b)->path);
}

/* Sorts the largest first, and those of one size by path. */
static int
compare_sizes(const void *a, const void *b)
{
	int64_t		x = ((const Key *) a)->size;
	int64_t		y = ((const Key *) b)->size;

	if (x != y)
		return x > y ? -1 : 1;
	return compare_paths(a, b);
}

static uint32_t *
sorted(BackupList *list, int (*compare) (const void *a, const void *b))
{
	uint32_t   *numbers = host_alloc((size_t) list->count * sizeof(uint32_t) + 1);
	Key		   *keys = host_alloc((size_t) list->count * sizeof(Key) + 1);

	for (uint32_t i = 0; i < list->count; i++)
		keys[i] = (Key)
	{
		backup_list_path(list, i), list->entries[i].size, i
	};
	qsort(keys, list->count, sizeof(Key), compare);
	for (uint32_t i = 0; i < list->count; i++)
		numbers[i] = keys[i].entry;
	host_free(keys);
	return numbers;
}

const char *
backup_list_end(BackupList *list)
{
	list->by_path = sorted(list, compare_paths);
	list->by_size = sorted(list, compare_sizes);
	for (uint32_t i = 1; i < list->count; i++)
		if (strcmp(backup_list_path(list, list->by_path[i - 1]),
				   backup_list_path(list, list->by_path[i])) == 0)
			return backup_list_path(list, list->by_path[i]);
	return NULL;
}

/* Returns the first path, in order, that is not before this one, or NULL. */
static const char *
first_from(const BackupList *list, const char *path, uint32_t *entry)
{
	uint32_t	low = 0;
	uint32_t	high = list->count;

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (strcmp(backup_list_path(list, list->by_path[middle]), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == list->count)
		return NULL;
	*entry = list->by_path[low];
	return backup_list_path(list, *entry);
}

int64_t
backup_list_find(const BackupList *list, const char *path)
{
	uint32_t	entry;
	const char *found = first_from(list, path, &entry);

	return found != NULL && strcmp(found, path) == 0 ? (int64_t) entry : -1;
}

bool
backup_list_has_below(const BackupList *list, const char *folder)
{
	char	   *prefix = host_print("%s/", folder);
	uint32_t	entry;
	const char *found = first_from(list, prefix, &entry);
	bool		has = found != NULL && strncmp(found, prefix, strlen(prefix)) == 0;

	host_free(prefix);
	return has;
}

void
backup_list_free(BackupList *list)
{
	host_free(list->entries);
	host_free(list->names);
	host_free(list->by_path);
	host_free(list->by_size);
	host_free(list->stored);
	memset(list, 0, sizeof(*list));
}
