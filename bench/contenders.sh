#!/bin/sh
# contenders.sh: fetches what the benchmarks compare with and no system package
# has, into bench/build/contenders: the crates crc-fast and crc32c (by cargo), the
# google-crc32c and crc32c wheels (by pip), zlib-ng, from the sources in the sdist
# of its Python package, built to take zlib's place (bench/dump.sh preloads it).
# Their versions are pinned, for another version is another measurement: here, and
# the crates' in contenders/Cargo.toml.  The report names those that ran.
# Optional: without them the report says "not installed".  System packages:
# zlib1g libdeflate0 libisal2 librocksdb7.8, and cmake to build zlib-ng.
set -eu
google_crc32c=1.9.0 crc32c=2.9.post0 zlib_ng=1.1.0
here=$(cd "$(dirname "$0")" && pwd)
to=$here/build/contenders
mkdir -p "$to/crate"

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
else
	echo "contenders.sh: no pip, so no wheels"
fi
if command -v cmake >/dev/null && python3 -m pip --version >/dev/null 2>&1; then
	mkdir -p "$to/sdist"
	python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$to/sdist" zlib-ng==$zlib_ng &&
		tar xzf "$(find "$to/sdist" -name 'zlib_ng-*.tar.gz' | sort | tail -1)" -C "$to/sdist" --strip-components=1 &&
		cmake -S "$to/sdist/src/zlib_ng/zlib-ng" -B "$to/zlib-ng" -DCMAKE_BUILD_TYPE=Release -DZLIB_COMPAT=ON \
			-DZLIB_ENABLE_TESTS=OFF -DWITH_GTEST=OFF >/dev/null &&
		cmake --build "$to/zlib-ng" >/dev/null ||
		echo "contenders.sh: zlib-ng does not build"
else
	echo "contenders.sh: no cmake or no pip, so no zlib-ng"
fi
ls "$to"
