#!/bin/sh
# server.sh PG_CONFIG regress|tap [SCRIPT...]
#
# Runs the pg_regress scripts (sql/) or the TAP tests (test/t/) against servers
# of one PostgreSQL installation without installing anything: the extension is
# built from a copy of this tree and staged under a scratch folder.  Started by
# root, the servers run as the user ACCEL_TEST_USER (default postgres).
#
#	KERNEL=name PAGE_KERNEL=name	force kernels in every server (regress)
#	KEEP=1							leave the scratch folder
#	UPDATE=1						write expected/ from the results (then read the diff!)
set -eu

pg_config=${1:?usage: server.sh PG_CONFIG regress|tap [SCRIPT...]}
what=${2:?usage: server.sh PG_CONFIG regress|tap [SCRIPT...]}
shift 2
top=$(cd "$(dirname "$0")/.." && pwd)
user=${ACCEL_TEST_USER:-postgres}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX")
bindir=$("$pg_config" --bindir)
libdir=$("$pg_config" --pkglibdir)
sharedir=$("$pg_config" --sharedir)

cleanup()
{
	[ -n "${KEEP:-}" ] && echo "kept: $scratch" || rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

as_user()	# runs a command as an unprivileged user: servers refuse root
{
	if [ "$(id -u)" = 0 ]; then
		chown -R "$user" "$scratch"
		setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
			env HOME="$scratch" USER="$user" "$@"
	else
		"$@"
	fi
}

(cd "$top" && tar cf - Makefile crc32c_accel.control sql src expected test) |
	(mkdir "$scratch/tree" && cd "$scratch/tree" && tar xf -)
cd "$scratch/tree"
find . -name '*.o' -o -name '*.bc' -o -name '*.so' | xargs rm -f
stage=$scratch/stage
make -s -j"$(nproc)" PG_CONFIG="$pg_config" install DESTDIR="$stage" >"$scratch/build.log" 2>&1 || {
	cat "$scratch/build.log" >&2
	exit 1
}

{
	if [ "$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 18 ]; then
		echo "extension_control_path = '$stage$sharedir:\$system'"
	else
		echo "extension_destdir = '$stage'"
	fi
	echo "dynamic_library_path = '$stage$libdir:\$libdir'"
} >"$scratch/staged.conf"

case $what in
	regress)
		cp "$scratch/staged.conf" "$scratch/regress.conf"
		# initdb of pg_regress makes no checksums before 18: set them by option
		[ -z "${KERNEL:-}" ] || echo "crc32c_accel.kernel = $KERNEL
session_preload_libraries = crc32c_accel" >>"$scratch/regress.conf"
		[ -z "${PAGE_KERNEL:-}" ] || echo "crc32c_accel.page_kernel = $PAGE_KERNEL" >>"$scratch/regress.conf"
		[ $# -gt 0 ] || set -- $(ls sql | grep -v -e -- | sed 's/\.sql$//')
		for script in "$@"; do	# pg_regress stops at a missing expected file
			[ -n "${UPDATE:-}" ] && touch "expected/$script.out"
		done
		mkdir "$scratch/out"
		as_user "$("$pg_config" --pgxs | sed 's|/makefiles/pgxs.mk||')/test/regress/pg_regress" \
			--temp-instance="$scratch/instance" --temp-config="$scratch/regress.conf" \
			--bindir="$bindir" --inputdir=. --outputdir="$scratch/out" \
			--encoding=UTF8 --no-locale "$@" || {
			status=$?
			[ -n "${UPDATE:-}" ] && cp "$scratch"/out/results/*.out "$top/expected/" && exit 0
			cat "$scratch/out/regression.diffs"
			exit $status
		}
		;;
	tap)
		[ $# -gt 0 ] || set -- test/t/*.pl
		mkdir "$scratch/tap"
		as_user env PERL5LIB="$("$pg_config" --pgxs | sed 's|/makefiles/pgxs.mk||')/test/perl:$scratch/tree/test/t" \
			PATH="$bindir:$PATH" PG_REGRESS="$("$pg_config" --pgxs | sed 's|/makefiles/pgxs.mk||')/test/regress/pg_regress" \
			ACCEL_STAGED_CONF="$scratch/staged.conf" TESTDIR="$scratch/tap" \
			TESTDATADIR="$scratch/tap/data" TESTLOGDIR="$scratch/tap/log" \
			LC_ALL=C prove "$@"
		;;
	*)
		echo "server.sh: unknown part $what" >&2
		exit 2
		;;
esac
