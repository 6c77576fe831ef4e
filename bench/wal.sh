#!/bin/sh
# wal.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# Every WAL record verified: verify_wal, kernel by kernel, beside
# pg_waldump of the same server, on one core and from cache.
#
# First the experiment of a pgsql-hackers message of 2014: the WAL of a fixed
# number of pgbench transactions, 2 million for 11 GB, scale 25; CPU time, user
# and system, of runs that last at least two seconds, with the CRC of that day
# (byte by byte), slicing-by-4, slicing-by-8, the SSE4.2 instruction and today's
# best kernel in the same verifier, and pg_waldump --stats.  The first two are
# no kernels of the extension: they are built into this part's copy of it.
#
# Then elapsed time, with pg_waldump -q less its start-up, for three kinds of
# WAL: that of pgbench; "small" (records of some 70 bytes, no full-page images);
# "fpi" (nearly nothing but full-page images).  Counts of records are compared
# with pg_waldump's before anything is timed.  The function's time contains the
# CRC-32C of each whole file, which pg_waldump does not compute.  --size is that
# of pgbench's WAL, roughly; the others are a quarter of it.
#
# pgbench's WAL also as gzip, lz4 and zstd compress it, beside the decoder alone
# and beside decoding it for pg_waldump -q.  And not compressed and not in the page
# cache, beside dd, with direct_io and without, and CPU per GB of each.  And as the
# server itself still has it: verify_wal beside verify_lost_writes.
#
#	SCALE=n			of pgbench (default 25; 5 below 1 GB)
#	TRANSACTIONS=n	of pgbench (default: as many as the size asks for)
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin wal "$@"
# shellcheck source=bench/make_wal.sh
. "$(dirname "$0")/make_wal.sh"
bench_need $((size_bytes * 3 + scale * 20000000 + 1000000000)) 600000000

cpu_runs=$runs	# the CRCs of 2014 take long
[ "$size_bytes" -lt 1000000000 ] || cpu_runs=${RUNS:-6}

# The CRCs of 2014 go into a copy of the sources: their files, and their rows
# after the others.
own_top=$top BENCH_STAGED=''
mkdir "$scratch/source"
copy_sources "$scratch/source"
cp "$top"/bench/kernels_2014/kernel_*.c "$scratch/source/src/kernel/"
awk -v rows="$top/bench/kernels_2014/rows.def" '/^KERNEL\(crc32c, any, bitwise/ {while ((getline line < rows) > 0) print line} {print}' \
	"$top/src/kernel/kernels.def" >"$scratch/source/src/kernel/kernels.def"
top=$scratch/source
bench_stage
top=$own_top
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 256MB
checkpoint_timeout = 1h
autovacuum = off"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# --- making WAL ------------------------------------------------------------

make_small()	# BYTES
{
	wal_begin off
	bench_sql "CREATE TABLE small (id int PRIMARY KEY, a int, b int)"
	n=0
	while [ "$(bytes_made)" -lt "$1" ]; do
		bench_sql "INSERT INTO small SELECT g, g, g FROM generate_series($((n * 100000 + 1)), $(((n + 1) * 100000))) g"
		bench_sql "UPDATE small SET a = a + 1 WHERE id > $((n * 100000)) AND id % 2 = 0"
		n=$((n + 1))
	done
	keep_wal small
	bench_sql "DROP TABLE small"
}

make_fpi()	# BYTES
{
	bench_sql "CREATE TABLE pages AS SELECT g AS id, repeat(md5(g::text), 20) AS filler
		FROM generate_series(1, $(($1 * 11 / 8192))) g"
	wal_begin on
	while [ "$(bytes_made)" -lt "$1" ]; do
		bench_sql "UPDATE pages SET id = id + 1 WHERE id % 11 = 0"
		bench_sql "CHECKPOINT"
	done
	keep_wal fpi
	bench_sql "DROP TABLE pages"
}

# --- what is compared ------------------------------------------------------

# Runs a query that counts what is wrong, which is nothing; sets elapsed, user and
# system (seconds), as the server measures the statement.
run_count()	# WORDS KERNEL QUERY
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "LOAD 'crc32c_accel'" \
		-c "SET crc32c_accel.kernel = '$2'" -c "SET client_min_messages = log" \
		-c "SET log_statement_stats = on" -c "$3" >"$scratch/ours.log" 2>&1
	grep -q '^0$' "$scratch/ours.log" || bench_fail "$1, $2: $(cat "$scratch/ours.log")"
	awk '/ elapsed$/ {u = $2; s = $5; e = $(NF - 2)} END {print e, u, s}' "$scratch/ours.log" >"$scratch/times"
	read -r elapsed user system <"$scratch/times"
}

# Verifies the folder PASSES times in one session.
run_ours()	# CASE KERNEL WORKERS PASSES
{
	run_count "$1" "$2" "SELECT count(*) FILTER (WHERE status NOT LIKE 'ok%') FROM generate_series(1, $4) pass,
		LATERAL verify_wal('$scratch/$1', workers => $3 + 0 * pass)"
}

# The same for pg_waldump; a record over the end of the last file makes it end
# with an error.
run_waldump()	# CASE PASSES OPTIONS...
{
	folder=$scratch/$1 times=$2
	shift 2
	# shellcheck disable=SC2012	# our own names
	bench_passes "$times" "$bindir/pg_waldump" "$@" -p "$folder" "$(ls "$folder" | head -1)" "$(ls "$folder" | tail -1)"
}

rows()	# CASE VARIANT RUN
{
	bench_row "$1" "$2" elapsed s "$3" "$elapsed"
	bench_row "$1" "$2" throughput GB/s "$3" "$(echo "$bytes $elapsed" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
	bench_row "$1" "$2" records 1/s "$3" "$(echo "$records $elapsed" | awk '{printf "%.0f", $1 / $2}')"
}

# Every segment whole, and as many records as pg_waldump counts.
check_wal()	# CASE; sets records and bytes
{
	summary=$(bench_sql "SELECT sum(records), count(*) FILTER (WHERE status NOT LIKE 'ok%'), sum(findings),
		sum(verified_bytes + zero_bytes + unverified_tail_bytes + unverified_head_bytes), round(avg(fpi_bytes / 16777.216)) / 10
		FROM verify_wal('$scratch/$1')")
	records=$(echo "$summary" | cut -d'|' -f1)
	bytes=$(echo "$summary" | cut -d'|' -f4)
	[ "$(echo "$summary" | cut -d'|' -f2,3)" = "0|0" ] || bench_fail "$1: the WAL is not whole: $summary"
	# shellcheck disable=SC2012	# our own names
	theirs=$(as_user "$bindir/pg_waldump" --stats -p "$scratch/$1" "$(ls "$scratch/$1" | head -1)" \
		"$(ls "$scratch/$1" | tail -1)" 2>/dev/null | awk '$1 == "Total" {print $2}')
	case $((records - theirs)) in
		-1 | 0 | 1) ;;
		*) bench_fail "$1: $records records, pg_waldump counts $theirs" ;;
	esac
	bench_row "$1" WAL bytes B 0 "$bytes"
	bench_row "$1" WAL records count 0 "$records"
	bench_row "$1" WAL images % 0 "$(echo "$summary" | cut -d'|' -f5)"
	bench_log "$1: $((bytes / 1000000)) MB, $records records, all as pg_waldump counts them"
}

measure_elapsed()	# CASE
{
	cat "$scratch/$1"/* >/dev/null
	for run in $(bench_rounds "$runs"); do
		run_waldump "$1" 1 -q -n 1
		bench_row "$1" "pg_waldump start-up" elapsed s "$run" "$elapsed"
		run_waldump "$1" 1 -q
		rows "$1" pg_waldump "$run"
		for kernel in sse42 auto; do
			known $kernel || continue
			run_ours "$1" $kernel 0 1
			rows "$1" $kernel "$run"
		done
		run_ours "$1" auto 2 1
		rows "$1" "auto 2 workers" "$run"
		bench_pread "$scratch/$1"/*
		rows "$1" "pread loop" "$run"
	done
}

# What the server still has of its WAL in pg_wal, and the blocks that it tells of.
measure_lost()
{
	bench_sql "CHECKPOINT"
	bench_row own WAL bytes B 0 "$(bytes_made)"
	bench_row own tables blocks count 0 "$(bench_sql "SELECT (sum(pg_relation_size(oid)) / current_setting('block_size')::int)::int
		FROM pg_class WHERE relname LIKE 'pgbench%'")"
	for run in $(bench_rounds "$runs"); do
		run_count own auto "SELECT count(*) FROM verify_wal() WHERE status NOT LIKE 'ok%'"
		bench_row own verify_wal elapsed s "$run" "$elapsed"
		run_count own auto "SELECT count(*) FROM verify_lost_writes()"
		bench_row own verify_lost_writes elapsed s "$run" "$elapsed"
	done
}

known()	# KERNEL
{
	case " $kernels " in
		*" $1 "*) return 0 ;;
	esac
	return 1
}

# --- compressed archives -----------------------------------------------------

# The same segments as gzip, lz4 and zstd leave them by default, beside the
# decoder alone and what one does without the function: decode, then pg_waldump.
measure_compressed()	# CASE
{
	first=$(basename "$(find "$scratch/$1" -type f | sort | head -1)")
	last=$(basename "$(find "$scratch/$1" -type f | sort | tail -1)")
	for program in gzip lz4 zstd; do
		case=$1_$program
		command -v $program >/dev/null || { bench_missing "$case" auto "no program $program"; continue; }
		as_user mkdir "$scratch/$case" "$scratch/decoded"
		for file in "$scratch/$1"/*; do
			as_user sh -c "$program -c -q <'$file' >'$scratch/$case/$(basename "$file")'"
		done
		if [ "$(bench_sql "SELECT count(*) FROM verify_wal('$scratch/$case') WHERE status NOT LIKE 'ok%'")" != 0 ]; then
			bench_missing "$case" auto "built without the library of $program"
		else
			bench_row "$case" WAL bytes B 0 "$(cat "$scratch/$case"/* | wc -c)"
			for run in $(bench_rounds "$runs"); do
				measure_decoder "$case" $program
				run_ours "$case" auto 0 1
				rows "$case" auto "$run"
				run_ours "$case" auto 2 1
				rows "$case" "auto 2 workers" "$run"
			done
		fi
		rm -r "${scratch:?}/$case" "${scratch:?}/decoded"
	done
}

measure_decoder()	# CASE PROGRAM
{
	bench_passes 1 sh -c "for file in '$scratch/$1'/*; do $2 -dc -q <\"\$file\" >/dev/null || exit 1; done"
	rows "$1" decoder "$run"
	# a record over the end of the last file makes pg_waldump end with an error
	bench_passes 1 sh -c "for file in '$scratch/$1'/*; do
			$2 -dc -q <\"\$file\" >\"$scratch/decoded/\${file##*/}\" || exit 1
		done
		'$bindir/pg_waldump' -q -p '$scratch/decoded' $first $last"
	rows "$1" "decoder and pg_waldump" "$run"
}

# --- CPU of passes that add up to two seconds ------------------------------

cpu_rows()	# VARIANT PASSES: per pass, so that no clock tick shows
{
	bench_row "pgbench" "$1" user s/pass "$run" "$(echo "$user $2" | awk '{printf "%.6f", $1 / $2}')"
	bench_row "pgbench" "$1" system s/pass "$run" "$(echo "$system $2" | awk '{printf "%.6f", $1 / $2}')"
	bench_row "pgbench" "$1" CPU s/pass "$run" "$(echo "$user $system $2" | awk '{printf "%.6f", ($1 + $2) / $3}')"
}

passes()	# of the run just timed, for two seconds and more
{
	echo "$elapsed" | awk '{n = int(2.2 / $1) + 1; print n}'
}

measure_cpu()
{
	for run in $(bench_rounds "$cpu_runs"); do
		bench_log "pgbench: CPU, run $run of $cpu_runs"
		for kernel in bytewise slicing4 slicing8 sse42 auto; do
			known $kernel || continue
			run_ours pgbench $kernel 0 1
			n=$(passes)
			run_ours pgbench $kernel 0 "$n"
			cpu_rows $kernel "$n"
		done
		run_waldump pgbench 1 --stats
		n=$(passes)
		run_waldump pgbench "$n" --stats
		cpu_rows "pg_waldump --stats" "$n"
	done
}

kernels="auto $(bench_sql "SELECT string_agg(kernel, ' ') FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available")"
{ known bytewise && known slicing4; } || bench_fail "the kernels of 2014 are not in: $kernels"
bench_note kernel "$(bench_sql "SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected")"
bench_read_loop
bench_log "pgbench: $transactions transactions, scale $scale"
wal_made=measure_lost
make_pgbench
check_wal pgbench
measure_elapsed pgbench
measure_compressed pgbench
for run in $(bench_rounds "$runs"); do
	bench_cold "$run" verify_wal "SELECT count(*) FROM verify_wal('$scratch/pgbench', direct_io => %s)" "$bytes" "$scratch"/pgbench/*
done
measure_cpu
rm -r "$scratch/pgbench"
for case in small fpi; do
	bench_log "making WAL: $case"
	make_$case $((size_bytes / 4))
	check_wal $case
	measure_elapsed $case
	rm -r "${scratch:?}/$case"
done
bench_stop main
