/*
 * state.c
 *	  The file that remembers what was verified of a WAL archive.
 *
 * It has a file of the archive per line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "program/host.h"
#include "program/state.h"

#define FIRST_LINE		PROGRAM_NAME " state 1"

/* ---- reading ---- */

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

typedef struct Reading
{
	State	   *state;
	WalArchive *archive;
} Reading;

static bool
parse(void *arg, char *lines)
{
	Reading    *reading = arg;
	char	   *line;

	if (!parse_owner(&reading->state->owner, state_file_line(&lines)))
		return false;
	while ((line = state_file_line(&lines)) != NULL)
		if (!parse_file(reading->archive, line))
			return false;
	return lines[0] == '\0';
}

void
state_open(State *state, const char *path, const char *directory,
		   WalArchive *archive)
{
	Reading		reading = {state, archive};

	memset(state, 0, sizeof(*state));
	state->file.path = path;
	state->file.directory = directory;
	state->file.first_line = FIRST_LINE;
	state->file.what = "archive";
	state_file_open(&state->file, parse, &reading);
	if (!state->file.damaged)
		return;
	program_warn("state file \"%s\" is damaged: every file is read, and nothing is known of files that are gone", path);
	archive->count = 0;
	state->owner.system = 0;
}

/* ---- writing ---- */

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

bool
state_write(State *state, const WalArchive *archive, bool complete)
{
	char		line[WAL_NAME_SIZE + 256];

	if (!state_file_begin(&state->file))
		return false;
	snprintf(line, sizeof(line), "system %" PRIu64 " magic %04" PRIX16 " page_size %" PRIu32,
			 state->owner.system, state->owner.magic, state->owner.page_size);
	state_file_put(&state->file, line);
	for (size_t i = 0; i < archive->count; i++)
		if (is_remembered(&archive->files[i], complete))
		{
			print_file(&archive->files[i], line, sizeof(line));
			state_file_put(&state->file, line);
		}
	return state_file_end(&state->file);
}
