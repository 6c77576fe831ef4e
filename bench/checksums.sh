#!/bin/sh
# checksums.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# The five cases of Command Prompt's study of data checksums (2019, PostgreSQL
# 10), on two clusters, one with data checksums and one without, interleaved:
# the rate of a plain checksum over a file (cksum, and our kernels in its place);
# OLTP at a fixed rate; an insert larger than shared_buffers; the first SELECT
# after it, which sets hint bits (and logs them where there are checksums); the
# second SELECT.  Shown: duration, CPU, WAL, bytes read and written.  The table of
# the insert has the size given.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin checksums "$@"

file_bytes=1073741824
bench_need $((8 * size_bytes + 2 * file_bytes)) $((size_bytes + 500000000))
runs=3 seconds=4
[ "$size_bytes" -lt 1000000000 ] || runs=5 seconds=30
rate=200 scale=5

bench_stage
buffers_mb=$((size_bytes / 4194304))
[ $buffers_mb -ge 16 ] || buffers_mb=16
settings="shared_buffers = ${buffers_mb}MB
max_wal_size = 64GB
checkpoint_timeout = 1h
autovacuum = off"
bench_note settings "$(echo "$settings" | tr '\n' ',' | sed 's/,$//; s/,/, /g'), else as initdb made them"
off_option=''
[ "$pg_major" -lt 18 ] || off_option=--no-data-checksums
bench_cluster off "$off_option" "$settings"
bench_cluster on --data-checksums "$settings"

# Correct first: the clusters are what they are called.
for variant in off on; do
	bench_start $variant
	[ "$(bench_sql 'SHOW data_checksums')" = $variant ] || bench_fail "cluster $variant is not $variant"
	bench_sql "CREATE EXTENSION crc32c_accel"
done

# --- the rate of a checksum ------------------------------------------------

bench_log "checksum of a file of $((file_bytes / 1048576)) MB"
file=$scratch/file
head -c $file_bytes /dev/zero | tr '\0' 'a' >"$file"
chmod a+r "$file"
file_case="checksum of a 1 GB file"
kernels=$(bench_sql "SELECT string_agg(kernel, ' ') FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available AND
	(selected OR kernel IN ('sse42', 'armv8', 'slicing8'))")

file_rows()	# VARIANT: from elapsed and cpu
{
	bench_row "$file_case" "$1" rate MB/s "$run" "$(echo "$elapsed" | awk -v b=$file_bytes '{printf "%.1f", b / 1e6 / $1}')"
	bench_row "$file_case" "$1" cpu s "$run" "$cpu"
}

by_program()	# VARIANT CMD...
{
	variant=$1
	shift
	bench_program "$@" "$file" >"$scratch/sum"
	file_rows "$variant"
}

by_kernel()	# KERNEL: also checks its result against the other kernels'
{
	bench_settle
	before=$(bench_cluster_cpu on)
	bench_timed bench_sql "SET crc32c_accel.kernel = $1; SELECT crc32c_file('$file')" >"$scratch/sum"
	bench_settle
	cpu=$(awk -v a="$before" -v b="$(bench_cluster_cpu on)" 'BEGIN {printf "%.2f", b - a}')
	[ -f "$scratch/sum.first" ] || cp "$scratch/sum" "$scratch/sum.first"
	cmp -s "$scratch/sum" "$scratch/sum.first" || bench_fail "kernel $1 gives another checksum of the file"
	file_rows "crc32c_file $1"
}

cat "$file" >/dev/null
for run in $(bench_runs "$runs"); do
	by_program "cksum" cksum
	for algorithm in crc32c crc32b; do
		if cksum -a $algorithm /dev/null >/dev/null 2>&1; then
			by_program "cksum -a $algorithm" cksum -a $algorithm
		elif [ "$run" = 1 ]; then
			bench_missing "$file_case" "cksum -a $algorithm" "$(cksum --version | head -1) does not have it"
		fi
	done
	for kernel in $kernels; do
		by_kernel "$kernel"
	done
done
rm "$file"

# --- the same work on both clusters ----------------------------------------

snapshot()	# VARIANT: CPU, WAL bytes, bytes read, bytes written
{
	bench_use "$1"
	bench_settle
	echo "$(bench_cluster_cpu "$1") $(bench_wal_lsn) $(bench_cluster_io "$1")"
}

work()	# CASE VARIANT CMD...: one row a metric
{
	case=$1 variant=$2
	shift 2
	before=$(snapshot "$variant")
	bench_timed "$@" >/dev/null
	# shellcheck disable=SC2046,SC2086	# two lists of four numbers
	set -- $before $(snapshot "$variant")
	bench_row "$case" "$variant" elapsed s "$run" "$elapsed"
	bench_row "$case" "$variant" cpu s "$run" "$(echo "$1 $5" | awk '{printf "%.2f", $2 - $1}')"
	bench_row "$case" "$variant" wal MB "$run" "$(echo "$2 $6" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
	bench_row "$case" "$variant" read MB "$run" "$(echo "$3 $7" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
	bench_row "$case" "$variant" written MB "$run" "$(echo "$4 $8" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
}

order()	# alternates who goes first
{
	[ $((run % 2)) = 1 ] && echo off on || echo on off
}

rows=$((size_bytes / 430))
for run in $(bench_runs "$runs"); do
	bench_log "insert, first and second SELECT: run $run of $runs"
	for variant in $(order); do
		bench_use "$variant"
		bench_sql "SET client_min_messages = warning; DROP TABLE IF EXISTS t; CREATE TABLE t (id bigint, filler text)"
		bench_sql "CHECKPOINT"
		work "insert larger than shared_buffers" "$variant" \
			bench_sql "INSERT INTO t SELECT g, repeat('x', 380) FROM generate_series(1, $rows) g"
		bench_sql "CHECKPOINT"
		work "first SELECT (hint bits)" "$variant" bench_sql "SELECT count(*) FROM t"
		work "second SELECT" "$variant" bench_sql "SELECT count(*) FROM t"
	done
done
for variant in off on; do
	bench_use "$variant"
	[ "$(bench_sql 'SELECT count(*) FROM t')" = "$rows" ] || bench_fail "cluster $variant lost rows"
	bench_sql "DROP TABLE t"
	bench_client "$bindir/pgbench" -i -q -s $scale >/dev/null 2>&1
	bench_sql "CHECKPOINT"
done

# pgbench checks that the rate was kept: a saturated machine would say nothing.
for run in $(bench_runs "$runs"); do
	bench_log "OLTP at $rate transactions a second, $seconds s: run $run of $runs"
	for variant in $(order); do
		bench_use "$variant"
		bench_sql "CHECKPOINT"
		# shellcheck disable=SC2016	# for the inner shell
		work "OLTP at a fixed rate" "$variant" \
			bench_client sh -c 'exec "$@" >"$0" 2>&1' "$scratch/$variant.pgbench" \
			"$bindir/pgbench" -n -c 2 -R $rate -T "$seconds"
		bench_row "OLTP at a fixed rate" "$variant" rate tps "$run" \
			"$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$scratch/$variant.pgbench" | head -1)"
	done
done

# and nothing was broken meanwhile
bench_stop off
bench_stop on
as_user "$bindir/pg_checksums" --check -D "$(bench_data on)" >/dev/null || bench_fail "pg_checksums finds damage"
