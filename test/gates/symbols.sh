#!/bin/sh
# symbols.sh LIBRARY [PROGRAM]: fails when the module exports more than its magic,
# _PG_init, SQL functions (accel_*) with their info records, and worker entry
# points (accel_*_main), or when the program needs other libraries than libc and
# those that decompress.
set -u
library=${1:?usage: symbols.sh LIBRARY [PROGRAM]}
extra=$(nm -D --defined-only "$library" | awk '{print $NF}' |
	grep -vE '^(_PG_init|Pg_magic_func|_init|_fini)$|^(pg_finfo_)?accel_[a-z0-9_]+$')
infos=$(nm -D --defined-only "$library" | grep -c ' pg_finfo_accel_')
if [ -n "$extra" ] || [ "$infos" -eq 0 ]; then
	printf 'check-symbols: unexpected exports:\n%s\n' "$extra" >&2
	exit 1
fi
# an exported accel_ function without an info record is an internal one
for name in $(nm -D --defined-only "$library" | awk '$NF ~ /^accel_/ {print $NF}'); do
	nm -D --defined-only "$library" | grep -q " pg_finfo_$name\$" && continue
	case $name in *_main) continue ;; esac
	echo "check-symbols: internal function exported: $name" >&2
	exit 1
done
[ $# -lt 2 ] || readelf -d "$2" | awk '/NEEDED/ {
	gsub(/[][]/, "", $NF)
	if ($NF !~ /^(libc|libz|liblz4|libzstd|ld-linux.*|ld-musl.*|libc.musl.*)\.so/) {print "check-symbols: the program needs " $NF; bad = 1}
} END {exit bad}' >&2 || exit 1
echo "check-symbols: ok ($infos SQL functions)"
