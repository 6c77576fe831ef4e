# custom.sh: a PostgreSQL that is built in another way than Debian's (sourced).  The
# source is Debian's package, or the archive that SOURCE names.  What is installed is
# kept in ACCEL_CACHE.
# shellcheck shell=sh disable=SC2034,SC2154	# top, scratch: the script's own

# Runs in a chroot: prints nothing when it works, else the end of what make printed.
# Its status is 3 if the archive of packages does not have the source.
no_source=3
# shellcheck disable=SC2016	# expanded inside
custom_steps='set -eu
	version=$1
	prefix=$2
	shift 2
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n "s/^deb /deb-src /p" >/sources
	mv /sources /etc/apt/sources.list.d/sources.list
	exec 3>&1 >/build.log 2>&1
	trap "test \$? = 0 || tail -30 /build.log >&3" EXIT
	apt-get -q update
	apt-get -qy --no-install-recommends install bzip2 bison flex perl make gcc libc6-dev dpkg-dev \
		libicu-dev libssl-dev liblz4-dev libzstd-dev zlib1g-dev libreadline-dev libipc-run-perl pkgconf
	mkdir /build
	cd /build
	if [ ! -f /source.tar ]; then
		apt-get -q --download-only source "postgresql-$version" || exit 3
		mv "postgresql-$version"_*.orig.tar.bz2 /source.tar
	fi
	tar xf /source.tar --strip-components=1
	./configure --prefix="$prefix" --enable-debug --enable-tap-tests --with-openssl --with-lz4 --with-zstd "$@"
	make -s -j2
	make -s install
	for module in amcheck pageinspect pg_visibility pg_walinspect pg_buffercache pg_prewarm bloom btree_gin btree_gist test_decoding; do
		make -s -C contrib/$module install
	done
	tar cf /built.tar -C / "${prefix#/}"'

# What the TAP scripts need, where the chroot is one for packages.
custom_needs='perl -MIPC::Run -e 1 2>/dev/null || {
		apt-get -qq update && apt-get -qqy --no-install-recommends install libipc-run-perl zstd lz4
	} >/needs.log 2>&1 || { tail /needs.log; exit 1; }
	id postgres >/dev/null 2>&1 || useradd --system --no-create-home postgres'

# Builds a server unless it is kept.  Sets custom_major, custom_root, custom_prefix and
# custom_kept.  Returns no_source if there is none.
custom_build()	# name, major, argument of configure...
{
	custom_major=$2
	custom_root=$ACCEL_CACHE/pg$2
	[ "$2" != 15 ] || custom_root=$ACCEL_CACHE/deb-bookworm
	custom_kept=$ACCEL_CACHE/pg$2-$1.tar
	custom_prefix=/usr/local/pgsql-$1
	[ -x "$custom_root/bin/sh" ] || die "no chroot at $custom_root (test/prepare.sh makes it)"
	[ ! -f "$custom_kept" ] || return 0
	shift 2
	say "building PostgreSQL $custom_major: $*"
	need_disk "$ACCEL_CACHE" 3000 "another build of PostgreSQL"
	as_root mkdir -p "$scratch/build/upper/tree"
	[ -z "${SOURCE:-}" ] || as_root cp "$SOURCE" "$scratch/build/upper/source.tar" || return 1
	in_overlay "$custom_root" "$scratch/build" "$(quoted sh -c "$custom_steps" sh \
		"$custom_major" "$custom_prefix" "$@")" || return
	as_root mv "$scratch/build/upper/built.tar" "$custom_kept.new" || return 1
	as_root mv "$custom_kept.new" "$custom_kept" || return 1
	as_root rm -rf "$scratch/build"
}

# Has custom_run take the server of Debian's packages.
custom_packaged()	# major
{
	custom_major=$1
	custom_root=$ACCEL_CACHE/pg$1
	custom_prefix=/usr/lib/postgresql/$1
	custom_kept=
}

# Runs command lines in a copy of the tree, as root.  "tests PART [SCRIPT...]" among
# them is test/server.sh on the server that was built.
custom_run()	# command lines
{
	as_root mkdir -p "$scratch/run/upper/tree"
	copy_tree "$top" "$scratch/tree"
	as_root cp -r "$scratch/tree/." "$scratch/run/upper/tree/"
	as_root chmod 755 "$scratch/run/upper" "$scratch/run/upper/tree"
	if [ -n "$custom_kept" ]; then
		as_root tar xf "$custom_kept" -C "$scratch/run/upper"
		borrow_pgtap "$custom_major" "$scratch/run/upper$custom_prefix/share/extension/"
	fi
	in_overlay "$custom_root" "$scratch/run" "$custom_needs
		export ACCEL_BUILDS=/var/tmp/b PG_TEST_TIMEOUT_DEFAULT=600 MAJOR=$custom_major
		tests() { sh test/server.sh $custom_prefix/bin/pg_config \"\$@\" || status=1; }
		status=0
		$1
		exit \$status"
}
