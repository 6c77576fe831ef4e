#!/bin/sh
# layers.sh SRC: fails when a layer includes what DESIGN.md forbids it.
#	kernel   no PostgreSQL header, no malloc, no I/O
#	decode   C11, its libraries and kernel/; no server, no standard I/O
#	verify   kernel/, decode/ and headers valid for front end and back end; no ereport,
#	         fmgr, locks
#	scan     no fmgr, no tuplestore, nothing of func/, server/
#	server   beside scan/: nothing of func/
#	func     everything below
# Server versions (PG_VERSION_NUM) belong to compat.h.  Rooms of a folder: see
# rooms.awk.
set -u
src=${1:?usage: layers.sh SRC}
failed=0

forbid()	# what, pattern, files...
{
	what=$1 pattern=$2
	shift 2
	if grep -nE "$pattern" "$@" /dev/null; then
		echo "check-layers: $what" >&2
		failed=1
	fi
}

sources()
{
	[ ! -d "$src/$1" ] || find "$src/$1" -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \)
}

# shellcheck disable=SC2046	# no blanks in our file names
{
forbid "kernel/ may include C11, intrinsics and its own headers only" \
	'^#include +("(postgres|fmgr|miscadmin|[a-z]+/)|<postgres)|\b(malloc|free|palloc|fopen|open|read)\(' \
	$(sources kernel)
forbid "decode/ may include its libraries and kernel/ only, and opens nothing" \
	'^#include +"(postgres|fmgr|miscadmin|verify/|scan/|func/|server/|(access|storage|utils|common|port)/)|\b(ereport|elog|palloc|fopen|open|printf)\(' \
	$(sources decode)
forbid "verify/ may not report, lock, call fmgr or reach upwards" \
	'\b(ereport|elog|LWLockAcquire|palloc|malloc)\(|^#include +"(fmgr|scan/|func/|server/|storage/(buf_|bufmgr|lw|smgr|md|fd))' \
	$(sources verify)
forbid "scan/ may not use fmgr or tuplestores, nor reach upwards" \
	'^#include +"(fmgr\.h|utils/tuplestore|func/|server/)|\btuplestore_' \
	$(sources scan)
forbid "the readers of WAL raise no error and reach the server by wal_host.h alone" \
	'\b(ereport|elog|palloc|psprintf|pstrdup|CHECK_FOR_INTERRUPTS)\(|^#include +"(compat|postgres|miscadmin|access/|storage/|utils/)' \
	$(for room in archive backups beside timelines directory list file files source ahead neighbour segment block_walk runs; do sources scan | grep "/wal_$room\.[ch]$"; done)
forbid "the readers of files of a cluster raise no error and reach the server by cluster_live.h and wal_host.h" \
	'\b(ereport|elog|palloc|psprintf|pstrdup|CHECK_FOR_INTERRUPTS)\(|^#include +"(compat|postgres|miscadmin|access/|storage/|utils/)' \
	$(for room in files look read wal; do sources scan | grep "/cluster_$room\.[ch]$"; done)
forbid "server/ may not include func/" '^#include +"func/' $(sources server)
forbid "server versions are tested in compat.h only" 'PG_VERSION_NUM' \
	$(find "$src" -name '*.[ch]' ! -name compat.h)
awk -f "$(dirname "$0")/rooms.awk" $(sources .) >&2 || {
	echo "check-layers: headers are kept by their own .c, rooms stand in no circle" >&2
	failed=1
}
}
[ "$failed" = 0 ] && echo "check-layers: ok"
exit "$failed"
