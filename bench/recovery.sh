#!/bin/sh
# recovery.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# The end-to-end experiment of MDEV-33817, for PostgreSQL: a base backup taken
# while clients update rows at random, with no checkpoint meanwhile, then its
# recovery, from a copy each time, with the server's own CRC-32C (off) and with
# our kernel (on), in pairs that take turns.  Shown are the times that the server
# reports for redo (user, system, elapsed), and the CRC's share of CPU by perf.
# Each recovery must end with the same rows.  The database has half the size given.
#
#	CLIENTS=n	default 8 (the source: 144 on 144 threads)
#	PAIRS=n		default 8 (the source: 4), 6 from 10 GB on; before them a warm-up
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin recovery "$@"
bench_need $((6 * size_bytes + 1000000000)) $((size_bytes + 500000000))
clients=${CLIENTS:-8} pairs=${PAIRS:-$runs}
seconds=6
[ "$size_bytes" -lt 1000000000 ] || seconds=60	# the source's load
scale=$((size_bytes / 32000000 + 1))

bench_stage
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
max_wal_size = 64GB
checkpoint_timeout = 1h
autovacuum = off
shared_preload_libraries = 'crc32c_accel'"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"
bench_sql "ALTER SYSTEM SET crc32c_accel.accelerate_server = on"
bench_reload main
if [ "$(bench_sql "SELECT accelerated FROM crc32c_server()")" != t ]; then
	bench_missing "all" on "$(bench_sql "SELECT reason FROM crc32c_server()")"
	exit 0
fi
bench_note kernels "$(bench_sql "SELECT server_kernel || ' (off) against ' || active_kernel || ' (on)' FROM crc32c_server()")"
bench_sql "ALTER SYSTEM RESET crc32c_accel.accelerate_server"
bench_reload main

# --- a backup of a server at work ------------------------------------------

bench_log "load of $clients clients for $seconds s, pgbench scale $scale; the backup under it"
bench_client "$bindir/pgbench" -i -q -s $scale >/dev/null 2>&1
bench_sql "CHECKPOINT"
echo "\\set aid random(1, 100000 * :scale)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;" >"$scratch/update.sql"
chmod a+r "$scratch/update.sql"
bench_client "$bindir/pgbench" -n -M prepared -s $scale -c "$clients" -T $seconds -f "$scratch/update.sql" >"$scratch/load.log" 2>&1 &
load=$!
sleep 1
database_kb=$(bench_sql "SELECT sum(pg_database_size(oid))::bigint / 1024 FROM pg_database")
rate=$((database_kb / (seconds - 2)))	# so that it takes nearly as long as the load
[ $rate -ge 32 ] || rate=32
[ $rate -le 1048576 ] || rate=1048576
bench_client "$bindir/pg_basebackup" -D "$scratch/backup.data" -X stream --checkpoint=fast --no-sync --max-rate=$rate ||
	bench_fail "pg_basebackup failed"
wait $load || bench_fail "pgbench failed: $(cat "$scratch/load.log")"
bench_stop main immediate
rm -rf "$scratch/main.data"
wal_mb=$(du -sm "$scratch/backup.data/pg_wal" | cut -f1)
bench_note backup "$((database_kb / 1024)) MB of database, $wal_mb MB of WAL, $clients clients for $seconds s: $(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$scratch/load.log") updates a second"

# --- its recovery ----------------------------------------------------------

case="recovery of a hot backup"
prepare()	# VARIANT
{
	rm -rf "$scratch/again.data"
	as_user cp -a "$scratch/backup.data" "$scratch/again.data"
	as_user mkdir -p "$scratch/again.sock"
	sed -i "s|$scratch/main.sock|$scratch/again.sock|" "$scratch/again.data/postgresql.conf"
	bench_conf again "crc32c_accel.accelerate_server = $1"
	: >"$scratch/again.log"
}

check()	# VARIANT: recovered by what it should have been, to the same rows
{
	[ "$(bench_sql "SELECT accelerated = '$1' FROM crc32c_server()")" = t ] || bench_fail "recovery was not $1"
	rows=$(bench_sql "SELECT count(*), sum(abalance) FROM pgbench_accounts")
	[ "${first_rows:=$rows}" = "$rows" ] || bench_fail "recovery $1 ended with $rows, before with $first_rows"
	bench_stop again immediate
}

redo()	# NAME: seconds, from the server's line "redo done ... system usage"
{
	value=$(sed -n "s/.*redo done at .*$1: \([0-9.]*\) s.*/\1/p" "$scratch/again.log")
	[ -n "$value" ] || bench_fail "no redo: $(cat "$scratch/again.log")"
	echo "$value"
}

recover()	# VARIANT
{
	prepare "$1"
	bench_start again
	for what in elapsed user system; do
		bench_row "$case" "$1" "$what" s "$run" "$(redo $what)"
	done
	bench_row "$case" "$1" CPU s "$run" "$(echo "$(redo user) $(redo system)" | awk '{print $1 + $2}')"
	check "$1"
}

for run in $(bench_rounds "$pairs"); do
	bench_log "pair $run of $pairs"
	for variant in $([ $((run % 2)) = 1 ] && echo off on || echo on off); do
		recover "$variant"
	done
done

# --- the CRC's share of CPU ------------------------------------------------

share()	# VARIANT: samples of pg_ctl start, with all that it starts
{
	prepare "$1"
	bench_use again
	: >>"$scratch/again.log"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/again.log"
	rm -f "$scratch/perf.data"
	(
		cd "$scratch"
		perf record -e "$(perf_event)" -F 999 -o "$scratch/perf.data" -- sh -c "$(as_user_words) $bindir/pg_ctl -D $scratch/again.data -l $scratch/again.log -w -t 300 start"
	) >"$scratch/perf.log" 2>&1 || :
	check "$1"
	bench_share "$case" "$1" %.2f --comm postgres
}

as_user_words()	# as_user, for a shell that does not have it
{
	[ "$(id -u)" != 0 ] || echo "setpriv --reuid=$bench_user --regid=$(id -g "$bench_user") --init-groups env HOME=$scratch"
}

if may_sample; then
	for variant in off on; do
		share $variant
	done
else
	bench_missing "$case" "share of CPU" "perf $(tail -1 "$scratch/perf.log")"
fi
