#!/bin/sh
# layers.sh SRC: fails when a layer includes what DESIGN.md forbids it.
#	kernel   no PostgreSQL header, no malloc, no I/O
#	verify   kernel/ and headers valid for front end and back end; no ereport,
#	         fmgr, locks
#	scan     no fmgr, no tuplestore, nothing of func/, worker/, server/
#	func, worker, server	not each other
# Server versions (PG_VERSION_NUM) belong to compat.h.
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
forbid "verify/ may not report, lock, call fmgr or reach upwards" \
	'\b(ereport|elog|LWLockAcquire|palloc|malloc)\(|^#include +"(fmgr|scan/|func/|worker/|server/|storage/(buf_|bufmgr|lw|smgr|md|fd))' \
	$(sources verify)
forbid "scan/ may not use fmgr or tuplestores, nor reach upwards" \
	'^#include +"(fmgr\.h|utils/tuplestore|func/|worker/|server/)|\btuplestore_' \
	$(sources scan)
forbid "func/ may not include worker/ or server/" '^#include +"(worker|server)/' $(sources func)
forbid "worker/ may not include func/ or server/" '^#include +"(func|server)/' $(sources worker)
forbid "server/ may not include func/ or worker/" '^#include +"(func|worker)/' $(sources server)
forbid "server versions are tested in compat.h only" 'PG_VERSION_NUM' \
	$(find "$src" -name '*.[ch]' ! -name compat.h)
}
[ "$failed" = 0 ] && echo "check-layers: ok"
exit "$failed"
