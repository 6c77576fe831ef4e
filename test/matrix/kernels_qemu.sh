#!/bin/sh
# kernels_qemu.sh: which kernels run on which CPU, by the unit tests.
#
# One static program of test_crc and test_page an architecture, run on this
# machine's CPU and on the models that qemu-user emulates.  Prints a line a
# model: the kernels that ran against the definition, and the result.  A kernel
# that the model has the features for and that did not run is a failure (the
# tests see to that); the last lines name the kernels that ran nowhere.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0

build() { # ARCH COMPILER...
	dir=$scratch/$1
	shift
	mkdir "$dir"
	for test in crc page; do
		"$@" -O2 -static -I"$top/src" "$top/test/unit/test_$test.c" \
			"$top"/src/kernel/*.c -o "$dir/test_$test" 2>"$dir/log" || {
			cat "$dir/log"
			return 1
		}
	done
}

# run NAME ARCH RUNNER...: a line of the table
run() {
	name=$1 dir=$scratch/$2
	shift 2
	: >"$scratch/out"
	result=ok
	for test in crc page; do
		"$@" "$dir/test_$test" --small 1 >>"$scratch/out" 2>&1 || result=FAIL
	done
	sed -n 's/^\([a-z0-9]* [a-z0-9_]*\): [0-9]* cases$/\1/p' "$scratch/out" >"$scratch/ran"
	cat "$scratch/ran" >>"$scratch/all"
	first=$name
	for algorithm in crc32c crc32 page; do
		printf '%-22s %-7s %-50s %s\n' "$first" "$algorithm" \
			"$(sed -n "s/^$algorithm //p" "$scratch/ran" | tr '\n' ' ')" "$result"
		first=
	done
	if [ $result = ok ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		grep -v '^SKIP' "$scratch/out"
	fi
}

# models QEMU ARCH COMPILER MODEL...
models() {
	qemu=$1 arch=$2 compiler=$3
	shift 3
	command -v "$qemu-static" >/dev/null && qemu=$qemu-static
	for tool in "$qemu" "$compiler"; do
		if ! command -v "$tool" >/dev/null; then
			echo "SKIP $arch: no $tool"
			skipped=$((skipped + 1))
			return
		fi
	done
	[ -d "$scratch/$arch" ] || build "$arch" "$compiler" || {
		echo "FAIL $arch does not build"
		failed=$((failed + 1))
		return
	}
	for model; do
		run "$arch $model" "$arch" "$qemu" -cpu "$model"
	done
}

: >"$scratch/all"
printf '%-22s %-7s %-50s %s\n' 'CPU model' '' 'kernels that ran, best first' result
native=$(uname -m)
if build "$native" gcc; then
	run "$native, this machine" "$native" env
else
	failed=$((failed + 1))
fi
if [ "$native" = x86_64 ]; then
	models qemu-x86_64 x86_64 gcc qemu64 Penryn Nehalem Westmere SandyBridge Haswell
fi
models qemu-aarch64 aarch64 aarch64-linux-gnu-gcc \
	cortex-a53 cortex-a72 neoverse-n1 max
models qemu-s390x s390x s390x-linux-gnu-gcc qemu max

# The rows of the table, as the preprocessor sees them.
{
	echo '#define KERNEL(algorithm, arch, name, needs, preferred, summary) row algorithm name'
	echo '#include "kernel/kernels.def"'
} >"$scratch/rows.h"
gcc -E -P -I"$top/src" "$scratch/rows.h" | sed -n 's/^ *row //p' |
	while read -r row; do
		grep -qx "$row" "$scratch/all" || echo "SKIP $row ran on no CPU here"
	done >"$scratch/nowhere"
cat "$scratch/nowhere"
skipped=$((skipped + $(wc -l <"$scratch/nowhere")))
echo "kernels_qemu: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
