#!/bin/sh
# architectures.sh: real PostgreSQL servers of other architectures (arm64, and
# s390x, which is big-endian) under qemu-user: initdb, CREATE EXTENSION, right
# answers, a clean table clean and a damaged one found.
#
# Their programs are unpacked, not installed, below ACCEL_CACHE; the extension
# is built by a cross compiler with their own headers.  The kernel must run
# foreign programs (binfmt_misc), which is mounted here in a namespace of its
# own; without the privilege to do so the servers are printed as not run.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/lib.sh
. "$top/test/matrix/lib.sh"
major=$(native_major)	# the cross compilers link with this release's libc
matrix_begin

# Unpacks the server and the headers of an architecture.
need_tree()	# architecture
{
	root=$ACCEL_CACHE/pg$major-$1
	[ ! -f "$root/usr/include/postgresql/$major/server/c.h" ] || return 0
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "no Debian archive among this machine's apt sources"
	say "unpacking PostgreSQL $major for $1"
	apt_transport >"$scratch/apt.conf"
	as_root mkdir -p "$ACCEL_CACHE"
	as_root rm -rf "$root.new"
	# shellcheck disable=SC2016	# expanded by mmdebstrap's hook
	as_root mmdebstrap --quiet --mode=root --variant=extract --architectures="$1" \
		--aptopt="$scratch/apt.conf" \
		--include="postgresql-$major,libpq-dev,libc-bin,coreutils,dash,sed" \
		--extract-hook='cd "$1" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -o APT::Sandbox::User=root \
			download postgresql-server-dev-'$major' && dpkg-deb -x postgresql-server-dev-*.deb . && rm -f ./*.deb' \
		"$(release_of $major)" "$root.new" "deb $mirror $(release_of $major) main" \
		>"$scratch/mmdebstrap.log" 2>&1 || {
		tail -20 "$scratch/mmdebstrap.log"
		as_root rm -rf "$root.new"
		return 1
	}
	# shellcheck disable=SC2016	# expanded inside
	as_root sh -c 'mkdir -p "$1/proc" "$1/dev" "$1/tmp" && chmod 1777 "$1/tmp" &&
		for name in bin lib lib64; do [ -e "$1/$name" ] || ln -s "usr/$name" "$1/$name"; done &&
		echo "tester:x:4711:4711::/tmp:/bin/sh" >"$1/etc/passwd" &&
		echo "tester:x:4711:" >"$1/etc/group" && rm -rf "$2" && mv "$1" "$2"' sh "$root.new" "$root"
}

# What runs inside: the server's own initdb, then two single-user servers.
cat >"$scratch/inside" <<'END'
set -eu
cd /tmp
rm -rf accel-data
bin=$(echo /usr/lib/postgresql/*/bin)
$bin/initdb -D /tmp/accel-data -k -N -A trust -U postgres -E UTF8 --no-locale --wal-segsize=1 >/tmp/initdb.log 2>&1 ||
	{ cat /tmp/initdb.log; exit 1; }
cat >>/tmp/accel-data/postgresql.conf <<END2
extension_destdir = '/tmp/accel-stage'
dynamic_library_path = '/tmp/accel-stage/lib:\$libdir'
jit = off
END2
$bin/postgres --single -j -D /tmp/accel-data postgres <<'END2' >/tmp/setup.log 2>&1
CREATE EXTENSION crc32c_accel;

CREATE TABLE clean AS SELECT i, repeat('x', 300) FROM generate_series(1, 3000) i;

CREATE TABLE damaged AS SELECT i, repeat('y', 300) FROM generate_series(1, 3000) i;

SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment;

SELECT pg_relation_filepath('damaged') AS file;

CHECKPOINT;

END2
problem=$(sed -n '/ERROR: /p' /tmp/setup.log)
[ -z "$problem" ] || { echo "$problem"; exit 1; }
file=$(sed -n 's/^.*file = "\(.*\)"	.*/\1/p' /tmp/setup.log)
segment=$(sed -n 's/^.*segment = "\(.*\)"	.*/\1/p' /tmp/setup.log)
[ -n "$file" ] || { cat /tmp/setup.log; exit 1; }
printf damage | dd of="/tmp/accel-data/$file" bs=1 seek=$((7 * 8192 + 3000)) conv=notrunc 2>/dev/null
{
	cat /tmp/probe.sql
	echo "SELECT sum(bad_blocks)::text AS bad FROM verify_relation_summary('clean')"
	echo "SELECT count(*)::text AS damage FROM verify_relation('damaged') WHERE blkno = 7 AND status = 'checksum_mismatch'"
	echo "SELECT findings::text AS wal_errors FROM verify_wal(NULL, '$segment', '$segment')"
} | $bin/postgres --single -D /tmp/accel-data postgres 2>&1
END

# try ARCHITECTURE GNU_TRIPLET QEMU_NAME EXPECTED_KERNEL CPU_MODEL...
try()
{
	arch=$1 triplet=$2 qemu=$3 kernel=$4
	shift 4
	if ! command -v "$triplet-gcc" >/dev/null || ! command -v "qemu-$qemu-static" >/dev/null; then
		say "FAIL  $arch: no $triplet-gcc or no qemu-$qemu-static"
		failed=$((failed + 1))
		return
	fi
	need_tree "$arch" || { failed=$((failed + 1)); return; }
	stage=$scratch/$arch
	mkdir -p "$stage/lib" "$stage/usr/share/postgresql/$major/extension"
	# shellcheck disable=SC2086	# a list
	"$triplet-gcc" -std=gnu11 -O2 -Wall -fPIC -shared -fvisibility=hidden -D_GNU_SOURCE \
		-I"$top/src" -I"$scratch/generated/src" \
		-DACCEL_DOCUMENTS='"/usr/share/doc"' \
		-I"$root/usr/include/postgresql/$major/server" -I"$root/usr/include/postgresql" \
		-o "$stage/lib/crc32c_accel.so" $sources -lm \
		>"$scratch/cc.log" 2>&1 || {
		cat "$scratch/cc.log"
		say "FAIL  $arch: does not compile"
		failed=$((failed + 1))
		return
	}
	sed "s/\\\$libdir/\/tmp\/accel-stage\/lib/" "$top/crc32c_accel.control" \
		>"$stage/usr/share/postgresql/$major/extension/crc32c_accel.control"
	cp "$top"/sql/*--*.sql "$stage/usr/share/postgresql/$major/extension/"
	for model in "$@"; do
		status=0
		# shellcheck disable=SC2016	# expanded inside
		as_root unshare --mount --pid --fork --kill-child sh -c '
			root=$1 stage=$2 qemu=$3 model=$4 scratch=$5
			mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 77
			if [ ! -e "/proc/sys/fs/binfmt_misc/qemu-$qemu" ]; then
				conf=/usr/lib/binfmt.d/qemu-$qemu.conf	# Debian 13: no more in binfmt-support
				if [ -f "$conf" ]; then
					cat "$conf" >/proc/sys/fs/binfmt_misc/register || exit 77
					trap "echo -1 >/proc/sys/fs/binfmt_misc/qemu-$qemu" EXIT
				else
					update-binfmts --enable "qemu-$qemu" || exit 77
					trap "update-binfmts --disable qemu-$qemu" EXIT
				fi
			fi
			[ -e "/proc/sys/fs/binfmt_misc/qemu-$qemu" ] || exit 77
			mount -t tmpfs tmpfs "$root/tmp" && chmod 1777 "$root/tmp" &&
			cp -r "$stage" "$root/tmp/accel-stage" && chmod -R a+rX "$root/tmp/accel-stage" &&
			cp "$scratch/probe.sql" "$scratch/inside" "$root/tmp/" && chmod a+r "$root"/tmp/* &&
			mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" &&
			chroot --userspec=4711:4711 "$root" /usr/bin/env -i QEMU_CPU="$model" \
				PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C /bin/sh /tmp/inside' \
			sh "$root" "$stage" "$qemu" "$model" "$scratch" >"$scratch/out" 2>&1 || status=$?
		if [ "$status" = 77 ]; then
			say "not run: $arch server ($model): binfmt_misc cannot be used here"
			continue
		fi
		matrix_judge "$arch $model" "$scratch/out" "$status" "$kernel"
	done
}

mkdir "$scratch/generated"
make -s -C "$scratch/generated" -f "$top/Makefile" src/func/signatures.auto.h
sources=$(make -s -C "$scratch/generated" -f "$top/Makefile" \
	--eval 'library-sources:; @echo $(addprefix $(srcroot),$(SOURCES))' library-sources)
cp "$top/test/matrix/probe.sql" "$scratch/probe.sql"
try arm64 aarch64-linux-gnu aarch64 pmull cortex-a57
try arm64 aarch64-linux-gnu aarch64 pmull_eor3 max
try s390x s390x-linux-gnu s390x slicing8 max
say "architectures: $passed passed, $failed failed"
[ "$failed" = 0 ]
