#!/bin/sh
# wal.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# Every record of write-ahead log verified: verify_wal_directory, kernel by
# kernel, beside pg_waldump -q of the same server, on one core and from cache.
# This is the experiment of a pgsql-hackers message of 2014 (slicing-by-8), in
# which reading 11 GB of pgbench's log took 29.8 s of user time with the CRC of
# that day, 7.9 s with slicing-by-8 and 3.3 s with the SSE4.2 instruction.
#
# Three logs: "pgbench" (TPC-B, as then), "small" (records of some 70 bytes, no
# full-page images) and "fpi" (nearly nothing but full-page images).  Counts of
# records are compared with pg_waldump's before anything is timed.  Times of the
# function contain the CRC-32C of each whole file, which pg_waldump does not
# compute.  --size is the log that is made, in all.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin wal "$@"
bench_need $((4 * size_bytes + 1000000000)) 600000000

runs=7
bench_stage
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 200GB
checkpoint_timeout = 1h
wal_keep_size = 200GB
autovacuum = off"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# --- making log ------------------------------------------------------------

lsn_begin()
{
	bench_sql "SELECT pg_switch_wal()" >/dev/null
	bench_sql "CHECKPOINT"
	begin=$(bench_wal_lsn)
}

bytes_made()
{
	echo $(($(bench_wal_lsn) - begin))
}

# Copies the whole segments since lsn_begin to a folder of their own.
keep_log()	# CASE
{
	first=$(bench_sql "SELECT pg_walfile_name('0/0'::pg_lsn + $begin + 1)")
	last=$(bench_sql "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
	bench_sql "SELECT pg_switch_wal()" >/dev/null
	as_user mkdir "$scratch/$1"
	for file in "$scratch"/main.data/pg_wal/0000*; do
		name=$(basename "$file")
		[ "$(printf '%s\n%s\n' "$first" "$name" | sort | head -1)" = "$first" ] || continue
		[ "$(printf '%s\n%s\n' "$name" "$last" | sort | head -1)" = "$name" ] || continue
		as_user cp "$file" "$scratch/$1/"
	done
}

make_small()
{
	lsn_begin
	bench_sql "CREATE TABLE small (id int PRIMARY KEY, a int, b int)"
	n=0
	while [ "$(bytes_made)" -lt "$1" ]; do
		bench_sql "INSERT INTO small SELECT g, g, g FROM generate_series($((n * 100000 + 1)), $(((n + 1) * 100000))) g"
		bench_sql "UPDATE small SET a = a + 1 WHERE id > $((n * 100000)) AND id % 2 = 0"
		n=$((n + 1))
	done
	keep_log small
}

make_fpi()
{
	bench_sql "ALTER SYSTEM SET full_page_writes = on"
	bench_sql "CREATE TABLE pages AS SELECT g AS id, repeat(md5(g::text), 20) AS filler
		FROM generate_series(1, $(($1 * 11 / 8192))) g"
	bench_reload main
	lsn_begin
	while [ "$(bytes_made)" -lt "$1" ]; do
		bench_sql "UPDATE pages SET id = id + 1 WHERE id % 11 = 0"
		bench_sql "CHECKPOINT"
	done
	keep_log fpi
}

make_pgbench()
{
	as_user "$bindir/pgbench" -h "$PGHOST" -U bench -i -q -s 10 postgres >/dev/null 2>&1
	lsn_begin
	stop=$(($(date +%s) + 60))
	while [ "$(bytes_made)" -lt "$1" ] && [ "$(date +%s)" -lt "$stop" ]; do
		as_user "$bindir/pgbench" -h "$PGHOST" -U bench -n -M prepared -c 2 -j 2 -T 4 postgres >/dev/null 2>&1
	done
	keep_log pgbench
}

# --- what is compared ------------------------------------------------------

# Runs the function in one session; sets elapsed and user (seconds), as the
# server itself measures a statement.
run_ours()	# CASE KERNEL WORKERS
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "LOAD 'crc32c_accel'" \
		-c "SET crc32c_accel.kernel = '$2'" -c "SET client_min_messages = log" \
		-c "SET log_statement_stats = on" \
		-c "SELECT count(*) FROM verify_wal_directory('$scratch/$1', workers => $3)" 2>&1 |
		awk '/ elapsed$/ {user = $2; elapsed = $(NF - 2)} END {print elapsed, user}' >"$scratch/ours.times"
	elapsed=$(cut -d' ' -f1 "$scratch/ours.times")
	user=$(cut -d' ' -f2 "$scratch/ours.times")
}

run_waldump()	# CASE
{
	# a record over the end of the last file makes it end with an error
	# shellcheck disable=SC2016,SC2046	# perl's variables; names without blanks
	bench_client perl -MTime::HiRes=time -e 'my ($program, $folder) = @ARGV; my @files = sort glob("$folder/*");
		s{.*/}{} foreach @files; my $t = time;
		system("$program -q -p $folder $files[0] $files[-1] >/dev/null 2>&1");
		my @cpu = times; printf "%.6f %.2f\n", time - $t, $cpu[2];' \
		"$bindir/pg_waldump" "$scratch/$1" >"$scratch/waldump.times"
	elapsed=$(cut -d' ' -f1 "$scratch/waldump.times")
	user=$(cut -d' ' -f2 "$scratch/waldump.times")
}

rows()	# CASE VARIANT RUN
{
	bench_row "$1" "$2" elapsed s "$3" "$elapsed"
	bench_row "$1" "$2" user s "$3" "$user"
	bench_row "$1" "$2" throughput GB/s "$3" "$(echo "$bytes $elapsed" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
	bench_row "$1" "$2" records 1/s "$3" "$(echo "$records $elapsed" | awk '{printf "%.0f", $1 / $2}')"
}

# Every segment whole, and as many records as pg_waldump counts.
check_log()	# CASE; sets records and bytes
{
	summary=$(bench_sql "SELECT sum(records), count(*) FILTER (WHERE status NOT LIKE 'ok%'), sum(errors),
		sum(bytes_verified + zero_bytes + tail_bytes + head_bytes), round(avg(fpi_bytes / 16777.216)) / 10
		FROM verify_wal_directory('$scratch/$1')")
	records=$(echo "$summary" | cut -d'|' -f1)
	bytes=$(echo "$summary" | cut -d'|' -f4)
	[ "$(echo "$summary" | cut -d'|' -f2,3)" = "0|0" ] || bench_fail "$1: the log is not whole: $summary"
	# shellcheck disable=SC2012	# our own names
	theirs=$(as_user "$bindir/pg_waldump" --stats -p "$scratch/$1" "$(ls "$scratch/$1" | head -1)" \
		"$(ls "$scratch/$1" | tail -1)" 2>/dev/null | awk '$1 == "Total" {print $2}')
	case $((records - theirs)) in
		-1 | 0 | 1) ;;
		*) bench_fail "$1: $records records, pg_waldump counts $theirs" ;;
	esac
	bench_row "$1" log bytes B 0 "$bytes"
	bench_row "$1" log records count 0 "$records"
	bench_row "$1" log images % 0 "$(echo "$summary" | cut -d'|' -f5)"
	bench_log "$1: $((bytes / 1000000)) MB, $records records, all as pg_waldump counts them"
}

measure()	# CASE
{
	check_log "$1"
	cat "$scratch/$1"/* >/dev/null
	for run in $(bench_runs $runs); do
		run_waldump "$1"
		rows "$1" pg_waldump "$run"
		for kernel in slicing8 sse42 auto; do
			case " $kernels " in *" $kernel "*) ;; *) continue ;; esac
			run_ours "$1" "$kernel" 0
			rows "$1" "$kernel" "$run"
		done
		run_ours "$1" auto 2
		rows "$1" "auto 2 workers" "$run"
	done
	awk -F, -v case="$1" '$2 == case && $4 == "elapsed" && (!($3 in best) || $7 < best[$3]) {best[$3] = $7}
		END {for (v in best) printf "%-16s %8.1f ms  %5.2f times pg_waldump\n", v, best[v] * 1000, best["pg_waldump"] / best[v]}' \
		"$bench_csv" | sort -k2n | while read -r line; do bench_log "$1: $line"; done
}

bench_log "making log: $size_bytes bytes in all"
make_small $((size_bytes * 2 / 5))
make_fpi $((size_bytes * 2 / 5))
make_pgbench $((size_bytes / 5))
kernels="auto $(bench_sql "SELECT string_agg(kernel, ' ') FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available" | tr '|' ' ')"
bench_note kernel "$(bench_sql "SELECT crc32c_kernel()")"
for log in pgbench small fpi; do
	measure "$log"
done
bench_stop main
