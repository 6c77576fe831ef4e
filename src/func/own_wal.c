/*
 * own_wal.c
 *	  This server's WAL up to the present, from an archive and pg_wal.
 *
 * The present is the end of what was inserted when the call began.  It is
 * flushed first, since a change may still be in WAL buffers.  A standby's
 * present is what it has replayed.  An archive ends before the present, so the
 * walk goes on in pg_wal from there.  An archive of a clone has records that
 * this server never wrote, see wal/stream.c, so it is refused.
 */
#include "compat.h"

#include "access/xlog.h"

#include "func/func.h"
#include "func/own_wal.h"
#include "lost/server.h"

/* WAL of another history would show records that this server never wrote. */
static void
check_history(OwnWal *wal)
{
	WalName		name;
	char		segment[WAL_NAME_SIZE];
	WalStreamHistory history = wal_stream_history(&wal->dir, &wal->own,
												  wal->stream.timeline, &name);

	wal->own_history = history == WAL_STREAM_SAME;
	if (history != WAL_STREAM_OTHER)
		return;
	wal_name_print(&name, segment);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("directory \"%s\" holds WAL of another history",
					wal->dir.path),
			 errdetail("Segment %s differs from that of pg_wal.", segment)));
}

void
own_wal_open(OwnWal *wal, const char *directory)
{
	WalStream  *stream = &wal->stream;
	const WalLimits *limits = &wal->own.limits;

	memset(wal, 0, sizeof(*wal));
	wal->present = lost_server_end(wal_segment_size);
	accel_wal_directory(&wal->own, NULL, false, NULL);
	stream->own = stream->dir = &wal->own;
	wal->own_history = true;
	if (limits->nlimits > 0)
		stream->timeline = limits->limits[limits->nlimits - 1].timeline;
	if (directory == NULL)
		return;
	accel_wal_directory(&wal->dir, directory, false, NULL);
	if (wal->dir.limits.live)
		return;
	stream->dir = &wal->dir;
	check_history(wal);
}
