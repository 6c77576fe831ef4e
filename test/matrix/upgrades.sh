#!/bin/sh
# upgrades.sh [OLD-NEW...]: pg_upgrade from one major version to another, in each way
# that it has (t/121), and the ledger's histories (t/104).
#
# Without an argument: each of 15 to 18 to the next, and 15 to 19.  Both servers stand
# in one system for that: the older is copied, with the libraries that it needs, over
# the chroot of the newer.  Both stay as they are.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
[ "$#" -gt 0 ] || set -- 15-16 16-17 17-18 18-19 15-19

scratch=$(mktemp -d "${TMPDIR:-/tmp}/upgrades.XXXXXX")
chmod 755 "$scratch"
trap 'as_root rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# Copies Debian's server of a major version, with the libraries that its chroot alone has.
copy_packaged()	# major, upper, root of the newer
{
	from=$(root_of "$1")
	for folder in usr/lib/postgresql/$1 usr/share/postgresql/$1 usr/include/postgresql/$1; do
		as_root mkdir -p "$2/$folder"
		as_root cp -a "$from/$folder/." "$2/$folder/"
	done
	as_root rm -f "$2/usr/lib/postgresql/$1/lib/llvmjit.so"	# its LLVM stays behind
	as_root chroot "${from:-/}" ldd "/usr/lib/postgresql/$1/bin/postgres" "/usr/lib/postgresql/$1/bin/psql" |
		awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r library; do
		[ -e "$3$library" ] || [ -e "$3/usr$library" ] || {
			as_root mkdir -p "$2/usr/lib/$(uname -m)-linux-gnu"
			as_root cp -L "$from$library" "$2/usr/lib/$(uname -m)-linux-gnu/"
		}
	done
}

# One that no Debian packages comes with its libraries.
copy_old()	# major, upper, root of the newer
{
	if have_wheel "$1"; then
		as_root mkdir -p "$2/opt"
		as_root cp -a "$ACCEL_CACHE/pg$1" "$2/opt/pg$1"
	else
		copy_packaged "$@"
	fi
}

packaged_or_wheel()	# major: its pg_config there
{
	if have_wheel "$1"; then
		echo "/opt/pg$1/bin/pg_config"
	else
		echo "/usr/lib/postgresql/$1/bin/pg_config"
	fi
}

upgrade()	# old, new
{
	for major in "$1" "$2"; do
		have_server "$major" || {
			say "skipped: $1 to $2 (PostgreSQL $major: $(missing_reason "$major"))"
			return 0
		}
	done
	say "PostgreSQL $1 to $2"
	if have_wheel "$2"; then	# it runs wherever it lies
		ACCEL_UPGRADES=1 NEXT=$(wheel_pg_config "$2") sh "$top/test/server.sh" "$(root_of "$1")$(pg_config_of "$1")" tap \
			test/t/104_*.pl test/t/121_*.pl
		return
	fi
	as_root rm -rf "$scratch/run"
	as_root mkdir -p "$scratch/run/upper/tree"
	[ -d "$scratch/tree" ] || copy_tree "$top" "$scratch/tree"
	as_root cp -r "$scratch/tree/." "$scratch/run/upper/tree/"
	as_root chmod 755 "$scratch/run/upper" "$scratch/run/upper/tree"
	copy_old "$1" "$scratch/run/upper" "$(root_of "$2")"
	in_overlay "$(root_of "$2")" "$scratch/run" "export ACCEL_BUILDS=/var/tmp/b ACCEL_UPGRADES=1 MAJOR=$1 PROVE_FLAGS='${PROVE_FLAGS:-}'
		NEXT=$(packaged_or_wheel "$2") sh test/server.sh $(packaged_or_wheel "$1") tap test/t/104_*.pl test/t/121_*.pl"
}

status=0
for pair in "$@"; do
	upgrade "${pair%-*}" "${pair#*-}" || status=1
done
exit $status
