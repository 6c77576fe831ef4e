/*
 * mapped.c
 *	  The places of files that relation maps name, in a spool.
 */
#include <string.h>

#include "backup/mapped.h"
#include "cluster/format.h"
#include "cluster/map.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/archive_names.h"

/*
 * Notes of a file that a map names, or of a part of it, that it is there, and
 * whether it is empty, unless the spool has it whole.
 */
static void
place(const BackupList *list, BackupSpool *spool, const char *map,
	  const char *prefix, uint32_t number)
{
	int			folder = (int) (strrchr(map, '/') - map);
	char	   *path = host_print("%.*s/%s%u", folder, map, prefix, number);
	int64_t		entry = backup_list_find(list, path);

	if (entry >= 0 && list->entries[entry].found >= 0 &&
		!backup_path_kept(path) && backup_spool_create(spool, path))
	{
		if (list->entries[entry].found > 0)
			backup_spool_write(spool, "", 1);
		backup_spool_close(spool);
	}
	host_free(path);
}

static void
place_files(const BackupList *list, BackupSpool *spool, const char *map)
{
	char	   *path = host_print("%s/%s", spool->folder.path, map);
	uint8_t		data[CLUSTER_MAP_SIZE] = {0};
	FileScan	scan;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		(void) file_scan_read(&scan, data, sizeof(data), 0);
		file_scan_close(&scan);
	}
	host_free(path);
	/* whatever the map is, since one that is not in order is not looked up */
	for (int i = 0; i < CLUSTER_MAP_MAX && i < cluster_map_count(data); i++)
	{
		uint32_t	number = cluster_map_entry(data, i).file;

		place(list, spool, map, "", number);
		place(list, spool, map, "INCREMENTAL.", number);
	}
}

void
backup_mapped_place(const BackupList *list, BackupSpool *spool)
{
	BackupRelationFile file;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].found > 0 &&
			backup_map_file(backup_list_path(list, i), &file))
			place_files(list, spool, backup_list_path(list, i));
}
