#!/bin/sh
# program.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# crc32c_verify, from the page cache, on one core and on two, beside what hosts
# without a server have for the same files:
#
# - wal: the WAL of pgbench, beside pg_waldump -q;
# - wal_gzip, wal_zstd, wal_lz4: the same compressed, beside gzip -t and so on,
#   which verify the compression and no record, and beside decoding it for pg_waldump -q;
# - backup: a plain base backup, beside pg_verifybackup, which looks at no page;
# - state: an archive of 10,000 small segments, read once with --state, and asked
#   for again when nothing is new.
#
# All are processes, so the start-up of each is in its time.  Before anything is
# timed, all is found in order.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin program "$@"
# shellcheck source=bench/make_wal.sh
. "$(dirname "$0")/make_wal.sh"
bench_need $((size_bytes * 5 + scale * 20000000 + 1500000000)) 600000000

segments=10000

bench_stage
program=$(find "$scratch/stage/" -name crc32c_verify -type f)
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 256MB
max_wal_senders = 4
checkpoint_timeout = 1h
autovacuum = off"
bench_start main

rows()	# CASE VARIANT RUN
{
	bench_row "$1" "$2" elapsed s "$3" "$elapsed"
	bench_row "$1" "$2" throughput GB/s "$3" "$(echo "$bytes $elapsed" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
}

ours()	# CASE RUN COMMAND ARGUMENT...
{
	case=$1 run=$2
	shift 2
	bench_program "$program" "$@" -q
	rows "$case" crc32c_verify "$run"
	bench_program "$program" "$@" -q -j2
	rows "$case" "crc32c_verify -j2" "$run"
}

# --- WAL -------------------------------------------------------------------

waldump="'$bindir/pg_waldump' -q -p"

# A record over the end of the last file makes pg_waldump end with an error.
measure_plain()
{
	cat "$scratch"/pgbench/* >/dev/null
	for run in $(bench_rounds "$runs"); do
		bench_passes 1 sh -c "$waldump '$scratch/pgbench' $first $last"
		rows wal pg_waldump "$run"
		ours wal "$run" wal "$scratch/pgbench"
		bench_pread "$scratch"/pgbench/*
		rows wal "pread loop" "$run"
	done
}

compress()	# PROGRAM SUFFIX
{
	as_user mkdir "$scratch/$1" "$scratch/decoded"
	for file in "$scratch"/pgbench/*; do
		as_user sh -c "$1 -c -q <'$file' >'$scratch/$1/${file##*/}$2'"
	done
	as_user "$program" wal -q "$scratch/$1" || bench_fail "$1: the WAL is not in order"
}

measure_compressed()	# PROGRAM SUFFIX, and what tests many files
{
	command -v "$1" >/dev/null || { bench_missing "wal_$1" crc32c_verify "no program $1"; return; }
	compress "$1" "$2"
	for run in $(bench_rounds "$runs"); do
		bench_passes 1 sh -c "exec $1 ${3:--tq} '$scratch/$1'/*"
		rows "wal_$1" "$1 -t" "$run"
		bench_passes 1 sh -c "ls '$scratch/$1'/* | xargs -n 1 -P 2 $1 -tq"
		rows "wal_$1" "two $1 -t" "$run"
		bench_passes 1 sh -c "for file in '$scratch/$1'/*; do
				name=\${file##*/}
				$1 -dcq \"\$file\" >\"$scratch/decoded/\${name%$2}\" || exit 1
			done
			$waldump '$scratch/decoded' $first $last"
		rows "wal_$1" "$1 -dc and pg_waldump" "$run"
		ours "wal_$1" "$run" wal "$scratch/$1"
	done
	rm -r "${scratch:?}/$1" "${scratch:?}/decoded"
}

# --- a backup ----------------------------------------------------------------

make_backup()
{
	for table in 1 2 3 4; do
		bench_sql "CREATE TABLE t$table AS SELECT g, md5(g::text) AS a, repeat('x', 60) AS b
			FROM generate_series(1, $((size_bytes / 4 / 136))) g"
	done
	bench_sql "VACUUM"
	bench_sql "CHECKPOINT"
	as_user "$bindir/pg_basebackup" -D "$scratch/backup" --checkpoint=fast --no-sync
	as_user "$program" backup -q "$scratch/backup" || bench_fail "the backup is not in order"
}

measure_backup()
{
	bytes=$(find "$scratch/backup" -type f -exec cat {} + | wc -c)
	for run in $(bench_rounds "$runs"); do
		bench_program "$bindir/pg_verifybackup" -q "$scratch/backup"
		rows backup pg_verifybackup "$run"
		ours backup "$run" backup "$scratch/backup"
		# shellcheck disable=SC2046	# names of our own
		bench_pread $(find "$scratch/backup" -type f)
		rows backup "pread loop" "$run"
	done
}

# --- state ---------------------------------------------------------------------

measure_state()
{
	as_user mkdir "$scratch/many"
	as_user perl -I"$top/test/t" -MSwitchedWal -e 'my ($dir, $count, $from) = @ARGV;
		open(my $file, "<:raw", $from) or die; read $file, my $magic, 2;
		SwitchedWal::make($dir, $count, size => 1 << 20, magic => unpack("S", $magic), system => 1)' \
		"$scratch/many" $segments "$scratch/pgbench/$first"
	for run in $(bench_rounds "$runs"); do
		rm -f "$scratch/state"
		for variant in "first run" "second run"; do
			bench_program "$program" wal -q "--state=$scratch/state" "$scratch/many"
			bench_row state "$variant" elapsed s "$run" "$elapsed"
		done
	done
	bench_note state "$segments segments of 1 MB with holes and one record each"
}

bench_read_loop
bench_log "pgbench: $transactions transactions, scale $scale"
make_pgbench
first=$(basename "$(find "$scratch/pgbench" -type f | sort | head -1)")
last=$(basename "$(find "$scratch/pgbench" -type f | sort | tail -1)")
bytes=$(cat "$scratch"/pgbench/* | wc -c)
as_user "$program" wal -q "$scratch/pgbench" || bench_fail "the WAL is not in order"
bench_row wal WAL bytes B 0 "$bytes"
bench_log "WAL: $((bytes / 1000000)) MB"
measure_plain
measure_compressed gzip .gz
measure_compressed zstd .zst
measure_compressed lz4 .lz4 -tqm
bench_log "a backup"
make_backup
measure_backup
bench_log "an archive of $segments segments"
measure_state
bench_stop main
