#!/bin/sh
# archive.sh ROOT: a hook of mmdebstrap: puts package archives into the root of
# the machines of run.sh, so that they need no network:
#
#	/srv/debs	all packages of the root, those of PostgreSQL, libpq-dev, python3
#	/srv/newer	those of PostgreSQL as 15.99, without contents
#	/srv/pgdg	another archive's: postgresql depends on a later major version
#	/srv/grown	a make that wants a later zlib1g
set -eu
root=$1
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"

index()	# folder
{
	(
		cd "$1"
		for deb in *.deb; do
			dpkg-deb -f "$deb"
			printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" \
				"$(sha256sum <"$deb" | cut -d' ' -f1)"
		done >Packages
	)
}

empty()	# archive, package, version [, dependencies]: a package without contents
{
	folder=$root/srv/$1
	mkdir -p "$folder/build/DEBIAN"
	printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: nobody <nobody@localhost>\nDescription: empty\n' \
		"$2" "$3" "$(dpkg --print-architecture)" >"$folder/build/DEBIAN/control"
	[ -z "${4:-}" ] || echo "Depends: $4" >>"$folder/build/DEBIAN/control"
	dpkg-deb -b "$folder/build" "$folder/$2_${3#*:}.deb" >/dev/null
	rm -rf "$folder/build"
}

mkdir -p "$root/srv/debs"
cd "$root/srv/debs"
# shellcheck disable=SC2046	# package names hold no blanks
apt-get -o APT::Sandbox::User=root download postgresql-server-dev-15 \
	$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ') \
	$(apt-get -s --no-install-recommends install libpq-dev python3 | awk '$1 == "Inst" {print $2}')

# The headers without clang and LLVM, which make bitcode only: half a gigabyte.
dpkg-deb -R postgresql-server-dev-15_*.deb headers
sed -i 's/clang-14, //; s/llvm-14-dev, //' headers/DEBIAN/control
rm postgresql-server-dev-15_*.deb
dpkg-deb -b headers postgresql-server-dev-15.deb >/dev/null
rm -r headers
empty debs postgresql 15+999 postgresql-15	# its dependency names the major version
index .

for package in postgresql-15 postgresql-client-15 libpq5; do
	empty newer $package 15.99-1
done
empty newer libpq-dev 15.99-1 'libpq5 (= 15.99-1)'
empty newer postgresql-server-dev-15 15.99-1 'libpq-dev, postgresql-client-15'
empty pgdg postgresql 18+999 postgresql-18
for package in postgresql-18 postgresql-client-18 postgresql-server-dev-18; do
	empty pgdg $package 18.99-1
done
empty grown make 9:99 'zlib1g (>= 9:99)'
empty grown zlib1g 9:99
for archive in newer pgdg grown; do
	index "$root/srv/$archive"
done

rm -rf "$root"/etc/apt/sources.list.d/* "$root"/var/lib/apt/lists/*
echo 'deb [trusted=yes] file:/srv/debs ./' >"$root/etc/apt/sources.list"
cp "$0" "$root/srv/archive.sh"	# what made it
# dpkg need not wait for the disk
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe"
