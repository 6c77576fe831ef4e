#!/bin/sh
# arm_instructions.sh: instructions that the arm64 kernels execute for a call,
# beside the portable kernel's.
#
# This is what can be said about arm64 without such a machine: qemu-aarch64
# executes one instruction at a time and logs each; two calls minus one call is
# the count.  It is a count, not a time: instructions differ in latency and in
# how many run in a cycle.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
compiler=${CC:-aarch64-linux-gnu-gcc}
qemu="qemu-aarch64"
command -v qemu-aarch64-static >/dev/null && qemu="qemu-aarch64-static"
for tool in "$compiler" "$qemu"; do
	command -v "$tool" >/dev/null || { echo "SKIP: no $tool"; exit 0; }
done
"$compiler" -O2 -static -I"$top/src" "$top/bench/arm_instructions.c" \
	"$top"/src/kernel/*.c -o "$scratch/program"

executed() { # ALGORITHM KERNEL BYTES CALLS
	"$qemu" -cpu max -singlestep -d exec,nochain -D "$scratch/log" \
		"$scratch/program" "$@"
	wc -l <"$scratch/log"
}

# count ALGORITHM PORTABLE KERNEL BYTES: one row; PORTABLE comes first
count() {
	calls1=$(executed "$1" "$3" "$4" 1)
	calls2=$(executed "$1" "$3" "$4" 2)
	n=$((calls2 - calls1))
	[ "$2" != "$3" ] || portable=$n
	echo "$1 $3 $4 $n $portable" | awk '{
		printf "%-7s %-11s %6d %12d %12.2f %12.1f\n", $1, $2, $3, $4, $4 / $3, $5 / $4}'
}

echo "$("$compiler" --version | head -1), -O2; $("$qemu" --version | head -1)"
printf '%-7s %-11s %6s %12s %12s %12s\n' '' kernel bytes instructions 'per byte' 'fewer, times'
for bytes in 32 100 300 1024 8192; do
	for algorithm in crc32c crc32; do
		for kernel in slicing8 armv8 pmull pmull_eor3; do
			count $algorithm slicing8 $kernel $bytes
		done
	done
done
for bytes in 8192 16384; do
	count page portable portable $bytes
	count page portable neon $bytes
done
