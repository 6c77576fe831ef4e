# lib.sh: what the test scripts share (sourced by run.sh, prepare.sh and
# bench/quickstart.sh).  POSIX sh.
# shellcheck shell=sh

: "${ACCEL_CACHE:=/var/cache/crc32c_accel}"	# chroots with other servers

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
	say "installing: $*"
	apt_log=$(mktemp)
	dropin=/etc/postgresql-common/createcluster.d/crc32c_accel_tests.conf
	status=0
	{
		export DEBIAN_FRONTEND=noninteractive
		as_root apt-get update
		case " $* " in
			*" postgresql"*)
				as_root apt-get install -y --no-install-recommends postgresql-common &&
					as_root mkdir -p "${dropin%/*}" &&
					as_root sh -c "echo 'create_main_cluster = false' >$dropin"
				;;
		esac && as_root apt-get install -y --no-install-recommends "$@"
	} >"$apt_log" 2>&1 || status=$?
	[ ! -f "$dropin" ] || as_root rm -f "$dropin"
	[ "$status" = 0 ] || tail -20 "$apt_log" >&2
	rm -f "$apt_log"
	[ "$status" = 0 ] || die "packages could not be installed"
}

# The major version of PostgreSQL that this Debian packages.
native_major()
{
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -1
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
	as_root mkdir -p "$ACCEL_CACHE"
	make_chroot "$root" "$(release_of "$1")" "$mirror" \
		"postgresql-$1,postgresql-server-dev-$1,postgresql-$1-pgtap,gcc,make,libipc-run-perl"
}

make_chroot()	# root, release, mirror, packages
{
	chroot_conf=$(mktemp)
	chroot_log=$(mktemp)
	apt_transport >"$chroot_conf"
	# an archive that stands still has expired indexes
	echo 'Acquire::Check-Valid-Until "false";' >>"$chroot_conf"
	as_root rm -rf "$1.new"
	as_root mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$chroot_conf" \
		--include="$4" "$2" "$1.new" "deb $3 $2 main" >"$chroot_log" 2>&1 || {
		tail -20 "$chroot_log" >&2
		as_root rm -rf "$1.new"
		rm -f "$chroot_conf" "$chroot_log"
		die "the chroot $1 could not be made"
	}
	as_root rm -rf "$1"
	as_root mv "$1.new" "$1"
	rm -f "$chroot_conf" "$chroot_log"
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

# Runs a command line in a copy of the tree inside a chroot, as root there, in
# mount and process namespaces of its own: nothing stays mounted or running.
in_chroot()	# root, top, command line
{
	chroot_dir=$(as_root mktemp -d "$1/tmp/crc32c_accel.XXXXXX")
	tree_copy=$(mktemp -d)
	copy_tree "$2" "$tree_copy"
	as_root cp -r "$tree_copy/." "$chroot_dir/"
	rm -rf "$tree_copy"
	status=0
	# shellcheck disable=SC2016	# expanded inside
	as_root unshare --mount --pid --fork --kill-child sh -c '
		mount -t proc proc "$1/proc"
		mountpoint -q "$1/dev/shm" || mount -t tmpfs tmpfs "$1/dev/shm" || true
		chmod 1777 "$1/dev/shm" 2>/dev/null
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C sh -c "
			chmod 755 $2 && cd $2 && export LONG=$4
			$3"' sh "$1" "${chroot_dir#"$1"}" "$3" "${LONG:-}" || status=$?
	as_root rm -rf "$chroot_dir"
	return $status
}
