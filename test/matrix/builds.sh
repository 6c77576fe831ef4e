#!/bin/sh
# builds.sh [NAME [SCRIPT...]]: the tests on servers of other sizes.
#
# PostgreSQL 18 is built from Debian's source package, with 16 blocks a segment:
# "segments" with 16 kB of WAL a page, "pages16" and "pages32" with pages of so many kB.
# Without a script: pg_regress and the TAP scripts below.  It is run by name only.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/custom.sh
. "$top/test/matrix/custom.sh"

version=18
# Scripts that take no size for granted, for each build.
regress="checksum file kernel server"
scripts="010 012 013 014 020 021 022 023 026 027 028 029 036 040 042 043 046 060 062 063 068 072 074 075 077
	078 079 080 082 091 096 118 125 126 129 130 131 132"

build()	# name
{
	case $1 in
		segments)
			regress="$regress bench page"
			scripts="$scripts 031 032 034 035 037 038 039 048 056 061 064 065 067 070 071 083 107 109"
			custom_build "$1" "$version" --with-segsize-blocks=16 --with-wal-blocksize=16 CFLAGS=-O1
			;;
		pages16 | pages32)
			regress="$regress wal"
			custom_build "$1" "$version" --with-segsize-blocks=16 --with-blocksize="${1#pages}" CFLAGS=-O1
			;;
		*) die "no build $1: segments, pages16 and pages32 are" ;;
	esac
}

run()	# [script...]
{
	if [ $# -gt 0 ]; then
		custom_run "tests tap $*"
	else
		custom_run "tests regress $regress
			tests tap $(for number in $scripts; do printf '%s ' test/t/"$number"_*.pl; done)"
	fi
}

names="segments pages16 pages32"
if [ $# -gt 0 ]; then
	names=$1
	shift
fi
cd "$top"

status=0
for name in $names; do
	(
		scratch=$(mktemp -d "${TMPDIR:-/tmp}/builds.XXXXXX")
		chmod 755 "$scratch"
		trap 'as_root rm -rf "$scratch"' EXIT
		trap 'exit 130' INT TERM HUP
		build "$name"
		say "PostgreSQL $version, $name"
		run "$@"
	) || status=1
done
exit $status
