#!/bin/sh
# build.sh PG_CONFIG [once]: builds in scratch copies with gcc and clang, with and
# without bitcode, with assertions of our own, every warning an error; then
# layers, exported symbols and generated constants; a build in another folder than
# that of the sources, installed below DESTDIR; and a static crc32c_verify.
# once: with gcc and bitcode alone, and what comes after that in one folder.
set -eu
pg_config=${1:-pg_config}
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

fresh_tree()
{
	rm -rf "$scratch/tree"
	mkdir "$scratch/tree"
	(cd "$top" && tar cf - --exclude='*.o' --exclude='*.bc' --exclude='*.so' \
		Makefile crc32c_accel.control sql src test) | (cd "$scratch/tree" && tar xf -)
}

# attempt NAME MAKE_ARGUMENT...
attempt()
{
	name=$1
	shift
	fresh_tree
	if make -s -C "$scratch/tree" -j"$(nproc)" PG_CONFIG="$pg_config" "$@" \
		>"$scratch/log" 2>&1 && ! grep -q 'warning:' "$scratch/log"; then
		echo "build: $name: ok"
	else
		cat "$scratch/log"
		echo "build: $name: FAILED"
		failed=1
	fi
}

# clang does not know gcc's -f and -W options of pg_config: those are no fault
# of this code
clang_flags='-Werror -Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument -Wno-unused-command-line-argument'
if [ "${2:-}" != once ]; then
	attempt "gcc, assertions" CC=gcc COPT="-Werror -DUSE_ASSERT_CHECKING" with_llvm=no all
	attempt "gcc -O0" CC=gcc COPT="-Werror -O0" with_llvm=no all
	attempt "clang" CC=clang COPT="$clang_flags" with_llvm=no all
	attempt "gcc, no bitcode" CC=gcc COPT=-Werror with_llvm=no all
fi
attempt "gcc, bitcode" CC=gcc COPT=-Werror with_llvm=yes all check-layers check-symbols check-generated
[ "${2:-}" != once ] || exit "$failed"

fresh_tree
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere"
if make -s -j"$(nproc)" -f "$scratch/tree/Makefile" PG_CONFIG="$pg_config" CC=gcc COPT=-Werror with_llvm=no \
	install DESTDIR="$scratch/a stage" >"$scratch/log" 2>&1 &&
	[ "$(find "$scratch/a stage" -type f -name 'crc32c_accel*' | wc -l)" = 3 ] &&
	sh "$top/test/gates/symbols.sh" "$(find "$scratch/a stage" -name '*.so')" >>"$scratch/log" 2>&1 &&
	[ -z "$(find "$scratch/tree" -name '*.o')" ]; then
	echo "build: in another folder: ok"
else
	cat "$scratch/log"
	find "$scratch/a stage" -type f
	echo "build: in another folder: FAILED"
	failed=1
fi

# the program of containers that have nothing but it
fresh_tree
if make -s -C "$scratch/tree" -j"$(nproc)" PG_CONFIG="$pg_config" CC=gcc COPT=-Werror with_llvm=no \
	crc32c_verify LDFLAGS_EX=-static >"$scratch/log" 2>&1 && [ ! -s "$scratch/log" ] &&
	readelf -l "$scratch/tree/crc32c_verify" | { ! grep -q INTERP; } &&
	env -i "$scratch/tree/crc32c_verify" kernels >"$scratch/log"; then
	echo "build: a static program: ok"
else
	cat "$scratch/log"
	echo "build: a static program: FAILED"
	failed=1
fi
[ "$failed" = 0 ]
