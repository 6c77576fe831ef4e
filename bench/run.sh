#!/bin/sh
# run.sh [PART...] [--size SMALL|MEDIUM|LARGE|BYTES] [--pg-config PATH]
#	[--preload LIBRARY] [--out DIR]
#
# Repeats the measurements behind this project on this machine and writes the
# report: DIR/index.html (open it in a browser), DIR/report.md, one SVG a plot
# and the raw CSV beside it.  Parts: pages wal backup program checksums server recovery
# recover dump scale kernels; all of them when none is named.  DIR is bench/report unless named.
# PostgreSQL, its headers, a compiler and make are installed as quickstart.sh does.
# SMALL (the default) takes some twenty minutes; MEDIUM two hours and more; LARGE a
# day.  RUNS=n: n runs of each instead of eight.
# Interrupted, it stops the part at work and removes what that part made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
# shellcheck source=bench/lib.sh
. "$here/lib.sh"
all_parts="pages wal backup program checksums server recovery recover dump scale kernels"

usage()
{
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
	exit 2
}

parts='' size=SMALL pg_config='' preload='' out=$here/report
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
bench_bytes "$size" >/dev/null || {
	echo "bench/run.sh: no size: \"$size\" (SMALL, MEDIUM, LARGE or bytes, kB, MB, GB)" >&2
	exit 2
}
need_postgresql "${pg_config:-${PG_CONFIG:-}}"
command -v python3 >/dev/null || install_packages python3	# writes the report
need_test_user
need_tmpdir
mkdir -p "$out" 2>/dev/null || :
[ -w "$out" ] || {
	out=$TMPDIR/crc32c_report
	say "$here/report cannot be written to: the report goes to $out" >&2
	mkdir -p "$out"
}
out=$(cd "$out" && pwd)
BENCH_REVISION=${BENCH_REVISION:-$(bench_revision)}	# before anything is written
export BENCH_REVISION

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

virtual()
{
	systemd-detect-virt --vm 2>/dev/null && return
	grep -qw hypervisor /proc/cpuinfo && echo "yes" || echo "not known"
}

machine()
{
	fact "CPU" "$(first 'model name' | sed 's/  */ /g')"
	fact "CPU family, model, stepping" "$(first 'cpu family') $(first model) $(first stepping)"
	fact "CPU features that matter" "$(cpu_flags)"
	fact "CPUs, NUMA nodes" "$(nproc), $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)"
	fact "frequency governor" "$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || echo 'not shown by this machine')"
	fact "virtual machine" "$(virtual)"
	fact "memory" "$(awk '/^MemTotal/ {printf "%.1f GB", $2 / 1048576}' /proc/meminfo)"
	fact "operating system" "$(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r) $(uname -m)"
	fact "C compiler" "$($("$pg_config" --cc) --version | head -1)"
	fact "server" "$("$pg_config" --version)"
}

# Results of another machine, or of parts that run again, must not stay.  Each
# part's CSV tells when, of which revision and under which load it ran.
machine >"$out/machine.new"
if [ -z "$parts" ] || ! cmp -s "$out/machine.new" "$out/machine.txt"; then
	for part in $all_parts; do
		rm -f "$out/$part.csv" "$out/$part"-*.csv
	done
	rm -f "$out"/*.svg "$out"/plot-*.csv
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
BENCH_STAGED=$(mktemp -d "$TMPDIR/crc32c_staged.XXXXXX")
export BENCH_STAGED
trap 'rm -rf "$BENCH_STAGED"' EXIT
chmod a+rx "$BENCH_STAGED"
echo "bench/run.sh: building the extension" >&2
bench_build "$BENCH_STAGED" || exit 1
note()	# PART KEY VALUE: a row of its CSV
{
	[ -f "$out/$1.csv" ] || echo "part,case,variant,metric,unit,run,value" >"$out/$1.csv"
	bench_part=$1 bench_csv=$out/$1.csv
	bench_note "$2" "$3"
}

failed=''
for part in ${parts:-$all_parts}; do
	started=$(date +%s)
	rm -f "$out/$part.csv"
	sh "$here/$part.sh" --pg-config "$pg_config" --size "$size" --out "$out" ${preload:+--preload "$preload"} &
	child=$!
	status=0
	wait "$child" || status=$?
	child=''
	note "$part" seconds "$(($(date +%s) - started))"
	note "$part" command "${RUNS:+RUNS=$RUNS }${ONLY:+ONLY=\"$ONLY\" }bench/run.sh $part --size $size${preload:+ --preload $(basename "$preload")}"
	[ "$status" = 0 ] && continue
	failed="$failed $part"
	grep -q '^[a-z]*,run,failed,' "$out/$part.csv" || note "$part" failed "ended with status $status"
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
