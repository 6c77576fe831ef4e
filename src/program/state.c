/*
 * state.c
 *	  The file that remembers what was verified of a WAL archive.
 *
 * It is text, a file of the archive per line, and its last line is the CRC-32C
 * of all before it.  A new one takes its name, so a crash or a full disk leaves
 * the old one.  A run locks the file that has the name, and the new one before
 * that gets the name.  So two runs never write over each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/checksum.h"
#include "program/host.h"
#include "program/replace.h"
#include "program/state.h"

#define FIRST_WORDS		PROGRAM_NAME " state "
#define FIRST_LINE		FIRST_WORDS "1"
#define LAST_LINE		"crc32c %08" PRIX32 "\n"
#define LAST_LINE_LEN	16
#define STATE_BYTES_MAX	(INT64_C(1) << 32)

/* ---- the file ---- */

/* Locks the file.  Returns false if it has lost its name meanwhile. */
static bool
lock(const State *state)
{
	struct stat open_one;
	struct stat named;

	if (flock(state->fd, LOCK_EX | LOCK_NB) != 0)
		program_fail(errno == EWOULDBLOCK ? "another run has state file \"%s\"" :
					 "could not lock state file \"%s\"", state->path);
	return fstat(state->fd, &open_one) == 0 && stat(state->path, &named) == 0 &&
		open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static void
open_locked(State *state)
{
	struct stat status;

	if (stat(state->path, &status) == 0 && !S_ISREG(status.st_mode))
		program_fail("state file \"%s\" is not a regular file", state->path);
	for (;;)
	{
		state->fd = open(state->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
		if (state->fd < 0)
			program_fail("could not open state file \"%s\": %s", state->path, strerror(errno));
		if (lock(state))
			return;
		close(state->fd);
		host_interrupts();
	}
}

/* Returns its contents, with a terminator. */
static char *
read_all(const State *state, size_t *len)
{
	struct stat status;
	char	   *contents;
	ssize_t		got = 1;

	if (fstat(state->fd, &status) != 0 || status.st_size > STATE_BYTES_MAX)
		program_fail("could not read state file \"%s\"", state->path);
	contents = host_alloc((size_t) status.st_size + 1);
	for (*len = 0; *len < (size_t) status.st_size && got > 0; *len += (size_t) got)
	{
		got = pread(state->fd, contents + *len, (size_t) status.st_size - *len, (off_t) *len);
		if (got < 0)
			program_fail("could not read state file \"%s\": %s", state->path, strerror(errno));
	}
	contents[*len] = '\0';
	return contents;
}

/* ---- reading ---- */

/* Cuts off the last line.  Returns whether it is right. */
static bool
check_crc(char *contents, size_t len)
{
	char		expected[LAST_LINE_LEN + 1];
	uint32_t	crc;

	if (len < LAST_LINE_LEN || strlen(contents) != len)
		return false;
	crc = checksum_crc32c(CHECKSUM_CRC_INIT, contents, len - LAST_LINE_LEN) ^ CHECKSUM_CRC_INIT;
	snprintf(expected, sizeof(expected), LAST_LINE, crc);
	if (strcmp(contents + len - LAST_LINE_LEN, expected) != 0)
		return false;
	contents[len - LAST_LINE_LEN] = '\0';
	return true;
}

/* Returns the next line, NULL if there is none. */
static char *
next_line(char **contents)
{
	char	   *line = *contents;
	char	   *end = strchr(line, '\n');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*contents = end + 1;
	return line;
}

static bool
parse_file(WalArchive *archive, const char *line)
{
	char		segment[WAL_NAME_SIZE];
	char		status[32];
	char		crc[16];
	int			start_open;
	int			end_open;
	int			end = 0;
	WalName		name;
	WalArchiveMemory memory = {{0}};

	if (sscanf(line, "%119s %" SCNu64 " %" SCNd64 " %31s %d %d %15s %" SCNd64 " %" SCNd64 "%n",
			   segment, &memory.stat.size, &memory.stat.mtime, status, &start_open,
			   &end_open, crc, &memory.sound_at, &memory.verified_at, &end) != 9 ||
		line[end] != '\0' || !wal_name_parse(segment, &name))
		return false;
	memory.status = wal_status_of(status);
	memory.start_open = start_open != 0;
	memory.end_open = end_open != 0;
	memory.has_crc = sscanf(crc, "%" SCNx32, &memory.crc) == 1;
	if (memory.status == WAL_STATUSES)
		return false;
	wal_archive_remember(archive, &name, &memory);
	return true;
}

static bool
parse_owner(HostServer *owner, const char *line)
{
	return line != NULL &&
		sscanf(line, "system %" SCNu64 " magic %" SCNx16 " page_size %" SCNu32,
			   &owner->system, &owner->magic, &owner->page_size) == 3;
}

/* What is of another archive, or of a later version, is left as it is. */
static bool
parse(State *state, WalArchive *archive, char *contents)
{
	static const char directory[] = "directory ";
	char	   *line = next_line(&contents);

	if (line == NULL || strncmp(line, FIRST_WORDS, strlen(FIRST_WORDS)) != 0)
		return false;
	if (strcmp(line, FIRST_LINE) != 0)
		program_fail("state file \"%s\" is of another version of the program", state->path);
	line = next_line(&contents);
	if (line == NULL || strncmp(line, directory, strlen(directory)) != 0)
		return false;
	if (strcmp(line + strlen(directory), state->directory) != 0)
		program_fail("state file \"%s\" is of another archive, \"%s\"", state->path,
					 line + strlen(directory));
	if (!parse_owner(&state->owner, next_line(&contents)))
		return false;
	while ((line = next_line(&contents)) != NULL)
		if (!parse_file(archive, line))
			return false;
	return contents[0] == '\0';
}

void
state_open(State *state, const char *path, const char *directory,
		   WalArchive *archive)
{
	char	   *contents;
	size_t		len;

	memset(state, 0, sizeof(*state));
	state->path = path;
	state->directory = directory;
	if (strchr(directory, '\n') != NULL)
		program_fail("no state can be kept of a directory with a line break in its name");
	open_locked(state);
	contents = read_all(state, &len);
	if (len > 0 && (!check_crc(contents, len) || !parse(state, archive, contents)))
	{
		program_warn("state file \"%s\" is damaged: every file is read, and nothing is known of files that are gone", path);
		archive->count = 0;
		state->owner.system = 0;
	}
	host_free(contents);
}

/* ---- writing ---- */

/* Writes a line.  Returns the raw register over all lines. */
static uint32_t
write_line(FILE * file, uint32_t reg, const char *line)
{
	fputs(line, file);
	putc('\n', file);
	reg = checksum_crc32c(reg, line, strlen(line));
	return checksum_crc32c(reg, "\n", 1);
}

static void
print_file(const WalArchiveFile *file, char *line, size_t size)
{
	const WalArchiveMemory *memory = &file->memory;
	char		segment[WAL_NAME_SIZE];
	char		crc[16] = "-";

	wal_name_print(&file->name, segment);
	if (memory->has_crc)
		snprintf(crc, sizeof(crc), "%08" PRIX32, memory->crc);
	snprintf(line, size, "%s %" PRIu64 " %" PRId64 " %s %d %d %s %" PRId64 " %" PRId64,
			 segment, memory->stat.size, memory->stat.mtime,
			 wal_status_name(memory->status), memory->start_open,
			 memory->end_open, crc, memory->sound_at, memory->verified_at);
}

/* What is gone by right is forgotten. */
static bool
is_remembered(const WalArchiveFile *file, bool complete)
{
	return file->remembered && file->state != WAL_ARCHIVE_EXPIRED &&
		!(complete && file->state == WAL_ARCHIVE_REPLACED);
}

static void
write_all(const State *state, const WalArchive *archive, bool complete,
		  FILE * file)
{
	size_t		room = strlen(state->directory) + 512;
	char	   *line = host_alloc(room);
	uint32_t	reg = write_line(file, CHECKSUM_CRC_INIT, FIRST_LINE);

	snprintf(line, room, "directory %s", state->directory);
	reg = write_line(file, reg, line);
	snprintf(line, room, "system %" PRIu64 " magic %04" PRIX16 " page_size %" PRIu32,
			 state->owner.system, state->owner.magic, state->owner.page_size);
	reg = write_line(file, reg, line);
	for (size_t i = 0; i < archive->count; i++)
		if (is_remembered(&archive->files[i], complete))
		{
			print_file(&archive->files[i], line, room);
			reg = write_line(file, reg, line);
		}
	fprintf(file, LAST_LINE, reg ^ CHECKSUM_CRC_INIT);
	host_free(line);
}

bool
state_write(State *state, const WalArchive *archive, bool complete)
{
	Replace		replace;
	int			fd;

	if (!replace_begin(&replace, state->path))
		return false;
	fd = fcntl(fileno(replace.file), F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
		program_fail("could not lock state file \"%s\": %s", state->path, strerror(errno));
	write_all(state, archive, complete, replace.file);
	if (!replace_end(&replace, true, true))
	{
		close(fd);
		return false;
	}
	close(state->fd);
	state->fd = fd;
	return true;
}
