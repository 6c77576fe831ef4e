#!/bin/sh
# run.sh: builds and runs the fuzz targets (libFuzzer, clang, ASan and UBSan).
#
#   test/fuzz/run.sh [SECONDS | --long] [TARGET...]
#
# SECONDS each (60); --long: 10^8 executions each.  A target is a file
# fuzz_*.c, its first line says what to compile it with (unit/needs.sh); its
# corpus is corpus/fuzz_*/, read but not written: what a run finds stays in
# build/fuzz_*/corpus, input that fails is build/fuzz_*/crash-*.  In a first line
# max_len:N limits the length of inputs, long:N the executions of --long, and
# cc:OPTION is for the compiler.  JOBS targets (2) run at once.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
root=.	# the path of the tree may hold blanks
build=${BUILD_DIR:-$here/build}
jobs=${JOBS:-2}
limit="-max_total_time=60"
long=
targets=
for arg; do
	case $arg in
	--long) long=100000000 ;;
	fuzz_*) targets="$targets $arg" ;;
	*) limit="-max_total_time=$arg" ;;
	esac
done
[ "$targets" ] || targets=$(cd "$here" && ls fuzz_*.c)
pg_config=${PG_CONFIG:-pg_config}
# shellcheck source=test/unit/needs.sh
. "$here/../unit/needs.sh"

if ! command -v clang >/dev/null; then
	echo "SKIP fuzz: no clang"
	exit 0
fi

# option SOURCE NAME: what follows NAME: in its first line
option() {
	sed -n "1s/.* $2:\([^ ]*\) .*/\1/p" "$1"
}

# fuzz TARGET: builds and runs it; its output is kept in a log.
fuzz() {
	target=${1%.c} source=$here/${1%.c}.c
	dir=$build/$target
	mkdir -p "$dir/corpus" "$here/corpus/$target"
	if ! needs_met "$source"; then return 0; fi
	# shellcheck disable=SC2046
	if ! clang -g -O1 -Wall -Wextra -Werror \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(option "$source" cc) \
		-I"$root/src" -I"$root/test/unit" "$source" "$root"/src/kernel/*.c \
		$(needed "$source") -o "$dir/$target" >"$dir/log" 2>&1; then
		cat "$dir/log"
		echo "FAIL $target: does not build"
		return 1
	fi
	max_len=$(option "$source" max_len)
	runs=$(option "$source" long)
	[ -z "$long" ] || limit=-runs=${runs:-$long}
	if ! (cd "$dir" && "./$target" "$limit" -max_len="${max_len:-16384}" \
		-print_final_stats=1 corpus "$here/corpus/$target") >"$dir/log" 2>&1
	then
		grep -vE '^#[0-9]|^[0-9]+	' "$dir/log" | tail -n 40
		echo "FAIL $target: input in $dir"
		return 1
	fi
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log")
	echo "ok   $target: $runs executions, $(find "$here/corpus/$target" -type f |
		wc -l) inputs in the corpus, $(find "$dir/corpus" -type f | wc -l) new"
	[ "${runs:-0}" -gt 0 ] || { echo "FAIL $target: nothing ran"; return 1; }
}

rm -rf "$build"
mkdir -p "$build"
trap 'trap "" TERM; kill -s TERM 0; exit 130' INT TERM HUP	# its targets, too
running=0
for target in $targets; do
	{
		fuzz "$target"
		echo $? >"$build/${target%.c}.status"
	} >"$build/${target%.c}.out" 2>&1 &
	running=$((running + 1))
	if [ "$running" -ge "$jobs" ]; then
		wait
		running=0
	fi
done
wait

failed=0 passed=0
for target in $targets; do
	cat "$build/${target%.c}.out"
	if [ "$(cat "$build/${target%.c}.status")" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
skipped=$(cat "$build"/*.out | grep -c '^SKIP')
echo "fuzz: $((passed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
