#!/bin/sh
# dump.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#	[--preload LIBRARY]
#
# pg_dump in directory format by compression method and number of jobs, as the
# zlib-accel project measures it: tables as sysbench makes them (digits), a table
# per job at least, throughput (the report normalises it to gzip at the same
# number of jobs), size, and the time of pg_restore, which decompresses.  zlib-ng
# takes zlib's place by preloading, as there, if bench/contenders.sh has fetched
# it; --preload names another library, zlib-accel's, say.  Every dump is read back,
# and the CRC-32C of each of its files is kept in dump-crc32c.csv, so that a later
# run can tell a changed dump; the same dump made twice must agree.  The database
# has half the size given.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin dump "$@"
bench_need $((4 * size_bytes)) $((size_bytes + 500000000))

jobs_list="1 4" ntables=16
[ "$size_bytes" -lt 1000000000 ] || jobs_list="4 16 64" ntables=64
[ "$size_bytes" -lt 10000000000 ] || jobs_list="4 8 16 32 64"

bench_stage
bench_cluster main --data-checksums "shared_buffers = 128MB
fsync = off
max_wal_size = 16GB
autovacuum = off"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# A table of sysbench: c is ten groups of eleven digits, pad five.  The tables are
# alike, which no dump can see: each has files of its own.
bench_log "filling $ntables tables"
groups()	# N
{
	echo "(SELECT string_agg(lpad(((random() * 99999999999)::bigint)::text, 11, '0'), '-') FROM generate_series(1, $1) WHERE i > 0)"
}
rows=$((size_bytes / 2 / ntables / 230))
bench_sql "CREATE TABLE sbtest1 (id serial PRIMARY KEY, k integer NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '')"
bench_sql "SELECT setseed(0.5); INSERT INTO sbtest1 SELECT i, (random() * $rows)::int, $(groups 10), $(groups 5) FROM generate_series(1, $rows) i" >/dev/null
bench_sql "CREATE INDEX ON sbtest1 (k)"
table=1
while [ $table -lt "$ntables" ]; do
	table=$((table + 1))
	bench_sql "CREATE TABLE sbtest$table (LIKE sbtest1 INCLUDING ALL); INSERT INTO sbtest$table SELECT * FROM sbtest1"
done
bench_sql "VACUUM"	# rows that were read before: fresh ones are in the part checksums
bytes=$(bench_sql "SELECT sum(pg_table_size(oid)) FROM pg_class WHERE relname LIKE 'sbtest%' AND relkind = 'r'")
bench_note database "$((bytes / 1000000)) MB in $ntables tables of $rows rows (the source: 400 tables of 1000000)"

# --- methods ---------------------------------------------------------------

option()	# METHOD: the option of this server's pg_dump, or nothing
{
	case $1 in
		none) echo "--compress=0" ;;
		gzip:*) 
			if [ "$pg_major" -ge 16 ]; then
				echo "--compress=$1"
			else
				echo "--compress=${1#gzip:}"
			fi
			;;
		*) [ "$pg_major" -lt 16 ] || echo "--compress=$1" ;;
	esac
}

methods=''
for method in gzip:6 gzip:1 zstd:6 zstd:1 lz4 none; do
	if [ -z "$(option $method)" ]; then
		bench_missing "pg_dump" "$method" "pg_dump $pg_major has no such method (16 and later have)"
	elif bench_client "$bindir/pg_dump" -Fc "$(option $method)" -t nothing_of_this_name -f /dev/null 2>&1 | grep -q 'not supported'; then
		bench_missing "pg_dump" "$method" "this build of pg_dump does not support it"
	else
		methods="$methods $method"
	fi
done
zlib_ng=$(bench_zlib_ng)
if [ -n "$zlib_ng" ]; then
	cp "$zlib_ng" "$scratch/zlib-ng.so"	# where the servers' user may read it
	chmod a+rx "$scratch" "$scratch/zlib-ng.so"
	methods="$methods zlib-ng/gzip:6"
else
	bench_missing "pg_dump" "zlib-ng" "not fetched (bench/contenders.sh)"
fi
if [ -n "$preload" ] && [ -f "$preload" ]; then
	methods="$methods preload/gzip:6 preload/gzip:1"
elif [ -n "$preload" ]; then
	bench_missing "pg_dump" "gzip with $preload" "not installed"
else
	bench_missing "pg_dump" "gzip with hardware (zlib-accel)" "no --preload LIBRARY named"
fi

label()	# METHOD
{
	case $1 in
		preload/*) echo "${1#preload/} with $(basename "$preload")" ;;
		zlib-ng/*) echo "zlib-ng:${1##*:}" ;;
		*) echo "$1" ;;
	esac
}

library()	# METHOD
{
	case $1 in
		preload/*) echo "$preload" ;;
		zlib-ng/*) echo "$scratch/zlib-ng.so" ;;
	esac
}

dump()	# METHOD JOBS
{
	rm -rf "$scratch/dump"
	with=$(library "$1")
	bench_program env ${with:+LD_PRELOAD="$with"} "$bindir/pg_dump" -Fd \
		"$(option "${1#*/}")" -j "$2" -f "$scratch/dump"
}

checksums()	# of the files of the dump, by name
{
	bench_sql "SELECT format('%s,%s,%s', name, (pg_stat_file('$scratch/dump/' || name)).size, crc32c_file('$scratch/dump/' || name))
		FROM pg_ls_dir('$scratch/dump') name ORDER BY 1"
}

# Reads the dump back, timed, by its own library; sets elapsed and cpu.
restore()	# METHOD
{
	with=$(library "$1")
	bench_program env ${with:+LD_PRELOAD="$with"} "$bindir/pg_restore" -f /dev/null "$scratch/dump" ||
		bench_fail "$1: pg_restore cannot read the dump"
}

# Compares its data with the run before.  The table of contents carries the time
# of day, so it differs.
verify()	# METHOD
{
	checksums >"$scratch/sums"
	before=$scratch/sums.$(echo "$1" | tr '/:' '__')
	grep -v '^toc' "$scratch/sums" >"$scratch/sums.data"
	if [ -f "$before" ]; then
		cmp -s "$before" "$scratch/sums.data" || bench_fail "$1: the same data give another dump"
	else
		cp "$scratch/sums.data" "$before"
		sed "s/^/$(label "$1" | tr '/' '_'),/" "$scratch/sums" >>"$out/dump-crc32c.csv"
	fi
}

echo "method,file,bytes,crc32c" >"$out/dump-crc32c.csv"
dump_methods()	# RUN JOBS
{
	for method in $methods; do
		dump "$method" "$2"
		[ "$1" -gt 1 ] || [ "$2" != "${jobs_list%% *}" ] || verify "$method"
		size_mb=$(du -sb "$scratch/dump" | awk '{printf "%.2f", $1 / 1e6}')
		bench_row "pg_dump $2 jobs" "$(label "$method")" rate MB/s "$1" "$(echo "$elapsed" | awk -v b="$bytes" '{printf "%.2f", b / 1e6 / $1}')"
		bench_row "pg_dump $2 jobs" "$(label "$method")" CPU s "$1" "$cpu"
		bench_row "pg_dump $2 jobs" "$(label "$method")" size MB "$1" "$size_mb"
		[ "$2" = "${jobs_list%% *}" ] || continue
		restore "$method"
		bench_row "pg_restore" "$(label "$method")" elapsed s "$1" "$elapsed"
		bench_row "pg_restore" "$(label "$method")" CPU s "$1" "$cpu"
	done
}

for run in $(bench_rounds "$runs"); do
	bench_log "run $run of $runs"
	for jobs in $jobs_list; do
		dump_methods "$run" "$jobs"
	done
done
bench_stop main
