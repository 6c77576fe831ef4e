/*
 * state_file.c
 *	  A file that remembers what was verified, between runs.
 *
 * It is text, and its last line is the CRC-32C of all before it.  A new one
 * takes its name, so a crash or a full disk leaves the old one.  A run locks the
 * file that has the name, and the new one before that gets the name.  So two
 * runs never write over each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/print.h"
#include "kernel/checksum.h"
#include "program/host.h"
#include "program/state_file.h"

#define DIRECTORY_WORDS	"directory "
#define LAST_LINE		"crc32c %08" PRIX32 "\n"
#define LAST_LINE_LEN	16
#define STATE_BYTES_MAX	(INT64_C(1) << 32)

/* ---- the file ---- */

/* Locks the file.  Returns false if it has lost its name meanwhile. */
static bool
lock(const StateFile *state)
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
open_locked(StateFile *state)
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
read_all(const StateFile *state, size_t *len)
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

char *
state_file_line(char **contents)
{
	char	   *line = *contents;
	char	   *end = strchr(line, '\n');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*contents = end + 1;
	return line;
}

/*
 * Checks the first lines.  What is of another directory, command or version is
 * left as it is.
 */
static bool
check_head(const StateFile *state, char **contents)
{
	static const char program[] = PROGRAM_NAME " ";
	char	   *line = state_file_line(contents);

	if (line == NULL || strncmp(line, program, strlen(program)) != 0)
		return false;
	if (strcmp(line, state->first_line) != 0)
		program_fail("state file \"%s\" is of another command or version of the program", state->path);
	line = state_file_line(contents);
	if (line == NULL || strncmp(line, DIRECTORY_WORDS, strlen(DIRECTORY_WORDS)) != 0)
		return false;
	if (strcmp(line + strlen(DIRECTORY_WORDS), state->directory) != 0)
		program_fail("state file \"%s\" is of another %s, \"%s\"", state->path,
					 state->what, line + strlen(DIRECTORY_WORDS));
	return true;
}

void
state_file_open(StateFile *state, bool (*parse) (void *arg, char *lines),
				void *arg)
{
	char	   *contents;
	char	   *lines;
	size_t		len;

	if (strchr(state->directory, '\n') != NULL)
		program_fail("no state can be kept of a directory with a line break in its name");
	open_locked(state);
	lines = contents = read_all(state, &len);
	state->damaged = len > 0 && !(check_crc(contents, len) &&
								  check_head(state, &lines) && parse(arg, lines));
	host_free(contents);
}

/* ---- writing ---- */

void
state_file_put(StateFile *state, const char *line)
{
	FILE	   *file = state->replace.file;

	fputs(line, file);
	putc('\n', file);
	state->reg = checksum_crc32c(state->reg, line, strlen(line));
	state->reg = checksum_crc32c(state->reg, "\n", 1);
}

/* The new file is locked before it has the name. */
bool
state_file_begin(StateFile *state)
{
	char	   *line;

	if (!replace_begin(&state->replace, state->path))
		return false;
	state->next = fcntl(fileno(state->replace.file), F_DUPFD_CLOEXEC, 0);
	if (state->next < 0 || flock(state->next, LOCK_EX | LOCK_NB) != 0)
		program_fail("could not lock state file \"%s\": %s", state->path, strerror(errno));
	state->reg = CHECKSUM_CRC_INIT;
	state_file_put(state, state->first_line);
	line = host_print(DIRECTORY_WORDS "%s", state->directory);
	state_file_put(state, line);
	host_free(line);
	return true;
}

bool
state_file_end(StateFile *state)
{
	fprintf(state->replace.file, LAST_LINE, state->reg ^ CHECKSUM_CRC_INIT);
	if (!replace_end(&state->replace, true, true))
	{
		close(state->next);
		return false;
	}
	close(state->fd);
	state->fd = state->next;
	return true;
}
