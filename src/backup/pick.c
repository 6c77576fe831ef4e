/*
 * pick.c
 *	  Some files of a backup, plain or in archives, proven by its manifest.
 *
 * The files are judged as those of a whole backup are, by the same code.  All
 * others are ignored.  Damage of an archive matters only to a file that is in
 * none: what the checksum proves is right, however it was found.
 */
#include <stdio.h>

#include "backup/archives.h"
#include "backup/files.h"
#include "backup/pick.h"

static BackupPick *
find_pick(BackupPicking *picking, uint32_t entry)
{
	for (int i = 0; i < picking->count; i++)
		if (picking->picks[i].entry == (int64_t) entry)
			return &picking->picks[i];
	return NULL;
}

static void
on_piece(void *arg, uint32_t entry, int64_t offset, const char *piece,
		 size_t bytes)
{
	BackupPick *pick = find_pick(arg, entry);

	if (pick != NULL)
		pick->piece(pick->arg, offset, piece, bytes);
}

static const char *
path_of(const BackupPicking *picking, const BackupPick *pick)
{
	return backup_list_path(&picking->manifest->list, (uint32_t) pick->entry);
}

static void
on_finding(void *arg, const BackupFileFinding *finding)
{
	BackupPicking *picking = arg;
	BackupPick *pick = find_pick(picking, finding->entry);
	const char *what = "is not the one that its manifest lists";

	if (pick == NULL)
		return;
	if (finding->status == BACKUP_MISSING)
		what = "is missing";
	else if (finding->status == BACKUP_IO_ERROR)
		what = "could not be read to its end";
	else if (finding->status == BACKUP_NOT_VERIFIABLE)
		what = "has a checksum that could not be computed";
	snprintf(pick->why_not, sizeof(pick->why_not),
			 "file \"%s\" of the backup %s", path_of(picking, pick), what);
}

static void
drop_finding(void *arg, const BackupFinding *finding)
{
}

static void
read_archives(BackupPicking *picking, const BackupWatch *watch)
{
	BackupTar	tar = {picking->root};
	BackupSink	sink = {drop_finding};

	tar.list = &picking->manifest->list;
	tar.listed = true;
	tar.keep_wal = true;
	tar.tablespace = picking->tablespace;
	tar.watch = watch;
	tar.spool = picking->spool;
	tar.sink = &sink;
	tar.finding = on_finding;
	tar.arg = picking;
	backup_tar_read(&tar);
	for (int i = 0; i < picking->count; i++)
	{
		BackupPick *pick = &picking->picks[i];

		if (tar.list->entries[pick->entry].found < 0)
			snprintf(pick->why_not, sizeof(pick->why_not),
					 "no archive of the backup has file \"%s\"%s%s",
					 path_of(picking, pick), sink.findings > 0 ? ": " : "",
					 sink.first);
	}
}

static void
read_files(BackupPicking *picking, const BackupWatch *watch)
{
	BackupFileOptions files = {picking->root};
	BackupFileTotals totals;

	files.watch = watch;
	backup_files_verify(&picking->manifest->list, &files, on_finding, picking,
						&totals);
}

void
backup_pick_read(BackupPicking *picking)
{
	BackupList *list = &picking->manifest->list;
	BackupWatch watch = {on_piece, picking};

	for (uint32_t i = 0; i < list->count; i++)
		list->entries[i].ignored = true;
	for (int i = 0; i < picking->count; i++)
	{
		BackupPick *pick = &picking->picks[i];

		pick->why_not[0] = '\0';
		list->entries[pick->entry].ignored = false;
		if (list->entries[pick->entry].algorithm == MANIFEST_NONE)
			snprintf(pick->why_not, sizeof(pick->why_not),
					 "the manifest has no checksums");
	}
	if (picking->spool != NULL)
		read_archives(picking, &watch);
	else
		read_files(picking, &watch);
}
