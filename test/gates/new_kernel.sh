#!/bin/sh
# new_kernel.sh PG_CONFIG: adding a kernel takes one new file and one row.
#
# Takes both from docs/development.md ("Adding a kernel"), puts them into a scratch copy
# of the tree and nothing else, and lets everything that comes from the table
# (unit tests, parameters, listing, self-test, a server forced to it) run.
set -eu
pg_config=${1:-pg_config}
top=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(uname -m)" != x86_64 ] || ! grep -qw sse4_2 /proc/cpuinfo; then
	echo "not run: the example of docs/development.md is a kernel for x86-64 with SSE4.2"
	exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
(cd "$top" && tar cf - --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude=build \
	Makefile crc32c_accel.control sql src expected test) | (cd "$scratch" && tar xf -)

# the first block of C of the section is the file, the second one the row
awk -v out="$scratch/block" '/^## / {inside = /Adding a kernel/} !inside {next}
	/^```c$/ {n++; file = out n; next} /^```$/ {file = ""; next}
	file != "" {print > file}' "$top/docs/development.md"
name=$(sed -n 's/^ \* kernel_\(.*\)\.c$/\1/p' "$scratch/block1" | head -1)
if ! grep -q "^KERNEL(crc32c, x86_64, ${name:-?}," "$scratch/block2"; then
	echo "new_kernel: the example of docs/development.md is not as this gate reads it"
	exit 1
fi
mv "$scratch/block1" "$scratch/src/kernel/kernel_$name.c"
awk -v row="$scratch/block2" '/^KERNEL\(crc32c, any, slicing8/ {
	while ((getline line < row) > 0) print line} {print}' \
	"$top/src/kernel/kernels.def" >"$scratch/src/kernel/kernels.def"
rm "$scratch/block2"
diff "$top/src/kernel/kernels.def" "$scratch/src/kernel/kernels.def" || true

cd "$scratch"
sh test/unit/run.sh once
KERNEL=$name sh test/server.sh "$pg_config" regress
echo "new_kernel: $name, one file and one row: ok"
