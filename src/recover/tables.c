/*
 * tables.c
 *	  Tables that are recovered as a whole, in a data directory of their own.
 *
 * The data directory has the catalogs and the relations that are named, and
 * nothing else of the backup.  A catalog that was rewritten has a number as
 * tables have, and must be named, too.  Else the server that is started there
 * finds no file, and says which.  Redo makes of them what a restore of the whole
 * backup would (filter.c).  Every page of theirs is verified then, since those
 * that no record changed are the backup's.
 *
 * The folder is complete or not there.  It gets its name by the last step.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/databases.h"
#include "cluster/format.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "kernel/checksum.h"
#include "manifest/names.h"
#include "recover/path.h"
#include "recover/skeleton.h"
#include "recover/tables.h"

#define PAGE_CHECKSUM	8		/* pd_checksum, 16 bits */
#define PIECE_PAGES		32

/* ---- what is asked for ---- */

static bool
check_relation(Recover *ctx, const char *path)
{
	BackupRelationFile file;
	const char *name = strrchr(path, '/');
	WalBlockTag tag = {0};
	char	   *init = host_print("%s_init", path);
	bool		unlogged = file_scan_exists(ctx->backup, init);

	host_free(init);
	if (!backup_relation_file(path, &file) || strchr(name, '.') != NULL ||
		file.fork != BACKUP_FORK_MAIN)
		return recover_fail(ctx, "\"%s\" is no path as pg_relation_filepath() gives it", path);
	if (file.database != 0 && file.database != ctx->database)
		return recover_fail(ctx, "\"%s\" is not of database %u", path, ctx->database);
	if (unlogged)
		return recover_fail(ctx, "\"%s\" is unlogged, so that WAL has nothing of it", path);
	tag.tablespace = file.tablespace;
	tag.database = file.database;
	tag.relation = file.number;
	recover_filter_want_relation(&ctx->filter, &tag);
	return true;
}

/* ---- files ---- */

/* A look at the files of relations that are tracked, in one folder. */
typedef struct Looking
{
	Recover    *ctx;
	const char *root;			/* the backup, or the data directory */
	const char *folder;			/* relative to it */
	bool		(*each) (Recover *ctx, const char *path,
						 const BackupRelationFile *file);
	bool		failed;
} Looking;

static void
on_name(void *arg, const char *name)
{
	Looking    *looking = arg;
	Recover    *ctx = looking->ctx;
	char	   *path = host_print("%s/%s", looking->folder, name);
	BackupRelationFile file;

	if (!looking->failed && backup_relation_file(path, &file))
	{
		WalBlockTag tag = {file.tablespace, file.database, file.number,
		WAL_FORK_MAIN, 0};

		looking->failed = recover_filter_is_whole(&ctx->filter, &tag) &&
			!looking->each(ctx, path, &file);
	}
	host_free(path);
}

/* A folder that is not there has none. */
static bool
look_into(Looking *looking, const char *folder)
{
	char	   *path = host_print("%s/%s", looking->root, folder);
	struct stat status;
	bool		fine = stat(path, &status) != 0;

	looking->folder = folder;
	if (!fine)
		fine = host_list(path, on_name, looking) ||
			recover_fail_file(looking->ctx, "read", path);
	looking->folder = NULL;
	host_free(path);
	return fine && !looking->failed;
}

/* Is it the first relation that is wanted of its folder? */
static bool
is_first_of_folder(const RecoverSet *relations, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (relations->items[i].tag.tablespace == relations->items[number].tag.tablespace)
			return false;
	return relations->items[number].tag.tablespace != BACKUP_SPC_DEFAULT &&
		relations->items[number].tag.tablespace != BACKUP_SPC_GLOBAL;
}

/* Looks at all files that are tracked. */
static bool
look(Looking *looking)
{
	Recover    *ctx = looking->ctx;
	const RecoverSet *relations = &ctx->filter.relations;
	ClusterDatabase database = {ctx->database, CLUSTER_PG_DEFAULT};
	char		folder[CLUSTER_PATH_SIZE];
	bool		fine = look_into(looking, "global");

	cluster_database_folder_of(&database, (int) ctx->major,
							   ctx->control.catalog, folder, sizeof(folder));
	fine = fine && look_into(looking, folder);
	for (size_t i = 0; fine && i < relations->count; i++)
	{
		if (!is_first_of_folder(relations, i))
			continue;
		database.tablespace = relations->items[i].tag.tablespace;
		cluster_database_folder_of(&database, (int) ctx->major,
								   ctx->control.catalog, folder, sizeof(folder));
		fine = look_into(looking, folder);
	}
	return fine;
}

/* ---- space ---- */

static bool
add_size(Recover *ctx, const char *path, const BackupRelationFile *file)
{
	char	   *from = host_print("%s/%s", ctx->backup, path);
	struct stat status;
	bool		sized = stat(from, &status) == 0 ||
		recover_fail_file(ctx, "look at", from);

	(void) file;
	if (sized)
		ctx->table_bytes += (uint64_t) status.st_size;
	host_free(from);
	return sized;
}

bool
recover_tables_check(Recover *ctx)
{
	Looking		looking = {ctx, ctx->backup, NULL, add_size, false};
	char	   *folder = host_print("base/%u", ctx->database);
	bool		there = file_scan_exists(ctx->backup, folder);

	host_free(folder);
	if (!there)
		return recover_fail(ctx, "the backup has no database %u in the default tablespace", ctx->database);
	if (file_scan_exists(ctx->out, "data"))
		return recover_fail(ctx, "\"%s/data\" exists already", ctx->out);
	ctx->filter.database = ctx->database;
	for (size_t i = 0; i < ctx->nrelations; i++)
		if (!check_relation(ctx, ctx->relations[i]))
			return false;
	return look(&looking);
}

/* ---- copying ---- */

static bool
copy_file(Recover *ctx, const char *path, const BackupRelationFile *file)
{
	(void) file;
	return recover_skeleton_copy(ctx, path);
}

bool
recover_tables_copy(Recover *ctx)
{
	Looking		looking = {ctx, ctx->backup, NULL, copy_file, false};
	char	   *version = host_print("base/%u/PG_VERSION", ctx->database);
	char	   *map = host_print("base/%u/pg_filenode.map", ctx->database);
	bool		copied = recover_skeleton_copy(ctx, version) && recover_skeleton_copy(ctx, map) &&
		look(&looking);

	host_free(version);
	host_free(map);
	return copied;
}

/* ---- the end ---- */

static bool
is_zero(const uint8_t *page, size_t len)
{
	return page[0] == 0 && memcmp(page, page + 1, len - 1) == 0;
}

/* Verifies the pages of a file, which begins with a block. */
static bool
verify_pages(Recover *ctx, const char *path, int fd, uint32_t block)
{
	uint32_t	size = ctx->control.block_size;
	uint8_t    *pages = host_alloc((size_t) PIECE_PAGES * size);
	bool		valid = true;
	off_t		at = 0;
	ssize_t		got;

	while (valid && (got = pread(fd, pages, (size_t) PIECE_PAGES * size, at)) >= (ssize_t) size)
	{
		host_interrupts();
		for (uint8_t *page = pages; valid && page + size <= pages + got; page += size)
		{
			uint16_t	sum;

			checksum_page(page, size, 1, &block, &sum);
			if (sum != load_native16(page + PAGE_CHECKSUM) && !is_zero(page, size))
				valid = recover_fail(ctx, "block %u of \"%s\" has a wrong checksum, as it has in the backup",
									 block, path);
			block++;
			at += size;
		}
	}
	host_free(pages);
	return valid;
}

static bool
verify_file(Recover *ctx, const char *name, const BackupRelationFile *file)
{
	char	   *path = host_print("%s/%s", ctx->data, name);
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	bool		valid = fd >= 0 ?
		verify_pages(ctx, name, fd, file->segment * ctx->control.relation_segment_blocks) :
		recover_fail_file(ctx, "read", path);

	if (fd >= 0)
		close(fd);
	host_free(path);
	return valid;
}

bool
recover_tables_finish(Recover *ctx)
{
	Looking		looking = {ctx, ctx->data, NULL, verify_file, false};
	char	   *to = host_print("%s/data", ctx->out);
	bool		done;

	for (size_t i = 0; i < ctx->nrelations; i++)
		if (!file_scan_exists(ctx->data, ctx->relations[i]))
			return recover_fail(ctx, "there is no \"%s\" at the end of the WAL", ctx->relations[i]);

	/* nobody but the folder's owner reaches the socket in it */
	done = look(&looking) &&
		recover_skeleton_write(ctx, "pg_hba.conf", "local all all trust\n") &&
		(rename(ctx->data, to) == 0 || recover_fail_file(ctx, "make", to));
	host_free(to);
	return done;
}
