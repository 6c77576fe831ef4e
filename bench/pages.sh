#!/bin/sh
# pages.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# Verifying a table, beside everything else that reads it: pg_checksums --check
# (on a copy, for it needs the server stopped), a bare pread() loop, amcheck's
# verify_heapam, pageinspect's page_checksum over get_raw_page, SELECT count(*).
# Warm: from the page cache.  Cold: its pages dropped from there, beside dd, with
# direct_io and without, and CPU per GB of each.
# pg_checksums is a program, so its start-up is measured too, by a run that finds
# no file of its relation, and taken off in the report.  Then the same verifier
# with the page kernel varied: CPU of passes that add up to a second and more.
# --size is the table's.  Everything is found clean before it is timed, and
# interleaved.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin pages "$@"
bench_need $((3 * size_bytes + 1000000000)) $((2 * size_bytes + 500000000))

bench_stage
bench_read_loop
bench_cluster main --data-checksums "shared_buffers = 64MB
fsync = off
max_wal_size = 200GB
autovacuum = off
max_parallel_workers_per_gather = 0"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"
bench_sql "CREATE EXTENSION pageinspect" || bench_log "no pageinspect"
bench_sql "CREATE EXTENSION amcheck" || bench_log "no amcheck"
bench_log "making a table of $size_bytes bytes"
bench_sql "CREATE TABLE t AS SELECT g AS id, repeat(md5(g::text), 28) AS filler
	FROM generate_series(1, $((size_bytes / 1024))) g"
bench_sql "VACUUM t"
bench_sql "CHECKPOINT"
no_file=999999999	# no relation's: pg_checksums finds nothing to verify
filenode=$(bench_sql "SELECT pg_relation_filenode('t')")
paths=$(bench_sql "SELECT path FROM relation_files('t') WHERE fork = 'main' AND size > 0")
bytes=$(bench_sql "SELECT sum(size) FROM relation_files('t') WHERE fork = 'main'")
all_bytes=$(bench_sql "SELECT sum(size) FROM relation_files('t')")
files=
for path in $paths; do files="$files $(bench_data main)/$path"; done
bench_note table "$bytes bytes"
bench_note page_kernel "$(bench_sql "SELECT kernel FROM checksum_kernels() WHERE algorithm = 'page' AND selected")"

# pg_checksums needs a server that was shut down: a copy of one
bench_stop main
as_user cp -r "$(bench_data main)" "$scratch/copy.data"
bench_start main

[ "$(bench_sql "SELECT count(*) FROM verify_relation('t')")" = 0 ] || bench_fail "the table is not clean"
as_user "$bindir/pg_checksums" --check -f "$filenode" -D "$scratch/copy.data" >/dev/null ||
	bench_fail "pg_checksums finds something"

# Seconds of one statement, as psql sees them, without the session's start.
sql_seconds()	# SQL
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "LOAD 'crc32c_accel'" -c '\timing on' -c "$1" |
		awk '$1 == "Time:" {s = $2 / 1000} END {printf "%.6f\n", s}'
}

row()	# CASE VARIANT RUN SECONDS BYTES
{
	bench_row "$1" "$2" elapsed s "$3" "$4"
	bench_row "$1" "$2" rate GB/s "$3" "$(echo "$5 $4" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
}

run_ours()	# CASE RUN WORKERS VARIANT
{
	row "$1" "$4" "$2" "$(sql_seconds "SELECT * FROM verify_relation_summary('t', 'main', workers => $3)")" "$bytes"
}

run_sql()	# CASE VARIANT RUN SQL
{
	row "$1" "$2" "$3" "$(sql_seconds "$4")" "$bytes"
}

run_pg_checksums()	# FILENODE PASSES
{
	bench_passes "$2" "$bindir/pg_checksums" --check -f "$1" -D "$scratch/copy.data"
}

# CPU per pass of passes that add up to a second: of pg_checksums, and of its
# start-up alone.
pg_checksums_cpu()	# VARIANT FILENODE
{
	run_pg_checksums "$2" 1
	passes=$(echo "$elapsed" | awk '{print int(1.1 / $1) + 1}')
	run_pg_checksums "$2" "$passes"
	bench_row "CPU per pass" "$1" CPU s/pass "$run" "$(echo "$user $system $passes" | awk '{printf "%.6f", ($1 + $2) / $3}')"
}

# Verifies PASSES times in one session; sets elapsed and cpu, as the server
# measures the statement.
run_page_kernel()	# KERNEL PASSES
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "LOAD 'crc32c_accel'" \
		-c "SET crc32c_accel.page_kernel = '$1'" -c "SET client_min_messages = log" -c "SET log_statement_stats = on" \
		-c "SELECT count(*) FROM generate_series(1, $2) pass, LATERAL verify_relation_summary('t', 'main', workers => 0 * pass)" 2>&1 |
		awk '/ elapsed$/ {cpu = $2 + $5; e = $(NF - 2)} END {print e, cpu}' >"$scratch/times"
	read -r elapsed cpu <"$scratch/times"
}

has()	# FUNCTION
{
	[ "$(bench_sql "SELECT count(*) FROM pg_proc WHERE proname = '$1'")" -gt 0 ]
}

# shellcheck disable=SC2086	# a list of files
cat $files >/dev/null
for run in $(bench_rounds "$runs"); do
	run_ours warm "$run" 0 verify_relation_summary
	# shellcheck disable=SC2086
	bench_pread $files
	row warm "pread loop" "$run" "$elapsed" "$bytes"
	run_pg_checksums "$filenode" 1
	row warm "pg_checksums --check" "$run" "$elapsed" "$all_bytes"
	run_pg_checksums "$no_file" 1
	bench_row warm "pg_checksums start-up" elapsed s "$run" "$elapsed"
	run_ours warm "$run" 2 "verify_relation_summary 2 workers"
	run_sql warm "SELECT count(*)" "$run" "SELECT count(*) FROM t"
	if has get_raw_page; then
		run_sql warm "page_checksum(get_raw_page)" "$run" \
			"SELECT count(page_checksum(get_raw_page('t', b::int), b::int)) FROM generate_series(0, $bytes / 8192 - 1) b"
	fi
	if has verify_heapam; then
		run_sql warm verify_heapam "$run" "SELECT count(*) FROM verify_heapam('t')"
	fi
	bench_log "warm: run $run of $runs"
done
has get_raw_page || bench_missing warm "page_checksum(get_raw_page)" "no pageinspect here"
has verify_heapam || bench_missing warm verify_heapam "no amcheck here"

kernels=$(bench_sql "SELECT string_agg(kernel, ' ' ORDER BY position DESC) FROM (SELECT kernel, row_number() OVER () AS position
	FROM checksum_kernels() WHERE algorithm = 'page' AND available) k")
for run in $(bench_rounds "$runs"); do
	for kernel in $kernels; do
		run_page_kernel "$kernel" 1
		passes=$(echo "$elapsed" | awk '{print int(1.1 / $1) + 1}')
		run_page_kernel "$kernel" "$passes"
		bench_row "CPU per pass" "$kernel" CPU s/pass "$run" "$(echo "$cpu $passes" | awk '{printf "%.6f", $1 / $2}')"
	done
	pg_checksums_cpu "pg_checksums --check" "$filenode"
	pg_checksums_cpu "pg_checksums start-up" "$no_file"
	bench_log "CPU per pass: run $run of $runs"
done

copied=
for path in $paths; do copied="$copied $scratch/copy.data/$path"; done
# shellcheck disable=SC2086
cold_pg_checksums()
{
	"$scratch/read_loop" drop $copied >/dev/null
	run_pg_checksums "$filenode" 1
	row cold "pg_checksums --check" "$run" "$elapsed" "$all_bytes"
}
# shellcheck disable=SC2086
for run in $(bench_rounds "$runs"); do	# pg_checksums last and first in turns
	[ $((run % 2)) = 1 ] || cold_pg_checksums
	bench_cold "$run" verify_relation_summary "SELECT * FROM verify_relation_summary('t', 'main', direct_io => %s)" "$bytes" $files
	[ $((run % 2)) = 0 ] || cold_pg_checksums
	bench_log "cold: run $run of $runs"
done
bench_stop main

awk -F, '$4 == "elapsed" {key = $2 "," $3; if (!(key in best) || $7 < best[key]) best[key] = $7}
	$4 == "rate" {key = $2 "," $3; if ($7 > rate[key]) rate[key] = $7}
	END {for (key in rate) {split(key, k, ","); base = rate[k[1] ",verify_relation_summary"]
		printf "%s %-34s %8.3f s %7.3f GB/s   verify_relation_summary: %5.2f times\n", k[1], k[2], best[key], rate[key], base / rate[key]}}' \
	"$bench_csv" | sort | while read -r line; do bench_log "$line"; done
