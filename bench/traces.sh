#!/bin/sh
# traces.sh [--pg-config PATH] [--out DIR]
#
# Records the lengths that the server's CRC-32C gets, into DIR/<version>.trace
# (DIR: bench/traces): as the reader of WAL, from the WAL itself, and as its
# writer, by a module that counts (trace_calls.c).  bench/traces/README.md says
# what a file holds.  Two minutes; needs pgbench and a C compiler.
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin traces "$@"
bench_need 2000000000 500000000
reader_most=1500	# records per trace
writer_most=700

# --- what is recorded --------------------------------------------------------

bench_pgbench()
{
	bench_client "$bindir/pgbench" -n "$@" >/dev/null 2>&1
}

# Each workload runs in a session of its own; what it needs is made before.
prepare()
{
	bench_pgbench -i -s 4
	bench_sql "CREATE TABLE narrow (id bigint, a int, b text);
		CREATE TABLE indexed (id bigint PRIMARY KEY, a int, b text);
		INSERT INTO indexed SELECT i, i % 100, md5(i::text) FROM generate_series(1, 20000) i;
		COPY (SELECT i, i % 100, md5(i::text) FROM generate_series(1, 3000) i) TO '$scratch/rows'"
}

workload()	# NAME
{
	case $1 in
		tpcb) bench_pgbench -c 4 -t 400 ;;
		simple) bench_pgbench -N -c 4 -t 500 ;;
		copy) bench_sql "COPY narrow FROM '$scratch/rows'" ;;
		insert) bench_sql "INSERT INTO indexed SELECT 100000 + i, i, md5(i::text) FROM generate_series(1, 3000) i" ;;
		update) bench_sql "UPDATE indexed SET a = a + 1 WHERE id <= 3000" ;;
		delete) bench_sql "DELETE FROM indexed WHERE id BETWEEN 3000 AND 6000" ;;
		index) bench_sql "CREATE INDEX ON pgbench_accounts (abalance, aid)" ;;
		message) bench_sql "SELECT count(pg_logical_emit_message(false, 'audit', repeat('x', 20 + i * 37 % 400))) FROM generate_series(1, 2500) i" ;;
		twophase)
			seq 1 400 | sed "s/.*/BEGIN; UPDATE indexed SET a = a + 1 WHERE id = 6000 + &; PREPARE TRANSACTION 'p&'; COMMIT PREPARED 'p&';/" >"$scratch/twophase.sql"
			bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -f "$scratch/twophase.sql"
			;;
		vacuum) bench_sql "VACUUM (FREEZE) indexed" ;;
	esac >/dev/null
}

# --- where it is written -----------------------------------------------------

reader_records()	# START END: the body of each record
{
	as_user "$bindir/pg_waldump" -p "$(bench_data main)/pg_wal" -s "$1" -e "$2" 2>/dev/null |
		sed -nE 's/.*len \(rec\/tot\): +[0-9]+\/ +([0-9]+),.*/\1/p' | awk '$1 >= 24 {print $1 - 24}'
}

# A record of the writer: what it computes before the header of 20 bytes, of
# the process that wrote most.  Other CRCs (of control files, say) are left out.
writer_records()
{
	# shellcheck disable=SC2012	# names are calls.<number>
	largest=$(ls -S "$(bench_data main)"/calls.* | head -1)
	perl -e 'local $/; my @parts; for (unpack("L*", <STDIN>)) {
		@parts = () if $_ >> 31; my $len = $_ & 0x7fffffff;
		if (@parts && $len == 20 && !($_ >> 31)) { print join("+", @parts), "\n"; @parts = () }
		else { push @parts, $len } }' <"$largest"
}

# Records to a line each of the file: equal neighbours are counted.
emit()	# NAME MOST
{
	head -n "$2" | uniq -c | awk -v name="$1" '
		{line = line " " ($1 == 1 ? $2 : $2 "*" $1); n += $1}
		END {if (n) print name line}'
}

record()	# NAME FULL_PAGE_WRITES
{
	bench_sql "CHECKPOINT"
	rm -f "$(bench_data main)"/calls.*
	start=$(bench_sql "SELECT pg_current_wal_insert_lsn()")
	workload "$1"
	bench_sql "SELECT pg_switch_wal()" >/dev/null
	end=$(bench_sql "SELECT pg_current_wal_insert_lsn()")
	bench_settle
	suffix=''
	[ "$2" = on ] || suffix=-nofpi
	reader_records "$start" "$end" | emit "reader/$1$suffix" $reader_most
	writer_records | emit "writer/$1$suffix" $writer_most
}

bench_log "building the module that counts"
includes="-I$("$pg_config" --includedir-server)"
# shellcheck disable=SC2086
cc -O2 -shared -fPIC $includes -o "$scratch/trace_calls.so" "$top/bench/trace_calls.c"
chmod a+rx "$scratch/trace_calls.so"
for fpw in on off; do
	bench_cluster main "" "shared_preload_libraries = '$scratch/trace_calls.so'
max_prepared_transactions = 10
wal_level = logical
max_wal_size = 4GB
autovacuum = off
fsync = off
full_page_writes = $fpw"
	bench_start main
	prepare
	for name in tpcb simple copy insert update delete index message twophase vacuum; do
		bench_log "$name, full_page_writes = $fpw"
		record $name $fpw
	done
	bench_stop main
	rm -rf "$(bench_data main)" "$scratch/main.sock"
done >"$scratch/trace"
mv "$scratch/trace" "$out/$pg_major.trace"
rm -f "$bench_csv" "$out/traces.notes"
bench_log "$(wc -l <"$out/$pg_major.trace") traces in $out/$pg_major.trace"
