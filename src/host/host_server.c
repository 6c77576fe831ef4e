/*
 * host_server.c
 *	  What the readers of WAL need, from the back end.
 */
#include "compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "common/cryptohash.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/walreceiver.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "host/direct.h"
#include "host/host.h"
#include "host/throttle.h"

void *
host_alloc(size_t size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

void *
host_grow(void *memory, size_t size)
{
	return memory == NULL ? host_alloc(size) : repalloc_huge(memory, size);
}

void
host_free(void *memory)
{
	if (memory != NULL)
		pfree(memory);
}

void
host_no_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory")));
}

struct HostAtEnd
{
	MemoryContextCallback callback;
};

HostAtEnd *
host_at_end(void (*fn) (void *arg), void *arg)
{
	HostAtEnd  *at_end = palloc(sizeof(HostAtEnd));

	at_end->callback.func = fn;
	at_end->callback.arg = arg;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &at_end->callback);
	return at_end;
}

static void
nothing(void *arg)
{
}

/* A context calls all its callbacks, and no version takes one back. */
void
host_forget(HostAtEnd *at_end)
{
	at_end->callback.func = nothing;
}

void
host_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

size_t
host_turn(struct Throttle *throttle, size_t len)
{
	if (throttle == NULL)
		return len;
	len = Min(len, throttle->pace.max_piece);
	throttle_wait(throttle, (uint32) len);
	return len;
}

bool
host_list(const char *directory,
		  void (*entry) (void *arg, const char *name), void *arg)
{
	DIR		   *dir = AllocateDir(directory);
	struct dirent *file;

	if (dir == NULL)
		return false;
	while ((errno = 0, file = readdir(dir)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		entry(arg, file->d_name);
	}
	if (errno != 0)
	{
		int			save_errno = errno;

		FreeDir(dir);
		errno = save_errno;
		return false;
	}
	FreeDir(dir);
	return true;
}

int
host_open(const char *path)
{
	return OpenTransientFile(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | PG_BINARY);
}

ssize_t
host_read(int fd, void *buffer, size_t length, off_t offset)
{
	ssize_t		got;

	pgstat_report_wait_start(WAIT_EVENT_COPY_FILE_READ);
	got = pread(fd, buffer, length, offset);
	pgstat_report_wait_end();
	return got;
}

int
host_open_direct(const char *path)
{
	int			fd = -1;

	errno = EINVAL;				/* as from file systems that have no such flag */
	if (DIRECT_OPEN != 0)
		fd = OpenTransientFile(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC |
							   DIRECT_OPEN | PG_BINARY);
	if (direct_is_refused(fd))
		host_refuse_direct(path);
	return fd;
}

void
host_refuse_direct(const char *path)
{
	char		name[DIRECT_NAME_SIZE];
	const char *type = direct_file_system(path, name);

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file system of \"%s\" does not read past its page cache",
					path),
			 errdetail("Its type is %s.", type),
			 strcmp(type, "btrfs") == 0 ?
			 errhint("Leave direct_io out. What btrfs has on its devices is verified by \"btrfs scrub\".") :
			 strcmp(type, "ext4") == 0 ?
			 errhint("Leave direct_io out, or mount the file system without data=journal.") :
			 errhint("Leave direct_io out.")));
}

void
host_close(int fd)
{
	CloseTransientFile(fd);
}

static const struct
{
	pg_cryptohash_type type;
	size_t		bytes;
}			sha_algorithms[] = {
	[HOST_SHA1] = {PG_SHA1, HOST_SHA1_BYTES},
	[HOST_SHA224] = {PG_SHA224, HOST_SHA224_BYTES},
	[HOST_SHA256] = {PG_SHA256, HOST_SHA256_BYTES},
	[HOST_SHA384] = {PG_SHA384, HOST_SHA384_BYTES},
	[HOST_SHA512] = {PG_SHA512, HOST_SHA512_BYTES},
};

struct HostSha
{
	pg_cryptohash_ctx *crypto;
	size_t		bytes;			/* of the digest */
	bool		failed;
};

HostSha *
host_sha_begin(HostShaAlgorithm algorithm)
{
	HostSha    *sha = palloc(sizeof(HostSha));

	sha->bytes = sha_algorithms[algorithm].bytes;
	sha->crypto = pg_cryptohash_create(sha_algorithms[algorithm].type);
	sha->failed = sha->crypto == NULL || pg_cryptohash_init(sha->crypto) < 0;
	return sha;
}

void
host_sha_add(HostSha *sha, const void *data, size_t len)
{
	if (!sha->failed)
		sha->failed = pg_cryptohash_update(sha->crypto, data, len) < 0;
}

bool
host_sha_end(HostSha *sha, uint8_t *digest)
{
	bool		done = !sha->failed &&
		pg_cryptohash_final(sha->crypto, digest, sha->bytes) >= 0;

	if (sha->crypto != NULL)
		pg_cryptohash_free(sha->crypto);
	pfree(sha);
	return done;
}

HostServer
host_server(void)
{
	HostServer	server;

	server.system = GetSystemIdentifier();
	server.magic = XLOG_PAGE_MAGIC;
	server.page_size = XLOG_BLCKSZ;
	server.segment_size = (uint32) wal_segment_size;
	return server;
}

static int
add_limit(WalLiveLimit *limits, int n, TimeLineID timeline, XLogRecPtr limit)
{
	for (int i = 0; i < n; i++)
		if (limits[i].timeline == timeline)
		{
			limits[i].limit = Max(limits[i].limit, limit);
			return n;
		}
	limits[n].timeline = timeline;
	limits[n].limit = limit;
	return n + 1;
}

/*
 * On a standby what was received may belong to a newer timeline than what is
 * being replayed.
 */
int
host_limits(WalLiveLimit limits[WAL_LIVE_LIMITS_MAX])
{
	TimeLineID	timeline = 0;
	XLogRecPtr	limit;
	int			n = 0;

	if (!RecoveryInProgress())
	{
		limit = GetFlushRecPtr(&timeline);
		return add_limit(limits, 0, timeline, limit);
	}
	limit = GetXLogReplayRecPtr(&timeline);
	if (timeline != 0)
		n = add_limit(limits, n, timeline, limit);
	limit = GetWalRcvFlushRecPtr(NULL, &timeline);
	if (timeline != 0 && limit != InvalidXLogRecPtr)
		n = add_limit(limits, n, timeline, limit);
	return n;
}

uint64_t
host_removed(void)
{
	return XLogGetLastRemovedSegno();
}
