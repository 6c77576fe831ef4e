# make_wal.sh: makes WAL in cluster "main" and copies it to a folder of its own.
# Sourced after bench_begin; SCALE and TRANSACTIONS as in wal.sh.  The command
# wal_made, if set, runs while the server has pgbench's tables and all of its WAL.

# shellcheck shell=sh disable=SC2154	# lib.sh has set them
scale=${SCALE:-25}
[ -n "${SCALE:-}" ] || [ "$size_bytes" -ge 1000000000 ] || scale=5
transactions=${TRANSACTIONS:-$((size_bytes / 5500 + 1))}

wal_begin()	# FULL_PAGE_WRITES
{
	bench_sql "ALTER SYSTEM SET full_page_writes = $1"
	bench_sql "ALTER SYSTEM SET wal_keep_size = '1000GB'"
	bench_reload main
	bench_sql "SELECT pg_switch_wal()" >/dev/null
	bench_sql "CHECKPOINT"
	begin=$(bench_wal_lsn)
}

bytes_made()
{
	echo $(($(bench_wal_lsn) - begin))
}

# Copies the whole segments since wal_begin to a folder of their own, and lets
# the server recycle its own.
keep_wal()	# CASE
{
	first=$(bench_sql "SELECT pg_walfile_name('0/0'::pg_lsn + $begin + 1)")
	last=$(bench_sql "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
	bench_sql "SELECT pg_switch_wal()" >/dev/null
	as_user mkdir "$scratch/$1"
	for file in "$scratch"/main.data/pg_wal/0000*; do
		name=$(basename "$file")
		[ "$(printf '%s\n%s\n' "$first" "$name" | sort | head -1)" = "$first" ] || continue
		[ "$(printf '%s\n%s\n' "$name" "$last" | sort | head -1)" = "$name" ] || continue
		as_user cp "$file" "$scratch/$1/"
	done
	bench_sql "ALTER SYSTEM RESET wal_keep_size"
	bench_reload main
	bench_sql "CHECKPOINT"
}

make_pgbench()
{
	bench_client "$bindir/pgbench" -i -q -s "$scale" >/dev/null 2>&1
	wal_begin on
	bench_client "$bindir/pgbench" -n -M prepared -c 2 -j 2 --random-seed=1 -t $((transactions / 2)) >/dev/null 2>&1
	${wal_made:-:}
	keep_wal pgbench
	bench_sql "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history"
	bench_note pgbench "$transactions transactions, scale $scale, seed 1, 2 clients; max_wal_size 256MB, full_page_writes on"
}
