#!/bin/sh
# pgindent.sh [--fix]: src/ is as PostgreSQL's pgindent leaves it (templates and
# generated files excepted).
#
# pgindent comes with the server packages from 17 on: it runs in the chroot of
# 18.  Its list of typedefs is taken from the debugging information of the
# built module and from the sources themselves.  It cannot read ElfW(type) of
# server_crc.c and the attribute after a prototype of page/finding.c: these two
# are left out.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
cd "$top"
need_chroot 18
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# shellcheck disable=SC2016	# expanded in the chroot
in_chroot "$ACCEL_CACHE/pg18" "$top" '
	bindir=$(pg_config --bindir)
	make -s with_llvm=no PG_CFLAGS=-g >make.log 2>&1 || { tail -20 make.log; exit 1; }
	{
		readelf --debug-dump=info crc32c_accel.so |
			awk "/DW_TAG_typedef/ {t = 1} t && /DW_AT_name/ {print \$NF; t = 0}"
		sed -nE "s/^} ([A-Za-z_0-9]+);\$/\1/p; s/^typedef .*\(\*([A-Za-z_0-9]+)\).*/\1/p
			s/^typedef (struct|enum|union) [A-Za-z_0-9]+ ([A-Za-z_0-9]+);/\2/p" $(find src test bench -name "*.[ch]")
		printf "%s\n" __m128i __m256i __m512i __mmask8 __mmask16 __mmask32 __mmask64 \
			uint64x2_t uint32x4_t uint16x8_t uint8x16_t poly64x2_t poly128_t poly64_t
	} | sort -u >typedefs
	$bindir/pgindent --typedefs=typedefs --indent=$bindir/pg_bsd_indent --diff \
		$(find src -name "*.[ch]" ! -name "*.auto.h" ! -name "*.inc.h" \
			! -name server_crc.c ! -path src/page/finding.c | sort)
' >"$scratch/diff" 2>"$scratch/failures" || true
if grep -q '^Failure in' "$scratch/failures"; then
	cat "$scratch/failures"	# it has left that file as it was
	echo "pgindent: it cannot read a file; a name like a typedef of the server?"
	exit 1
fi
if [ "${1:-}" = --fix ]; then
	# the names of the second files are scratch names: patch takes the first
	sed 's/^+++ .*/+++ formatted/' "$scratch/diff" | patch -s -p0 -u
elif [ -s "$scratch/diff" ]; then
	cat "$scratch/diff"
	echo "pgindent: $(grep -c '^---' "$scratch/diff") files differ (test/gates/pgindent.sh --fix)"
	exit 1
fi
echo "pgindent: ok"
