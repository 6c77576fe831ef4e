# lib.sh: what the scripts of the matrix share (sourced).  Servers run in
# single-user mode, so an emulator that runs one process is enough.
# shellcheck shell=sh disable=SC2154	# top, scratch, pg_config, failed: the script's own

# A scratch folder for the time of the script, and the counts of what it tells last.
matrix_begin()
{
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 130' INT TERM HUP
	chmod 755 "$scratch"
	passed=0 failed=0
}

# as the user that may run a server
matrix_user()
{
	as_server_user "$@"
}

# Builds a copy of this tree, stages it, and makes a cluster that finds it:
# $scratch/data, WAL segments of 1 MB, checksums on.
matrix_cluster()	# argument of make...
{
	stage_extension "$scratch" with_llvm=no "$@"
	bindir=$("$pg_config" --bindir)
	[ "$(id -u)" != 0 ] || chown "$ACCEL_TEST_USER" "$scratch"
	matrix_user "$bindir/initdb" -D "$scratch/data" -k -N -A trust -U postgres -E UTF8 --no-locale \
		--wal-segsize=1 >"$scratch/initdb.log" 2>&1 || { cat "$scratch/initdb.log"; exit 1; }
	cat "$scratch/staged.conf" - >>"$scratch/data/postgresql.conf" <<END
jit = off
wal_keep_size = 256MB	# every server here reads the segment of the first
END
}

# The value of a column in the output of a single-user server.
value()	# column, file
{
	sed -n "s/^.*[0-9]: $1 = \"\\(.*\\)\"	.*/\\1/p" "$2" | tail -1
}

# Judges the answers of one server to probe.sql: matrix_judge NAME OUTPUT STATUS
# EXPECTED, EXPECTED being a pattern for the selected CRC-32C kernel.
matrix_judge()
{
	kernel=$(value kernel "$2")
	problem=
	[ "$3" = 0 ] || problem="the server ended with $3"
	! grep -q 'ERROR: ' "$2" || problem="${problem:+$problem; }$(grep -m 1 -o 'ERROR: .*' "$2")"
	# shellcheck disable=SC2254	# a pattern
	case $kernel in
		$4) ;;
		*) problem="${problem:+$problem; }selected \"$kernel\", expected $4" ;;
	esac
	for check in answers combines agree; do
		[ "$(value $check "$2")" = true ] || problem="${problem:+$problem; }$check: not true"
	done
	[ "$(value damage "$2")" = 1 ] ||
		problem="${problem:+$problem; }damage: $(value damage "$2") findings, not 1"
	for check in failures bad wal_errors; do
		[ "$(value $check "$2")" = 0 ] || problem="${problem:+$problem; }$check: $(value $check "$2")"
	done
	if [ -n "$problem" ]; then
		printf 'FAIL  %-34s %s\n' "$1" "$problem"
		tail -15 "$2"
		failed=$((failed + 1))
	else
		printf 'ok    %-34s %s; %s kernels self-tested\n' "$1" "$(value selected "$2")" "$(value kernels "$2")"
		passed=$((passed + 1))
	fi
}
