/*
 * skeleton.c
 *	  A data directory with the files that a server needs to recover blocks.
 *
 * Of the backup these are pg_control, backup_label, and what tells of
 * transactions.  No file of a relation is among them.  Each fork with a
 * tracked block gets an empty one, which is as long as its highest tracked
 * block needs.  Such files have holes instead of blocks.  Were they shorter,
 * redo would make them longer, block by block.
 *
 * A tablespace is a folder beside the data directory, with a link to it where
 * the server expects one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cluster/databases.h"
#include "cluster/format.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"
#include "recover/path.h"
#include "recover/skeleton.h"

/* What the server itself writes, its buffers, and files of a few pages. */
#define SPARE_BYTES		(UINT64_C(64) * 1024 * 1024)

/*
 * Settings of the server.  It listens in its own data directory alone, and
 * nobody may connect.  Its shutdown writes all pages, and nobody needs them
 * after a crash of the machine.  Its segments of WAL may have 1 GB.
 */
static const char settings[] =
"listen_addresses = ''\n"
"unix_socket_directories = '.'\n"
"unix_socket_permissions = 0700\n"
"hot_standby = off\n"
"restore_command = 'exit 1'\n"
"archive_mode = off\n"
"autovacuum = off\n"
"max_logical_replication_workers = 0\n"
"restart_after_crash = off\n"
"fsync = off\n"
"checkpoint_timeout = 1d\n"
"min_wal_size = 2GB\n"
"max_wal_size = 1TB\n"
"huge_pages = off\n"
"logging_collector = off\n"
"log_destination = stderr\n"
"log_line_prefix = ''\n"
"log_min_messages = error\n"
"lc_messages = C\n";

/* Of blocks, whose files lack what nobody wants. */
static const char settings_of_blocks[] = "ignore_invalid_pages = on\n";

/* Of tables, with prepared transactions, of which nobody knows how many. */
static const char settings_of_tables[] = "max_prepared_transactions = 1000\nallow_in_place_tablespaces = on\n";

/* ---- space ---- */

/* Bytes of the files in a folder. */
typedef struct Sum
{
	const char *folder;
	uint64_t	bytes;
} Sum;

static void
on_sized(void *arg, const char *name)
{
	Sum		   *sum = arg;
	char	   *path = host_print("%s/%s", sum->folder, name);
	struct stat status;

	if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
		sum->bytes += (uint64_t) status.st_size;
	host_free(path);
}

static const char *const copied[] = {
	"PG_VERSION", "backup_label", "global/pg_control",
	"global/pg_filenode.map", "pg_xact", "pg_multixact/offsets",
	"pg_multixact/members", "pg_commit_ts"
};

#define NCOPIED		(sizeof(copied) / sizeof(copied[0]))

bool
recover_skeleton_space(Recover *ctx, size_t segments)
{
	uint64_t	wanted = SPARE_BYTES + ctx->table_bytes +
		(uint64_t) segments * ctx->control.wal_segment_size;
	uint64_t	free_bytes;
	struct statvfs status;

	for (size_t i = 0; i < NCOPIED; i++)
	{
		Sum			sum = {host_print("%s/%s", ctx->backup, copied[i]), 0};

		host_list(sum.folder, on_sized, &sum);
		host_free((char *) sum.folder);
		wanted += sum.bytes;
	}
	if (statvfs(ctx->scratch, &status) != 0)
		return recover_fail_file(ctx, "look at", ctx->scratch);
	free_bytes = (uint64_t) status.f_bavail * status.f_frsize;
	if (free_bytes >= wanted)
		return true;
	return recover_fail(ctx, "the recovery needs %llu MB below \"%s\", and %llu MB are free",
						(unsigned long long) (wanted >> 20), ctx->out,
						(unsigned long long) (free_bytes >> 20));
}

/* ---- files of the backup ---- */

bool
recover_skeleton_copy(Recover *ctx, const char *name)
{
	char	   *from = host_print("%s/%s", ctx->backup, name);
	char	   *to = host_print("%s/%s", ctx->data, name);
	bool		made = (recover_make_above(to) && recover_copy(from, to, ctx->direct)) ||
		recover_fail_file(ctx, "copy", from);

	host_free(from);
	host_free(to);
	return made;
}

bool
recover_skeleton_write(Recover *ctx, const char *name, const char *words)
{
	char	   *path = host_print("%s/%s", ctx->data, name);
	FILE	   *file = fopen(path, "we");
	bool		written = file != NULL;

	if (written)
	{
		fputs(words, file);
		written = fclose(file) == 0;
	}
	if (!written)
		recover_fail_file(ctx, "write", path);
	host_free(path);
	return written;
}

static bool
make_folder(Recover *ctx, const char *name)
{
	char	   *path = host_print("%s/%s", ctx->data, name);
	bool		made = recover_make_folder(path) ||
		recover_fail_file(ctx, "make", path);

	host_free(path);
	return made;
}

bool
recover_skeleton_make(Recover *ctx)
{
	static const char *const more[] = {
		"pg_dynshmem", "pg_stat", "pg_stat_tmp", "pg_wal/archive_status"
	};
	const char *folder;
	char	   *conf = host_print("%s%s", settings, ctx->database != 0 ?
								  settings_of_tables : settings_of_blocks);
	bool		made = true;

	for (size_t i = 0; made && (folder = backup_folder_needed(i)) != NULL; i++)
		made = make_folder(ctx, folder);
	for (size_t i = 0; made && i < sizeof(more) / sizeof(more[0]); i++)
		made = make_folder(ctx, more[i]);
	for (size_t i = 0; made && i < NCOPIED; i++)
		made = recover_skeleton_copy(ctx, copied[i]);
	made = made && recover_skeleton_write(ctx, "postgresql.conf", conf) &&
		recover_skeleton_write(ctx, "pg_hba.conf", "local all all reject\n") &&
		recover_skeleton_write(ctx, "pg_ident.conf", "") &&
		recover_skeleton_write(ctx, "recovery.signal", "");
	host_free(conf);
	return made;
}

/* ---- relations ---- */

char *
recover_skeleton_file(const Recover *ctx, const WalBlockTag *fork,
					  uint32_t segment)
{
	static const char *const suffixes[] = {"", "_fsm", "_vm", "_init"};
	ClusterDatabase database = {fork->database, fork->tablespace};
	char		folder[CLUSTER_PATH_SIZE];
	char		end[16] = "";

	if (fork->tablespace == BACKUP_SPC_GLOBAL)
		snprintf(folder, sizeof(folder), "global");
	else
		cluster_database_folder_of(&database, (int) ctx->major,
								   ctx->control.catalog, folder, sizeof(folder));
	if (segment > 0)
		snprintf(end, sizeof(end), ".%u", segment);
	return host_print("%s/%s/%u%s%s", ctx->data, folder, fork->relation,
					  suffixes[fork->fork], end);
}

/* Makes a file with holes for so many bytes. */
static bool
make_file(const char *path, uint64_t bytes)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
	bool		made = fd >= 0 && ftruncate(fd, (off_t) bytes) == 0;
	int			why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
	return made;
}

static bool
make_tablespace(Recover *ctx, uint32_t tablespace)
{
	char	   *link = host_print("%s/pg_tblspc/%u", ctx->data, tablespace);
	char	   *to = host_print("%s/tablespaces/%u", ctx->scratch, tablespace);
	bool		made = recover_make_folder(to) &&
		(symlink(to, link) == 0 || errno == EEXIST);

	if (!made)
		recover_fail_file(ctx, "make", link);
	host_free(link);
	host_free(to);
	return made;
}

/* All files of a fork but the last one are whole. */
static bool
make_fork(Recover *ctx, const RecoverBlock *fork)
{
	uint32_t	most = ctx->control.relation_segment_blocks;
	uint32_t	last = fork->highest / most;
	bool		made = true;

	for (uint32_t i = 0; made && i <= last; i++)
	{
		uint64_t	blocks = i < last ? most : (uint64_t) fork->highest % most + 1;
		char	   *path = recover_skeleton_file(ctx, &fork->tag, i);

		host_interrupts();
		made = recover_make_above(path) &&
			make_file(path, blocks * ctx->control.block_size);
		if (!made)
			recover_fail_file(ctx, "make", path);
		host_free(path);
	}
	return made;
}

bool
recover_skeleton_relations(Recover *ctx)
{
	const RecoverSet *forks = &ctx->filter.forks;
	bool		made = true;

	for (size_t i = 0; made && i < forks->count; i++)
	{
		const RecoverBlock *fork = &forks->items[i];

		if (fork->tag.tablespace != BACKUP_SPC_GLOBAL &&
			fork->tag.tablespace != BACKUP_SPC_DEFAULT)
			made = make_tablespace(ctx, fork->tag.tablespace);
		made = made && make_fork(ctx, fork);
	}
	return made;
}
