#!/bin/sh
# assertions.sh [all | SCRIPT...]: the tests on a server that checks itself.
#
# PostgreSQL 18 is built from Debian's source package with assertions, and with
# freed memory overwritten and new memory filled with random bytes.  Such a server
# stops where others go on with a pointer to what is gone.  The build is kept in
# ACCEL_CACHE.  Without an argument: pg_regress and the TAP scripts below; all:
# every TAP script that needs no program beside the server.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"

version=18
root=$ACCEL_CACHE/pg$version
kept=$ACCEL_CACHE/pg$version-assertions.tar
prefix=/usr/local/pgsql-assertions
some="010 013 019 021 033 036 043 068 072 080 090"
[ -x "$root/bin/sh" ] || die "no chroot at $root (test/prepare.sh makes it)"

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

# Runs in the chroot: one line when it works, else the end of what make said.
# shellcheck disable=SC2016	# expanded inside
build='set -eu
	sed -n "s/^deb /deb-src /p" /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
	{
		apt-get -q update
		apt-get -qy --no-install-recommends install bzip2 bison flex perl make gcc libc6-dev \
			libicu-dev libssl-dev liblz4-dev libzstd-dev zlib1g-dev libreadline-dev pkgconf
		mkdir /build
		cd /build
		apt-get -q --download-only source postgresql-$1
		tar xf postgresql-$1_*.orig.tar.bz2 --strip-components=1
		./configure --prefix=$2 --enable-cassert --enable-debug --enable-tap-tests --with-openssl --with-lz4 --with-zstd \
			CFLAGS="-O1 -DCLOBBER_FREED_MEMORY -DRANDOMIZE_ALLOCATED_MEMORY"
		make -s -j2
		make -s install
		for module in amcheck pageinspect pg_visibility pg_walinspect pg_buffercache pg_prewarm bloom btree_gin btree_gist; do
			make -s -C contrib/$module install
		done
		tar cf /built.tar -C / "${2#/}"
	} >/build.log 2>&1 || { tail -30 /build.log; exit 1; }'

if [ ! -f "$kept" ]; then
	say "building PostgreSQL $version with assertions"
	need_disk "$ACCEL_CACHE" 3000 "PostgreSQL with assertions"
	as_root mkdir -p "$scratch/build/upper/tree"
	in_overlay "$root" "$scratch/build" "sh -c '$(printf '%s' "$build" | sed "s/'/'\\\\''/g")' sh $version $prefix"
	as_root mv "$scratch/build/upper/built.tar" "$kept.new"
	as_root mv "$kept.new" "$kept"
fi

as_root mkdir -p "$scratch/run/upper/tree"
copy_tree "$top" "$scratch/tree"
as_root cp -r "$scratch/tree/." "$scratch/run/upper/tree/"
as_root chmod 755 "$scratch/run/upper" "$scratch/run/upper/tree"
as_root tar xf "$kept" -C "$scratch/run/upper"
in_overlay "$root" "$scratch/run" "export ACCEL_BUILDS=/var/tmp/b PG_TEST_TIMEOUT_DEFAULT=600
	status=0
	MAJOR=$version sh test/server.sh $prefix/bin/pg_config regress || status=1
	MAJOR=$version sh test/server.sh $prefix/bin/pg_config tap $* || status=1
	exit \$status"
