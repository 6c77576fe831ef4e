#!/bin/sh
# assertions.sh [15 | 18 | 19] [all | SCRIPT...]: the tests on a server that checks itself.
#
# PostgreSQL 18, or the version that is named, is built from Debian's source package
# with assertions, and with freed memory overwritten and new memory filled with random
# bytes.  Such a server stops where others go on with a pointer to what is gone.
# Without an argument: pg_regress and the TAP scripts below; all: every TAP script that
# needs no program beside the server.  With a version also pgTAP, and with DISCARD=1
# pg_regress once more while every cache of the catalog is emptied at each chance.
# SOURCE=FILE is built in place of Debian's source.  Where 19 has neither, Debian's
# server of 19 runs an extension that has assertions.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/custom.sh
. "$top/test/matrix/custom.sh"

version=18
more=
case ${1:-} in
	15 | 18 | 19)
		version=$1
		more="tests pgtap"
		shift
		;;
esac
[ -z "${DISCARD:-}" ] || more="$more
	export CONF=debug_discard_caches=1
	tests regress
	unset CONF"
some="010 013 019 021 033 036 043 068 072 080 090"

cd "$top"
case ${1:-} in
	'' | --long) scripts=$(for number in $some; do echo test/t/"$number"_*.pl; done) ;;
	all)	# but 028, which makes an access method that the server's assertions refuse
		scripts=$(for script in test/t/*.pl; do
			case $script in
				*/028_* | */030_* | */047_* | */053_* | */054_* | */057_*) ;;
				*) echo "$script" ;;
			esac
		done)
		;;
	*) scripts=$* ;;
esac
# shellcheck disable=SC2086	# in one line
set -- $scripts

scratch=$(mktemp -d "${TMPDIR:-/tmp}/assertions.XXXXXX")
chmod 755 "$scratch"
trap 'as_root rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

status=0
ours=
custom_build assertions "$version" --enable-cassert \
	CFLAGS="-O1 -DCLOBBER_FREED_MEMORY -DRANDOMIZE_ALLOCATED_MEMORY" || status=$?
if [ "$status" = "$no_source" ] && is_optional "$version"; then
	say "not run: PostgreSQL $version with assertions, whose source cannot be had (SOURCE names one)"
	say "instead: Debian's server of $version, and the extension with assertions"
	custom_packaged "$version"
	ours="export BUILD=COPT=-DUSE_ASSERT_CHECKING"
elif [ "$status" != 0 ]; then
	exit $status
fi
custom_run "$ours
	tests regress
	$more
	tests tap $*"
