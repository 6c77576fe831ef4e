#!/bin/sh
# x86_servers.sh: a real PostgreSQL server under qemu-user as CPUs of several
# generations: no illegal instruction, the right kernel, right answers, a clean
# table clean and a damaged one found.
#
# The emulator runs no VPCLMULQDQ and no AVX-512: those kernels run natively, in
# the other parts.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/lib.sh
. "$top/test/matrix/lib.sh"
need_test_user
if [ "$(uname -m)" != x86_64 ]; then
	echo "not run: x86 servers: this machine is no x86-64"
	exit 0
fi
qemu=$(command -v qemu-x86_64-static || command -v qemu-x86_64) ||
	die "no qemu-x86_64 (package qemu-user-static)"
pg_config=${PG_CONFIG:-$(pg_config_of "$(native_major)")}
matrix_begin

matrix_cluster
# -j: a statement ends with a semicolon and an empty line
matrix_user "$bindir/postgres" --single -j -D "$scratch/data" postgres >"$scratch/setup.log" 2>&1 <<'END'
CREATE EXTENSION crc32c_accel;

CREATE TABLE clean AS SELECT i, repeat('x', 300) FROM generate_series(1, 5000) i;

CREATE TABLE damaged AS SELECT i, repeat('y', 300) FROM generate_series(1, 5000) i;

SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment;

SELECT pg_relation_filepath('damaged') AS file;

CHECKPOINT;

END
file=$(value file "$scratch/setup.log")
segment=$(value segment "$scratch/setup.log")
[ -n "$file" ] || { cat "$scratch/setup.log"; die "the cluster could not be set up"; }
printf 'damage' | dd of="$scratch/data/$file" bs=1 seek=$((7 * 8192 + 3000)) conv=notrunc status=none
cp "$top/test/matrix/probe.sql" "$scratch/probe.sql"
cat >>"$scratch/probe.sql" <<END
SELECT sum(bad_blocks)::text AS bad, sum(verified_blocks)::text AS verified FROM verify_relation_summary('clean')
SELECT count(*)::text AS damage FROM verify_relation('damaged') WHERE blkno = 7 AND status = 'checksum_mismatch'
SELECT findings::text AS wal_errors, records::text AS records FROM verify_wal(NULL, '$segment', '$segment')
END

# CPU model, what it has, and the CRC-32C kernel that must be chosen (a pattern)
while read -r model kernel what; do
	status=0
	matrix_user "$qemu" -cpu "$model" "$bindir/postgres" --single -D "$scratch/data" postgres \
		<"$scratch/probe.sql" >"$scratch/out" 2>&1 || status=$?
	matrix_judge "x86-64 $model ($what)" "$scratch/out" "$status" "$kernel"
done <<'END'
qemu64,-sse4.2,-pclmulqdq slicing8 nothing
Penryn slicing8 nothing,_sse4.1
Nehalem sse42* sse4.2
Westmere *pclmul* sse4.2_pclmulqdq
SandyBridge *pclmul* avx
Haswell *pclmul* avx2
Haswell,-sse4.2 slicing8 pclmulqdq_without_sse4.2
END
grep -qw avx512f /proc/cpuinfo || say "not run: AVX-512 in a server: neither this CPU nor the emulator has it"
say "x86_servers: $passed passed, $failed failed"
[ "$failed" = 0 ]
