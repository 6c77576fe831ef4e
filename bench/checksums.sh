#!/bin/sh
# checksums.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# What data checksums cost: the cases of Command Prompt's study (2019, PostgreSQL
# 10) and its predictions, on three clusters, interleaved: without data checksums
# (off), with them (on), and without them but with wal_log_hints (off +
# wal_log_hints), which the study expects to cost the same as checksums.
#
# The clusters do the same work: pgbench with the same seed and number of
# transactions at a fixed rate, over rows that were not loaded frozen, then the
# VACUUM and CHECKPOINT that end the study's run; read-only queries from cache;
# data logging, 99 inserts to a read; an insert; the first SELECT after it, which
# sets hint bits; the second; pg_dump of fresh and of read rows; an ETL step, which
# inserts, updates rows scattered over the table, and reads all of it.  All but the
# read-only queries and the logging start cold: the server restarted, the tables
# dropped from the page cache.  No parallel workers.  Times of
# statements are the server's own.  Then the rate of checksums: POSIX cksum, our
# kernels, and the page checksum itself.  The table has the size given.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin checksums "$@"

file_bytes=1073741824
bench_need $((12 * size_bytes + 2 * file_bytes)) $((size_bytes + 500000000))
rate=400 transactions=400 scale=2 reads=5000
[ "$size_bytes" -lt 1000000000 ] || rate=200 transactions=2000 scale=10 reads=100000
[ "$size_bytes" -lt 10000000000 ] || transactions=6000 scale=25
variants="off on hints"

bench_stage
bench_read_loop
buffers_mb=$((size_bytes / 4194304))
[ $buffers_mb -ge 16 ] || buffers_mb=16
settings="shared_buffers = ${buffers_mb}MB
max_wal_size = 64GB
checkpoint_timeout = 1h
autovacuum = off
max_parallel_workers_per_gather = 0"
bench_note settings "$(echo "$settings" | tr '\n' ',' | sed 's/,$//; s/,/, /g'), else as initdb made them"
bench_note "OLTP" "2 clients of $transactions transactions, $rate a second, scale $scale, not loaded frozen"
memory_mb=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) / 1024))
larger=''
[ $((size_bytes / 1048576)) -gt $memory_mb ] || larger="not "
bench_note "insert" "$((size_bytes / 1048576)) MB, ${larger}larger than the memory of $memory_mb MB (the study's was; name a --size)"
off_option=''
[ "$pg_major" -lt 18 ] || off_option=--no-data-checksums
bench_cluster off "$off_option" "$settings"
bench_cluster on --data-checksums "$settings"
bench_cluster hints "$off_option" "$settings
wal_log_hints = on"

# Correct first: the clusters are what they are called.
expected()	# CLUSTER: its data_checksums and wal_log_hints
{
	case $1 in
		off) echo "off|off" ;;
		on) echo "on|off" ;;
		hints) echo "off|on" ;;
	esac
}
for variant in $variants; do
	bench_start "$variant"
	[ "$(bench_sql "SELECT current_setting('data_checksums'), current_setting('wal_log_hints')")" = "$(expected "$variant")" ] ||
		bench_fail "cluster $variant is not $(expected "$variant")"
	bench_sql "CREATE EXTENSION crc32c_accel"
done

label()	# CLUSTER
{
	[ "$1" = hints ] && echo "off + wal_log_hints" || echo "$1"
}

order()	# rotates who goes first
{
	case $((run % 3)) in
		1) echo off on hints ;;
		2) echo on hints off ;;
		0) echo hints off on ;;
	esac
}

# --- one measurement -------------------------------------------------------

snapshot()	# VARIANT: CPU, WAL bytes, bytes read, bytes written
{
	bench_use "$1"
	bench_settle
	echo "$(bench_cluster_cpu "$1") $(bench_wal_lsn) $(bench_cluster_io "$1")"
}

used()	# CASE VARIANT BEFORE: what was used since the snapshot, one row a metric
{
	# shellcheck disable=SC2046,SC2086	# two lists of four numbers
	set -- "$1" "$2" $3 $(snapshot "$2")
	name=$(label "$2")
	bench_row "$1" "$name" CPU s "$run" "$(echo "$3 $7" | awk '{printf "%.2f", $2 - $1}')"
	bench_row "$1" "$name" WAL MB "$run" "$(echo "$4 $8" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
	bench_row "$1" "$name" read MB "$run" "$(echo "$5 $9" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
	bench_row "$1" "$name" written MB "$run" "$(echo "$6 ${10}" | awk '{printf "%.3f", ($2 - $1) / 1e6}')"
}

work()	# CASE VARIANT CMD...: CMD sets elapsed
{
	case=$1 variant=$2
	shift 2
	before=$(snapshot "$variant")
	"$@"
	bench_row "$case" "$(label "$variant")" elapsed s "$run" "$elapsed"
	used "$case" "$variant" "$before"
}

executed()	# QUERY: sets elapsed to the server's own time; rows are not sent
{
	elapsed=$(bench_sql "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $1" |
		awk '/^Execution Time:/ {printf "%.6f", $3 / 1000}')
	[ -n "$elapsed" ] || bench_fail "this failed: $1"
}

# The server restarted, the tables dropped from the page cache.
make_cold()	# VARIANT TABLE...
{
	bench_use "$1"
	files=
	for table in $(shift; echo "$@"); do
		files="$files $(bench_sql "SELECT string_agg('$scratch/$1.data/' || path, ' ') FROM relation_files('$table') WHERE size > 0")"
	done
	bench_stop "$1"
	# shellcheck disable=SC2086	# a list of files
	"$scratch/read_loop" drop $files >/dev/null
	bench_start "$1"
}

# --- one large table -------------------------------------------------------

rows=$((size_bytes / 430))
fill()	# sets elapsed; the CHECKPOINT counts as use, not as time
{
	bench_statement "INSERT INTO t SELECT g, repeat('x', 380) FROM generate_series(1, $rows) g"
	bench_sql "CHECKPOINT"
}

empty_table()
{
	bench_sql "SET client_min_messages = warning; DROP TABLE IF EXISTS t; CREATE TABLE t (id bigint, filler text)"
	bench_sql "CHECKPOINT"
}

dump()
{
	bench_timed bench_client "$bindir/pg_dump" -t t -f /dev/null
}

# One step over a table larger than shared buffers; sets elapsed.  It takes longer
# than a checkpoint does where tables are large: so there is one after each part.
etl()
{
	total=0
	for statement in "INSERT INTO t SELECT g, repeat('y', 380) FROM generate_series($rows + 1, $rows + $rows / 20) g" \
		CHECKPOINT "UPDATE t SET filler = repeat('z', 380) WHERE id % 200 = 7" CHECKPOINT "SELECT count(filler) FROM t" CHECKPOINT; do
		bench_statement "$statement"
		total=$(echo "$total $elapsed" | awk '{printf "%.6f", $1 + $2}')
	done
	elapsed=$total
}

large_table()	# VARIANT
{
	bench_use "$1"
	empty_table
	work "insert" "$1" fill
	make_cold "$1" t
	work "first SELECT" "$1" executed "SELECT * FROM t"
	make_cold "$1" t
	work "second SELECT" "$1" executed "SELECT * FROM t"
	make_cold "$1" t
	work "dump of read rows" "$1" dump
	make_cold "$1" t
	work "ETL" "$1" etl
	empty_table
	fill
	make_cold "$1" t
	work "dump of fresh rows" "$1" dump
	[ "$(bench_sql 'SELECT count(*) FROM t')" = "$rows" ] || bench_fail "cluster $1 lost rows"
	bench_sql "DROP TABLE t"
}

for run in $(bench_rounds "$runs"); do
	bench_log "insert, SELECTs, dumps: run $run of $runs"
	for variant in $(order); do
		large_table "$variant"
	done
done

# --- OLTP ------------------------------------------------------------------

pgbench()	# VARIANT OPTIONS...: sets elapsed and tps
{
	log=$scratch/$1.pgbench
	shift
	bench_timed bench_client "$bindir/pgbench" -n -c 2 --random-seed="$run" "$@" >"$log" 2>&1 || {
		cat "$log" >&2
		bench_fail "pgbench failed"
	}
	tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$log" | head -1)
}

# Rows by INSERT in the server, so not frozen, after the keys, whose making would
# set hint bits; no VACUUM.
load()	# VARIANT
{
	bench_use "$1"
	bench_client "$bindir/pgbench" -i -I dtpG -q -s $scale >/dev/null 2>&1
	bench_sql "CHECKPOINT"
}

oltp()	# CASE VARIANT SCRIPTS...
{
	case=$1 variant=$2
	shift 2
	load "$variant"
	make_cold "$variant" pgbench_accounts pgbench_accounts_pkey pgbench_branches pgbench_tellers
	start=$(snapshot "$variant")
	pgbench "$variant" -R $rate -t $transactions "$@"
	used "$case" "$variant" "$start"
	bench_row "$case" "$(label "$variant")" rate tps "$run" "$tps"
	bench_statement "VACUUM"
	vacuum=$elapsed
	bench_statement "CHECKPOINT"
	case="$case with final VACUUM and CHECKPOINT"
	bench_row "$case" "$(label "$variant")" "elapsed of these two" s "$run" "$(echo "$vacuum $elapsed" | awk '{print $1 + $2}')"
	used "$case" "$variant" "$start"
}

# The rows were read by VACUUM, and fit shared_buffers; two rounds warm up.
read_only()	# VARIANT
{
	bench_use "$1"
	pgbench "$1" -S -t 1000
	work "read-only from cache" "$1" pgbench "$1" -S -M prepared -t $reads
}

echo "INSERT INTO log (id, message) SELECT g, repeat('x', 200) FROM generate_series(1, 10) g" >"$scratch/log.sql"
echo "SELECT message FROM log ORDER BY at DESC LIMIT 10" >"$scratch/read.sql"
chmod a+r "$scratch/log.sql" "$scratch/read.sql"
logging()	# VARIANT
{
	bench_use "$1"
	bench_sql "SET client_min_messages = warning; DROP TABLE IF EXISTS log;
		CREATE TABLE log (at timestamptz DEFAULT now(), id bigint, message text); CREATE INDEX ON log (at); CHECKPOINT"
	start=$(snapshot "$1")
	pgbench "$1" -R $rate -t $transactions -f "$scratch/log.sql@99" -f "$scratch/read.sql@1"
	bench_sql "CHECKPOINT"
	used "data logging" "$1" "$start"
}

for run in $(bench_rounds "$runs"); do
	bench_log "OLTP: run $run of $runs"
	for variant in $(order); do
		oltp "OLTP" "$variant" -b tpcb-like
	done
	for variant in $(order); do
		oltp "OLTP 9 reads to 1 write" "$variant" -b select-only@9 -b tpcb-like@1
	done
	for variant in $(order); do
		read_only "$variant"
	done
	for variant in $(order); do
		logging "$variant"
	done
done

# --- the rate of a checksum ------------------------------------------------

bench_use on
bench_log "checksum of a file of $((file_bytes / 1048576)) MB"
file=$scratch/file
head -c $file_bytes /dev/zero >"$file"
chmod a+r "$file"
file_case="checksum of 1 GB"
kernels=$(bench_sql "SELECT string_agg(kernel, ' ') FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available AND
	(selected OR kernel IN ('sse42', 'armv8', 'slicing8'))")

file_rows()	# VARIANT: from elapsed and cpu
{
	bench_row "$file_case" "$1" rate MB/s "$run" "$(echo "$elapsed" | awk -v b=$file_bytes '{printf "%.1f", b / 1e6 / $1}')"
	bench_row "$file_case" "$1" CPU s "$run" "$cpu"
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
for run in $(bench_rounds "$runs"); do
	by_program "cksum (POSIX)" cksum
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
	# what the server computes for a page: FNV, not CRC-32 as the study took it to be
	bench_sql "SELECT kernel, round((8192 / ns_min * 1000)::numeric, 1) FROM checksum_bench('page', '{8192}', min_time => '50 ms')" |
		while IFS='|' read -r kernel megabytes; do
			bench_row "page checksum in cache" "$kernel" rate MB/s "$run" "$megabytes"
		done
done
rm "$file"

# and nothing was broken meanwhile
for variant in $variants; do
	bench_stop "$variant"
done
as_user "$bindir/pg_checksums" --check -D "$(bench_data on)" >/dev/null || bench_fail "pg_checksums finds damage"
