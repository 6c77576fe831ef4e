#!/bin/sh
# devices.sh make|drop FOLDER [USER]
#
# Makes file systems below a folder, as root, for tests that damage what a device
# holds below the page cache.  FOLDER/NAME is the file system NAME, of USER, and
# FOLDER/NAME.img is its device, which USER may write to.  Where one cannot be
# made, FOLDER/NAME.missing says why.  drop unmounts them.
set -eu

usage="usage: devices.sh make|drop FOLDER [USER]"
what=${1:?$usage}
folder=${2:?$usage}
user=${3:-postgres}
names="ext4 xfs journal btrfs full tmpfs fuse fuse_einval"

# A chroot has no loop devices of its own.  The system hands out their numbers
# to all who ask, each test for five.
need_loop_nodes()
{
	[ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
	for n in $(seq 0 63); do
		[ -e "/dev/loop$n" ] || mknod "/dev/loop$n" b 7 "$n"
	done
}

make_image()	# name, megabytes, command of mkfs...
{
	image=$folder/$1.img
	size=$2
	shift 2
	command -v "$1" >/dev/null || { echo "no $1"; return 1; }
	truncate -s "${size}M" "$image"
	"$@" "$image" 2>&1
}

# A process shows a folder once more.
make_fuse()	# name, option of bindfs...
{
	at=$folder/$1
	shift
	command -v bindfs >/dev/null || { echo "no bindfs"; return 1; }
	[ -c /dev/fuse ] || mknod /dev/fuse c 10 229
	mkdir -p "$at.disk" && chown "$user" "$at.disk" &&
		bindfs -o allow_other "$@" "$at.disk" "$at"
}

make_one()	# name
{
	case $1 in
		ext4) make_image "$1" 512 mkfs.ext4 -q -F -b 4096 && mount -o loop "$folder/$1.img" "$folder/$1" ;;
		journal) make_image "$1" 64 mkfs.ext4 -q -F -b 4096 && mount -o loop,data=journal "$folder/$1.img" "$folder/$1" ;;
		xfs) make_image "$1" 512 mkfs.xfs -q -f && mount -o loop "$folder/$1.img" "$folder/$1" ;;
		btrfs) make_image "$1" 256 mkfs.btrfs -q -f && mount -o loop "$folder/$1.img" "$folder/$1" ;;
		# its device lies on a file system that a test can fill
		full)
			mkdir -p "$folder/full.disk" && mount -t tmpfs -o size=64m tmpfs "$folder/full.disk" &&
				chown "$user" "$folder/full.disk" && ln -s full.disk/image "$folder/full.img" &&
				make_image "$1" 256 mkfs.ext4 -q -F -b 4096 -O ^has_journal &&
				mount -o loop "$folder/$1.img" "$folder/$1"
			;;
		tmpfs) mount -t tmpfs -o size=64m tmpfs "$folder/$1" ;;
		# one ignores O_DIRECT, the other answers EINVAL to what is not aligned
		fuse) make_fuse "$1" ;;
		fuse_einval) make_fuse "$1" --forward-odirect=4096 ;;
	esac
}

case $what in
	make)
		[ "$(id -u)" = 0 ] || { echo "devices.sh: needs root" >&2; exit 1; }
		mkdir -p "$folder"
		need_loop_nodes
		for name in $names; do
			mkdir -p "$folder/$name"
			if make_one "$name" >"$folder/$name.said" 2>&1; then
				chown "$user" "$folder/$name"
				[ ! -e "$folder/$name.img" ] || chown "$user" "$folder/$name.img"
			else
				mv "$folder/$name.said" "$folder/$name.missing"
			fi
		done
		;;
	drop)
		for name in $names full.disk; do
			! mountpoint -q "$folder/$name" || umount -l "$folder/$name"
		done
		;;
	*) echo "$usage" >&2; exit 1 ;;
esac
