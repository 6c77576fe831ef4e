#!/bin/sh
# server.sh PG_CONFIG regress|pgtap|tap [SCRIPT...]
#
# Runs the pg_regress scripts (sql/), the pgTAP scripts (test/pgtap/) or the TAP
# tests (test/t/) against servers of one PostgreSQL installation without
# installing anything: the extension is built from a copy of this tree and
# staged under a scratch folder.  Started by root, the servers run as the user
# ACCEL_TEST_USER (default postgres).
#
#	MAJOR=n							the major version that PG_CONFIG must be of
#	KERNEL=name PAGE_KERNEL=name	force kernels in every server (regress)
#	CONF="name=value ..." INITDB="--option ..."	run in a server that has them, as installcheck does (regress)
#	BUILD="COPT=... ..."			more arguments for make
#	BITCODE=1						build the bitcode, too
#	ACCEL_BUILDS=folder				keeps builds, for the next run (/var/tmp/crc32c_accel_builds.UID)
#	NEXT=pg_config					the server to which pg_upgrade leads (tap)
#	SANITIZE=1						module built with ASan and UBSan
#	COVERAGE=folder					module built with gcov; its notes and counts go there
#	PROVE_FLAGS=-v					arguments for prove (pgtap, tap)
#	LONG=1							tests take their long form (tap)
#	PG_TEST_TIMEOUT_DEFAULT=n		seconds, after which what is waited for never comes (600; tap)
#	KEEP=1							leave the scratch folder
#	UPDATE=1						write expected/ (regress) or the outputs in README.md and
#									docs/ (tap) from the results (then read the diff!)
set -eu

usage="usage: server.sh PG_CONFIG regress|pgtap|tap [SCRIPT...]"
pg_config=${1:?$usage}
what=${2:?$usage}
shift 2
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
version=$("$pg_config" --version)
case $version in
	"PostgreSQL ${MAJOR:-}"*) ;;
	*) die "$pg_config is of $version, not of PostgreSQL $MAJOR" ;;
esac
: "${ACCEL_BUILDS=/var/tmp/crc32c_accel_builds.$(id -u)}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX")
bindir=$("$pg_config" --bindir)
server_running=
preload=

cleanup()
{
	[ -z "$server_running" ] ||
		as_user "$bindir/pg_ctl" -D "$scratch/data" -m immediate stop >/dev/null
	[ ! -d "$scratch/devices" ] || sh "$top/test/devices.sh" drop "$scratch/devices"
	[ -z "${COVERAGE:-}" ] || (cd "$scratch/tree" &&
		find src -name '*.gc??' | tar cf - -T -) | tar xf - -C "$COVERAGE"
	if [ -n "${KEEP:-}" ]; then
		echo "kept: $scratch"
	else
		rm -rf "$scratch"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

as_user()	# runs a command as an unprivileged user: servers refuse root
{
	[ "$(id -u)" != 0 ] || chown -R "$ACCEL_TEST_USER" "$scratch"
	as_server_user env ${preload:+LD_PRELOAD="$preload"} \
		ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 "$@"
}

# Builds and stages a copy of the tree, which is then the current folder.
build_extension()
{
	# Nothing frees what a backend allocates at start: no leak detection.  The
	# server itself is not instrumented, so the run-time library comes first.
	# It must be at work before the constructor of p11-kit (a library of the
	# server's, in Debian 12), which would wait for ever: one of our own that
	# allocates runs before all others.
	if [ -n "${SANITIZE:-}" ]; then
		echo '#include <stdlib.h>
			__attribute__((constructor)) static void first(void) { free(malloc(1)); }' |
			gcc -shared -fPIC -Wl,-z,initfirst -o "$scratch/initfirst.so" -xc -
		preload="$(gcc -print-file-name=libasan.so) $scratch/initfirst.so"
		set -- PG_CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined' \
			PG_LDFLAGS='-fsanitize=address,undefined'
	fi
	# Every process of a server adds to the counts when it ends, in this tree.
	if [ -n "${COVERAGE:-}" ]; then
		mkdir -p "$COVERAGE"
		ACCEL_BUILDS=
		set -- PG_CFLAGS='--coverage -O0 -Dalways_inline=unused' SHLIB_LINK=--coverage
	fi
	[ -n "${BITCODE:-}" ] || set -- with_llvm=no "$@"
	# shellcheck disable=SC2086	# BUILD holds several arguments
	stage_extension "$scratch" ${BUILD:-} "$@"
	bindir=$("$pg_config" --bindir)
	pgxs=$(dirname "$(dirname "$("$pg_config" --pgxs)")")
	cd "$scratch/tree"
}

# A script that fails unless the servers really use the forced kernels (a value
# that the parameter refuses would leave the default with a warning).  CRC-32 has
# no parameter: its kernels run in the server's self-test, listed in a file.
forced_script()
{
	cat >sql/forced.sql <<END
CREATE EXTENSION crc32c_accel;
SELECT count(*) AS forced FROM checksum_kernels() WHERE selected AND (algorithm, kernel) IN
	(('crc32c', '$KERNEL'), ('page', '$PAGE_KERNEL'));
COPY (SELECT format('ran kernel crc32/%s', kernel) FROM checksum_self_test()
	WHERE algorithm = 'crc32' AND cases > 0 AND failures = 0) TO '$scratch/out/ran';
DROP EXTENSION crc32c_accel;
END
	{
		sed '/^COPY/,$d' sql/forced.sql
		printf ' forced \n--------\n      2\n(1 row)\n\n'
		sed -n '/^COPY/,$p' sql/forced.sql
	} >expected/forced.out
}

# Runs a command, keeps what it prints for the tally, and passes its status on.
tallied()	# command...
{
	{
		tallied_status=0
		"$@" || tallied_status=$?
		echo "$tallied_status" >"$scratch/status"
	} 2>&1 | tee -a "$scratch/tally"
	return "$(cat "$scratch/status")"
}

# The closing line of a run, from what pg_regress (a line a script: 15 in words,
# later TAP) or prove (its last lines) printed.
closing()	# part
{
	awk -v part="$1" -v status="$(cat "$scratch/status")" '
		/^(ok +[0-9]+|test .* \.\.\. ok) / && part == "regress" {passed++}
		/^(not ok|test .* \.\.\. FAILED) / && part == "regress" {failed++}
		/^Files=[0-9]+, Tests=/ {split($2, tests, /[=,]/); passed += tests[2]}
		/^Failed [0-9]+\/[0-9]+ subtests/ {split($2, count, "/"); failed += count[1]}
		END {
			if (status != 0 && !failed) failed = 1
			if (part != "regress") passed -= failed
			printf "%s: %d passed, %d failed\n", part, passed, failed
		}' "$scratch/tally"
}

# A server of its own for one run, on a socket in the scratch folder.
start_server()
{
	mkdir "$scratch/socket"
	# shellcheck disable=SC2086	# INITDB holds several arguments
	as_user "$bindir/initdb" -D "$scratch/data" -U postgres -A trust -N -k \
		--encoding=UTF8 --no-locale ${INITDB:-} >"$scratch/initdb.log" 2>&1 ||
		{ cat "$scratch/initdb.log"; exit 1; }
	{
		cat "$scratch/staged.conf"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$scratch/socket'"
		# shellcheck disable=SC2086
		printf '%s\n' ${CONF:-}
	} >>"$scratch/data/postgresql.conf"
	as_user "$bindir/pg_ctl" -D "$scratch/data" -l "$scratch/server.log" -s -w start ||
		{ cat "$scratch/server.log"; exit 1; }
	server_running=1
}

run_regress()	# script...
{
	cp "$scratch/staged.conf" "$scratch/regress.conf"
	if [ -n "${KERNEL:-}" ]; then
		: "${PAGE_KERNEL:=portable}"
		cat >>"$scratch/regress.conf" <<END
session_preload_libraries = crc32c_accel
crc32c_accel.kernel = $KERNEL
crc32c_accel.page_kernel = $PAGE_KERNEL
END
		forced_script
		set -- forced "$@"
	fi
	for script in "$@"; do	# pg_regress stops at a missing expected file
		[ -z "${UPDATE:-}" ] || touch "expected/$script.out"
	done
	mkdir "$scratch/out"
	if [ -n "${CONF:-}${INITDB:-}" ]; then	# as installcheck finds a server
		start_server
		set -- --host="$scratch/socket" --user=postgres "$@"
	else
		set -- --temp-instance="$scratch/instance" --temp-config="$scratch/regress.conf" "$@"
	fi
	tallied as_user "$pgxs/test/regress/pg_regress" \
		--bindir="$bindir" --inputdir=. --outputdir="$scratch/out" \
		--encoding=UTF8 --no-locale "$@" || {
		status=$?
		if [ -n "${UPDATE:-}" ]; then
			rm -f "$scratch/out/results/forced.out"
			cp "$scratch"/out/results/*.out "$top/expected/" && exit 0
		fi
		cat "$scratch/out/regression.diffs"
		closing regress
		exit $status
	}
	closing regress
	if [ -n "${KERNEL:-}" ]; then
		printf 'ran kernel %s\n' "crc32c/$KERNEL" "page/$PAGE_KERNEL"
		cat "$scratch/out/ran"
	fi
}

# One database for all scripts, each of which undoes what it does: as pg_prove
# runs them, from anywhere.  psql prints TAP.
run_pgtap()	# script...
{
	cat >"$scratch/run_one" <<END
#!/bin/sh
cd / && exec "$bindir/psql" -h "$scratch/socket" -U postgres -d postgres -XqAt \\
	-v ON_ERROR_STOP=1 -P pager=off -f "$scratch/tree/\$1"
END
	chmod 755 "$scratch/run_one"
	start_server
	# shellcheck disable=SC2086
	tallied as_user env LC_ALL=C prove ${PROVE_FLAGS:-} --ext .sql --exec "$scratch/run_one" "$@" || {
		tail -20 "$scratch/server.log"
		closing pgtap
		exit 1
	}
	closing pgtap
}

# The scripts of a failed run that died with every check passed.
died()
{
	sed -n 's/^\([^ ]*test\/t\/[^ ]*\) *(Wstat: .* Failed: 0)$/\1/p' "$scratch/tally"
}

# What a script and its servers said last: perl's own words go to no other place.
last_words()	# script...
{
	for script; do
		script=$(basename "$script" .pl)
		find "$scratch/tap" -name "regress_log_$script" -exec tail -n 30 {} \;
		find "$scratch/tap" -name "${script}_*.log" -exec sh -c '
			for log; do
				echo "==> $log <=="
				grep -E "ERROR|FATAL|PANIC|STATEMENT" "$log" | tail -n 10
				tail -n 5 "$log"
			done' last_words {} +
	done | cut -c1-500
}

# Those of them that waited in vain: they died of a timeout.  None where a check
# failed or a server crashed: that is never repeated.
waited_in_vain()
{
	! grep -rqE 'terminated by signal (4|6|7|8|11):|PANIC:' "$scratch/tap" --include='*.log' || return 0
	! grep -qE 'test/t/.*\(Wstat: .* Failed: [1-9]' "$scratch/tally" || return 0
	died | while read -r script; do
		! grep -rqE 'timed out|timeout on timer' "$scratch/tap" --include="regress_log_$(basename "$script" .pl)" ||
			echo "$script"
	done
}

prove_tap()	# script...
{
	# What is waited for comes, on a machine at work as well: this end is for what
	# never comes.
	# shellcheck disable=SC2086
	tallied as_user env PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-600}" PERL5LIB="$pgxs/test/perl:$scratch/tree/test/t" \
		PATH="$bindir:$PATH" PG_REGRESS="$pgxs/test/regress/pg_regress" \
		ACCEL_STAGED_CONF="$scratch/staged.conf" TESTDIR="$scratch/tap" \
		TESTDATADIR="$scratch/tap/data" TESTLOGDIR="$scratch/tap/log" \
		LONG="${LONG:-}" LC_ALL=C prove --timer ${PROVE_FLAGS:-} "$@"
}

# File systems on devices for scripts with a line "# Devices:".  Root makes them,
# and without them these scripts say what they leave out.
make_devices()	# script...
{
	[ "$(id -u)" = 0 ] && grep -q '^# Devices:' "$@" || return 0
	sh "$top/test/devices.sh" make "$scratch/devices" "$ACCEL_TEST_USER"
	export ACCEL_DEVICES="$scratch/devices"
}

# A server of the next major version, for scripts with a line "# Next:".  The wheel's
# alone stands beside this machine's own; without it they do without.  pg_upgrade looks
# for the library where its server keeps its own, so the server is copied.
stage_next()	# script...
{
	grep -q '^# Next:' "$@" || return 0
	next=$(($("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/') + 1))
	if [ -z "${NEXT:-}" ]; then
		have_wheel "$next" || return 0
		NEXT=$(wheel_pg_config "$next")
	fi
	mkdir "$scratch/next"
	ACCEL_NEXT_BINDIR=$(
		pg_config=$NEXT
		copied=1
		stage_extension "$scratch/next" with_llvm=no >&2
		"$pg_config" --bindir
	)
	export ACCEL_NEXT_BINDIR ACCEL_NEXT_CONF="$scratch/next/staged.conf"
	export LD_LIBRARY_PATH="$scratch/next/installation/beside${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

run_tap()	# script...
{
	mkdir "$scratch/tap"
	make_devices "$@"
	stage_next "$@"
	# The long form; 050 and 051 look at LONG themselves.
	if [ -n "${LONG:-}" ]; then
		: "${ACCEL_STORM_SECONDS:=1800}" "${ACCEL_CRASH_LOOPS:=100}"
		: "${ACCEL_WAL_STORM:=60}" "${ACCEL_WAL_CRASHES:=20}" "${ACCEL_WAL_FLIPS:=10000}"
		export ACCEL_STORM_SECONDS ACCEL_CRASH_LOOPS ACCEL_WAL_STORM ACCEL_WAL_CRASHES ACCEL_WAL_FLIPS
	fi
	prove_tap "$@" || {
		status=$?
		again=$(waited_in_vain)
		# shellcheck disable=SC2046	# names of our own
		last_words $(died)
		if [ -n "$again" ]; then
			mv "$scratch/tap" "$scratch/first"
			mkdir "$scratch/tap"
			# shellcheck disable=SC2086	# names of our own
			echo "not run to its end: the first attempt of" $again "(it waited in vain, the second counts)"
			# shellcheck disable=SC2086
			if prove_tap $again; then again=passed; else last_words $again; fi
		fi
		if [ "$again" != passed ]; then
			[ -z "${UPDATE:-}" ] || cp -R README.md docs "$top"
			closing tap
			exit $status
		fi
	}
	closing tap
}

build_extension
case $what in
	regress)
		if [ $# -eq 0 ]; then
			for script in sql/*.sql; do
				case $script in
					*--*) ;;
					*) set -- "$@" "$(basename "$script" .sql)" ;;
				esac
			done
		fi
		run_regress "$@"
		;;
	pgtap)
		[ $# -gt 0 ] || set -- test/pgtap/*.sql
		run_pgtap "$@"
		;;
	tap)
		[ $# -gt 0 ] || set -- test/t/*.pl
		run_tap "$@"
		;;
	*)
		echo "server.sh: unknown part $what" >&2
		exit 2
		;;
esac
