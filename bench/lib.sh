# lib.sh: what the end-to-end benchmarks share: arguments, throw-away clusters,
# rows of results.  POSIX sh (plus date +%N of GNU); sourced, never executed.
#
# A part looks like this:
#
#	#!/bin/sh
#	# pages.sh --pg-config PATH --size SMALL|MEDIUM|LARGE|BYTES --out DIR [--preload LIBRARY]
#	set -eu
#	. "$(dirname "$0")/lib.sh"
#	bench_begin pages "$@"			# arguments, scratch folder, clean-up, CSV head
#	bench_need 3000000000 1000000000	# bytes of disk and of memory, or a clear refusal
#	bench_stage						# builds the extension and stages it
#	bench_cluster main "--data-checksums" "shared_buffers = 64MB
#	autovacuum = off"				# initdb options, lines of postgresql.conf
#	bench_start main				# also makes it the one that bench_sql talks to
#	bench_sql "CREATE EXTENSION crc32c_accel"
#	for run in $(bench_rounds "$runs"); do	# interleave what is compared within a run
#		for variant in off on; do
#			bench_timed bench_sql "SELECT count(*) FROM t"	# sets elapsed (seconds)
#			bench_row warm "$variant" elapsed s "$run" "$elapsed"
#		done
#	done
#	bench_stop main
#
# After bench_begin these are set:
#	pg_config, bindir		the server's installation
#	pg_major				15, 17, ...
#	size, size_bytes		as given; SMALL 256 MB, MEDIUM 2 GB, LARGE 16 GB
#	out						folder of the results (exists)
#	preload					library for the preload slot, or ""
#	runs					RUNS, else 8, and 6 from 10 GB on: the fewest pairs that have an
#							interval of their own (bench/pairs.py)
#	scratch					scratch folder (under TMPDIR), owned by the server's user
#	top						the source tree
#
# and these functions do the work:
#	bench_row CASE VARIANT METRIC UNIT RUN VALUE	one line of DIR/<part>.csv, whose
#							columns are part,case,variant,metric,unit,run,value (no
#							commas within; run counts from 1, 0 for what has no runs).
#							While the variable run is 0 it writes nothing: a warm-up
#	bench_missing CASE VARIANT REASON	a row that says why there is no figure
#							(metric "missing"; the reason is printed and kept)
#	bench_note KEY VALUE	a fact about the run (settings, versions): a row of metric "note"
#	bench_log WORDS...		progress, on standard error, with the seconds so far
#	bench_fail WORDS...		ends the part with a message
#	bench_need DISK MEMORY	refuses when there is less, in bytes
#	bench_rounds N			the numbers 0..N: a warm-up, then N runs
#	bench_runs N			the numbers 1..N
#	bench_stage				builds a copy of the tree, stages it under $scratch/stage
#	bench_cluster NAME INITDB_OPTIONS CONF_LINES	makes a cluster, not started
#	bench_conf NAME CONF_LINES		appends settings (reload or restart yourself)
#	bench_start NAME, bench_stop NAME [MODE], bench_restart NAME, bench_reload NAME
#	bench_use NAME			the cluster that PGHOST and so on point to
#	bench_sql SQL			psql -XAtq, stops at the first error
#	bench_statement SQL		runs a statement, sets elapsed as psql's \timing measures it
#	bench_client CMD...		a client program as the unprivileged user, pinned apart
#							from the server when the machine has four CPUs or more
#	as_user CMD...			anything as the unprivileged user (servers refuse root)
#	bench_timed CMD...		runs it, sets elapsed to seconds (nanosecond clock)
#	bench_cluster_cpu NAME	CPU seconds that all processes of a cluster have used (a
#							backend that is about to end counts when it has: bench_settle)
#	bench_settle			waits a moment for backends of closed sessions to end
#	bench_share CASE VARIANT FORMAT OPTIONS...	a row of the CRC's share of CPU, from the
#							samples in $scratch/perf.data; OPTIONS are perf report's
#	bench_samples OPTIONS...	counts these: samples, crc_samples
#	bench_cluster_io NAME	"read written": bytes at the storage layer since its start,
#							of all its processes
#	bench_program CMD...	a client program; sets elapsed and cpu (seconds, its own CPU)
#	bench_passes N CMD...	runs it N times; sets elapsed, user and system (seconds)
#	bench_read_loop			builds what bench_cold and bench_pread run
#	bench_pread FILE...		reads cached files, and does nothing else; sets elapsed
#	bench_wal_lsn			bytes of WAL written so far
#	bench_data NAME			the data directory
#
# Started by root, everything that touches a cluster runs as the user
# ACCEL_TEST_USER (default postgres).  The script that you see is watched by a
# second copy of itself, which stops the servers and removes the scratch folder
# whatever ends it: an interrupted run leaves nothing behind.

# shellcheck shell=sh disable=SC2034	# variables are the interface
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"

bench_log()
{
	printf '[%s %4ds] %s\n' "$bench_part" "$(($(date +%s) - bench_started))" "$*" >&2
}

bench_fail()
{
	printf 'bench/%s.sh: %s\n' "${bench_part:-run}" "$*" >&2
	[ -z "${bench_csv:-}" ] || bench_note failed "$*"
	exit 1
}

bench_usage()
{
	echo "usage: bench/$bench_part.sh [--pg-config PATH] [--size SMALL|MEDIUM|LARGE|BYTES] [--out DIR] [--preload LIBRARY]" >&2
	exit 2
}

# SMALL, MEDIUM, LARGE, or a number with kB, MB, GB
bench_bytes()
{
	case $1 in
		SMALL) echo 268435456 ;;
		MEDIUM) echo 2147483648 ;;
		LARGE) echo 17179869184 ;;
		*)
			digits=${1%%[!0-9]*}
			case "$digits:${1#"$digits"}" in
				:*) return 1 ;;
				*:) echo "$digits" ;;
				*:k | *:kB) echo $((digits * 1024)) ;;
				*:M | *:MB) echo $((digits * 1024 * 1024)) ;;
				*:G | *:GB) echo $((digits * 1024 * 1024 * 1024)) ;;
				*) return 1 ;;
			esac
			;;
	esac
}

bench_begin()
{
	bench_part=$1
	shift
	bench_arguments "$@"
	bench_started=$(date +%s)
	# the watched copy goes on; the first one stays here until it has ended
	[ -n "${BENCH_SCRATCH:-}" ] || bench_watch "$@"
	scratch=$BENCH_SCRATCH
	runs=8
	[ "$size_bytes" -lt 10000000000 ] || runs=6
	runs=${RUNS:-$runs}
	bench_csv=$out/$bench_part.csv
	echo "part,case,variant,metric,unit,run,value" >"$bench_csv"
	bench_note_run
	bench_note server "$("$pg_config" --version)"
}

# The commit of the tree, and whether what is measured differs from it.
bench_revision()
{
	git -C "$top" rev-parse --short HEAD 2>/dev/null || {
		echo "no git"
		return
	}
	[ -z "$(git -C "$top" status --porcelain -- src sql bench ':!bench/report')" ] || echo "with changes"
}

# What this run is: a part may run alone, later, on another revision.
bench_note_run()
{
	bench_note revision "${BENCH_REVISION:-$(bench_revision)}"
	bench_note started "$(date -u '+%Y-%m-%d %H:%M UTC')"
	bench_note machine "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | sed 's/  */ /g'), $(nproc) CPUs, Linux $(uname -r) $(uname -m)"
	bench_note load "$(cut -d' ' -f1-3 /proc/loadavg) (averages over 1, 5 and 15 minutes at the start)"
	bench_note size "$size"
}

bench_arguments()
{
	pg_config=pg_config size=SMALL out='' preload=''
	while [ $# -gt 0 ]; do
		case $1 in
			--pg-config | --size | --out | --preload)
				[ $# -ge 2 ] || bench_usage
				;;
			*) bench_usage ;;
		esac
		case $1 in
			--pg-config) pg_config=$2 ;;
			--size) size=$2 ;;
			--out) out=$2 ;;
			--preload) preload=$2 ;;
		esac
		shift 2
	done
	size_bytes=$(bench_bytes "$size") || bench_fail "no size: \"$size\" (SMALL, MEDIUM, LARGE or bytes, kB, MB, GB)"
	command -v "$pg_config" >/dev/null || bench_fail "no pg_config at \"$pg_config\""
	bindir=$("$pg_config" --bindir)
	pg_major=$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	out=${out:-$top/bench/out}
	mkdir -p "$out"
	out=$(cd "$out" && pwd)
	bench_user=$(id -un)
	[ "$(id -u)" != 0 ] || bench_user=$ACCEL_TEST_USER
	need_test_user
}

# Runs this script again in a session of its own, waits, cleans up, exits.
bench_watch()
{
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/crc32c_bench.XXXXXX")
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch"
	bench_child=''
	trap bench_cleanup EXIT
	trap 'exit 130' INT HUP
	trap 'exit 143' TERM
	BENCH_SCRATCH=$scratch setsid sh "$0" "$@" &
	bench_child=$!
	bench_status=0
	wait "$bench_child" || bench_status=$?
	exit "$bench_status"
}

bench_cleanup()
{
	bench_status=$?
	trap '' INT TERM HUP
	[ -z "$bench_child" ] || kill -s TERM -- "-$bench_child" 2>/dev/null || :
	[ -z "$bench_child" ] || wait "$bench_child" 2>/dev/null || :
	for pidfile in "$scratch"/*.data/postmaster.pid; do
		[ -f "$pidfile" ] || continue
		as_user "$bindir/pg_ctl" -D "$(dirname "$pidfile")" -m immediate -w stop >/dev/null 2>&1 || :
	done
	rm -rf "$scratch"
	exit "$bench_status"
}

# --- results ---------------------------------------------------------------

bench_row()
{
	[ $# -eq 6 ] || bench_fail "bench_row wants 6 arguments, got $#: $*"
	case $* in *,*) bench_fail "a comma in a row: $*" ;; esac
	[ "${run:-}" = 0 ] || printf '%s,%s,%s,%s,%s,%s,%s\n' "$bench_part" "$@" >>"$bench_csv"
}

# zlib-ng in the place of zlib, where bench/contenders.sh has built it.
bench_zlib_ng()
{
	find "$top/bench/build/contenders" -name 'libz.so.1.*' 2>/dev/null | head -1
}

bench_missing()
{
	case $1,$2 in *,*,*) bench_fail "a comma in a row: $*" ;; esac
	printf '%s,%s,%s,missing,,0,%s\n' "$bench_part" "$1" "$2" "$(echo "$3" | tr ',\n' '; ')" >>"$bench_csv"
	bench_log "$1, $2: $3"
}

bench_note()
{
	printf '%s,run,%s,note,,0,"%s"\n' "$bench_part" "$1" "$(printf '%s' "$2" | tr '\n' ' ' | sed 's/"/""/g')" >>"$bench_csv"
}

bench_rounds()
{
	seq 0 "$1"
}

bench_runs()
{
	seq 1 "$1"
}

# A statement's elapsed time and CPU, as the server measures it; sets elapsed and cpu.
bench_stats()	# SQL
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "LOAD 'crc32c_accel'" \
		-c "SET client_min_messages = log" -c "SET log_statement_stats = on" -c "$1" >"$scratch/stats.log" 2>&1 ||
		bench_fail "$1: $(cat "$scratch/stats.log")"
	awk '/ elapsed$/ {cpu = $2 + $5; e = $(NF - 2)} END {print e, cpu}' "$scratch/stats.log" >"$scratch/times"
	read -r elapsed cpu <"$scratch/times"
}

# The limit of what reads cached files: read() in pieces, and nothing else.
bench_read_loop()
{
	cc -O2 -o "$scratch/read_loop" "$top/bench/read_loop.c" || bench_fail "no C compiler"
	chmod a+rx "$scratch/read_loop"
}

bench_pread()	# FILE...; sets elapsed
{
	elapsed=$(bench_client "$scratch/read_loop" 131072 "$@") || bench_fail "read_loop cannot read"
}

bench_dd()	# OPTIONS FILE...; sets elapsed and cpu
{
	# shellcheck disable=SC2016	# the inner shell's
	bench_passes 1 sh -c 'options=$1; shift; for f; do dd if="$f" of=/dev/null $options; done' sh "$@"
	cpu=$(echo "$user $system" | awk '{print $1 + $2}')
}

# Reads files that are not in the page cache: dd through it and past it, and a
# verifier the same two ways.  Each run begins with another of them.  STATEMENT
# has %s for the value of direct_io.
bench_cold()	# RUN NAME STATEMENT BYTES FILE...
{
	cold_run=$1 name=$2 statement=$3 cold_bytes=$4
	shift 4
	direct=true cold_n=0
	bench_sql "SELECT crc32c_file('$1', direct_io => true)" >/dev/null 2>&1 || direct=
	for variant in "dd bs=128k" "$name" ${direct:+"dd bs=4M iflag=direct" "$name direct_io"}; do
		printf '%s\n' "$variant"
	done >"$scratch/cold.variants"
	cold_variants=$(wc -l <"$scratch/cold.variants")
	while [ $cold_n -lt "$cold_variants" ]; do
		variant=$(sed -n "$(((cold_run - 1 + cold_variants + cold_n) % cold_variants + 1))p" "$scratch/cold.variants")
		cold_n=$((cold_n + 1))
		"$scratch/read_loop" drop "$@" >/dev/null
		case $variant in
			dd*) bench_dd "${variant#dd }" "$@" ;;
			*direct_io) bench_stats "$(echo "$statement" | sed 's/%s/true/')" ;;
			*) bench_stats "$(echo "$statement" | sed 's/%s/false/')" ;;
		esac
		bench_row cold "$variant" elapsed s "$cold_run" "$elapsed"
		bench_row cold "$variant" rate GB/s "$cold_run" "$(echo "$cold_bytes $elapsed" | awk '{printf "%.3f", $1 / $2 / 1e9}')"
		bench_row cold "$variant" CPU s/GB "$cold_run" "$(echo "$cpu $cold_bytes" | awk '{printf "%.4f", $1 / $2 * 1e9}')"
	done
	[ -n "$direct" ] || bench_missing cold "$name direct_io" "$(stat -f -c %T "$1") does not read past its page cache"
}

bench_timed()
{
	bench_t0=$(date +%s%N)
	"$@"
	bench_t1=$(date +%s%N)
	elapsed=$(bench_seconds $((bench_t1 - bench_t0)))
}

bench_seconds()	# nanoseconds
{
	printf '%d.%06d' $(($1 / 1000000000)) $(($1 % 1000000000 / 1000))
}

# --- machine ---------------------------------------------------------------

bench_need()
{
	disk=$(df -Pk "$scratch" | awk 'NR == 2 {print $4}')
	memory=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
	[ "$disk" -ge $(($1 / 1024)) ] ||
		bench_fail "size $size needs $(($1 / 1048576)) MB of disk under $scratch, $((disk / 1024)) MB are free (a smaller --size, or another TMPDIR)"
	[ "$memory" -ge $(($2 / 1024)) ] ||
		bench_fail "size $size needs $(($2 / 1048576)) MB of memory, $((memory / 1024)) MB are available (a smaller --size)"
}

# Four CPUs or more: clients on the first two, servers on the others.
bench_pinned()	# server|client CMD...: as the unprivileged user
{
	cpus=$(nproc)
	role=$1
	shift
	if [ "$cpus" -lt 4 ] || ! command -v taskset >/dev/null; then
		as_user "$@"
	elif [ "$role" = server ]; then
		as_user taskset -c "2-$((cpus - 1))" "$@"
	else
		as_user taskset -c 0-1 "$@"
	fi
}

as_user()
{
	as_server_user "$@"
}

bench_client()
{
	bench_pinned client "$@"
}

# --- clusters --------------------------------------------------------------

bench_stage()
{
	if [ -n "${BENCH_STAGED:-}" ]; then	# run.sh has built it for all parts
		ln -s "$BENCH_STAGED/stage" "$scratch/stage"
		cp "$BENCH_STAGED/staged.conf" "$scratch/staged.conf"
	else
		bench_log "building and staging the extension"
		bench_build "$scratch" || bench_fail "the extension does not build"
	fi
}

bench_build()	# FOLDER; may set pg_config to that of a copy: stage_extension
{
	stage_extension "$1"
	bindir=$("$pg_config" --bindir)
	chmod -R a+rX "$1"
}

bench_data()
{
	echo "$scratch/$1.data"
}

bench_cluster()
{
	bench_log "initdb of cluster $1"
	# shellcheck disable=SC2086	# options are split on purpose
	as_user "$bindir/initdb" -D "$scratch/$1.data" -A trust -U bench --no-sync \
		-E UTF8 --no-locale $2 >"$scratch/$1.initdb.log" 2>&1 || {
		cat "$scratch/$1.initdb.log" >&2
		bench_fail "initdb failed"
	}
	as_user mkdir "$scratch/$1.sock"
	bench_conf "$1" "listen_addresses = ''
unix_socket_directories = '$scratch/$1.sock'
logging_collector = off
$(cat "$scratch/staged.conf" 2>/dev/null || :)
$3"
}

bench_conf()
{
	printf '%s\n' "$2" >>"$scratch/$1.data/postgresql.conf"
}

bench_use()
{
	PGHOST=$scratch/$1.sock PGUSER=bench PGDATABASE=postgres PGPORT=5432
	export PGHOST PGUSER PGDATABASE PGPORT
}

bench_start()
{
	bench_use "$1"
	: >>"$scratch/$1.log"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/$1.log"
	bench_pinned server "$bindir/pg_ctl" -D "$scratch/$1.data" -l "$scratch/$1.log" \
		-w -t 300 start >/dev/null || {
		tail -20 "$scratch/$1.log" >&2
		bench_fail "cluster $1 does not start"
	}
}

bench_stop()
{
	as_user "$bindir/pg_ctl" -D "$scratch/$1.data" -m "${2:-fast}" -w -t 300 stop >/dev/null
}

bench_restart()
{
	bench_stop "$1"
	bench_start "$1"
}

bench_reload()
{
	as_user "$bindir/pg_ctl" -D "$scratch/$1.data" reload >/dev/null
	sleep 0.3
}

bench_sql()
{
	bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

# The session's start does not count; what it prints is left out.
bench_statement()
{
	elapsed=$(bench_client "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -c '\timing on' -c "$1" |
		awk '/^Time: / {printf "%.6f", $2 / 1000}')
	[ -n "$elapsed" ] || bench_fail "this failed: $1"
}

bench_wal_lsn()
{
	bench_sql "SELECT pg_current_wal_insert_lsn() - '0/0'"
}

bench_pids()	# NAME: the postmaster and its children
{
	postmaster=$(head -1 "$scratch/$1.data/postmaster.pid")
	echo "$postmaster"
	cat "/proc/$postmaster/task/$postmaster/children" 2>/dev/null || ps -o pid= --ppid "$postmaster"
}

bench_program()
{
	: >"$scratch/program.times"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/program.times"
	# shellcheck disable=SC2016	# perl's variables
	bench_client perl -MTime::HiRes=time -e 'my $to = shift; my $t = time; my $status = system(@ARGV);
		my $elapsed = time - $t; my @cpu = times; open(my $f, ">", $to) or die;
		printf $f "%.6f %.2f\n", $elapsed, $cpu[2] + $cpu[3]; close $f;
		exit($status == 0 ? 0 : 1)' "$scratch/program.times" "$@"
	elapsed=$(cut -d' ' -f1 "$scratch/program.times")
	cpu=$(cut -d' ' -f2 "$scratch/program.times")
}

# N times without what it prints, whether it fails or not; sets elapsed, user and
# system (seconds) of all.
bench_passes()	# N CMD...
{
	: >"$scratch/program.times"
	[ "$(id -u)" != 0 ] || chown "$bench_user" "$scratch/program.times"
	# shellcheck disable=SC2016	# perl's variables
	bench_client perl -MTime::HiRes=time -e 'my ($to, $passes, @command) = @ARGV; my $t = time;
		for (1 .. $passes) { my $pid = fork;
			if (!$pid) { open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null"); exec(@command) or exit(127); }
			waitpid($pid, 0); die "$command[0]: cannot be run" if $? >> 8 == 127; }
		my $elapsed = time - $t; my @cpu = times; open(my $f, ">", $to) or die;
		printf $f "%.6f %.2f %.2f\n", $elapsed, $cpu[2], $cpu[3];' "$scratch/program.times" "$@"
	read -r elapsed user system <"$scratch/program.times"
}

# Own time of each, and of the children that the postmaster has waited for; the
# kernel adds the I/O of waited children to the postmaster's in the same way.
bench_cluster_cpu()
{
	for pid in $(bench_pids "$1"); do
		cat "/proc/$pid/stat" 2>/dev/null || :
	done | sed 's/^.*) //' | awk -v hz="$(getconf CLK_TCK)" \
		'{ticks += $12 + $13 + (NR == 1 ? $14 + $15 : 0)} END {printf "%.2f\n", ticks / hz}'
}

bench_settle()
{
	sleep 0.2
}

perf_event()	# what this user may sample
{
	[ "$(id -u)" = 0 ] && echo cpu-clock || echo cpu-clock:u
}

# Whether perf is here and may sample; else perf.log says why not.
may_sample()
{
	echo "is not installed" >"$scratch/perf.log"
	command -v perf >/dev/null && perf record -q -e "$(perf_event)" -o "$scratch/perf.data" true >"$scratch/perf.log" 2>&1
}

# Sets samples, all those of perf.data, and crc_samples, those in our library and
# the server's CRC functions; both 0 if perf took none.
bench_samples()	# OPTIONS of perf report...
{
	perf report -i "$scratch/perf.data" --stdio --no-children -n "$@" --sort dso,symbol 2>/dev/null |
		awk '/^ +[0-9.]+%/ {n += $2; if (/crc32c_accel\.so|pg_comp_crc32c/) s += $2} END {print n + 0, s + 0}' >"$scratch/samples"
	read -r samples crc_samples <"$scratch/samples"
}

bench_share()	# CASE VARIANT FORMAT OPTIONS of perf report...
{
	case=$1 variant=$2 format=$3
	shift 3
	bench_samples "$@"
	if [ "$samples" -gt 0 ]; then
		# shellcheck disable=SC2059	# the caller's format
		bench_row "$case" "$variant" "share of CPU" % 1 "$(echo "$samples $crc_samples" | awk -v format="$format" '{printf format, 100 * $2 / $1}')"
	else
		bench_missing "$case" "$variant share of CPU" "perf took no samples: $(head -1 "$scratch/perf.log")"
	fi
}

bench_cluster_io()
{
	for pid in $(bench_pids "$1"); do
		cat "/proc/$pid/io" 2>/dev/null || :
	done | awk '/^read_bytes/ {r += $2} /^write_bytes/ {w += $2} END {printf "%.0f %.0f\n", r, w}'
}
