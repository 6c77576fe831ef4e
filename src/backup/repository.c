/*
 * repository.c
 *	  A backup in the repository of another program, as what it would restore.
 *
 * Its files are read where they are stored.  Those that say what the backup is
 * are looked up by their names, and may be compressed or in bundles.  So they
 * come into a spool first.
 */
#include <inttypes.h>
#include <string.h>

#include "backup/mapped.h"
#include "backup/repository.h"
#include "backup/stored.h"
#include "host/host.h"
#include "manifest/archive_names.h"

#define PIECE_BYTES		((size_t) 64 * 1024)

/* ---- the manifest ---- */

static void
report_unread(const BackupRepository *repository)
{
	const PgBackRest *backup = &repository->backup;

	if (backup->differs)
		backup_sink_file(repository->sink, PGBACKREST_MANIFEST, BACKUP_BAD_FORMAT,
						 "differs from its copy \"%s\"", PGBACKREST_COPY);
	if (backup->incremental > 0)
		backup_sink_file(repository->sink, ".", BACKUP_NOT_VERIFIABLE,
						 "%" PRIu64 " files are stored block by block, which is not read here",
						 backup->incremental);
}

bool
backup_repository_read(BackupRepository *repository)
{
	BackupManifest *manifest = repository->manifest;
	PgBackRest *backup = &repository->backup;

	pgbackrest_read(repository->root, repository->direct, manifest, backup);
	if (manifest->status != BACKUP_OK)
	{
		backup_sink_file(repository->sink, PGBACKREST_MANIFEST, manifest->status,
						 "%s; nothing of the backup is verified", manifest->message);
		return false;
	}
	if (backup->format != DECODE_PLAIN && !decode_can(backup->format))
	{
		backup_sink_file(repository->sink, ".", BACKUP_NOT_VERIFIABLE,
						 "files are in format %s, which is not read here",
						 decode_format_name(backup->format));
		return false;
	}
	report_unread(repository);
	repository->archive = pgbackrest_archive(repository->root, backup);
	return true;
}

/* ---- the spool ---- */

static void
keep_folders(BackupRepository *repository)
{
	const PgBackRest *backup = &repository->backup;
	const char *needed;

	for (size_t i = 0; i < backup->nfolders; i++)
	{
		const char *path = backup->folders[i];

		host_interrupts();
		if (backup_path_is_tablespace(path) || backup_folder_kept(path))
			(void) backup_spool_folder(repository->spool, path);
		for (size_t n = 0; (needed = backup_folder_needed(n)) != NULL; n++)
			if (backup_folder_has(needed, path))
				repository->folders |= UINT32_C(1) << n;
	}
}

/*
 * What is wrong with the file is found when it is judged.  No more of it is
 * kept than the manifest says that it has, whatever it is decompressed to.
 */
static void
keep_file(BackupRepository *repository, StoredReader *reader, char *buffer,
		  uint32_t entry)
{
	const BackupList *list = &repository->manifest->list;
	const char *path = backup_list_path(list, entry);
	uint64_t	left = (uint64_t) list->entries[entry].size;
	size_t		got;

	if (stored_open(reader, entry) != FILE_SCAN_OK)
		return;
	if (backup_spool_create(repository->spool, path))
	{
		while ((got = stored_read(reader, buffer,
								  left < PIECE_BYTES ? (size_t) left : PIECE_BYTES)) > 0)
		{
			backup_spool_write(repository->spool, buffer, got);
			left -= got;
		}
		backup_spool_close(repository->spool);
	}
	stored_close(reader);
}

static bool
is_kept(const BackupRepository *repository, const char *path)
{
	return backup_path_kept(path) &&
		(backup_skip_prefix(path, "pg_wal/") == NULL || repository->keep_wal);
}

void
backup_repository_keep(BackupRepository *repository)
{
	BackupList *list = &repository->manifest->list;
	FileWindow *window = repository->direct ?
		file_window_new(repository->throttle) : NULL;
	StoredReader *reader = stored_begin(list, repository->root,
										repository->throttle, window);
	char	   *buffer = host_alloc(PIECE_BYTES);

	repository->spool = backup_spool_begin();
	keep_folders(repository);
	for (uint32_t i = 0; i < list->count; i++)
	{
		host_interrupts();
		list->entries[i].found = list->entries[i].size;
		if (is_kept(repository, backup_list_path(list, i)))
			keep_file(repository, reader, buffer, i);
	}
	backup_mapped_place(list, repository->spool);
	host_free(buffer);
	stored_end(reader);
	file_window_free(window);
}
