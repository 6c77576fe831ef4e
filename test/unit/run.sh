#!/bin/sh
# run.sh: builds and runs the stand-alone unit tests: kernels and judges.
#
#   test/unit/run.sh [quick | once | coverage | --long] [test...] [seed]
#
# quick: gcc -O2 and clang with ASan and UBSan only, reduced numbers of cases.
# once: gcc -O1 only, reduced.  A test's name (test_wal) leaves the others out.
# coverage: the same cases, once, counted by gcov (../coverage/run.sh).  Else
# gcc -O2, clang -O3, both with the sanitizers and (reduced) -O0, then static
# programs of this and other architectures under qemu-user, reduced.  --long
# adds gcc -O3, clang -O2, and single calls of more than 1, 2 and 4 GB (a minute
# a build).
#
# A test is a file test_*.c.  Its first line says what to compile it with, in
# the words of needs.sh.
# PG_CONFIG, JOBS (2) and BUILD_DIR can be set.  What cannot run is printed as
# SKIP; the exit status is 0 when everything that ran passed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
root=.	# the path of the tree may hold blanks
build=${BUILD_DIR:-$here/build}
jobs=${JOBS:-2}
scale=
seed=$(date +%s)
quick=
tests=
usage() {
	echo "unit: $1" >&2
	echo "usage: test/unit/run.sh [quick | once | coverage | --long] [test...] [seed]" >&2
	exit 2
}
for arg; do
	case $arg in
	quick | once | coverage) quick=$arg scale=--quick ;;
	test_*)
		[ -f "$here/$arg.c" ] || usage "no such test: $arg"
		tests="$tests $arg.c"
		;;
	--long) export UNIT_LONG=1 ;;
	[0-9]*) seed=$arg ;;
	*) usage "unknown argument: $arg" ;;
	esac
done

warnings="-Wall -Wextra -Werror -Wdeclaration-after-statement -Wvla"
pg_config=${PG_CONFIG:-pg_config}
# shellcheck source=test/unit/needs.sh
. "$here/needs.sh"
[ -n "$tests" ] || tests=$(cd "$here" && ls test_*.c)

# build_config NAME COMPILER FLAGS: objects once, then every test; prints
# nothing but errors and skips.
build_config() {
	name=$1 cc=$2 flags=$3
	dir=$build/$name
	mkdir -p "$dir"
	options=
	build_objects "$root"/src/kernel/*.c || return 1
	kernels=$objects
	for test in $tests; do
		build_test "$test" || return 1
	done
}

# build_objects FILE...: with the options of build_test; a file is compiled once
build_objects() {
	objects=
	for file; do
		object=$dir/$(printf '%s\n' "${file#"$root"/src/}" | tr / -).o
		objects="$objects $object"
		[ ! -f "$object" ] || continue
		# shellcheck disable=SC2046,SC2086
		$cc $flags $warnings -I"$root/src" $(compiling $options) \
			-c "$file" -o "$object" || return 1
	done
}

build_test() { # of build_config, whose variables it uses
	source=$here/$1
	if [ "$emulated" ] && { needs "$source" native || needs_server "$source"; }
	then
		return 0
	fi
	needs_met "$source" || return 0
	options=$(needed_options "$source")
	# shellcheck disable=SC2046
	build_objects $(needed_sources "$source") || return 1
	# shellcheck disable=SC2046,SC2086
	$cc $flags $warnings -I"$root/src" -I"$here" $(compiling $options) \
		-c "$source" -o "$dir/${1%.c}.o" &&
		$cc $flags "$dir/${1%.c}.o" $kernels $objects $options -o "$dir/${1%.c}"
}

# run_config NAME RUNNER...: every program of a build; a line each, or the
# whole output when it fails.
run_config() {
	name=$1 dir=$build/$2 size=$3
	shift 3
	bad=0
	for test in $tests; do
		program=$dir/${test%.c}
		[ -x "$program" ] || continue
		log=$dir/${test%.c}.$name.log
		# shellcheck disable=SC2086
		if "$@" "$program" $size "$seed" >"$log" 2>&1; then
			echo "ok   $name: $(tail -n 1 "$log")"
		else
			echo "FAIL $name: ${test%.c}"
			cat "$log"
			bad=1
		fi
	done
	return $bad
}

native() { # NAME COMPILER FLAGS [SCALE]
	emulated=
	if ! command -v "$2" >/dev/null; then
		echo "SKIP $1: no $2"
		return 0
	fi
	build_config "$1" "$2" "$3" || { echo "FAIL $1: does not build"; return 1; }
	run_config "$1" "$1" "${4:-$scale}" env
}

# What the tests read was written.  What other libraries write is not known to be.
memory() {
	instrumented=
	for test in $tests; do
		needs "$here/$test" decode || needs "$here/$test" export ||
			instrumented="$instrumented $test"
	done
	tests=$instrumented
	native clang-msan clang "-O1 -g -fsanitize=memory -fno-sanitize-recover=all" --quick
}

# emulate ARCH COMPILER QEMU MODEL...: one static build, run as every model
emulate() {
	emulated=1 arch=$1 cc=$2 qemu=$3
	shift 3
	command -v "$qemu-static" >/dev/null && qemu=$qemu-static
	for tool in "${cc%% *}" "$qemu"; do
		if ! command -v "$tool" >/dev/null; then
			echo "SKIP $arch under qemu: no $tool"
			return 0
		fi
	done
	build_config "$arch-static" "$cc" "-O2 -static" ||
		{ echo "FAIL $arch: does not build"; return 1; }
	failed=0
	for model; do
		run_config "$arch-$model" "$arch-static" --small "$qemu" -cpu "$model" ||
			failed=1
	done
	return $failed
}

# Counted by gcov; then detection and selection once more as older CPUs see them.
# Inlined code is called instead, so that a line is counted once.
coverage() {
	native coverage gcc "-O0 --coverage -Dalways_inline=unused" || return 1
	[ "$(uname -m)" = x86_64 ] || return 0
	if ! command -v qemu-x86_64-static >/dev/null; then
		echo "SKIP coverage as older CPUs: no qemu-x86_64-static"
		return 0
	fi
	tests="test_dispatch.c test_combine.c test_broken.c"
	for model in qemu64 Nehalem SandyBridge Haswell; do
		run_config "coverage-$model" coverage --small qemu-x86_64-static -cpu "$model" ||
			return 1
	done
}

# job NAME COMMAND...: runs one in the background, at most $jobs at a time,
# its output kept apart and shown at the end, in order.
names=''
job() {
	id=$1
	shift
	while [ "$(running)" -ge "$jobs" ]; do sleep 0.1; done
	names="$names $id"
	{
		"$@"
		echo $? >"$build/$id.status"
	} >"$build/$id.out" 2>&1 &
}

running() {
	count=0
	for started in $names; do
		[ -f "$build/$started.status" ] || count=$((count + 1))
	done
	echo "$count"
}

rm -rf "$build"
mkdir -p "$build"
trap 'trap "" TERM; kill -s TERM 0; exit 130' INT TERM HUP	# its jobs, too
sanitize="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
echo "unit: seed $seed"
if [ "$quick" = coverage ]; then
	job coverage coverage
elif [ "$quick" = once ]; then
	job gcc-O1 native gcc-O1 gcc -O1
elif [ "$quick" ]; then
	job gcc-O2 native gcc-O2 gcc -O2
	job clang-asan native clang-asan clang "$sanitize"
else
	for compiler in gcc clang; do
		job $compiler-O0 native $compiler-O0 $compiler -O0 --quick
		for level in 2 3; do
			case $compiler-O$level:${UNIT_LONG:-} in gcc-O3: | clang-O2:) continue ;; esac
			job $compiler-O$level native $compiler-O$level $compiler -O$level
		done
		job $compiler-asan native $compiler-asan $compiler "$sanitize"
	done
	job clang-msan memory
	job aarch64 emulate aarch64 aarch64-linux-gnu-gcc qemu-aarch64 \
		cortex-a53 max
	job aarch64-clang emulate aarch64-clang "clang --target=aarch64-linux-gnu" \
		qemu-aarch64 max
	job s390x emulate s390x s390x-linux-gnu-gcc qemu-s390x max
	job x86_64 emulate x86_64 gcc qemu-x86_64 \
		qemu64 Nehalem Westmere SandyBridge Haswell
fi
wait

# The cases and skips of the first build stand for all native ones.
status=0
for id in $names; do
	cat "$build/$id.out"
	[ "$(cat "$build/$id.status" 2>/dev/null)" = 0 ] || status=1
done
cat "$build"/gcc-O2/*.log 2>/dev/null | grep -E '^SKIP|cases$' | sort -u
passed=$(cat "$build"/*/*.log |
	awk '/ passed, /{n += $2} END {printf "%.0f", n}')
failures=$(cat "$build"/*.out | grep -c '^FAIL')
skips=$(cat "$build"/*.out "$build"/*/*.log | grep '^SKIP' | sort -u | wc -l)
echo "unit: $passed passed, $failures failed, $skips skipped (seed $seed)"
[ "$status" = 0 ] && [ "$failures" = 0 ]
