#!/bin/sh
# scale.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# How cost grows with the work: n, 4 n and 16 n relations (a run, the same beside
# an old snapshot, with workers, its memory, and a resume with nothing to do),
# findings, partitions, segments of a relation, and rows of the history.  Linear
# growth is 16 from n to 16 n, and a cost for each that stays the same.
#
#	N=n		relations of the smallest step; default: 500 (SMALL), 4000 (MEDIUM),
#			18750 (LARGE); the other cases follow it
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin scale "$@"
n=${N:-$((size_bytes / 512000))}
[ "$n" -le 18750 ] || n=18750
bench_need $((n * 1000000 + 1000000000)) 1000000000
bench_note steps "n is $n relations, $((n * 2)) findings, $((n / 5)) partitions, 16 segments of 1 GB (sparse), $((n * 30)) rows of history"

bench_stage
bench_cluster main --data-checksums "shared_buffers = 256MB
fsync = off
autovacuum = off
log_min_messages = panic
max_locks_per_transaction = 1024
max_worker_processes = 16"
bench_start main

session()	# SQL...: its own session for all of them, what they print on one line
{
	for statement in "$@"; do
		case $statement in
			*gset) printf '%s\n' "$statement" ;;
			*) printf '%s;\n' "$statement" ;;
		esac
	done | bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 2>"$scratch/session.err" | tr '\n' ' '
}

# A statement in a session of its own, after others that do not count; the best
# of three, since each is to show what the work costs.
timed()	# CASE STEP METRIC COUNT SQL BEFORE...: a row of microseconds for each of COUNT
{
	timed_case=$1 step=$2 metric=$3 count=$4 statement=$5
	shift 5
	for run in $(bench_rounds 3); do
		seconds=$(session "SET client_min_messages = error" "$@" "SELECT extract(epoch FROM clock_timestamp()) AS t0 \\gset" \
			"$statement" "SELECT extract(epoch FROM clock_timestamp()) - :t0" | awk '{print $NF}')
		[ -n "$seconds" ] || bench_fail "$(cat "$scratch/session.err")"
		bench_row "$timed_case" "$step" "$metric" "us each" "$run" "$(echo "$seconds $count" | awk '{printf "%.3f", $1 * 1000000 / $2}')"
	done
}

steps="n 4n 16n"
factor()	# STEP
{
	case $1 in n) echo 1 ;; 4n) echo 4 ;; 16n) echo 16 ;; esac
}

# --- relations -------------------------------------------------------------

whole="CALL verify_database(include_catalogs => false)"
resume="CALL verify_database(include_catalogs => false, reverify_after => '1000 years')"
for step in $steps; do
	count=$((n * $(factor "$step")))
	bench_log "$count relations"
	bench_sql "CREATE DATABASE relations_$step"
	PGDATABASE=relations_$step
	bench_sql "CREATE EXTENSION crc32c_accel"
	bench_sql "DO \$\$ BEGIN FOR i IN 1 .. $count LOOP EXECUTE format('CREATE TABLE t%s AS SELECT 1 a', i);
		IF i % 500 = 0 THEN COMMIT; END IF; END LOOP; END \$\$"
	bench_sql CHECKPOINT
	timed "a run" "$step" "each relation" "$count" "$whole"
	timed "a run with 2 workers" "$step" "each relation" "$count" "CALL verify_database(include_catalogs => false, workers => 2)"
	bench_row "a run" "$step" "private memory after it" MB 1 "$(session "SET client_min_messages = error" "$whole" \
		"SELECT pg_read_file('/proc/self/status')" | sed -n 's/.*RssAnon:[^0-9]*\([0-9]*\) kB.*/\1/p' | awk '{printf "%.1f", $1 / 1024}')"
	bench_client "$bindir/psql" -Xq -c "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class; SELECT pg_sleep(3600)" >/dev/null 2>&1 &
	old=$!
	sleep 0.5
	timed "a run beside an old snapshot" "$step" "each relation" "$count" "$whole"
	bench_sql "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)' AND pid <> pg_backend_pid()" >/dev/null
	wait $old || :
	timed "a resume with nothing to do after ten runs" "$step" "each relation" "$count" "$resume"
	bench_sql "TRUNCATE verify_runs, verify_run_relations, verify_findings"
	session "SET client_min_messages = error" "$whole" >/dev/null
	timed "a resume with nothing to do after one run" "$step" "each relation" "$count" "$resume"
	PGDATABASE=postgres
	bench_sql "DROP DATABASE relations_$step"
done

# --- findings --------------------------------------------------------------

bench_sql "CREATE EXTENSION crc32c_accel"
for step in $steps; do
	bench_sql "CREATE TABLE damaged_$step WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) t FROM generate_series(1, $((n * 2 * $(factor "$step")))) i"
done
bench_sql CHECKPOINT
for step in $steps; do
	bench_sql "SELECT pg_relation_filepath('damaged_$step')"
done >"$scratch/paths"
bench_stop main
while read -r path; do	# a byte of each page, in the hole
	# shellcheck disable=SC2016	# perl's variables
	as_user perl -e 'open(my $f, "+<:raw", $ARGV[0]) or die "$ARGV[0]: $!"; my $blocks = (-s $f) / 8192;
		for (0 .. $blocks - 1) { seek($f, $_ * 8192 + 4000, 0); print $f "x" } close($f) or die $!' "$scratch/main.data/$path"
done <"$scratch/paths"
bench_start main
for step in $steps; do
	count=$(bench_sql "SELECT bad_blocks FROM verify_relation_summary('damaged_$step', 'main')")
	bench_log "$count findings"
	timed "findings of a run" "$step" "each finding" "$count" \
		"CALL verify_database(relations => '{damaged_$step}')"
	timed "findings of verify_relation" "$step" "each finding" "$count" \
		"SELECT count(*) AS seen FROM verify_relation('damaged_$step') \\gset"
done

# --- partitions, segments --------------------------------------------------

for step in $steps; do
	count=$((n * $(factor "$step") / 5))
	bench_log "$count partitions"
	bench_sql "CREATE TABLE p_$step (a int) PARTITION BY LIST (a)"
	bench_sql "DO \$\$ BEGIN FOR i IN 1 .. $count LOOP EXECUTE format('CREATE TABLE p_${step}_%s PARTITION OF p_$step FOR VALUES IN (%s)', i, i);
		IF i % 500 = 0 THEN COMMIT; END IF; END LOOP; END \$\$"
	bench_sql "INSERT INTO p_$step SELECT generate_series(1, $count)"
	bench_sql CHECKPOINT
	timed "partitions" "$step" "each partition" "$count" "SELECT count(*) AS seen FROM verify_relation_summary('p_$step') \\gset"
done
for step in $steps; do
	count=$((16 * $(factor "$step")))
	bench_log "$count segments"
	bench_sql "CREATE TABLE segments_$step AS SELECT 1 a"
	bench_sql CHECKPOINT
	path=$scratch/main.data/$(bench_sql "SELECT pg_relation_filepath('segments_$step')")
	bench_stop main
	as_user truncate -s 1073741824 "$path"
	for segment in $(seq 1 $((count - 1))); do
		as_user truncate -s 1073741824 "$path.$segment"
	done
	bench_start main
	timed "segments" "$step" "each segment" "$count" "SELECT count(*) AS seen FROM relation_files('segments_$step') \\gset"
	timed "a block among segments" "$step" "each segment" "$count" \
		"SELECT count(*) AS seen FROM verify_relation_summary('segments_$step', 'main', 0, 0) \\gset"
	bench_sql "DROP TABLE segments_$step"
done

# --- history ---------------------------------------------------------------

for step in $steps; do
	rows=$((n * 30 * $(factor "$step")))
	bench_log "$rows rows of history"
	bench_sql "TRUNCATE verify_runs CASCADE"
	bench_sql "CALL verify_database(relations => '{}', cluster_files => false)"
	bench_sql "INSERT INTO verify_runs (run, started_at, finished_at, relations, blocks, read_bytes, findings, state, not_verifiable, zero_blocks, files,
			system_identifier, timeline_id, data_directory_inode, datid)
		SELECT r, now() - interval '1 day' * (300 - r), now() - interval '1 day' * (300 - r), $rows / 300, 1, 1, 0, 'completed', 0, 0, 0,
			o.system_identifier, o.timeline_id, o.data_directory_inode, o.datid
		FROM generate_series(2, 300) r, verify_runs o;
		INSERT INTO verify_run_relations SELECT r, 100000 + i, now() - interval '1 day' * (300 - r), 1, 0, now() - interval '1 day' * (300 - r), 0,
			'public', 't' || i, 'table', NULL, 1663, 100000 + i FROM generate_series(1, 300) r, generate_series(1, $rows / 300) i;
		INSERT INTO verify_run_relations SELECT r, 'p_n_1'::regclass, now() - interval '1 day' * (300 - r), 1, 0, now() - interval '1 day' * (300 - r), 0,
			'public', 'p_n_1', 'table', NULL, 1663, pg_relation_filenode('p_n_1') FROM generate_series(1, 300) r"
	bench_sql "ANALYZE verify_run_relations, verify_runs"
	timed "last good of one relation" "$step" "a question" 1 \
		"SELECT last_good_at IS NOT NULL AS seen FROM verify_last_good WHERE relation = 'p_n_1'::regclass \\gset" \
		"SELECT last_good_at IS NOT NULL AS seen FROM verify_last_good WHERE relation = 'p_n_1'::regclass \\gset"
	timed "metrics" "$step" "a question" 1 "SELECT bad_blocks AS seen FROM verify_metrics \\gset" \
		"SELECT bad_blocks AS seen FROM verify_metrics \\gset"
done
bench_stop main
