#!/bin/sh
# dump.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#	[--preload LIBRARY]
#
# pg_dump in directory format by compression method and number of jobs, as the
# zlib-accel project measures it: throughput (the report normalises it to gzip)
# and size.  With --preload the gzip rows run once more with that library in
# front of zlib (zlib-ng's or zlib-accel's, say).  Every dump is read back by
# pg_restore, and the CRC-32C of each of its files is kept in dump-crc32c.csv, so
# that a later run can tell a changed dump; the same dump made twice must agree.
# The database has half the size given.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin dump "$@"
bench_need $((4 * size_bytes)) $((size_bytes + 500000000))

runs=3 jobs_list="1 2"
[ "$size_bytes" -lt 1000000000 ] || jobs_list="1 2 4 8 16"
[ "$size_bytes" -lt 10000000000 ] || jobs_list="4 8 16 32 64"
ntables=${jobs_list##* }	# pg_dump works on a table per job: fewer would leave jobs idle
[ "$ntables" -ge 8 ] || ntables=8

bench_stage
bench_cluster main --data-checksums "shared_buffers = 128MB
fsync = off
max_wal_size = 16GB
autovacuum = off"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# Half of a row compresses well, half of it hardly, as in many a business table.
bench_log "filling $ntables tables"
rows=$((size_bytes / 2 / ntables / 200))
table=0
while [ $table -lt "$ntables" ]; do
	table=$((table + 1))
	bench_sql "CREATE TABLE t$table AS SELECT g AS id, md5(g::text) AS reference, now()::date - g % 1000 AS day,
		'customer ' || g % 500 || ' ordered ' || g % 7 || ' of article ' || g % 97 || ' to be delivered' AS remark,
		(g * 7919::bigint % 100000)::numeric / 100 AS amount FROM generate_series($table * 10000000, $table * 10000000 + $rows) g"
done
bytes=$(bench_sql "SELECT sum(pg_table_size(oid)) FROM pg_class WHERE relname ~ '^t[0-9]' AND relkind = 'r'")
bench_sql "SELECT count(*) FROM t1" >/dev/null
bench_note database "$((bytes / 1000000)) MB in $ntables tables"

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
for method in gzip:6 gzip:1 none lz4 zstd zstd:1; do
	if [ -z "$(option $method)" ]; then
		bench_missing "pg_dump" "$method" "pg_dump $pg_major has no such method (16 and later have)"
	elif bench_client "$bindir/pg_dump" -Fc "$(option $method)" -t nothing_of_this_name -f /dev/null 2>&1 | grep -q 'not supported'; then
		bench_missing "pg_dump" "$method" "this build of pg_dump does not support it"
	else
		methods="$methods $method"
	fi
done
if [ -n "$preload" ] && [ -f "$preload" ]; then
	methods="$methods preload/gzip:6 preload/gzip:1"
elif [ -n "$preload" ]; then
	bench_missing "pg_dump" "gzip with $preload" "not installed"
else
	bench_missing "pg_dump" "gzip with another zlib" "no --preload LIBRARY named (zlib-ng's or zlib-accel's)"
fi

label()	# METHOD
{
	case $1 in
		preload/*) echo "${1#preload/} with $(basename "$preload")" ;;
		*) echo "$1" ;;
	esac
}

dump()	# METHOD JOBS
{
	rm -rf "$scratch/dump"
	case $1 in
		preload/*) library=$preload ;;
		*) library='' ;;
	esac
	bench_program env ${library:+LD_PRELOAD="$library"} "$bindir/pg_dump" -Fd \
		"$(option "${1#preload/}")" -j "$2" -f "$scratch/dump"
}

checksums()	# of the files of the dump, by name
{
	bench_sql "SELECT format('%s,%s,%s', name, (pg_stat_file('$scratch/dump/' || name)).size, crc32c_file('$scratch/dump/' || name))
		FROM pg_ls_dir('$scratch/dump') name ORDER BY 1"
}

# Reads the dump back, and compares its data with the run before.  The table of
# contents carries the time of day, so it differs.
verify()	# METHOD JOBS
{
	bench_client "$bindir/pg_restore" -f /dev/null "$scratch/dump" || bench_fail "$1: pg_restore cannot read the dump"
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
		[ "$1" -gt 2 ] || [ "$2" != "${jobs_list%% *}" ] || verify "$method" "$2"
		size_mb=$(du -sb "$scratch/dump" | awk '{printf "%.2f", $1 / 1e6}')
		bench_row "pg_dump $2 jobs" "$(label "$method")" rate MB/s "$1" "$(echo "$elapsed" | awk -v b="$bytes" '{printf "%.2f", b / 1e6 / $1}')"
		bench_row "pg_dump $2 jobs" "$(label "$method")" cpu s "$1" "$cpu"
		bench_row "pg_dump $2 jobs" "$(label "$method")" size MB "$1" "$size_mb"
	done
}

for run in $(bench_runs $runs); do
	bench_log "run $run of $runs"
	for jobs in $jobs_list; do
		dump_methods "$run" "$jobs"
	done
done
bench_stop main
