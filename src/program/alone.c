/*
 * alone.c
 *	  A file of WAL that stands alone, under any path.
 */
#include <errno.h>
#include <string.h>

#include "program/alone.h"
#include "program/host.h"
#include "wal/beside.h"

static bool
is_segment(const WalName *name)
{
	return name->kind == WAL_KIND_SEGMENT || name->kind == WAL_KIND_PARTIAL;
}

bool
alone_begin(Alone *alone, const char *path, struct Throttle *throttle,
			bool direct)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash == NULL ? path : slash + 1;
	size_t		len = slash == NULL ? 1 : slash == path ? 1 : (size_t) (slash - path);

	if (strlen(last) >= WAL_NAME_SIZE ||
		(!wal_name_parse(last, &alone->name) && !wal_name_parse_beside(last, &alone->name)))
		return false;
	alone->directory = host_alloc(len + 1);
	memcpy(alone->directory, slash == NULL ? "." : path, len);
	alone->directory[len] = '\0';
	alone->file = host_alloc(sizeof(WalFile));
	wal_file_init(alone->file, direct);
	wal_file_throttle(alone->file, throttle);
	return true;
}

FileScanResult
alone_open(Alone *alone)
{
	WalDirectory dir = {alone->directory};

	return wal_file_open(alone->file, wal_directory_file(&dir, &alone->name),
						 wal_name_format(&alone->name));
}

static uint32_t
find_segment_size(Alone *alone, const HostServer *server)
{
	WalDirectory dir = {alone->directory};
	uint8_t    *buffer = host_alloc(WAL_PIECE_BYTES);

	dir.limits.server = *server;
	dir.limits.segment_size = server->segment_size;
	wal_directory_ask(&dir, alone->file, buffer, &alone->name);
	host_free(buffer);
	return dir.limits.segment_size;
}

void
alone_judge(Alone *alone, uint64_t system, uint16_t magic,
			WalSegmentResult *result)
{
	WalSession	session;

	if (!is_segment(&alone->name))
	{
		wal_beside_judge_alone(alone->directory, &alone->name,
							   alone->file->device != NULL, result);
		return;
	}
	wal_session_begin_alone(&session);
	session.server.segment_size = find_segment_size(alone, &session.server);
	session.server.system = system;
	session.server.magic = magic;
	wal_segment_judge_alone(&session, alone->file, &alone->name, result);
	wal_session_end(&session);
}

void
alone_end(Alone *alone)
{
	wal_file_end(alone->file);
	host_free(alone->file);
	host_free(alone->directory);
}
