#!/bin/sh
# debian.sh RELEASE: the Debian packages, built twice in a chroot of that release
# as an ordinary user, in two places, are the same both times; lintian has nothing against them;
# the library has Debian's hardening and no path of its build; the documents are
# there, not compressed; installed in the chroot as it was before, they pass
# installcheck and go again.
#
#	debian.sh prepare RELEASE	makes the chroot unless it is there
#	debian.sh build (or check)	the work inside
set -eu
usage="usage: debian.sh [prepare] bookworm|trixie|forky"
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"

as_builder()
{
	setpriv --reuid=builder --regid=builder --clear-groups env HOME=/home/builder "$@"
}

build_once()	# source, original archive, folder, options
{
	mkdir -p "$3"
	cp -r "$1" "$3/source"
	cp "$2" "$3/"
	chown -R builder: "$3"
	(cd "$3/source" && as_builder env DEB_BUILD_OPTIONS="$4" dpkg-buildpackage -us -uc) >"$3.log" 2>&1 || {
		tail -40 "$3.log"
		die "the package does not build"
	}
	! grep 'warning:.*\[-W' "$3.log" || die "the compiler warns"
}

no_path()	# file, path
{
	! grep -qF "$2" "$1" || die "$(basename "$1") holds the path of its build"
}

hardened()	# library
{
	readelf -dW "$1" | grep -q 'BIND_NOW\|FLAGS.* NOW' || die "not linked with -z now"
	readelf -lW "$1" | grep -q GNU_RELRO || die "no RELRO"
	readelf -lW "$1" | grep GNU_STACK | grep -qv RWE || die "an executable stack"
	nm -D "$1" | grep -q __stack_chk_fail || die "no stack protector"
	nm -D "$1" | grep -q '_chk@' || die "nothing is fortified"
}

# What messages name is there, as it is, and the package's own folder leads to it.
documented()	# library
{
	runbook=$(strings "$1" | sed -n 's/.*See "\(.*\)"\.$/\1/p' | head -1)
	[ -f "/build/tree$runbook" ] || die "the package lacks \"$runbook\", which messages name"
	[ -f "$(echo /build/tree/usr/share/doc/*/crc32c_accel/docs/corruption.md)" ] || die "no link to the documents"
	packed=$(find /build/tree/usr/share/doc -name '*.gz' ! -name 'changelog*')
	[ -z "$packed" ] || die "compressed: $packed"
}

packages()	# those to install
{
	find /out -name '*.deb' ! -name '*dbgsym*'
}

build()	# inside: from the tree to packages in /out
{
	useradd -m builder
	version=$(sed -n 's/^\t"version": "\(.*\)",/\1/p' META.json)
	source=/build/crc32c-accel-$version
	mkdir -p /build
	cp -r . "$source"
	(cd "$source" && pg_buildext updatecontrol)
	# the chroot has them anyway
	for headers in zlib1g-dev liblz4-dev libzstd-dev; do
		grep -q "^ $headers,$" "$source/debian/control" || die "debian/control.in does not ask for $headers"
	done
	original=/build/crc32c-accel_$version.orig.tar.gz
	tar czf "$original" --exclude=debian -C /build "crc32c-accel-$version"
	build_once "$source" "$original" /build/first "parallel=2 nocheck"
	build_once "$source" "$original" /build/another/place "parallel=1 nocheck"
	mkdir /out
	for package in /build/first/*.deb; do
		cmp "$package" "/build/another/place/$(basename "$package")" ||
			die "two builds differ: $(basename "$package")"
		cp "$package" /out/
	done
	say "two builds are the same: $(cd /out && echo *.deb)"
	# whose upload it is, and which report asked for it, nobody knows yet
	(cd /build/first && as_builder lintian --fail-on error,warning --suppress-tags \
		initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog ./*.changes)
	for package in $(packages); do
		dpkg-deb -x "$package" /build/tree
	done
	library=$(find /build/tree -name crc32c_accel.so)
	hardened "$library"
	no_path "$library" /build
	no_path /build/tree/usr/bin/crc32c_verify /build
	[ -f /build/tree/usr/share/man/man1/crc32c_verify.1.gz ] || die "no manual page"
	documented "$library"
	say "lintian, hardening and documents: ok"
}

check()	# inside another one: packages come, work and go
{
	# shellcheck disable=SC2046	# no blanks in their names
	apt-get install -y $(packages) >/dev/null
	crc32c_verify kernels >/dev/null
	useradd -m builder
	cp -r . /home/builder/source
	chown -R builder: /home/builder
	cd /home/builder/source
	as_builder pg_buildext updatecontrol
	as_builder sh debian/tests/installcheck >/home/builder/log 2>&1 || {
		tail -40 /home/builder/log
		die "installcheck fails"
	}
	grep -E '^ok|tests passed|^test .* ok' /home/builder/log
	names=$(for package in $(packages); do dpkg-deb -f "$package" Package; done | xargs)
	# shellcheck disable=SC2086
	apt-get purge -y $names >/dev/null
	[ -z "$(find /usr -name 'crc32c_*')" ] || die "$names leave files"
	say "$names came, passed installcheck, and went"
}

case ${1:?$usage} in
	build | check)
		"$1"
		exit
		;;
	prepare) release=${2:?$usage} ;;
	bookworm | trixie | forky) release=$1 ;;
	*) die "$usage" ;;
esac

root=$ACCEL_CACHE/deb-$release
if [ "$1" = prepare ]; then
	[ ! -f "$root/usr/include/lz4frame.h" ] || exit 0
	command -v mmdebstrap >/dev/null || install_packages mmdebstrap
	need_root "to make a chroot"
	need_disk "$ACCEL_CACHE" 2500 "a chroot with the tools of Debian packages"
	as_root mkdir -p "$ACCEL_CACHE"
	say "making a chroot for Debian packages ($release)"
	make_chroot "$root" "$release" "$(debian_mirror)" \
		"build-essential,debhelper,fakeroot,lintian,postgresql-all,postgresql-server-dev-all,zlib1g-dev,liblz4-dev,libzstd-dev"
	exit
fi
[ -f "$root/usr/include/lz4frame.h" ] || die "no chroot at $root (debian.sh prepare $release makes it)"

scratch=$(mktemp -d)
trap 'as_root rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
as_root mkdir -p "$scratch/build/upper" "$scratch/check/upper"
copy_tree "$top" "$scratch/tree"
as_root cp -r "$scratch/tree" "$scratch/build/upper/tree"
as_root cp -r "$scratch/tree" "$scratch/check/upper/tree"
in_overlay "$root" "$scratch/build" "sh test/packages/debian.sh build"
as_root mv "$scratch/build/upper/out" "$scratch/check/upper/out"
in_overlay "$root" "$scratch/check" "sh test/packages/debian.sh check"
