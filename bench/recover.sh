#!/bin/sh
# recover.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# Blocks given back by crc32c_verify recover, beside a restore of the whole backup:
# 1, 100 and 10,000 blocks, over the WAL of a fifth of the size and of all of it.
# Both start from the same plain backup and the same WAL, and end at the same LSN.
# They take turns.  A restore is the copy of the backup and the server's recovery,
# until the server would take connections.
#
# The WAL is that of clients who update ranges of 50 rows at random, with a
# checkpoint for each 500 MB.  The blocks are some of those that were changed.
# recover must give all of them back.  The disk is the most that was in use below
# the folder of results, looked at five times a second.
#
#	RUNS=n	default 8; 6 from 1 GB on
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin recover "$@"
bench_need $((3 * size_bytes + 1000000000)) 1000000000
[ "$size_bytes" -lt 1000000000 ] || runs=${RUNS:-6}	# each takes minutes
scale=$((size_bytes / 100000000 + 1))

bench_stage
program=$(find "$scratch/stage/" -name crc32c_verify -type f)
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
wal_level = replica
max_wal_senders = 4
wal_keep_size = 2TB
min_wal_size = 64MB
max_wal_size = 1GB
checkpoint_timeout = 1h
autovacuum = off"
bench_start main

# --- a backup, and the WAL since then ----------------------------------------

# Clients at work until so many bytes of WAL are there; then the LSN, in target.
work_until()	# BYTES
{
	while [ "$(($(bench_wal_lsn) - started_at))" -lt "$1" ]; do
		bench_client "$bindir/pgbench" -n -M prepared -c 4 -t $((size_bytes / 1500000 + 1)) -f "$scratch/update.sql" >"$scratch/load.log" 2>&1 ||
			bench_fail "pgbench failed: $(cat "$scratch/load.log")"
	done
	bench_sql "CHECKPOINT"
	target=$(bench_sql "SELECT pg_current_wal_insert_lsn()")
	bench_sql "SELECT pg_switch_wal()" >/dev/null
}

# The numbers of blocks of the table's first file whose LSN is beyond the backup's
# start, in an order of no meaning.
changed_blocks()
{
	# shellcheck disable=SC2016	# perl's variables
	as_user perl -MList::Util=shuffle -e 'my ($file, $start) = @ARGV; my ($high, $low) = map { hex } split m{/}, $start;
		my ($page, @found); srand 1; open(my $f, "<:raw", $file) or die;
		for (my $n = 0; read($f, $page, 8192) == 8192; $n++) {
			my ($h, $l) = unpack "LL", $page; push @found, $n if $h > $high || ($h == $high && $l > $low); }
		print map { "$_\n" } shuffle @found' "$scratch/main.data/$path" "$1"
}

bench_log "pgbench, scale $scale"
bench_client "$bindir/pgbench" -i -q -s $scale -F 50 >/dev/null 2>&1
bench_sql "CHECKPOINT"
echo "\\set aid random(1, $((100000 * scale)))
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid BETWEEN :aid AND :aid + 49;" >"$scratch/update.sql"
chmod a+r "$scratch/update.sql"
path=$(bench_sql "SELECT pg_relation_filepath('pgbench_accounts')")
bench_client "$bindir/pg_basebackup" -D "$scratch/backup" -X none --checkpoint=fast --no-sync 2>/dev/null ||
	bench_fail "pg_basebackup failed"
start=$(as_user sed -n 's/^START WAL LOCATION: \([0-9A-F/]*\).*/\1/p' "$scratch/backup/backup_label")
started_at=$(bench_sql "SELECT '$start'::pg_lsn - '0/0'")
bench_log "WAL"
work_until $((size_bytes / 5))
few=$target
few_mb=$((($(bench_wal_lsn) - started_at) / 1000000))
changed_blocks "$start" >"$scratch/changed"
work_until "$size_bytes"
many=$target
many_mb=$((($(bench_wal_lsn) - started_at) / 1000000))
bench_stop main
bench_note backup "$(du -sm "$scratch/backup" | cut -f1) MB, of which $(wc -l <"$scratch/changed") blocks of one file were changed up to the first LSN; everything from the page cache, fsync off"

# --- what is compared ----------------------------------------------------------

# Runs a command and looks at the disk meanwhile; sets elapsed and disk_mb.
watched()	# FOLDER CMD...
{
	folder=$1
	shift
	: >"$scratch/sizes"
	while sleep 0.2; do
		du -sm "$folder" 2>/dev/null | cut -f1 >>"$scratch/sizes" || :
	done &
	watcher=$!
	bench_timed "$@"
	kill $watcher
	wait $watcher 2>/dev/null || :
	du -sm "$folder" 2>/dev/null | cut -f1 >>"$scratch/sizes"
	disk_mb=$(sort -n "$scratch/sizes" | tail -1)
}

rows()	# CASE VARIANT RUN
{
	bench_row "$1" "$2" elapsed s "$3" "$elapsed"
	bench_row "$1" "$2" disk MB "$3" "$disk_mb"
}

restore()	# as a user does: until the server would take connections
{
	as_user cp -a "$scratch/backup" "$scratch/again.data"
	as_user mkdir -p "$scratch/again.sock"
	sed -i "s|$scratch/main.sock|$scratch/again.sock|" "$scratch/again.data/postgresql.conf"
	bench_conf again "hot_standby = off
restore_command = 'cp $scratch/main.data/pg_wal/%f %p'
recovery_target_lsn = '$target'
recovery_target_action = promote"
	as_user touch "$scratch/again.data/recovery.signal"
	bench_start again
	until bench_sql "SELECT 1" >/dev/null 2>&1; do	# pg_ctl does not wait without hot standby
		as_user test -f "$scratch/again.data/postmaster.pid" || bench_fail "no restore: $(tail -5 "$scratch/again.log")"
		sleep 0.05
	done
}

whole()	# CASE RUN
{
	rm -rf "$scratch/again.data"
	: >"$scratch/again.log"
	watched "$scratch/again.data" restore
	rows "$1" "whole restore" "$2"
	bench_stop again immediate
	rm -rf "$scratch/again.data"
}

recover()	# N
{
	head -"$1" "$scratch/changed" | sed "s|^|--block=$path:|" | as_user xargs -x -n "$1" -s 1900000 \
		"$program" recover --backup="$scratch/backup" --wal="$scratch/main.data/pg_wal" --bindir="$bindir" \
		--target-lsn="$target" --out="$scratch/pages/out" >"$scratch/said"
}

blocks()	# CASE N RUN
{
	variant="$2 blocks"
	[ "$2" -gt 1 ] || variant="1 block"
	if [ "$(wc -l <"$scratch/changed")" -lt "$2" ]; then
		[ "$3" != 0 ] || bench_missing "$1" "$variant" "fewer were changed"
		return
	fi
	rm -rf "$scratch/pages"
	as_user mkdir "$scratch/pages"
	watched "$scratch/pages" recover "$2" || bench_fail "recover failed"
	[ "$(grep -c ': recovered at ' "$scratch/said")" = "$2" ] || bench_fail "not recovered: $(grep 'not recovered' "$scratch/said" | head -1)"
	rows "$1" "$variant" "$3"
	bench_row "$1" "$variant" "blocks tracked" "" "$3" "$(sed -n 's/^\([0-9]*\) blocks are tracked.*/\1/p' "$scratch/said")"
}

for run in $(bench_rounds "$runs"); do
	for wal in "$few_mb $few" "$many_mb $many"; do
		target=${wal#* }
		case="${wal% *} MB of WAL"
		bench_log "run $run of $runs, $case"
		whole "$case" "$run"
		for n in 1 100 10000; do
			blocks "$case" $n "$run"
		done
	done
done
