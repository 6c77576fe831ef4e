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

# The Debian release that packages a major version.
release_of()	# major
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky ;;
		*) return 1 ;;
	esac
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
	make_chroot "$root" "$(release_of "$1")" "$mirror" \
		"postgresql-$1,postgresql-server-dev-$1,postgresql-$1-pgtap,gcc,make,libipc-run-perl"
}

make_chroot()	# root, release, mirror, packages
{
	(
		chroot_conf=$(mktemp)
		chroot_log=$(mktemp)
		trap 'status=$?; as_root rm -rf "$1.new"; rm -f "$chroot_conf" "$chroot_log"; exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		apt_transport >"$chroot_conf"
		# an archive that stands still has expired indexes
		echo 'Acquire::Check-Valid-Until "false";' >>"$chroot_conf"
		as_root rm -rf "$1.new"
		as_root mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$chroot_conf" \
			--include="$4" "$2" "$1.new" "deb $3 $2 main" >"$chroot_log" 2>&1 || {
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
