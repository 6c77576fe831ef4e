#!/bin/sh
# backup.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# A plain base backup verified, from the page cache: verify_backup beside
# pg_verifybackup of the same server, interleaved.  Cases are the checksum
# algorithms of the manifest.  pg_verifybackup compares hashes; with -n it leaves
# out the WAL.  verify_backup always reads the WAL too, and by default judges
# every page in the same read.
#
# The start-up of pg_verifybackup is measured by a manifest of one file, and
# taken off.  The time of verify_backup is that of the statement.  Before
# anything is timed, both must find the backup in order, and both must find a
# changed byte.
#
# Then a cold backup: what is not in the page cache, verified through it and past
# it, beside dd the same two ways, and CPU per GB of each.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin backup "$@"
bench_need $((size_bytes * 4 + 1000000000)) $((size_bytes * 2 + 600000000))

bench_stage
bench_cluster main "--data-checksums --wal-segsize=1" "shared_buffers = 256MB
fsync = off
wal_level = replica
max_wal_senders = 4
max_wal_size = 4GB
autovacuum = off"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# Eight tables, so that workers have files to share.
make_tables()
{
	bench_log "making tables"
	for table in 1 2 3 4 5 6 7 8; do
		bench_sql "CREATE TABLE t$table AS SELECT g, md5(g::text) AS a, repeat('x', 60) AS b
			FROM generate_series(1, $((size_bytes / 8 / 136))) g"
	done
	bench_sql "VACUUM"
	bench_sql "CHECKPOINT"
}

make_backup()	# ALGORITHM
{
	as_user "$bindir/pg_basebackup" -D "$scratch/$1" --checkpoint=fast --no-sync --manifest-checksums="$1"
	bytes=$(bench_sql "SELECT read_bytes FROM verify_backup_summary('$scratch/$1')")
	bench_row "$1" backup bytes B 0 "$bytes"
}

# Both find it in order, and both find a changed byte.
check_backup()	# ALGORITHM
{
	[ "$(bench_sql "SELECT status FROM verify_backup_summary('$scratch/$1')")" = ok ] ||
		bench_fail "$1: the backup is not in order"
	as_user "$bindir/pg_verifybackup" -q "$scratch/$1" || bench_fail "$1: pg_verifybackup finds something"
	# shellcheck disable=SC2016	# the inner shell's
	as_user sh -c 'printf x | dd of="$1" bs=1 seek=100 conv=notrunc 2>/dev/null' sh "$scratch/$1/pg_xact/0000"
	[ "$(bench_sql "SELECT string_agg(path || status, ' ') FROM verify_backup('$scratch/$1')")" = "pg_xact/0000checksum_mismatch" ] ||
		bench_fail "$1: verify_backup does not find a changed byte"
	! as_user "$bindir/pg_verifybackup" -q -n "$scratch/$1" 2>/dev/null ||
		bench_fail "$1: pg_verifybackup does not find a changed byte"
	rm -r "${scratch:?}/$1"
	make_backup "$1"
}

# A backup of one small file: what the program takes to start.
make_small()
{
	as_user mkdir "$scratch/small"
	# shellcheck disable=SC2016	# the inner shell's
	as_user sh -c 'printf "%s\n" "{ \"PostgreSQL-Backup-Manifest-Version\": 1," \
		"\"Files\": [ { \"Path\": \"PG_VERSION\", \"Size\": 3, \"Last-Modified\": \"2020-01-01 00:00:00 GMT\" } ]," \
		"\"WAL-Ranges\": [ ]," >"$1/backup_manifest"
		sum=$(sha256sum <"$1/backup_manifest" | cut -d" " -f1)
		printf "\"Manifest-Checksum\": \"%s\"}\n" "$sum" >>"$1/backup_manifest"
		cp "$2" "$1/PG_VERSION"' sh "$scratch/small" "$scratch/main.data/PG_VERSION"
	as_user "$bindir/pg_verifybackup" -q -n "$scratch/small" || bench_fail "the small backup is not in order"
}

rows()	# ALGORITHM VARIANT RUN
{
	bench_row "$1" "$2" elapsed s "$3" "$elapsed"
	bench_row "$1" "$2" throughput GB/s "$3" "$(echo "$bytes $elapsed" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
}

theirs()	# ALGORITHM VARIANT RUN OPTION...
{
	case=$1 variant=$2 run=$3
	shift 3
	bench_program "$bindir/pg_verifybackup" -q "$@" "$scratch/small" -n
	startup=$elapsed
	bench_row "$case" "pg_verifybackup start-up" elapsed s "$run" "$startup"
	bench_program "$bindir/pg_verifybackup" -q "$@" "$scratch/$case"
	elapsed=$(echo "$elapsed $startup" | awk '{printf "%.6f", $1 - $2}')
	rows "$case" "$variant" "$run"
}

ours()	# ALGORITHM VARIANT RUN ARGUMENTS
{
	bench_statement "SELECT 1 / (status = 'ok')::int FROM verify_backup_summary('$scratch/$1', $4)"
	rows "$1" "$2" "$3"
}

measure()	# ALGORITHM
{
	find "$scratch/$1" -type f >"$scratch/all"
	xargs cat <"$scratch/all" >/dev/null
	for run in $(bench_rounds "$runs"); do
		theirs "$1" "pg_verifybackup -n" "$run" -n
		ours "$1" "hashes" "$run" "check_pages => false"
		ours "$1" "hashes and pages" "$run" "workers => 0"
		ours "$1" "hashes and pages 1 worker" "$run" "workers => 1"
		theirs "$1" "pg_verifybackup" "$run"
		# shellcheck disable=SC2046	# names of our own
		bench_pread $(cat "$scratch/all")
		rows "$1" "pread loop" "$run"
	done
}

cold()	# ALGORITHM
{
	find "$scratch/$1" -type f -size +1M >"$scratch/files"
	# shellcheck disable=SC2046	# names of our own
	for run in $(bench_rounds "$runs"); do
		bench_cold "$run" verify_backup_summary "SELECT * FROM verify_backup_summary('$scratch/$1', workers => 0, direct_io => %s)" \
			"$bytes" $(cat "$scratch/files")
	done
}

bench_note kernel "$(bench_sql "SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected")"
bench_read_loop
make_tables
make_small
for algorithm in CRC32C SHA256; do
	make_backup $algorithm
	check_backup $algorithm
	bench_log "$algorithm: $((bytes / 1000000)) MB"
	measure $algorithm
	[ $algorithm != CRC32C ] || cold $algorithm
	rm -r "${scratch:?}/$algorithm"
done
bench_stop main
