#!/bin/sh
# os_without_avx.sh: "CPUID yes, operating system no".
#
# A virtual machine (qemu-system, emulated, so no privilege is needed) whose CPU
# has AVX and AVX2 boots a Linux kernel twice: as it is, and told to leave AVX
# alone (clearcpuid=156), so that XCR0 does not enable the wide registers while
# CPUID still shows the instructions.  The kernels that need them must be chosen
# in the first and not in the second, without an illegal instruction.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
if [ "$(uname -m)" != x86_64 ]; then
	echo "not run: os_without_avx: this machine is no x86-64"
	exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# A Linux kernel from the package archive, unpacked, not installed.
vmlinuz=$ACCEL_CACHE/vmlinuz
if [ ! -f "$vmlinuz" ]; then
	as_root mkdir -p "$ACCEL_CACHE"
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -1)
	if [ -z "$package" ] || ! (cd "$scratch" && apt-get download "$package" >/dev/null 2>&1 &&
		dpkg-deb --fsys-tarfile ./*.deb | tar xf - --wildcards './boot/vmlinuz*'); then
		echo "not run: os_without_avx: no Linux kernel can be had from the package archive"
		exit 0
	fi
	as_root cp "$scratch"/boot/vmlinuz* "$vmlinuz"
	as_root chmod 644 "$vmlinuz"
fi

gcc -std=gnu11 -O2 -static -I"$top/src" -o "$scratch/init" "$top/test/matrix/init.c" \
	"$top"/src/kernel/*.c
(cd "$scratch" && echo init | cpio -o -H newc --quiet >initramfs)

boot()	# output, kernel argument...
{
	out=$1
	shift
	timeout 900 qemu-system-x86_64 -accel tcg -cpu Haswell,-hle,-rtm -m 256 -nographic -no-reboot \
		-kernel "$vmlinuz" -initrd "$scratch/initramfs" \
		-append "console=ttyS0 quiet panic=-1 $*" </dev/null >"$out" 2>&1 || true
	sed -n 's/^.*\(probe: .*\)$/\1/p' "$out" | tr -d '\r' >"$out.probe"
}

failed=0
judge()	# name, output, pattern that the features must match, page kernel
{
	features=$(sed -n 's/^probe: features//p' "$2.probe")
	page=$(sed -n 's/^probe: selected page\///p' "$2.probe")
	failures=$(sed -n 's/^probe: failures //p' "$2.probe")
	# shellcheck disable=SC2254	# patterns
	case "$features:$page:$failures" in
		$3:$4:0) echo "ok    $1: page/$page;$features" ;;
		*)
			echo "FAIL  $1: page/$page;$features; failures \"$failures\""
			tail -5 "$2"
			failed=$((failed + 1))
			;;
	esac
}

boot "$scratch/with"
boot "$scratch/without" clearcpuid=156
judge "Haswell, AVX enabled by the system" "$scratch/with" '*avx2*' avx2
case $(sed -n 's/^probe: features//p' "$scratch/without.probe") in
	*avx*) echo "FAIL  Haswell, AVX not enabled: detected all the same"; failed=$((failed + 1)) ;;
esac
judge "Haswell, AVX not enabled by the system" "$scratch/without" '*sse*' 'sse*'
echo "os_without_avx: $((2 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
