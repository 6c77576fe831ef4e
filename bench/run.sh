#!/bin/sh
# run.sh [PART...] [--size SMALL|MEDIUM|LARGE|BYTES] [--pg-config PATH]
#	[--preload LIBRARY] [--out DIR]
#
# Repeats the measurements behind this project on this machine and writes the
# report: DIR/index.html (open it in a browser), DIR/report.md, one SVG a plot
# and the raw CSV beside it.  Parts: kernels pages wal server checksums dump
# backup; all of them when none is named.  DIR is bench/report unless named.
# SMALL (the default) takes about five minutes; MEDIUM an hour; LARGE a night.
# Interrupted, it stops the part at work and removes what that part made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
# shellcheck source=bench/lib.sh
. "$here/lib.sh"
all_parts="kernels pages wal server checksums dump backup"

usage()
{
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

parts='' size=SMALL pg_config=pg_config preload='' out=$here/report
command="bench/run.sh"
for word in "$@"; do
	command="$command $word"
done
while [ $# -gt 0 ]; do
	case $1 in
		--size | --pg-config | --preload | --out)
			[ $# -ge 2 ] || usage
			;;
	esac
	case $1 in
		--size) size=$2 ;;
		--pg-config) pg_config=$2 ;;
		--preload) preload=$2 ;;
		--out) out=$2 ;;
		-*) usage ;;
		*)
			case " $all_parts " in
				*" $1 "*) parts="$parts $1" ;;
				*)
					echo "bench/run.sh: no part \"$1\"; the parts are: $all_parts" >&2
					exit 2
					;;
			esac
			shift
			continue
			;;
	esac
	shift 2
done
command -v "$pg_config" >/dev/null || {
	echo "bench/run.sh: no pg_config at \"$pg_config\" (packages postgresql and postgresql-server-dev)" >&2
	exit 1
}
pg_major=$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
bench_bytes "$size" >/dev/null || {
	echo "bench/run.sh: no size: \"$size\" (SMALL, MEDIUM, LARGE or bytes, kB, MB, GB)" >&2
	exit 2
}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# --- the machine -----------------------------------------------------------

fact()
{
	[ -z "$2" ] || printf '%s\t%s\n' "$1" "$2"
}

cpu_flags()
{
	for flag in sse4_2 pclmulqdq avx2 avx512f vpclmulqdq crc32 pmull sha3; do
		grep -qwE "^(flags|Features).* $flag" /proc/cpuinfo && printf '%s ' "$flag"
	done
	:
}

first()	# PATTERN of /proc/cpuinfo
{
	sed -n "s/^$1[[:space:]]*: //p" /proc/cpuinfo | head -1
}

machine()
{
	fact "CPU" "$(first 'model name' | sed 's/  */ /g')"
	fact "CPU family, model, stepping" "$(first 'cpu family') $(first model) $(first stepping)"
	fact "CPU features that matter" "$(cpu_flags)"
	fact "CPUs, NUMA nodes" "$(nproc), $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)"
	fact "frequency governor" "$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || echo 'not shown by this machine')"
	fact "virtual machine" "$(systemd-detect-virt --vm 2>/dev/null || grep -qw hypervisor /proc/cpuinfo && echo yes || echo 'not known')"
	fact "memory" "$(awk '/^MemTotal/ {printf "%.1f GB", $2 / 1048576}' /proc/meminfo)"
	fact "operating system" "$(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r) $(uname -m)"
	fact "C compiler" "$(cc --version | head -1)"
	fact "server" "$("$pg_config" --version)"
}

moment()
{
	fact "date" "$(date -u '+%Y-%m-%d %H:%M UTC')"
	fact "load average at the start" "$(cut -d' ' -f1-3 /proc/loadavg)"
	fact "revision" "$(git -C "$here" describe --always --dirty 2>/dev/null || :)"
	fact "size" "$size"
	fact "command" "$command"
}

# Results of another machine, or of parts that run again, must not stay.
machine >"$out/machine.new"
if [ -z "$parts" ] || ! cmp -s "$out/machine.new" "$out/machine.txt"; then
	for part in $all_parts; do
		rm -f "$out/$part.csv" "$out/$part.notes" "$out/$part.txt" "$out/$part"-*.csv
	done
	rm -f "$out"/*.svg "$out"/plot-*.csv
fi
if [ -n "$parts" ] && cmp -s "$out/machine.new" "$out/machine.txt"; then
	fact "then" "$(date -u '+%H:%M UTC'), load $(cut -d' ' -f1 /proc/loadavg), $command" >>"$out/run.txt"
else
	moment >"$out/run.txt"
fi
mv "$out/machine.new" "$out/machine.txt"

# --- the parts -------------------------------------------------------------

child=''
interrupted()
{
	[ -z "$child" ] || kill -s TERM "$child" 2>/dev/null || :
	[ -z "$child" ] || wait "$child" || :
	echo "bench/run.sh: interrupted" >&2
	exit 130
}
trap interrupted INT TERM HUP
BENCH_STAGED=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_staged.XXXXXX")
export BENCH_STAGED
trap 'rm -rf "$BENCH_STAGED"' EXIT
chmod a+rx "$BENCH_STAGED"
echo "bench/run.sh: building the extension" >&2
bench_build "$BENCH_STAGED" || exit 1

failed=''
for part in ${parts:-$all_parts}; do
	if [ ! -f "$here/$part.sh" ]; then
		case $part in
			backup) reason="comes with the backup verifier" ;;
			*) reason="there is no bench/$part.sh in this version" ;;
		esac
		printf 'failed\t%s\n' "$reason" >"$out/$part.notes"
		echo "bench/run.sh: part $part: $reason" >&2
		continue
	fi
	started=$(date +%s)
	sh "$here/$part.sh" --pg-config "$pg_config" --size "$size" --out "$out" ${preload:+--preload "$preload"} &
	child=$!
	status=0
	wait "$child" || status=$?
	child=''
	[ -f "$out/$part.notes" ] || : >"$out/$part.notes"
	printf 'seconds\t%s\n' "$(($(date +%s) - started))" >>"$out/$part.notes"
	printf 'command\tbench/run.sh %s --size %s%s\n' "$part" "$size" "${preload:+ --preload $preload}" >>"$out/$part.notes"
	[ "$status" = 0 ] && continue
	failed="$failed $part"
	grep -q '^failed' "$out/$part.notes" || printf 'failed\tended with status %s\n' "$status" >>"$out/$part.notes"
done

# --- the report ------------------------------------------------------------

python=''
for candidate in python3 /usr/bin/python3; do	# the first that can draw
	command -v $candidate >/dev/null || continue
	python=${python:-$candidate}
	$candidate -c 'import matplotlib' 2>/dev/null && python=$candidate && break
done
if [ -n "$python" ]; then
	$python "$here/report.py" "$out"
	echo "report: $out/index.html"
else
	echo "bench/run.sh: no python3, so no report: the results are $out/*.csv" >&2
	exit 1
fi
[ -z "$failed" ] || {
	echo "bench/run.sh: failed:$failed (the reason is in the report)" >&2
	exit 1
}
