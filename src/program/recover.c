/*
 * recover.c
 *	  The command that gives pages of blocks back.
 *
 * PostgreSQL's server refuses root.  Started by root, the command goes on as
 * the owner of the backup, or of the cluster.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/digits.h"
#include "program/host.h"
#include "program/recover.h"
#include "recover/recover.h"

#define BLOCK_MAX	UINT32_C(0xFFFFFFFE)

static void
say(const char *line)
{
	puts(line);
	fflush(stdout);
}

static void
leave_root(const char *backup)
{
	struct stat status;

	if (geteuid() != 0)
		return;
	if (stat(backup, &status) != 0)
		program_fail("could not read \"%s\": %s", backup, strerror(errno));
	if (status.st_uid == 0)
		program_fail("the server refuses root, and \"%s\" is root's: run this as the user of the server", backup);
	if (setgroups(0, NULL) != 0 || setgid(status.st_gid) != 0 ||
		setuid(status.st_uid) != 0)
		program_fail("could not become user %u, the owner of \"%s\": %s",
					 (unsigned) status.st_uid, backup, strerror(errno));
	printf("the server refuses root: this goes on as user %u, the owner of \"%s\"\n",
		   (unsigned) status.st_uid, backup);
}

/* Parses PATH:BLKNO. */
static RecoverWanted
parse_block(const char *value)
{
	RecoverWanted wanted = {0};
	const char *colon = strrchr(value, ':');
	uint64_t	number;
	const char *end = colon == NULL ? NULL :
		digits_read(colon + 1, BLOCK_MAX, &number);
	size_t		len;
	char	   *path;

	if (end == NULL || *end != '\0')
		program_fail("--block must be a path and a block number, as base/5/16384:12, not \"%s\"", value);
	len = (size_t) (colon - value);
	path = host_alloc(len + 1);
	memcpy(path, value, len);
	path[len] = '\0';
	wanted.path = path;
	wanted.tag.block = (uint32_t) number;
	return wanted;
}

static void
print_literal(const char *words)
{
	putchar('\'');
	for (; *words != '\0'; words++)
	{
		if (*words == '\'')
			putchar('\'');
		putchar(*words);
	}
	putchar('\'');
}

/* The server then knows where the page is from, which WAL may not tell. */
static void
print_recovered(const Recover *recover, const RecoverWanted *wanted)
{
	const WalBlockTag *tag = &wanted->tag;
	size_t		room = strlen(recover->out) + strlen(wanted->path) + 16;
	char	   *path = host_alloc(room);

	snprintf(path, room, "%s/%s.%u", recover->out, wanted->path, tag->block);
	printf("%s:%u: recovered at %X/%X: SELECT * FROM restore_block(pg_filenode_relation(%u, %u), 'main', %u, pg_read_binary_file(",
		   wanted->path, tag->block, (unsigned) (wanted->lsn >> 32),
		   (unsigned) wanted->lsn, tag->tablespace, tag->relation, tag->block);
	print_literal(path);
	puts("), allow_unproven => true)");
	host_free(path);
}

static void
print_tables(const Recover *recover)
{
	printf("recovered up to %X/%X: sh start_alone.sh %s/data PORT starts it, for pg_dump\n",
		   (unsigned) (recover->end >> 32), (unsigned) recover->end, recover->out);
}

/* Returns whether all were recovered. */
static bool
print_results(const Recover *recover)
{
	bool		all = true;

	for (size_t i = 0; i < recover->nwanted; i++)
	{
		const RecoverWanted *wanted = &recover->wanted[i];

		if (wanted->recovered)
			print_recovered(recover, wanted);
		else
			printf("%s:%u: not recovered: %s\n", wanted->path, wanted->tag.block,
				   wanted->message);
		all = all && wanted->recovered;
	}
	return all;
}

int
recover_command(const Options *options)
{
	Recover		recover = {0};
	bool		all;

	recover.is_cluster = options->cluster != NULL;
	recover.backup = recover.is_cluster ? options->cluster : options->backup;
	leave_root(recover.backup);
	recover.direct = options->direct;
	recover.bindir = options->bindir;
	recover.out = options->out;
	recover.wal = options->wal.values;
	recover.nwal = options->wal.count;
	recover.timeline = options->timeline;
	recover.target = options->target == 0 ? WAL_LSN_MAX : options->target;
	recover.say = say;
	recover.wanted = host_alloc(options->blocks.count * sizeof(RecoverWanted));
	recover.nwanted = options->blocks.count;
	for (size_t i = 0; i < recover.nwanted; i++)
		recover.wanted[i] = parse_block(options->blocks.values[i]);
	recover.database = options->database;
	recover.relations = options->relations.values;
	recover.nrelations = options->relations.count;
	if (!recover_run(&recover))
		program_fail("%s", recover.message);
	if (recover.database != 0)
		print_tables(&recover);
	all = print_results(&recover);
	if (fflush(stdout) != 0 || ferror(stdout))
		program_fail("could not write to standard output");
	return all ? EXIT_SOUND : EXIT_UNVERIFIED;
}
