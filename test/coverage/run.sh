#!/bin/sh
# run.sh: which functions, lines and branches of src/ the tests run, by file.
#
# Builds with gcov, without optimisation, and runs what counts on this machine's
# PostgreSQL: pg_regress, pgTAP and TAP tests through servers (backends, workers
# and postmasters add their counts when they end; what a process did that was
# killed is lost) and the unit tests of src/kernel and src/verify on this CPU.
# report.py merges the counts, prints a table a file, and fails below the goals
# or when lines that did not run have no reason in reasons.txt.
#
#	BRANCHES=1	lists the lines with branches not taken, too
#	KEEP=1		leaves the counts
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
need_test_user
: "${PG_CONFIG:=$(pg_config_of "$(native_major)")}"
export PG_CONFIG
unset LONG	# what the short form runs
scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel_coverage.XXXXXX")
cleanup()
{
	if [ -n "${KEEP:-}" ]; then
		say "kept: $scratch"
	else
		rm -rf "$scratch"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM
chmod 755 "$scratch"

# The counts are of tests that passed: one that failed ends the run.
run()	# name, command...
{
	name=$1
	shift
	started=$(date +%s)
	status=0
	KEEP='' "$@" >"$scratch/$name.log" 2>&1 || status=$?
	if [ "$status" = 0 ]; then
		say "ok      $name, $(($(date +%s) - started)) s"
	else
		tail -40 "$scratch/$name.log"
		say "FAILED  $name"
	fi
	return "$status"
}

# The fuzz targets over their committed corpus.
corpus()
{
	cd "$top"	# whose path may hold blanks
	root=. pg_config=$PG_CONFIG
	# shellcheck source=test/unit/needs.sh
	. "$top/test/unit/needs.sh"
	for source in "$top"/test/fuzz/fuzz_*.c; do
		target=$(basename "$source" .c)
		# shellcheck disable=SC2046
		gcc -O0 --coverage -Dalways_inline=unused -I"$top/src" -I"$top/test/unit" \
			"$source" "$top/test/coverage/corpus.c" "$top"/src/kernel/*.c \
			$(needed "$source") -o "$scratch/corpus/$target" || return 1
		find "$top/test/fuzz/corpus/$target" -type f -exec "$scratch/corpus/$target" {} + || return 1
	done
}

mkdir "$scratch/corpus"
{
	run corpus corpus && run unit env BUILD_DIR="$scratch/unit" sh "$top/test/unit/run.sh" coverage &&
		for part in regress pgtap; do
			run $part env COVERAGE="$scratch/$part" sh "$top/test/server.sh" "$PG_CONFIG" $part ||
				exit 1
		done
} &
others=$!
failed=0
run tap env COVERAGE="$scratch/tap" sh "$top/test/server.sh" "$PG_CONFIG" tap &&
	run through_smgr env COVERAGE="$scratch/through_smgr" BUILD=COPT=-DACCEL_THROUGH_SMGR \
		sh "$top/test/server.sh" "$PG_CONFIG" tap test/t/060_storage_manager.pl || failed=1
wait "$others" || failed=1
[ "$failed" = 0 ] || die "tests failed"
say
python3 "$top/test/coverage/report.py" "$top" "$scratch/unit" "$scratch/regress" \
	"$scratch/corpus" "$scratch/pgtap" "$scratch/tap" "$scratch/through_smgr"
