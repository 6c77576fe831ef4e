#!/bin/sh
# recovery.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# The end-to-end experiment of MDEV-33817, for PostgreSQL: a base backup taken
# while clients update rows at random, with no checkpoint meanwhile, then its
# recovery, from a copy each time, with the server's own CRC-32C (off) and with
# our kernel (on), in pairs that take turns.  Shown are the times that the server
# reports for redo (user, system, elapsed), and the CRC's share of CPU by perf.
# Each recovery must end with the same rows.  The database has half the size given.
# The same of a server that crashed with full_page_writes off, whose records have
# no images of pages, and of a standby that replays the WAL of the backup.
#
#	CLIENTS=n	default 8 (the source: 144 on 144 threads)
#	PAIRS=n		default 8 (the source: 4), 6 from 10 GB on; before them a warm-up
#	SAMPLED=n	recoveries of each kind that perf samples, default 4
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin recovery "$@"
bench_need $((6 * size_bytes + 1000000000)) $((size_bytes + 500000000))
clients=${CLIENTS:-8} pairs=${PAIRS:-$runs} sampled=${SAMPLED:-4}
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

# --- a backup of a server at work, and a crash ------------------------------

load()	# starts the clients' load
{
	bench_client "$bindir/pgbench" -n -M prepared -s $scale -c "$clients" -T $seconds -f "$scratch/update.sql" >"$scratch/load.log" 2>&1 &
	load=$!
}

loaded()	# waits for its end
{
	wait $load || bench_fail "pgbench failed: $(cat "$scratch/load.log")"
}

updates()
{
	sed -n 's/^tps = \([0-9]*\).*/\1/p' "$scratch/load.log"
}

bench_log "load of $clients clients for $seconds s, pgbench scale $scale; the backup under it"
bench_client "$bindir/pgbench" -i -q -s $scale >/dev/null 2>&1
bench_sql "CHECKPOINT"
echo "\\set aid random(1, 100000 * :scale)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;" >"$scratch/update.sql"
chmod a+r "$scratch/update.sql"
load
sleep 1
database_kb=$(bench_sql "SELECT sum(pg_database_size(oid))::bigint / 1024 FROM pg_database")
rate=$((database_kb / (seconds - 2)))	# so that it takes nearly as long as the load
[ $rate -ge 32 ] || rate=32
[ $rate -le 1048576 ] || rate=1048576
bench_client "$bindir/pg_basebackup" -D "$scratch/backup.data" -X stream --checkpoint=fast --no-sync --max-rate=$rate ||
	bench_fail "pg_basebackup failed"
loaded
bench_note backup "$((database_kb / 1024)) MB of database, $(du -sm "$scratch/backup.data/pg_wal" | cut -f1) MB of WAL, $clients clients for $seconds s: $(updates) updates a second"

bench_log "the same load without full-page images; then a crash"
bench_sql "ALTER SYSTEM SET full_page_writes = off"
bench_reload main
bench_sql "CHECKPOINT"
load
loaded
bench_stop main immediate
mv "$scratch/main.data" "$scratch/crash.data"
bench_note crash "$(updates) updates a second without full-page images"

# --- its recovery ----------------------------------------------------------

prepare()	# SOURCE VARIANT
{
	rm -rf "$scratch/again.data"
	as_user cp -a "$scratch/$1.data" "$scratch/again.data"
	as_user mkdir -p "$scratch/again.sock"
	sed -i "s|$scratch/main.sock|$scratch/again.sock|" "$scratch/again.data/postgresql.conf"
	bench_conf again "crc32c_accel.accelerate_server = $2"
	: >"$scratch/again.log"
}

check()	# SOURCE VARIANT: recovered by what it should have been, to the same rows
{
	[ "$(bench_sql "SELECT accelerated = '$2' FROM crc32c_server()")" = t ] || bench_fail "recovery was not $2"
	rows=$(bench_sql "SELECT count(*), sum(abalance) FROM pgbench_accounts")
	[ -f "$scratch/$1.rows" ] || echo "$rows" >"$scratch/$1.rows"
	[ "$(cat "$scratch/$1.rows")" = "$rows" ] || bench_fail "recovery $2 of $1 ended with $rows, before with $(cat "$scratch/$1.rows")"
}

said()	# PATTERN: what a line of the server says there
{
	value=$(sed -n "s/.*$1.*/\1/p" "$scratch/again.log" | head -1)
	[ -n "$value" ] || bench_fail "no redo: $(cat "$scratch/again.log")"
	echo "$value"
}

redo()	# NAME: seconds, from the server's line "redo done ... system usage"
{
	said "redo done at .*$1: \([0-9.]*\) s"
}

recover()	# CASE SOURCE VARIANT
{
	prepare "$2" "$3"
	bench_start again
	for what in elapsed user system; do
		bench_row "$1" "$3" "$what" s "$run" "$(redo $what)"
	done
	bench_row "$1" "$3" CPU s "$run" "$(echo "$(redo user) $(redo system)" | awk '{print $1 + $2}')"
	check "$2" "$3"
	bench_stop again immediate
	[ -f "$scratch/$2.records" ] || count_records "$2"
}

count_records()	# SOURCE: how many records redo has read, and their bytes
{
	said 'redo starts at \([0-9A-F/]*\)' >"$scratch/$1.start"
	said 'redo done at \([0-9A-F/]*\)' >"$scratch/$1.end"
	as_user "$bindir/pg_waldump" --stats -p "$scratch/$1.data/pg_wal" -t "$(timeline "$1")" \
		-s "$(cat "$scratch/$1.start")" -e "$(cat "$scratch/$1.end")" >"$scratch/$1.stats" 2>&1 ||
		bench_fail "pg_waldump: $(cat "$scratch/$1.stats")"
	awk '$1 == "Total" {print $2}' "$scratch/$1.stats" >"$scratch/$1.records"
	bench_note "records of $1" "$(cat "$scratch/$1.records"), pg_waldump --stats: $(sed -n 's/^Total  *//p' "$scratch/$1.stats" | tr -s ' ')"
}

timeline()	# SOURCE
{
	as_user "$bindir/pg_controldata" "$scratch/$1.data" | sed -n "s/^Latest checkpoint's TimeLineID: *//p"
}

order()	# RUN: the variants take turns to begin
{
	[ $(($1 % 2)) = 1 ] && echo off on || echo on off
}

# CPU of the process that replays, when it has replayed all: it waits for more
# then.  In the meantime nothing else may happen to it.
replay()	# CASE SOURCE VARIANT
{
	prepare "$2" "$3"
	as_user touch "$scratch/again.data/standby.signal"
	bench_start again
	until [ "$(bench_sql "SELECT pg_last_wal_replay_lsn() > '$(cat "$scratch/$2.end")'")" = t ]; do
		sleep 0.02
	done
	startup=$(bench_sql "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'")
	cpu=$(sed 's/^.*) //' "/proc/$startup/stat" | awk -v hz="$(getconf CLK_TCK)" '{printf "%.2f", ($12 + $13) / hz}')
	bench_row "$1" "$3" CPU s "$run" "$cpu"
	bench_row "$1" "$3" rate MB/s "$run" "$(bench_sql "SELECT round((pg_lsn '$(cat "$scratch/$2.end")' - '$(cat "$scratch/$2.start")') / 1e6 / $cpu, 1)")"
	check "$2" "$3"
	bench_stop again immediate
}

hot="recovery of a hot backup" crash="recovery without images" standby="replay by a standby"
for run in $(bench_rounds "$pairs"); do
	bench_log "pair $run of $pairs"
	for variant in $(order "$run"); do
		recover "$hot" backup "$variant"
		recover "$crash" crash "$variant"
		replay "$standby" backup "$variant"
	done
done

# --- the CRC's share of CPU ------------------------------------------------

# Samples of pg_ctl start with all that it starts: how many there are, how many
# of these in the CRC, and what the CRC takes of a record by that.
sample()	# CASE SOURCE VARIANT
{
	prepare "$2" "$3"
	bench_use again
	: >>"$scratch/again.log"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/again.log"
	rm -f "$scratch/perf.data"
	(
		cd "$scratch"
		perf record -e "$(perf_event)" -F $frequency -o "$scratch/perf.data" -- sh -c "$(as_user_words) $bindir/pg_ctl -D $scratch/again.data -l $scratch/again.log -w -t 300 start"
	) >"$scratch/perf.log" 2>&1 || :
	check "$2" "$3"
	bench_stop again immediate
	bench_samples --comm postgres
	bench_row "$1" "$3" samples "" "$run" "$samples"
	bench_row "$1" "$3" "samples in the CRC" "" "$run" "$crc_samples"
	bench_row "$1" "$3" "CRC of a record" ns "$run" "$(echo "$crc_samples $(cat "$scratch/$2.records")" | awk '{printf "%.2f", $1 / '$frequency' / $2 * 1e9}')"
}

as_user_words()	# as_user, for a shell that does not have it
{
	[ "$(id -u)" != 0 ] || echo "setpriv --reuid=$bench_user --regid=$(id -g "$bench_user") --init-groups env HOME=$scratch"
}

frequency=4999	# a second
if may_sample; then
	for run in $(bench_runs "$sampled"); do
		bench_log "sampled pair $run of $sampled"
		for variant in $(order "$run"); do
			sample "$hot" backup "$variant"
			sample "$crash" crash "$variant"
		done
	done
else
	bench_missing "$hot" "share of CPU" "perf $(tail -1 "$scratch/perf.log")"
fi
