#!/bin/sh
# server.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# The server's own CRC-32C by its own function (off) and by our kernel (on), on
# one cluster, switched by reload, interleaved: pg_basebackup of a database that
# grows to the size given in the four steps of the PostgreSQL 18 talk (15 : 75 :
# 150 : 256), into the server's blackhole and, the largest one where there is room,
# into a directory, with and without page verification; updates that write full-page
# images; COPY of wide rows; prepared transactions; pgbench; crash recovery of the
# same WAL; INSERT, UPDATE and COPY of narrow rows and their recovery, by CPU per
# byte of WAL; from 17 on WAL summaries and incremental backups.  Then the share of
# CPU that the CRC takes.  A gain within the spreads is called noise.
#
# "talk" is that talk's own pair: the same backups into the blackhole, with
# "directory" into a directory too, by the server's SSE4.2 function (sse42) and by
# its AVX-512 function (avx512), where it has both (18 and later).
#
#	RUNS=n				rounds (default 8; 6 from 10 GB on)
#	BACKUPS_A_YEAR=n	the schedule behind "saved a year" (default 365)
#	ONLY="blackhole talk directory work pgbench recovery narrow incremental share"	some of these cases only
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin server "$@"
bench_need $((size_bytes * 12 / 10 + 2000000000)) 1000000000	# one copy: blackhole keeps none

backups_a_year=${BACKUPS_A_YEAR:-365}
seconds=1
[ "$size_bytes" -lt 1000000000 ] || seconds=20
only=${ONLY:-blackhole talk directory work pgbench recovery narrow incremental share}
work_mb=$((size_bytes / 4 / 1048576))
[ "$work_mb" -gt 0 ] || bench_fail "size $size is too small: 4 MB at least"
[ "$work_mb" -le 1024 ] || work_mb=1024

bench_stage
settings="shared_buffers = 256MB
max_wal_size = 1GB
checkpoint_timeout = 1h
autovacuum = off
fsync = off
max_prepared_transactions = 10"
bench_note settings "$(echo "$settings" | tr '\n' ',' | sed 's/,/, /g')max_wal_size 64GB but while the database grows, preloaded crc32c_accel; fsync off so that CPU, not the disk, is compared"
bench_note schedule "$backups_a_year backups a year"

wanted()
{
	case " $only " in
		*" $1 "*) return 0 ;;
	esac
	return 1
}

no_talk()	# VARIANT REASON: goes on without it
{
	bench_missing "the talk's own pair" "$1" "$2"
	only=$(echo " $only " | sed 's/ talk / /')
}

libraries=crc32c_accel
if wanted talk; then
	if cc -O2 -shared -fPIC "-I$("$pg_config" --includedir-server)" -o "$scratch/server_kernel.so" \
		"$top/bench/server_kernel.c" 2>"$scratch/server_kernel.log"; then
		chmod a+rx "$scratch/server_kernel.so"
		libraries="$scratch/server_kernel.so, crc32c_accel"
	else
		no_talk all "server_kernel.c does not compile: $(sed -n "s/.*error: //p; /not found/p" "$scratch/server_kernel.log" | head -1)"
	fi
fi
bench_cluster main --data-checksums "$settings
shared_preload_libraries = '$libraries'"
bench_start main
bench_sql "CREATE EXTENSION crc32c_accel"

# One of a pair, and certainly so before anything is timed.  A reload takes the
# settings in this order, and neither library replaces what the other has put there.
switch()	# off|on|sse42|avx512
{
	case $1 in
		off | on)
			bench_conf main "server_kernel.sse42 = off
crc32c_accel.accelerate_server = $1"
			in_place="SELECT accelerated = '$1' AND (accelerated OR active_kernel IS NOT DISTINCT FROM server_kernel) FROM crc32c_server()"
			;;
		*)
			bench_conf main "crc32c_accel.accelerate_server = off
server_kernel.sse42 = $([ "$1" = sse42 ] && echo on || echo off)"
			in_place="SELECT current_setting('server_kernel.sse42') = 'pg_comp_crc32c_$1'"
			;;
	esac
	as_user "$bindir/pg_ctl" -D "$(bench_data main)" reload >/dev/null
	for _ in $(bench_runs 50); do
		[ "$(bench_sql "$in_place")" != t ] || return 0
		sleep 0.05
	done
	return 1
}

order()	# [VARIANT VARIANT]: alternates who goes first
{
	[ $((run % 2)) = 1 ] && echo "${1:-off} ${2:-on}" || echo "${2:-on} ${1:-off}"
}

if wanted talk; then
	for variant in sse42 avx512; do
		! wanted talk || switch "$variant" ||
			no_talk "$variant" "the server computes by $(bench_sql "SHOW server_kernel.sse42") here and not by pg_comp_crc32c_$variant"
	done
	! wanted talk || bench_note "the talk's own pair" "pg_comp_crc32c_sse42 (sse42) against pg_comp_crc32c_avx512 (avx512)"
fi
if switch on; then
	kernels=$(bench_sql "SELECT server_kernel || ' (off) against ' || active_kernel || ' (on)' FROM crc32c_server()")
	bench_note kernels "$kernels"
	bench_log "$kernels"
else
	bench_missing "all" on "$(bench_sql "SELECT reason FROM crc32c_server()")"
	wanted talk || exit 0
	only="talk"
fi

# Rows that fill a page in fours: wide, nothing to compress, nothing to TOAST.
grow()	# TABLE MB
{
	bench_sql "CREATE TABLE $1 (id int, n int, filler text) WITH (fillfactor = 98);
		ALTER TABLE $1 ALTER filler SET STORAGE PLAIN;
		INSERT INTO $1 SELECT i, 0, f.filler FROM generate_series(1, $2 * 512) AS i,
			LATERAL (SELECT string_agg(md5((i * 60 + j)::text), '') AS filler FROM generate_series(1, 60) AS j) AS f;
		CHECKPOINT"
}

room()	# BYTES: is there so much disk?
{
	[ "$(df -Pk "$scratch" | awk 'NR == 2 {print $4}')" -ge $(($1 / 1024 + 500000)) ]
}

# --- backups ---------------------------------------------------------------

backup_verified()	# VARIANT: the stock tools accept it, and find the damage
{
	rm -rf "$scratch/backup"
	bench_client "$bindir/pg_basebackup" -D "$scratch/backup" -X fetch --checkpoint=fast --no-sync
	bench_client "$bindir/pg_verifybackup" -q "$scratch/backup" ||
		bench_fail "$1: pg_verifybackup rejects the backup"
	sed -i 's/[0-9a-f]\{8\}" }/00000000" }/' "$scratch/backup/backup_manifest"
	! bench_client "$bindir/pg_verifybackup" -q "$scratch/backup" >/dev/null 2>&1 ||
		bench_fail "pg_verifybackup does not verify"
	rm -rf "$scratch/backup"
}

# Ticks of CPU of all children that the postmaster has reaped.
reaped()
{
	sed 's/^.*) //' "/proc/$(head -1 "$(bench_data main)/postmaster.pid")/stat" | awk '{print $14 + $15}'
}

# Until the server has only its own processes, and the CPU of those that went has
# been counted: the ticks are not (any more) the number given.
settle()	# [TICKS]
{
	for _ in $(bench_runs 250); do
		if [ "$(bench_pids main | wc -l)" -le "$processes" ] && [ "$(reaped)" != "${1:-}" ]; then
			return 0
		fi
		sleep 0.02
	done
}

backup()	# CASE VARIANT OPTIONS...
{
	case=$1 variant=$2
	shift 2
	settle
	before=$(reaped)
	bench_timed bench_client "$bindir/pg_basebackup" --checkpoint=fast -X none --no-sync "$@" >"$scratch/backup.log" 2>&1 || {
		cat "$scratch/backup.log" >&2
		bench_fail "pg_basebackup failed"
	}
	bench_row "$case" "$variant" elapsed s "$run" "$elapsed"
	settle "$before"
	bench_row "$case" "$variant" "server CPU" s "$run" \
		"$(echo "$before $(reaped)" | awk -v hz="$(getconf CLK_TCK)" '{printf "%.2f", ($2 - $1) / hz}')"
	rm -rf "$scratch/backup"
}

# The rounds of one pair after those of the other.  Where a process has its buffer
# follows from the settings that the postmaster read before.  Four variants in turn
# put every second one where copies took twice as long.
backups_of()	# MB WORD VARIANT VARIANT: into the blackhole if ONLY has the word
{
	bench_log "pg_basebackup of $1 MB: $3, $4"
	[ "$step" != 1 ] || for variant in "$3" "$4"; do
		switch "$variant"
		backup_verified "$variant"
	done
	find "$(bench_data main)/base" -type f -exec cat {} + >/dev/null	# warm
	for run in $(bench_rounds "$runs"); do
		for variant in $(order "$3" "$4"); do
			switch "$variant"
			if wanted "$2"; then
				backup "backup to blackhole of $1 MB" "$variant" --target=blackhole
				backup "backup to blackhole of $1 MB without page verification" "$variant" --target=blackhole --no-verify-checksums
			fi
			if wanted directory && [ "$step" = 4 ] && room $(($1 * 1048576)); then
				backup "backup to directory of $1 MB" "$variant" -D "$scratch/backup"
				backup "backup to directory of $1 MB without page verification" "$variant" -D "$scratch/backup" --no-verify-checksums
			fi
		done
	done
}

database_mb()
{
	bench_sql "SELECT sum(pg_database_size(oid))::bigint / 1048576 FROM pg_database"
}

run_backups()
{
	sleep 0.5
	processes=$(bench_pids main | wc -l)
	step=0
	for share in 15 75 150 256; do
		step=$((step + 1))
		more=$((size_bytes * share / 268435456 - $(database_mb)))
		[ $more -ge 8 ] || more=8
		grow "grown$step" $more
		mb=$(database_mb)
		[ $step != 4 ] || ! wanted directory || room $((mb * 1048576)) || bench_missing "backup to directory of $mb MB" all "not enough disk for a second copy"
		! wanted blackhole && ! wanted directory || backups_of "$mb" blackhole off on
		! wanted talk || backups_of "$mb" talk sse42 avx512
	done
	switch off
	bench_sql "DROP TABLE grown1, grown2, grown3, grown4; CHECKPOINT"
}

# --- work that writes WAL --------------------------------------------------

full_page_updates()	# one row a page, each page's first change since the checkpoint
{
	bench_timed bench_sql "UPDATE pages SET n = n + 1"
}

wide_copy()
{
	bench_timed bench_sql "COPY wide FROM '$scratch/wide.copy'"
}

pgbench_tps()	# CLIENTS OPTIONS...: sets tps
{
	clients=$1
	shift
	tps=$(bench_client "$bindir/pgbench" -n -c "$clients" "$@" 2>"$scratch/pgbench.log" |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p' | tail -1)
	[ -n "$tps" ] || {
		cat "$scratch/pgbench.log" >&2
		bench_fail "pgbench failed"
	}
}

# The same transactions each time, over the same rows: their rate, and the CPU of
# all processes of the server, in runs so short that pairs can be many.
pgbench_pair()	# VARIANT
{
	switch "$1"
	bench_sql "VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts"
	bench_sql "TRUNCATE pgbench_history; CHECKPOINT"
	bench_settle
	before=$(bench_cluster_cpu main)
	pgbench_tps 2 -t "$transactions" --random-seed="$((run + 1))"
	bench_settle
	after=$(bench_cluster_cpu main)
	bench_row "pgbench" "$1" rate tps "$run" "$tps"
	bench_row "pgbench" "$1" "CPU per transaction" us "$run" \
		"$(echo "$before $after $transactions" | awk '{printf "%.3f", ($2 - $1) * 1e6 / (2 * $3)}')"
}

run_pgbench()
{
	transactions=$((seconds * 1000))
	bench_log "pgbench: 2 clients of $transactions transactions"
	for run in $(bench_rounds $((2 * runs))); do
		for variant in $(order); do
			pgbench_pair "$variant"
		done
	done
}

prepare_work()
{
	room $((work_mb * 1048576 * 10)) || bench_fail "work on $work_mb MB needs $((work_mb * 10)) MB of disk (ONLY=blackhole needs none of it)"
	bench_conf main "max_wal_size = 64GB"
	bench_reload main
	bench_sql "CREATE TABLE pages (n int, filler text) WITH (fillfactor = 50);
		ALTER TABLE pages ALTER filler SET STORAGE PLAIN;
		INSERT INTO pages SELECT 0, repeat('x', 3500) FROM generate_series(1, $work_mb * 128);
		CREATE TABLE wide (id int, n int, filler text);
		ALTER TABLE wide ALTER filler SET STORAGE PLAIN;
		CREATE TABLE prepared (n int)"
	grow source "$work_mb"
	bench_sql "COPY source TO '$scratch/wide.copy'; DROP TABLE source"
	cat >"$scratch/prepared.sql" <<'EOP'
\set gid random(1, 2000000000)
BEGIN;
INSERT INTO prepared VALUES (:gid);
PREPARE TRANSACTION 'g:client_id/:gid';
COMMIT PREPARED 'g:client_id/:gid';
EOP
	chmod a+r "$scratch/prepared.sql"
	bench_client "$bindir/pgbench" -i -q -s 2 >/dev/null 2>&1
}

# Every record of the WAL that was timed is read back by the stock tool.
check_wal()	# START
{
	end=$(bench_sql "SELECT pg_current_wal_flush_lsn()")
	as_user "$bindir/pg_waldump" -q -p "$(bench_data main)/pg_wal" -s "$1" -e "$end" 2>"$scratch/waldump.log" || {
		cat "$scratch/waldump.log" >&2
		bench_fail "pg_waldump rejects the WAL"
	}
}

work_once()	# VARIANT
{
	switch "$1"
	bench_sql "CHECKPOINT"
	start=$(bench_sql "SELECT pg_current_wal_insert_lsn()")
	full_page_updates
	bench_row "updates with full-page images of $work_mb MB" "$1" elapsed s "$run" "$elapsed"
	bench_sql "VACUUM pages"
	wide_copy
	bench_row "COPY of wide rows of $work_mb MB" "$1" elapsed s "$run" "$elapsed"
	[ "$run" != 0 ] || check_wal "$start"
	bench_sql "TRUNCATE wide"
	pgbench_tps 1 -T "$seconds" -f "$scratch/prepared.sql"
	bench_row "prepared transactions" "$1" rate tps "$run" "$tps"
}

run_work()
{
	bench_log "updates, COPY, prepared transactions"
	for run in $(bench_rounds "$runs"); do
		for variant in $(order); do
			work_once "$variant"
		done
	done
}

# --- crash recovery --------------------------------------------------------

# The same crashed cluster each time, from a copy; redo's own time, from the log.
recover()	# VARIANT TABLE ROWS
{
	rm -rf "$scratch/again.data"
	cp -a "$scratch/main.data" "$scratch/again.data"
	bench_conf again "crc32c_accel.accelerate_server = $1"
	: >"$scratch/again.log"
	bench_start again
	redo=$(sed -n 's/.*redo done at .* elapsed: \([0-9.]*\) s.*/\1/p' "$scratch/again.log")
	redo_cpu=$(sed -n 's/.*redo done at .* user: \([0-9.]*\) s, system: \([0-9.]*\) s,.*/\1 \2/p' "$scratch/again.log" |
		awk '{print $1 + $2}')
	redo_bytes=$(bench_sql "SELECT '$(sed -n 's/.*redo done at \([0-9A-F/]*\) .*/\1/p' "$scratch/again.log")'::pg_lsn -
		'$(sed -n 's/.*redo starts at \([0-9A-F/]*\).*/\1/p' "$scratch/again.log")'")
	rows=$(bench_sql "SELECT count(*) FROM $2")
	[ "$(bench_sql "SELECT accelerated = '$1' FROM crc32c_server()")" = t ] || bench_fail "recovery was not $1"
	bench_stop again immediate
	[ -n "$redo" ] || bench_fail "recovery did not happen"
	[ "$rows" = "$3" ] || bench_fail "recovery lost rows"
}

# Crashes the server, recovers copies of it, starts it again.
recoveries()	# CASE TABLE ROWS
{
	bench_stop main immediate
	mkdir -p "$scratch/again.sock"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/again.sock"
	sed -i "s|$scratch/main.sock|$scratch/again.sock|" "$(bench_data main)/postgresql.conf"
	for run in $(bench_rounds "$runs"); do
		for variant in $(order); do
			recover "$variant" "$2" "$3"
			bench_row "$1" "$variant" redo s "$run" "$redo"
			bench_row "$1" "$variant" CPU s "$run" "$redo_cpu"
			bench_row "$1" "$variant" "CPU per WAL byte" ns "$run" \
				"$(echo "$redo_cpu $redo_bytes" | awk '{printf "%.4f", $1 * 1e9 / $2}')"
		done
	done
	sed -i "s|$scratch/again.sock|$scratch/main.sock|" "$(bench_data main)/postgresql.conf"
	bench_start main
}

run_recovery()
{
	bench_log "crash recovery"
	bench_sql "CHECKPOINT"
	full_page_updates
	wide_copy
	bench_client "$bindir/pgbench" -n -c 2 -t $((work_mb * 50)) >/dev/null 2>&1
	recoveries "crash recovery" wide $((work_mb * 512))
	bench_sql "TRUNCATE wide"
}

# --- narrow rows: small records ---------------------------------------------

narrow_rows=$((work_mb * 8000))
[ $narrow_rows -le 2000000 ] || narrow_rows=2000000

# The session's own CPU, from the scheduler, and the WAL that it wrote.  Their
# pages were logged whole just before: the records are small.
narrow()	# CASE VARIANT STATEMENT
{
	used=$(bench_client "$bindir/psql" -XAtq -F ' ' -v ON_ERROR_STOP=1 <<EOP
\\set counters 'SELECT split_part(pg_read_file(''/proc/self/schedstat''), '' '', 1)::numeric AS cpu, pg_current_wal_insert_lsn() AS wal'
:counters \\gset before_
$3;
:counters \\gset after_
SELECT :after_cpu - :before_cpu, pg_wal_lsn_diff(:'after_wal', :'before_wal');
EOP
)
	bench_row "$1" "$2" CPU s "$run" "$(echo "$used" | awk '{printf "%.4f", $1 / 1e9}')"
	bench_row "$1" "$2" "CPU per WAL byte" ns "$run" "$(echo "$used" | awk '{printf "%.4f", $1 / $2}')"
}

narrow_once()	# VARIANT
{
	switch "$1"
	bench_sql "TRUNCATE narrow; CHECKPOINT"
	start=$(bench_sql "SELECT pg_current_wal_insert_lsn()")
	narrow "INSERT of narrow rows" "$1" "INSERT INTO narrow SELECT i, i % 100, 'narrow' FROM generate_series(1, $narrow_rows) AS i"
	narrow "UPDATE of narrow rows" "$1" "UPDATE narrow SET n = n + 1"
	narrow "COPY of narrow rows" "$1" "COPY narrow FROM '$scratch/narrow.copy'"
	[ "$run" != 0 ] || check_wal "$start"
}

run_narrow()
{
	bench_log "INSERT, UPDATE, COPY of $narrow_rows narrow rows"
	bench_sql "CREATE TABLE narrow (id int PRIMARY KEY, n int, filler text);
		COPY (SELECT $narrow_rows + i, i % 100, 'narrow' FROM generate_series(1, $narrow_rows) AS i) TO '$scratch/narrow.copy'"
	for run in $(bench_rounds "$runs"); do
		for variant in $(order); do
			narrow_once "$variant"
		done
	done
	bench_log "crash recovery of narrow rows"
	bench_sql "TRUNCATE narrow; CHECKPOINT; INSERT INTO narrow SELECT i, i % 100, 'narrow' FROM generate_series(1, $narrow_rows) AS i;
		UPDATE narrow SET n = n + 1; COPY narrow FROM '$scratch/narrow.copy'"
	recoveries "crash recovery of narrow rows" narrow $((2 * narrow_rows))
	bench_sql "DROP TABLE narrow; CHECKPOINT"
}

# --- WAL summaries and incremental backups (17 and later) -------------------

# The summarizer reads every record of the same WAL again: its memory of where it
# was goes with a restart, its files by hand.  Its own CPU, from the scheduler.
summarize()	# VARIANT
{
	bench_stop main
	rm -f "$(bench_data main)"/pg_wal/summaries/*
	bench_conf main "summarize_wal = on
crc32c_accel.accelerate_server = $1"
	bench_start main
	for _ in $(bench_runs 6000); do
		[ "$(bench_sql "SELECT summarized_lsn >= '$summary_end' FROM pg_get_wal_summarizer_state()")" != t ] || break
		sleep 0.05
	done
	[ "$(bench_sql "SELECT accelerated = '$1' FROM crc32c_server()")" = t ] || bench_fail "the summarizer was not $1"
	pid=$(bench_sql "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walsummarizer'")
	bench_row "WAL summary of $summary_mb MB" "$1" CPU s "$run" "$(awk '{printf "%.6f", $1 / 1e9}' "/proc/$pid/schedstat")"
}

incremental()	# VARIANT
{
	switch "$1"
	settle
	bench_timed bench_client "$bindir/pg_basebackup" --checkpoint=fast -X none --no-sync \
		-i "$scratch/full/backup_manifest" -D "$scratch/incremental" 2>"$scratch/backup.log" || {
		cat "$scratch/backup.log" >&2
		bench_fail "the incremental backup failed"
	}
	bench_row "incremental backup to directory" "$1" elapsed s "$run" "$elapsed"
	rm -rf "$scratch/incremental"
}

run_incremental()
{
	[ "$pg_major" -ge 17 ] || {
		bench_missing "WAL summary and incremental backup" all "PostgreSQL $pg_major has none (17 and later have)"
		return 0
	}
	bench_log "WAL summaries, incremental backups"
	bench_conf main "summarize_wal = off
wal_keep_size = 100GB"
	bench_reload main
	bench_client "$bindir/pg_basebackup" -D "$scratch/full" -X none --checkpoint=fast --no-sync 2>/dev/null
	summary_start=$(bench_wal_lsn)
	full_page_updates
	wide_copy
	bench_client "$bindir/pgbench" -n -c 2 -t $((work_mb * 50)) >/dev/null 2>&1
	bench_sql "CHECKPOINT"
	summary_end=$(bench_sql "SELECT pg_current_wal_flush_lsn()")
	summary_mb=$((($(bench_wal_lsn) - summary_start) / 1000000))
	for run in $(bench_rounds "$runs"); do
		for variant in $(order); do
			summarize "$variant"
		done
	done
	processes=$(bench_pids main | wc -l)
	for run in $(bench_rounds "$runs"); do
		for variant in $(order); do
			incremental "$variant"
		done
	done
	rm -rf "$scratch/full"
	bench_conf main "summarize_wal = off
wal_keep_size = 0"
	bench_reload main
	bench_sql "TRUNCATE wide; CHECKPOINT"
}

# --- the CRC's share of the server's CPU -----------------------------------

# Begins to sample all processes; perf refuses them all for one that has just ended.
sample()
{
	bench_settle
	pids=$(bench_pids main | tr '\n' ' ' | sed 's/ *$//;s/  */,/g')
	perf record -e "$(perf_event)" -F 999 -o "$scratch/perf.data" -p "$pids" >"$scratch/perf.log" 2>&1 &
	perf=$!
	for _ in $(bench_runs 100); do
		[ ! -s "$scratch/perf.data" ] || return 0
		kill -0 "$perf" 2>/dev/null || return 1
		sleep 0.05
	done
}

share()	# CASE VARIANT CMD...: the samples in our library and in the server's functions
{
	case=$1 variant=$2
	shift 2
	rm -f "$scratch/perf.data"
	sample || sample || sample || :
	sleep 0.2
	for _ in $(bench_runs "$times"); do
		"$@" >/dev/null 2>&1
	done
	kill -s INT "$perf" 2>/dev/null || :
	wait "$perf" || :
	bench_share "$case" "$variant" %.1f
}

run_share()
{
	bench_log "the CRC's share of CPU"
	if ! may_sample; then
		bench_missing "CRC's share of CPU" all "perf $(tail -1 "$scratch/perf.log")"
		return 0
	fi
	grow sampled $((2 * work_mb))
	for variant in off on; do
		switch $variant
		times=4
		share "backup to blackhole" "$variant" bench_client "$bindir/pg_basebackup" --checkpoint=fast -X none --target=blackhole
		share "backup to blackhole without page verification" "$variant" \
			bench_client "$bindir/pg_basebackup" --checkpoint=fast -X none --target=blackhole --no-verify-checksums
		times=1
		bench_sql "CHECKPOINT"
		share "updates with full-page images" "$variant" full_page_updates
		bench_sql "VACUUM pages"
		share "COPY of wide rows" "$variant" wide_copy
		share "prepared transactions" "$variant" pgbench_tps 1 -T "$seconds" -f "$scratch/prepared.sql"
		share "pgbench" "$variant" pgbench_tps 2 -T "$seconds"
	done
}

if wanted blackhole || wanted talk || wanted directory; then run_backups; fi
if wanted work || wanted pgbench || wanted recovery || wanted narrow || wanted incremental || wanted share; then prepare_work; fi
if wanted work; then run_work; fi
if wanted pgbench; then run_pgbench; fi
if wanted recovery; then run_recovery; fi
if wanted narrow; then run_narrow; fi
if wanted incremental; then run_incremental; fi
if wanted share; then run_share; fi
bench_stop main
if command -v python3 >/dev/null; then
	python3 "$top/bench/server_gains.py" "$bench_csv" "$backups_a_year"
else
	bench_log "no python3: gains and what they save are not computed"
fi
