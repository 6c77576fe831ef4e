#!/bin/sh
# contenders.sh: fetches the contenders of bench/kernels.sh that are no system
# packages, into bench/build/contenders: the crc-fast crate (by cargo), the
# google-crc32c and crc32c wheels (by pip).  Optional: without them the report
# says "not installed".  System packages: zlib1g libdeflate0 libisal2 libz-ng2.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/build/contenders
mkdir -p "$to/crate"

if command -v cargo >/dev/null; then
	cp "$here/contenders/Cargo.toml" "$here/contenders/lib.rs" "$to/crate/"
	(cd "$to/crate" && cargo build --release) && cp "$to/crate/target/release/libcontender_crc_fast.so" "$to/crc-fast.so"
else
	echo "contenders.sh: no cargo, so no crc-fast crate"
fi
if python3 -m pip --version >/dev/null 2>&1; then
	for wheel in google-crc32c crc32c; do
		python3 -m pip install --quiet --upgrade --target "$to/wheels" "$wheel" ||
			echo "contenders.sh: no wheel $wheel"
	done
else
	echo "contenders.sh: no pip, so no wheels"
fi
ls "$to"
