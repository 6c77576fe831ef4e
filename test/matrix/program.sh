#!/bin/sh
# program.sh [--long]: a static crc32c_verify of musl, and one of arm64 under
# qemu-user, give the same rows and exit status as this machine's own, of a sound
# and of a damaged data directory.
#
# No decoder's library is there for either compiler, so both are built WITHOUT
# them.  --long builds the decoders of musl from Debian's sources, and runs the
# TAP scripts of the program with that one.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/lib.sh
. "$top/test/matrix/lib.sh"
need_test_user
pg_config=${PG_CONFIG:-$(pg_config_of "$(native_major)")}
matrix_begin
without="z lz4 zstd"

# The native program, and two copies of a cluster's data directory.
make_native()
{
	matrix_cluster
	echo "CREATE TABLE t AS SELECT g, repeat('x', 300) FROM generate_series(1, 3000) g" |
		matrix_user "$bindir/postgres" --single -D "$scratch/data" postgres >"$scratch/log" 2>&1
	cp -r "$scratch/data" "$scratch/damaged"
	file=$(find "$scratch/damaged/base" -type f -size +500k | sort | head -1)
	segment=$(find "$scratch/damaged/pg_wal" -type f | sort | head -1)
	printf 'damage' | dd of="$file" bs=1 seek=$((7 * 8192 + 3000)) conv=notrunc status=none
	printf 'damage' | dd of="$segment" bs=1 seek=300000 conv=notrunc status=none
	printf 'damage' | dd of="$scratch/damaged/global/pg_control" bs=1 seek=40 conv=notrunc status=none
}

build()	# TARGET COMPILER ARGUMENT...
{
	target=$1 compiler=$2
	shift 2
	mkdir "$scratch/$target"
	copy_tree "$top" "$scratch/$target"
	make -s -C "$scratch/$target" -j"$(nproc)" PG_CONFIG="$pg_config" with_llvm=no CC="$compiler" CFLAGS="-O2" \
		LDFLAGS_EX=-static "$@" crc32c_verify >"$scratch/log" 2>&1 || {
		tail -20 "$scratch/log"
		echo "FAIL  $target: it does not build"
		failed=$((failed + 1))
		return 1
	}
}

# All that a program says of both directories, with its exit statuses.
judge()	# PROGRAM...
{
	for of in data damaged; do
		for command in "wal $of/pg_wal" "wal -j2 $of/pg_wal" "images $of/pg_wal" "backup $of" "backup -j2 $of" "cluster $of"; do
			status=0
			# shellcheck disable=SC2086
			(cd "$scratch" && "$@" $command --format=json -v -q) || status=$?
			echo "$command: $status"
		done
	done
}

compare()	# TARGET PROGRAM...
{
	target=$1
	shift
	judge "$@" >"$scratch/rows.$target" 2>&1
	"$@" kernels >"$scratch/kernels" 2>&1 || echo "kernels: exit status $?" >>"$scratch/rows.$target"
	if diff "$scratch/rows.native" "$scratch/rows.$target" >"$scratch/log"; then
		echo "ok    $target: $(grep -c '^{' "$scratch/rows.$target") rows as those of the native program; $(sed -n 's/ (.*in use.*//p' "$scratch/kernels" | paste -sd, -)"
		passed=$((passed + 1))
	else
		head -20 "$scratch/log"
		echo "FAIL  $target: other rows"
		failed=$((failed + 1))
	fi
}

# The decoders' static libraries, by the compiler of musl.
build_decoders()
{
	prefix=$scratch/decoders
	mkdir -p "$scratch/lists" "$scratch/sources" "$prefix/lib" "$prefix/include"
	echo "deb-src $(debian_mirror) $(release_of "$(native_major)") main" >"$scratch/sources.list"
	apt="-q -o Dir::Etc::sourcelist=$scratch/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$scratch/lists"
	(
		cd "$scratch/sources"
		# shellcheck disable=SC2086
		as_root apt-get $apt update
		# shellcheck disable=SC2086
		as_root apt-get $apt --download-only source zlib lz4 libzstd
		for archive in *.orig.tar.*; do
			tar xf "$archive"
		done
		(cd zlib-* && CC=musl-gcc ./configure --static && make libz.a)
		make -C lz4-*/lib CC=musl-gcc liblz4.a
		make -j"$(nproc)" -C zstd-*/lib CC=musl-gcc libzstd.a
		cp zlib-*/libz.a lz4-*/lib/liblz4.a zstd-*/lib/libzstd.a "$prefix/lib"
		cp zlib-*/z*.h lz4-*/lib/lz4*.h zstd-*/lib/z*.h "$prefix/include"
	) >"$scratch/log" 2>&1 || { tail -20 "$scratch/log"; die "the decoders do not build"; }
}

make_native
judge "$scratch/tree/crc32c_verify" >"$scratch/rows.native" 2>&1
for wanted in "wal data/pg_wal: 0" "backup data: 0" "cluster data: 0" "wal damaged/pg_wal: 2" "backup damaged: 2" "cluster damaged: 2"; do
	grep -qx "$wanted" "$scratch/rows.native" || {
		grep -v '^{' "$scratch/rows.native"
		die "the native program: not \"$wanted\""
	}
done
if ! command -v musl-gcc >/dev/null; then
	echo "not run: musl: no musl-gcc (package musl-tools)"
elif [ "${1:-}" != --long ]; then
	! build musl musl-gcc LDFLAGS= WITHOUT="$without" || compare musl "$scratch/musl/crc32c_verify"
else
	build_decoders
	if build musl "musl-gcc -isystem $prefix/include -L$prefix/lib" LDFLAGS=; then
		compare musl "$scratch/musl/crc32c_verify"
		ACCEL_PROGRAM=$scratch/musl/crc32c_verify sh "$top/test/server.sh" "$pg_config" tap \
			"$top"/test/t/100_*.pl "$top"/test/t/119_*.pl "$top"/test/t/120_*.pl || failed=$((failed + 1))
	fi
fi
if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
	echo "not run: arm64: no aarch64-linux-gnu-gcc, or no qemu-aarch64-static"
elif build arm64 aarch64-linux-gnu-gcc LDFLAGS= WITHOUT="$without"; then
	compare arm64 qemu-aarch64-static "$scratch/arm64/crc32c_verify"
fi
echo "program: $passed passed, $failed failed"
[ "$failed" = 0 ]
