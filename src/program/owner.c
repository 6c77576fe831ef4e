/*
 * owner.c
 *	  Opens an archive, and finds out which cluster it is of.
 *
 * A server knows its own system identifier.  Without one, the archive's own is
 * the one that two sound segments have first, and another one in the same
 * archive is a finding.  Nothing protects the identifier in a segment.  So a
 * single one, whose identifier may be what is damaged, does not say it while
 * there are others.  A system identifier belongs to one version and one page
 * size, so these are the segments', too.
 */
#include <errno.h>
#include <string.h>

#include "program/host.h"
#include "program/owner.h"
#include "wal/source.h"

/* so many are read whole in search of a sound one */
#define JUDGED_MAX		100

#define IDENTITY_BYTES	(2 * WAL_PAGE_MAX)

void
owner_open(WalDirectory *dir, const char *path, const Options *options)
{
	WalDirectoryResult result = wal_directory_open(dir, path, "",
												   options->direct, NULL);
	const char *failed = dir->listing->failed;

	if (result == WAL_DIRECTORY_NONE)
		program_fail("\"%s\" is not a directory", path);
	if (result == WAL_DIRECTORY_FAILED)
		program_fail("could not read directory \"%s%s%s\": %s", path,
					 failed[0] == '\0' ? "" : "/", failed, strerror(errno));
}

void
owner_set(WalDirectory *dir, const HostServer *owner)
{
	dir->limits.server.system = owner->system;
	dir->limits.server.magic = owner->magic;
	dir->limits.server.page_size = owner->page_size;
}

static bool
identify(WalSession *session, const WalName *name, WalIdentity *id)
{
	FileScanResult opened;
	WalFile    *file = wal_files_open(session->files, name, &opened);
	WalSource	source;
	const uint8_t *data;
	size_t		len;

	if (file == NULL)
		return false;
	source = wal_source_file(file, session->buffer);
	data = wal_source_piece(&source, 0, IDENTITY_BYTES, &len);
	wal_identify(id, data, len,
				 source.size == WAL_SIZE_UNKNOWN ? session->dir->limits.segment_size : source.size,
				 session->server.page_size, session->dir->limits.segment_size);
	wal_files_close(session->files, file);
	return id->magic != 0 && id->has_system;
}

static bool
is_sound(WalSession *session, const WalName *name)
{
	WalSegmentResult result;

	wal_segment_judge_entry(session, name, &result);
	return result.status == WAL_OK || result.status == WAL_OK_SWITCHED ||
		result.status == WAL_OK_END_OF_WAL || result.status == WAL_OK_PARTIAL;
}

/* Returns whether an earlier one of the owners says the same, and adds it. */
static bool
is_second(HostServer *owners, int count, const WalIdentity *id)
{
	for (int i = 0; i < count; i++)
		if (owners[i].system == id->system && owners[i].magic == id->magic &&
			owners[i].page_size == id->page_size)
			return true;
	owners[count].system = id->system;
	owners[count].magic = id->magic;
	owners[count].page_size = id->page_size;
	return false;
}

/* Is it to be asked? */
static bool
is_candidate(const WalIdentity *id, uint64_t system, uint16_t magic)
{
	return (system == 0 || id->system == system) &&
		(magic == 0 || id->magic == magic);
}

HostServer
owner_find(const WalDirectory *dir, uint64_t system, uint16_t magic)
{
	const WalNames *files = &wal_directory_listing(dir)->files;
	HostServer	owners[JUDGED_MAX];
	uint64_t	mark = program_mark();
	WalSession	session;
	WalIdentity id;
	int			judged = 0;
	int			found = 0;
	bool		agreed = false;

	owners[0] = dir->limits.server;
	owners[0].system = system;
	owners[0].magic = magic;
	wal_session_begin(&session, dir, WAL_RANGE_ALL);
	for (size_t i = 0; i < files->count && judged < JUDGED_MAX && !agreed; i++)
	{
		host_interrupts();
		if (!identify(&session, &files->names[i], &id) || !is_candidate(&id, system, magic))
			continue;
		judged++;
		if (!is_sound(&session, &files->names[i]))
			continue;
		agreed = is_second(owners, found, &id);
		found += agreed ? 0 : 1;
	}
	if (agreed)
	{
		owners[0].system = id.system;
		owners[0].magic = id.magic;
		owners[0].page_size = id.page_size;
	}
	wal_session_end(&session);
	program_release(mark);
	return owners[0];
}
