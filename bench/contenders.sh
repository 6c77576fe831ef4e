#!/bin/sh
# contenders.sh: fetches what the benchmarks compare with and no system package
# has, into bench/build/contenders:
#	by cargo	the crates crc-fast and crc32c
#	by pip		the google-crc32c and crc32c wheels, ISA-L (sdist of isal), and zlib-ng
#			(sdist), built to take zlib's place: bench/dump.sh preloads it
#	by npm		abseil (sources in the package re2)
# No package has two more.  They are built from clones that the caller names, for
# x86-64 alone:
#	CRC32_SIMD=DIR	dr-m/crc32_simd, the origin of MariaDB's kernel
#	FAST_CRC32=DIR	corsix/fast-crc32, the variants that its README finds fastest
# All versions are pinned, for another version is another measurement: here, and
# the crates' in contenders/Cargo.toml.  The report names those that ran.
# Optional: without them the report says "not installed".  System packages:
# zlib1g libdeflate0 libisal2 librocksdb7.8, cmake for zlib-ng, nasm for ISA-L, and
# libmariadbd-dev, whose archive holds MariaDB's kernel.
set -eu
google_crc32c=1.9.0 crc32c=2.9.post0 zlib_ng=1.1.0 isal=1.9.1 re2=1.27.1
crc32_simd=aaa329cff5e5697b184be5cb7b073ec2d18f908f
fast_crc32=b44cb7fbbb5fc0889db2f035238315b0f3ebb788
here=$(cd "$(dirname "$0")" && pwd)
to=$here/build/contenders
mkdir -p "$to/crate"

sdist()	# PACKAGE VERSION FOLDER: its sources
{
	mkdir -p "$to/$3"
	python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$to/$3" "$1==$2" &&
		tar xzf "$(find "$to/$3" -maxdepth 1 -name "*-$2.tar.gz")" -C "$to/$3" --strip-components=1
}

clone_at()	# DIR COMMIT FOLDER: its sources
{
	mkdir -p "$to/$3"
	git -C "$1" archive "$2" | tar x -C "$to/$3"
}

# Runs build_NAME, which makes NAME.so and NAME.version.
contender()	# NAME
{
	rm -rf "${to:?}/$1" "$to/$1.so"
	"build_$1" >"$to/$1.log" 2>&1 || echo "contenders.sh: $1 does not build, see $to/$1.log"
}

# Linked anew, without the name inside: by it the loader would take this library
# for the system's.
build_isal()
{
	sdist isal "$isal" isal &&
		make -C "$to/isal/src/isal/isa-l" -f Makefile.unx units=crc slib &&
		cc -shared -o "$to/isal.so" "$to"/isal/src/isal/isa-l/bin/*.o &&
		echo "$(awk '{print $1; exit}' "$to/isal/src/isal/isa-l/Release_notes.txt"), of the sdist isal $isal" >"$to/isal.version"
}

# Without the flags only its tables would be compiled.
build_abseil()
{
	case $(uname -m) in
		x86_64) flags="-msse4.2 -mpclmul" ;;
		aarch64) flags=-march=armv8-a+crc+crypto ;;
		*) flags= ;;
	esac
	mkdir -p "$to/abseil" &&
		npm pack --silent --pack-destination "$to/abseil" "re2@$re2" &&
		tar xzf "$to/abseil/re2-$re2.tgz" -C "$to/abseil" &&
		(
			cd "$to/abseil/package/vendor/abseil-cpp"
			# shellcheck disable=SC2046,SC2086
			c++ -std=c++17 -O2 -DNDEBUG -w $flags -shared -fPIC -Wl,--no-undefined -I. -o "$to/abseil.so" \
				"$here/contenders/abseil.cc" $(find absl/crc -name '*.cc' ! -name '*_test.cc' ! -name '*_benchmark.cc' ! -name crc_cord_state.cc) \
				absl/base/internal/cpu_detect.cc absl/base/internal/raw_logging.cc
		) &&
		echo "$(awk '/^#define ABSL_LTS_RELEASE_VERSION/ {print $3}' "$to/abseil/package/vendor/abseil-cpp/absl/base/config.h"), of the npm package re2 $re2" >"$to/abseil.version"
}

build_mariadb()
{
	mkdir -p "$to/mariadb" &&
		(
			cd "$to/mariadb"
			# shellcheck disable=SC2046
			ar x "$archive" $(ar t "$archive" | grep '^crc32.*\.o$')
		) &&
		c++ -shared -Wl,--no-undefined -o "$to/mariadb.so" "$to"/mariadb/*.o -lz &&
		dpkg-query -W -f '${Package} ${Version}\n' libmariadbd-dev >"$to/mariadb.version"
}

build_crc32_simd()
{
	clone_at "$CRC32_SIMD" "$crc32_simd" crc32_simd &&
		c++ -O2 -DNDEBUG -shared -fPIC -o "$to/crc32_simd.so" "$to/crc32_simd/lib/crc32_avx512.cc" &&
		echo "commit $crc32_simd" >"$to/crc32_simd.version"
}

# The README's fastest: on Zen 4, Sapphire Rapids and Ice Lake with AVX-512, on
# Zen 3 and Ice Lake without.  For CRC-32 it has one.
build_fast_crc32()
{
	clone_at "$FAST_CRC32" "$fast_crc32" fast_crc32 &&
		cc -O3 -o "$to/fast_crc32/generate" "$to/fast_crc32/generate.c" || return 1
	for variant in avx512_vpclmulqdq-crc32c-v3s2x4 avx512_vpclmulqdq-crc32c-v3s1_s3 avx512_vpclmulqdq-crc32c-v4s5x3 \
		sse-crc32c-v1s4x2 sse-crc32c-v7s3x3 avx512_vpclmulqdq-crc32-v4_v1 sse-crc32-v4_v1; do
		rest=${variant#*-} flags="-msse4.2 -mpclmul"
		[ "${variant%%-*}" = sse ] || flags="$flags -mavx512f -mavx512vl -mvpclmulqdq"
		"$to/fast_crc32/generate" -i "${variant%%-*}" -p "${rest%-*}" -a "${rest#*-}" >"$to/fast_crc32/$variant.c" || return 1
		# shellcheck disable=SC2086
		cc -O3 $flags -fPIC -Dcrc32_impl="$(echo "$variant" | tr - _)" -c -o "$to/fast_crc32/$variant.o" "$to/fast_crc32/$variant.c" ||
			return 1
	done
	cc -shared -o "$to/fast_crc32.so" "$to"/fast_crc32/*.o &&
		echo "commit $fast_crc32" >"$to/fast_crc32.version"
}

if command -v cargo >/dev/null; then
	cp "$here/contenders/Cargo.toml" "$here/contenders/lib.rs" "$to/crate/"
	(cd "$to/crate" && cargo build --release) && cp "$to/crate/target/release/libcontender_crc_fast.so" "$to/crc-fast.so"
else
	echo "contenders.sh: no cargo, so no crates"
fi
if python3 -m pip --version >/dev/null 2>&1; then
	for wheel in google-crc32c==$google_crc32c crc32c==$crc32c; do
		python3 -m pip install --quiet --upgrade --target "$to/wheels" "$wheel" ||
			echo "contenders.sh: no wheel $wheel"
	done
	contender isal
else
	echo "contenders.sh: no pip, so no wheels and no ISA-L"
fi
if command -v cmake >/dev/null && python3 -m pip --version >/dev/null 2>&1; then
	sdist zlib-ng $zlib_ng sdist &&
		cmake -S "$to/sdist/src/zlib_ng/zlib-ng" -B "$to/zlib-ng" -DCMAKE_BUILD_TYPE=Release -DZLIB_COMPAT=ON \
			-DZLIB_ENABLE_TESTS=OFF -DWITH_GTEST=OFF >/dev/null &&
		cmake --build "$to/zlib-ng" >/dev/null ||
		echo "contenders.sh: zlib-ng does not build"
else
	echo "contenders.sh: no cmake or no pip, so no zlib-ng"
fi
if command -v npm >/dev/null; then
	contender abseil
else
	echo "contenders.sh: no npm, so no abseil"
fi
archive=$(find /usr/lib /usr/lib64 -name libmariadbd.a 2>/dev/null | head -1)
if [ -n "$archive" ]; then
	contender mariadb
else
	echo "contenders.sh: no libmariadbd-dev, so no MariaDB"
fi
if [ -n "${CRC32_SIMD:-}" ]; then
	contender crc32_simd
else
	echo "contenders.sh: CRC32_SIMD names no clone, so no crc32_simd"
fi
if [ -n "${FAST_CRC32:-}" ]; then
	contender fast_crc32
else
	echo "contenders.sh: FAST_CRC32 names no clone, so no fast-crc32"
fi
ls "$to"
