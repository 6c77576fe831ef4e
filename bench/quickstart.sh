#!/bin/sh
# quickstart.sh: what crc32c_accel does, on a throw-away server, in a minute.
#
# Linux, as root or as a user.  What is missing is installed where there is
# apt-get (as root or by sudo), else named; nothing that is installed changes.
# Builds the extension in a scratch copy, starts a cluster of its own that
# listens on no network port, shows checksums, kernels and clean verifications,
# then damages one page and one WAL record of a copy and shows that exactly these
# are found.  Everything it made is removed at the end; the exit status is 0 only
# when every expectation held.
#
#	PG_CONFIG=path	use this PostgreSQL installation (default: the machine's own)
#	UPGRADE=1		permit apt to upgrade installed packages
#	SCALE=n			size of the pgbench tables, n * 15 MB (default 20)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
scale=${SCALE:-20}
case $scale in
	*[!0-9]* | 0*) die "SCALE is a number from 1, not \"$scale\"" ;;
esac
failures=0

#
# How the steps are printed and checked
#
step()
{
	printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi
}

# expect WHAT ACTUAL EXPECTED
expect()
{
	if [ "$2" = "$3" ]; then
		say "  [as expected] $1"
	else
		say "  [NOT as expected] $1: got \"$2\", expected \"$3\""
		failures=$((failures + 1))
	fi
}

as_user()	# servers refuse root
{
	(cd "$scratch" && as_server_user "$@")
}

sql()	# SQL: the bare values
{
	as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

show()	# SQL: the statement and its result, as psql shows them
{
	printf '=# %s\n' "$1"
	as_user "$bindir/psql" -Xq -v ON_ERROR_STOP=1 -P pager=off -P footer=off -c "$1"
}

start()	# name of a data folder in scratch
{
	running=$1
	as_user "$bindir/pg_ctl" -D "$scratch/$1" -l "$scratch/$1.log" -s -w start || {
		tail -20 "$scratch/$1.log" >&2
		die "the server does not start"
	}
}

stop()
{
	[ -z "$running" ] || as_user "$bindir/pg_ctl" -D "$scratch/$running" -s -w -m fast stop || return 1
	running=
}

bench()	# arguments of pgbench, whose words matter only when it fails
{
	as_user "$bindir/pgbench" "$@" >"$scratch/pgbench.log" 2>&1 || {
		tail -5 "$scratch/pgbench.log" >&2
		die "pgbench failed"
	}
}

# Turns one bit of a file around.
flip()	# file, offset
{
	byte=$(od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
	# shellcheck disable=SC2059	# the format is the byte
	printf "\\$(printf %03o $((byte ^ 16)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

#
# 1. What must be there
#
step "1. PostgreSQL, its headers and a compiler"
need_postgresql "${PG_CONFIG:-}"
need_test_user
need_tmpdir
need_disk "$TMPDIR" $((1500 + 60 * scale)) "a cluster and a copy of it"
# shellcheck disable=SC2046	# the compiler may be several words
say "  $("$pg_config" --version), $($("$pg_config" --cc) --version | head -1)"
say "  $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
began=$(date +%s)

#
# 2. The extension, built in a copy of this tree and installed nowhere
#
scratch=$(mktemp -d "$TMPDIR/crc32c_quickstart.XXXXXX")
running=
cleanup()
{
	trap '' INT TERM HUP
	# interrupted while it started, the server may not have its file yet
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		stop 2>/dev/null && break
		[ -d "$scratch/$running" ] || break
		sleep 0.3
	done
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT HUP
trap 'exit 143' TERM

step "2. Building crc32c_accel in a scratch folder"
mkdir "$scratch/socket"
stage_extension "$scratch" with_llvm=no
say "  $(find "$scratch" -name 'crc32c_accel.*' -path '*/lib*' | head -1 | sed "s|$scratch/||"), $(($(date +%s) - began)) s"

#
# 3. A cluster of its own
#
step "3. A throw-away cluster with data checksums, and pgbench data"
[ "$(id -u)" != 0 ] || chown -R "$ACCEL_TEST_USER" "$scratch"
as_user "$bindir/initdb" -D "$scratch/data" -k -N -A trust -U postgres -E UTF8 \
	--no-locale >"$scratch/initdb.log" 2>&1 || {
	cat "$scratch/initdb.log" >&2
	die "initdb failed"
}
{
	cat "$scratch/staged.conf"
	cat <<END
listen_addresses = ''
unix_socket_directories = '$scratch/socket'
fsync = off
autovacuum = off
max_wal_size = 4GB
wal_keep_size = 2GB
END
} >>"$scratch/data/postgresql.conf"
export PGHOST="$scratch/socket" PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
start data
show "CREATE EXTENSION crc32c_accel;"
bench -i -q -s "$scale"
sql "CHECKPOINT"
sql "SELECT pg_switch_wal()" >/dev/null
# a record of 4 kB in the middle of this segment, whose data is known to be data
bench -n -c 2 -t 500
message=$(sql "SELECT pg_logical_emit_message(false, 'quickstart', repeat('x', 4000)) - 2000 - '0/0'")
[ $((message % 8192)) -ge 64 ] || message=$((message - 100))	# not in a page header
bench -n -c 2 -t 500
segment_size=$(sql "SELECT setting FROM pg_settings WHERE name = 'wal_segment_size'")
segment=$(sql "SELECT pg_walfile_name('0/0'::pg_lsn + $message)")
sql "SELECT pg_switch_wal()" >/dev/null
sql "CHECKPOINT"
say "  pgbench scale $scale: $(sql "SELECT pg_size_pretty(pg_database_size(current_database()))"), some transactions run"

#
# 4. Checksums and kernels
#
step "4. CRC-32C of anything, by the best kernel of this CPU"
show "SELECT public.crc32c('123456789'), kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected;"
expect "the check value of CRC-32C is 3808858755" "$(sql "SELECT public.crc32c('123456789')")" 3808858755
show "SELECT algorithm, kernel, selected, reason FROM checksum_kernels()
   WHERE compiled;"

#
# 5. Healthy: nothing is found
#
step "5. Every block of a table, its indexes and forks, while the server works"
show "SELECT relation, fork, blocks, verified_blocks, zero_blocks, bad_blocks, bytes_per_second, status
   FROM verify_relation_summary('pgbench_accounts', include_indexes => true)
   WHERE blocks > 0;"
expect "no bad block" \
	"$(sql "SELECT sum(bad_blocks) FROM verify_relation_summary('pgbench_accounts', include_indexes => true)")" 0

step "6. Every record of a WAL segment"
show "SELECT segment, status, records, verified_bytes, findings
   FROM verify_wal(NULL, '$segment', '$segment');"
expect "no error in it" "$(sql "SELECT findings FROM verify_wal(NULL, '$segment', '$segment')")" 0

#
# 6. Damaged, in a copy: exactly that is found
#
block_size=$(sql "SHOW block_size")
block=$(sql "SELECT least(pg_relation_size('pgbench_accounts') / $block_size / 3, 4711)")
step "7. One bit flipped in a copy of the cluster, in block $block of the table"
file=$(sql "SELECT pg_relation_filepath('pgbench_accounts')")
stop
cp -a "$scratch/data" "$scratch/copy"
flip "$scratch/copy/$file" $((block * block_size + 5000))
start copy
show "SELECT relation, fork, blkno, status, stored_checksum, computed_checksum
   FROM verify_relation('pgbench_accounts');"
expect "one finding, at block $block" "$(sql "SELECT string_agg(blkno || ' ' || status, ', ')
	FROM verify_relation('pgbench_accounts', include_indexes => true)")" "$block checksum_mismatch"

step "8. One bit flipped in a copy of that WAL segment, in a record's data"
mkdir "$scratch/wal"
cp "$scratch/data/pg_wal/$segment" "$scratch/wal/$segment"
[ "$(id -u)" != 0 ] || chown -R "$ACCEL_TEST_USER" "$scratch/wal"
flip "$scratch/wal/$segment" $((message % segment_size))
show "SELECT segment, status, findings, first_finding_lsn, message
   FROM verify_wal('$scratch/wal', '$segment', '$segment');"
expect "the segment is corrupt, by one record" "$(sql "SELECT status || ' ' || findings
	FROM verify_wal('$scratch/wal', '$segment', '$segment')")" "corrupt 1"

#
# 7. How fast the kernels are here
#
step "9. The kernels of this CPU, GB/s by buffer size"
show "SELECT kernel,
       round((max(gb_per_s) FILTER (WHERE bytes = 64))::numeric, 1) AS \"64 B\",
       round((max(gb_per_s) FILTER (WHERE bytes = 256))::numeric, 1) AS \"256 B\",
       round((max(gb_per_s) FILTER (WHERE bytes = 8192))::numeric, 1) AS \"8 kB\",
       round((max(gb_per_s) FILTER (WHERE bytes = 1048576))::numeric, 1) AS \"1 MB\"
   FROM checksum_bench(sizes => '{64,256,8192,1048576}', min_time => '10 ms')
   WHERE kernel <> 'bitwise' GROUP BY kernel ORDER BY 4 DESC;"

step "10. Cleaning up"
cleanup
trap - EXIT INT TERM HUP
say "  the servers are stopped, $scratch is removed"
[ -z "$installed" ] || say "  these packages were installed and stay: $installed"
say "  $(($(date +%s) - began)) s after the packages"
if [ "$failures" != 0 ]; then
	say "$failures expectations did not hold"
	exit 1
fi
say "all expectations held"
