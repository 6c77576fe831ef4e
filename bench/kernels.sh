#!/bin/sh
# kernels.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR]
#
# Times the kernels and what else this machine has: other libraries, and the
# kernels of every installed server (from its libpgport.a and its header
# storage/checksum_impl.h).  Then the same kernels from SQL.  Sizes change the
# time per case (20, 100, 1000 ms), not the lengths.
#
#	ONLY=PREFIX		only the cases that begin so ("crc32c/random", say)
set -eu
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
bench_begin kernels "$@"
bench_need 500000000 400000000

case $size_bytes in
	????????? | ???????? | ???????) time_ms=20 ;;
	??????????) time_ms=100 ;;
	*) time_ms=1000 ;;
esac
memory=1073741824
[ "$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)" -gt 1600000 ] || memory=268435456
[ $memory = 1073741824 ] || bench_missing "crc32c/independent/1073741824" all "less than 1.6 GB of memory available"

# --- versions ----------------------------------------------------------------

version()	# LABEL WORDS: what the report names beside the contender
{
	[ -z "$2" ] || bench_note "contender $1" "$2"
}

# The package of a file and its version, as the system's package manager knows them.
package_of()	# FILE
{
	file=$(readlink -f "$1")
	if command -v dpkg-query >/dev/null; then
		package=$({ dpkg-query -S "$file" || dpkg-query -S "${file#/usr}"; } 2>/dev/null | sed -n '1s/: .*//p')
		[ -z "$package" ] || dpkg-query -W -f '${Package} ${Version}' "$package"
	elif command -v rpm >/dev/null; then
		rpm -qf --qf '%{NAME} %{VERSION}-%{RELEASE}' "$file" 2>/dev/null || :
	fi
}

shared_library()	# NAME, to which a version may be added: its file
{
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v name="$1" 'index($1, name) == 1 {print $NF; exit}'
}

system_library()	# LABEL NAME
{
	file=$(shared_library "$2")
	[ -z "$file" ] || version "$1" "$(package_of "$file"), $(basename "$(readlink -f "$file")")"
}

crate()	# NAME: its version in the lock file
{
	awk -v name="name = \"$1\"" '$0 == name {getline; print $3}' "$contenders/crate/Cargo.lock" 2>/dev/null | tr -d '"'
}

# A server's, by its pg_config, or by the package in the chroot that it lies in.
server_version()	# LIBPGPORT
{
	tree=$(dirname "$(dirname "$1")")
	"$tree/bin/pg_config" --version 2>/dev/null || {
		root=${tree%/usr/lib/postgresql/*}
		awk -v name="Package: postgresql-${tree##*/}" '$0 == name {found = 1} found && /^Version:/ {print "PostgreSQL " $2; exit}' \
			"$root/var/lib/dpkg/status" 2>/dev/null
	}
}

# --- contenders ------------------------------------------------------------

# The position-independent copy of the library, which 19's objects need: they
# read the CPU's features from another object.
server_kernels()	# LABEL LIBPGPORT
{
	mkdir "$scratch/$1" 2>/dev/null || return 0
	archive=${2%.a}_shlib.a
	[ -f "$archive" ] || archive=$2
	(
		cd "$scratch/$1"
		for object in $(ar t "$archive" | grep -E '^pg_(crc32c|cpu)_.*\.o$' | grep -v choose); do
			ar x "$archive" "$object"
		done
		cc -shared -o "../$1.so" ./*.o
	) >"$scratch/$1.log" 2>&1 || {
		bench_missing crc32c "$1" "$archive has no kernels that can be linked"
		return 0
	}
	libraries="$libraries --library $1=$scratch/$1.so"
	version "PostgreSQL ${1#pg}" "$([ "$2" = "$own_libpgport" ] && "$pg_config" --version || server_version "$2")"
}

# Page checksums as the server's build makes them, and with AVX2 (as 19 does).
server_pages()
{
	includes="-I$("$pg_config" --includedir-server) -I$("$pg_config" --includedir)"
	flags="-shared -fPIC -O2 -funroll-loops -ftree-vectorize $includes"
	# shellcheck disable=SC2086
	cc $flags -o "$scratch/pages.so" "$top/bench/contender_page.c" >"$scratch/pages.log" 2>&1 || {
		bench_missing page "PostgreSQL as built" "its headers do not compile here"
		return 0
	}
	libraries="$libraries --library pages=$scratch/pages.so"
	[ "$(uname -m)" = x86_64 ] || return 0
	# shellcheck disable=SC2086
	cc $flags -mavx2 -o "$scratch/pages-avx2.so" "$top/bench/contender_page.c"
	libraries="$libraries --library pages-avx2=$scratch/pages-avx2.so"
}

wheel()	# LABEL PACKAGE PATTERN CONTENDER: the compiled library of a Python wheel
{
	file=$(PYTHONPATH="$contenders/wheels" python3 - "$2" "$3" 2>/dev/null <<'EOP' || :
import glob, importlib.util, os, sys
folder = os.path.dirname(importlib.util.find_spec(sys.argv[1]).origin)
print(glob.glob(os.path.join(folder, sys.argv[2]))[0])
EOP
)
	[ -n "$file" ] || return 0
	libraries="$libraries --library $1=$file"
	version "$4" "$(basename "$(find "$contenders/wheels" -maxdepth 1 -name "$2-*.dist-info")" .dist-info)"
	undefined=$(nm -D --undefined-only "$file" | awk '$2 ~ /^_?Py/ {print $2}')
	[ -z "$undefined" ] || python_names "$undefined"
}

built()	# CONTENDER NAME: what contenders.sh has made of sources
{
	[ -f "$contenders/$2.so" ] || return 0
	libraries="$libraries --library $2=$contenders/$2.so"
	version "$1" "$(cat "$contenders/$2.version")"
}

# Names that an interpreter has, for a wheel that is loaded without one: the CRC
# itself calls none of them.
python_names()	# NAMES
{
	for name in $1; do
		echo "char ${name}[64];"
	done >"$scratch/python.c"
	python=$scratch/python.so
	cc -shared -fPIC -fno-builtin -o "$python" "$scratch/python.c"
}

libraries="" python=""
contenders=$top/bench/build/contenders
own_libpgport=$("$pg_config" --pkglibdir)/libpgport.a
server_kernels "pg$pg_major" "$own_libpgport"
for archive in /usr/lib/postgresql/*/lib/libpgport.a \
	"${ACCEL_CHROOTS:-/var/cache/crc32c_accel}"/pg*/usr/lib/postgresql/*/lib/libpgport.a; do
	[ ! -f "$archive" ] || server_kernels "pg$(basename "$(dirname "$(dirname "$archive")")")" "$archive"
done
server_pages
wheel google-crc32c google_crc32c '../google_crc32c.libs/libcrc32c*' "google crc32c"
wheel crc32c-wheel crc32c '_crc32c*.so' "crc32c wheel"
if [ -f "$contenders/crc-fast.so" ]; then
	libraries="$libraries --library crc-fast=$contenders/crc-fast.so"
	version "crc-fast" "crate crc-fast $(crate crc-fast)"
	version "crc32c crate" "crate crc32c $(crate crc32c)"
fi
zlib_ng=$(bench_zlib_ng)
if [ -n "$zlib_ng" ]; then
	libraries="$libraries --library zlib-ng-built=$zlib_ng"
	version "zlib-ng built" "of the sdist zlib_ng $(sed -n 's/^Version: //p' "$contenders/sdist/PKG-INFO")"
fi
rocksdb=$(shared_library librocksdb.so)
if [ -n "$rocksdb" ]; then
	libraries="$libraries --library rocksdb=$rocksdb"
	system_library RocksDB librocksdb.so
fi
system_library ISA-L libisal.so.2
system_library zlib libz.so.1
system_library zlib-ng libz-ng.so.2
system_library libdeflate libdeflate.so.0
built "ISA-L built" isal
built abseil abseil
built MariaDB mariadb
built "crc32_simd (dr-m)" crc32_simd
built "fast-crc32 (corsix)" fast_crc32

# --- stand-alone -----------------------------------------------------------

bench_log "building bench_kernels"
cflags="-std=gnu11 -O2 -Wall -Wextra"
# shellcheck disable=SC2086
cc $cflags -I"$top/src" -I"$top/bench" -o "$scratch/bench_kernels" "$top/bench/bench_kernels.c" \
	"$top/bench/bench_limits.c" "$top"/src/kernel/*.c -ldl
bench_note compiler "$(cc --version | head -1), $cflags"
bench_note method "minimum, median and maximum of rounds of 0.25 ms, each in another order of the contenders, $time_ms ms a contender and case"
bench_log "timing, $time_ms ms a contender and case"
# shellcheck disable=SC2086
env ${python:+LD_PRELOAD="$python"} "$scratch/bench_kernels" --out "$scratch/kernels.csv" --time $time_ms --memory $memory \
	${ONLY:+--only "$ONLY"} $libraries \
	--traces "$top/bench/traces/15.trace" --traces "$top/bench/traces/18.trace" >"$scratch/kernels.txt" || {
	grep WRONG "$scratch/kernels.txt" >&2 || tail -5 "$scratch/kernels.txt" >&2
	failed=1
}
sed 1d "$scratch/kernels.csv" >>"$bench_csv"
[ -z "${failed:-}" ] || bench_fail "a kernel gives wrong results"

# --- MDEV-33817's measurement ----------------------------------------------

if [ -z "${ONLY:-}" ] && [ $memory = 1073741824 ]; then
	bench_log "user CPU over untouched memory"
	# shellcheck disable=SC2086
	cc $cflags -I"$top/src" -o "$scratch/bench_untouched" "$top/bench/bench_untouched.c" "$top"/src/kernel/*.c
	"$scratch/bench_untouched" 7 >>"$bench_csv"
fi

# --- the same from SQL -----------------------------------------------------

[ -z "${ONLY:-}" ] || exit 0
bench_stage
bench_cluster sql "--data-checksums" ""
bench_start sql
bench_sql "CREATE EXTENSION crc32c_accel"
bench_log "timing from SQL"
rows="SELECT format('kernels,%s/%s,%s,%s,ns,0,%s', c, bytes, kernel, metric, round(ns::numeric, 4))"
values="CROSS JOIN LATERAL (VALUES ('ns_min', ns_min), ('ns_median', ns_median), ('ns_max', ns_max)) m (metric, ns)"
{
	for chained in false true; do
		name='random 20..300'
		[ $chained = false ] || name='random 20..300 chained'
		bench_sql "$rows FROM (SELECT 'sql/$name' AS c, * FROM checksum_bench('crc32c', '{0}', min_time => '$time_ms ms', chained => $chained)) t $values"
	done
	bench_sql "$rows FROM (SELECT 'sql/independent' AS c, * FROM checksum_bench('crc32c', '{20,64,100,128,200,256,300,512,1024,8192,65536}', min_time => '$time_ms ms')) t $values"
	for pages in 1 4; do
		bench_sql "$rows FROM (SELECT 'sql/hot pages' AS c, kernel, $pages AS bytes, ns_min / $pages AS ns_min, ns_median / $pages AS ns_median, ns_max / $pages AS ns_max FROM checksum_bench('page', ARRAY[8192 * $pages], min_time => '$time_ms ms')) t $values"
	done
} >>"$bench_csv"
bench_stop sql
