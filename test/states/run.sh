#!/bin/sh
# run.sh [prepare | list [STATE] | STATE...]: the first commands of this project on
# machines that lack something, or that have something to lose (states.txt).
#
# Each machine is a minimal Debian 12 in a root of its own, made once below
# ACCEL_CACHE (prepare), over which a state is laid and thrown away; it has no
# network and takes packages from an archive within.  Needs root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
base=$ACCEL_CACHE/states

is_made()
{
	cmp -s "$here/archive.sh" "$base/srv/archive.sh"
}

prepare()
{
	! is_made || return 0
	command -v mmdebstrap >/dev/null || install_packages mmdebstrap
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "no Debian archive among this machine's apt sources"
	say "making the machine of test/states"
	need_root "to make a chroot"
	need_disk "$ACCEL_CACHE" 3000 "the machines of test/states"
	as_root mkdir -p "$ACCEL_CACHE"
	make_chroot "$base" bookworm "$mirror" postgresql-15,gcc,make,libc6-dev,mount \
		"" "sh '$here/archive.sh' \"\$1\""
}

field()	# state, key: its lines
{
	awk -F'\t+' -v state="$1" -v key="$2" '$1 == "state" {on = $2 == state}
		on && $1 == key {sub(/^[^\t]*\t+/, ""); print}' "$here/states.txt"
}

# What runs as root outside of the machine: the layers, the mounts.
# shellcheck disable=SC2016	# expanded inside
outside='set -eu
	mkdir "$2/upper" "$2/work" "$2/root"
	mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root" 2>/dev/null ||
		cp -a "$1/." "$2/root/"
	mount -t proc proc "$2/root/proc"
	[ -d "$2/root/dev/shm" ] || mkdir "$2/root/dev/shm"
	mkdir "$2/root/src"
	cp -r "$2/tree/." "$2/root/src/"
	grep -q " /dev/shm\$" "$2/mounts" && rmdir "$2/root/dev/shm" ||
		mount -t tmpfs -o mode=1777 tmpfs "$2/root/dev/shm"
	while read -r type options folder; do
		case $type in
			tmpfs) mount -t tmpfs -o "$options,mode=1777" tmpfs "$2/root$folder" ;;
			bind)
				mount --bind "$2/root$folder" "$2/root$folder"
				mount -o "remount,bind,$options" "$2/root$folder"
				;;
		esac
	done <"$2/mounts"
	cp "$2/inside" "$2/root/inside"
	exec chroot "$2/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SCALE=1 COPT=-O0 sh /inside'

# What runs inside; its last line tells.
inside()	# state
{
	cat <<'END'
packages() { dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' | grep ' installed$' | sort; }
fault() { echo "FAULT: $*"; faults=1; }
must() { echo "+ $1"; sh -c "$1" >/make.log 2>&1 || { cat /make.log; echo "NOT MADE: $1"; exit 1; }; }
faults=
cd /src
apt-get update >/dev/null
END
	field "$1" make | while read -r line; do printf 'must %s\n' "$(quoted "$line")"; done
	run=$(field "$1" run)
	status=$(field "$1" status)
	cat <<END
touch /tmp/before
packages >/packages
echo $(quoted "+ $run")
(eval $(quoted "$run")) >/output 2>&1 </dev/null
status=\$?
cat /output
[ \$status = ${status:-0} ] || fault "ended with \$status, not ${status:-0}"
END
	field "$1" says | while read -r line; do
		printf 'grep -qF -- %s /output || fault says not: %s\n' "$(quoted "$line")" "$(quoted "$line")"
	done
	field "$1" not | while read -r line; do
		printf 'grep installing: /output | grep -qF -- %s && fault says: %s\n' "$(quoted "$line")" "$(quoted "$line")"
	done
	field "$1" check | while read -r line; do
		printf 'sh -c %s || fault %s\n' "$(quoted "$line")" "$(quoted "$line")"
	done
	cat <<END
packages | comm -23 /packages - | grep -v '^$(field "$1" allow | sed 's/^$/none/') ' | sed 's/^/FAULT: changed or gone: /' >/changed
[ ! -s /changed ] || { cat /changed; faults=1; }
find / -xdev -name 'crc32c_accel*' ! -path '/src/*' ! -path '/srv/*' ! -path '/proc/*' -print >/left
[ ! -s /left ] || fault "left behind: \$(cat /left)"
ls -d /tmp/crc32c_* /var/tmp/crc32c_* 2>/dev/null
[ "\$faults" ] && echo "STATE: FAILED" || echo "STATE: ok"
END
}

run_state()	# state
{
	(
		layer=$(as_root mktemp -d "${TMPDIR:-/tmp}/crc32c_state.XXXXXX") || exit 1
		trap 'status=$?; as_root rm -rf "$layer"; exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		[ "$(id -u)" = 0 ] || as_root chown "$(id -u)" "$layer"
		chmod 755 "$layer"
		mkdir "$layer/tree"
		copy_tree "$top" "$layer/tree"
		field "$1" mount >"$layer/mounts"
		inside "$1" >"$layer/inside"
		as_root perl -e "$killable" unshare --mount --pid --net --fork --kill-child \
			sh -c "$outside" sh "$base" "$layer" >"$layer/output" 2>&1 || true
		if grep -q '^NOT MADE' "$layer/output"; then
			grep -B 5 '^NOT MADE' "$layer/output"
			exit 3
		fi
		if ! tail -1 "$layer/output" | grep -qx 'STATE: ok'; then
			cat "$layer/output"
			exit 1
		fi
		printf 'ok    %-18s %s\n' "$1" "$(field "$1" title)"
	)
}

case ${1:-} in
	prepare)
		prepare
		exit
		;;
	list)
		[ -z "${2:-}" ] || field "$2" title
		[ -n "${2:-}" ] || awk -F'\t+' '$1 == "state" {state = $2}
			$1 == "title" {print state "\t" $2}' "$here/states.txt"
		exit
		;;
esac
is_made || {
	say "skipped: no machine at $base ($(cat "$base.reason" 2>/dev/null || echo 'test/states/run.sh prepare makes it'))"
	exit 0
}
[ $# -gt 0 ] || {
	# shellcheck disable=SC2046	# names hold no blanks
	set -- $(awk -F'\t+' '$1 == "state" {print $2}' "$here/states.txt")
}
passed=0 failed=0
for state in "$@"; do
	[ -n "$(field "$state" run)" ] || die "no state $state in states.txt"
	status=0
	run_state "$state" || status=$?
	case $status in
		0) passed=$((passed + 1)) ;;
		3) say "skipped: $state: could not be made, see above" failed=$((failed + 1)) ;;
		*)
			failed=$((failed + 1))
			printf 'FAIL  %-18s %s\n' "$state" "$(field "$state" title)"
			;;
	esac
done
say "states: $passed passed, $failed failed"
[ "$failed" = 0 ]
