#!/bin/sh
# run.sh [MUTANT...]: checks seen red.  Each NAME.patch breaks the code on
# purpose; its first line names the one command that must then fail, with
# PG_CONFIG for that of this machine's server.  A patch that does not apply, a
# command that passes and one that takes MUTANT_SECONDS (300) are failures.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
scratch_folder
pg_config=$(best_pg_config)
# what a mutant keeps from coming is not waited for as long as what is late
: "${PG_TEST_TIMEOUT_DEFAULT:=60}"
export PG_TEST_TIMEOUT_DEFAULT

seen_red()	# patch: whether its command fails, and not for want of a build
{
	rm -rf "$scratch/tree" "$scratch/tmp"	# failed tests keep their folders
	mkdir "$scratch/tmp"
	chmod 1777 "$scratch/tmp"
	copy_tree "$top" "$scratch/tree"
	patch -s -p1 -d "$scratch/tree" <"$1" >"$scratch/log" 2>&1 || {
		reason="does not apply"
		return 1
	}
	reason=$(sed -n '1s/^red: //p' "$1" | sed "s|PG_CONFIG|$pg_config|")
	status=0
	(cd "$scratch/tree" && TMPDIR=$scratch/tmp exec timeout -k 20 "${MUTANT_SECONDS:-300}" \
		sh -c "$reason") >"$scratch/log" 2>&1 || status=$?
	case $status in
		0) reason="not found by: $reason" && return 1 ;;
		124 | 137) reason="did not end: $reason" && return 1 ;;
	esac
	! grep -qE 'does not build|^skipped' "$scratch/log" || {
		reason="was not run: $reason"
		return 1
	}
}

passed=0 failed=0
[ $# -gt 0 ] || set -- "$here"/*.patch
for mutant in "$@"; do
	name=$(basename "$mutant" .patch)
	if seen_red "$here/$name.patch"; then
		passed=$((passed + 1))
		printf 'red   %-28s %s\n' "$name" "$reason"
	else
		failed=$((failed + 1))
		printf 'FAIL  %-28s %s\n' "$name" "$reason"
		tail -5 "$scratch/log"
	fi
done
say "mutants: $passed passed, $failed failed"
[ "$failed" = 0 ]
