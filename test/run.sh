#!/bin/sh
# run.sh [all] [PART...] [--long]: runs the tests of this project.
#
#	parts: gates unit regress pgtap tap (default), matrix fuzz packages states
#	(default of all), coverage, mutants
#	all: every PostgreSQL of 15 to 19 and the slow tests too, an hour; else this
#	machine's PostgreSQL alone, in a quarter of an hour
#	--long: all in the form for a release, hours; by default coverage and mutants too
#
# Installs what they need (prepare.sh) and runs them, four at a time.  Other
# PostgreSQL versions run in chroots, 16 unpacked.  Prints what ran where, which
# kernels ran, what was skipped and why.  Something expected that did not run is a
# failure.  README.md beside this file tells what each part does.
#
#	JOBS=n		how many at a time (default: 4, or 2 on a single core)
#	KEEP=1		leave the logs
#	MINUTES=n	after n minutes no job begins, and 10 minutes later none runs
#	PREPARED=1	install nothing
#	UPGRADE=1	permit apt to upgrade installed packages
#	ACCEL_CACHE	where the chroots are (default /var/cache/crc32c_accel)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"

# in the order in which they run: what breaks most often first
own_parts="gates unit regress pgtap tap"
default_parts="$own_parts matrix fuzz packages states"
all_parts="$default_parts coverage mutants"
parts=
all=
LONG=
for argument in "$@"; do
	case $argument in
		all) all=all ;;
		--long) LONG=1 all=all ;;
		unit | regress | pgtap | tap | matrix | fuzz | gates | states | packages | coverage | mutants)
			parts="$parts $argument" ;;
		*) die "usage: run.sh [all] [$all_parts] [--long]" ;;
	esac
done
[ -n "$all" ] || default_parts=$own_parts
[ -n "$parts" ] || parts=$default_parts${LONG:+ coverage mutants}
export LONG
case ${MINUTES:=} in *[!0-9]*) die "MINUTES=$MINUTES: not a number" ;; esac

started=$(date +%s)
# shellcheck disable=SC2086
[ -n "${PREPARED:-}" ] || sh "$top/test/prepare.sh" $all $parts
need_test_user
need_tmpdir
need_disk "$TMPDIR" 3000 "the tests"
scratch=$(mktemp -d "$TMPDIR/crc32c_accel_run.XXXXXX")
chmod 755 "$scratch"
mkdir "$scratch/jobs" "$scratch/tmp"
chmod 1777 "$scratch/tmp"
if [ "$(id -u)" = 0 ] && lacks_journal "$scratch/tmp" && mount_journal "$scratch/tmp" >"$scratch/mount" 2>&1; then
	say "the servers work on an image with a journal, which $TMPDIR has not"
fi
# The same sources are compiled some sixty times in as many folders.
if command -v ccache >/dev/null; then
	mkdir -m 1777 "$scratch/ccache"
	CCACHE_DIR=$scratch/ccache CCACHE_NOHASHDIR=1 CCACHE_UMASK=000 PATH=/usr/lib/ccache:$PATH
	export CCACHE_DIR CCACHE_NOHASHDIR CCACHE_UMASK PATH
fi
group='' keep_logs=''
cleanup()
{
	trap '' INT TERM HUP
	[ -z "$group" ] || end_group
	if [ -f "$scratch/tmp.img" ]; then
		umount -l "$scratch/tmp" 2>/dev/null || true
		rm -f "$scratch/tmp.img"
	fi
	if [ -n "${KEEP:-}" ]; then
		say "kept: $scratch"
	elif [ -n "$keep_logs" ]; then
		rm -rf "$scratch/tmp"
		say "kept: $scratch"
	else
		rm -rf "$scratch"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT HUP
trap 'exit 143' TERM

# Runs a command in a process group of its own and waits for it, so that an
# interruption can end everything that it has started.
in_group()	# command...
{
	# shellcheck disable=SC2016	# perl's variables
	perl -e 'setpgrp(0, 0); @SIG{"INT", "QUIT"} = ("DEFAULT") x 2;
		exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\n"' "$@" &
	group=$!
	group_status=0
	wait "$group" || group_status=$?
	group_signal TERM	# what only waits
	group=
	return "$group_status"
}

group_signal()	# signal: some of them may be root's, by sudo
{
	# shellcheck disable=SC2016	# expanded inside
	as_root sh -c 'kill -s "$1" -- "-$2"' sh "$1" "$group" 2>/dev/null
}

group_lives()	# whoever has ended and is not waited for does not count
{
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' |
		awk -v group="$group" '$3 == group && $1 != "Z" {lives = 1} END {exit !lives}'
}

# Every script cleans up behind itself when it is told to end; then the servers
# that are left, should one have been killed before it could.
end_group()
{
	say "interrupted: stopping what runs"
	group_signal TERM || true
	wait "$group" 2>/dev/null || true
	for _ in $(seq 150); do
		group_lives || break
		sleep 0.2
	done
	group_signal KILL || true
	find "$scratch/tmp" -name postmaster.pid 2>/dev/null | while read -r file; do
		as_root sh -c 'kill -s QUIT "$(head -1 "$1")"' sh "$file" 2>/dev/null || true
	done
}

native=$(native_major)
# Runs the jobs of the command; past the time given it ends what still runs.
in_time()	# command...
{
	timer=
	if [ -n "$MINUTES" ]; then
		trap ': >"$scratch/late"; end_group' ALRM
		# shellcheck disable=SC2016	# perl's variables
		perl -e 'my $left = $ARGV[0] - time; sleep $left if $left > 0; kill "ALRM", $ARGV[1]' \
			$((started + MINUTES * 60 + 600)) $$ &
		timer=$!
	fi
	in_group "$@" || true
	[ -z "$timer" ] || kill "$timer" 2>/dev/null || true
}

needed='' others='' missing=''
for version in $needed_majors $optional_majors; do
	if [ "$version" = "$native" ]; then
		:
	elif ! is_optional "$version"; then
		needed="$needed $version" others="$others${all:+ $version}"
	elif [ -z "$all" ]; then
		:
	elif have_server "$version"; then
		others="$others $version"
	else
		missing="$missing $version"
	fi
done
pg_config=$(pg_config_of "$native")

# The kernels of this CPU: each of them must run.
gcc -std=gnu11 -I"$top/src" -o "$scratch/list_kernels" "$top/test/list_kernels.c" \
	"$top"/src/kernel/*.c || die "the kernel list does not build"
"$scratch/list_kernels" >"$scratch/kernels"

available()	# algorithm: its kernels that this CPU runs, best first
{
	awk -v a="$1" '$1 == a && $4 == "available" {print $2}' "$scratch/kernels"
}

number=100
# job PART WHERE WHAT SCRIPT: queues the shell command line SCRIPT
job()
{
	number=$((number + 1))
	dir=$scratch/jobs/$number
	mkdir "$dir"
	printf '%s\n' "$1" >"$dir/part"
	printf '%s\n' "$2" >"$dir/where"
	printf '%s\n' "$3" >"$dir/what"
	printf '%s\n' "$4" >"$dir/command"
	: >"$dir/log"
}

# server_job PART VERSION WHAT ENVIRONMENT ARGUMENTS: one run of server.sh
server_job()
{
	if [ "$2" = "$native" ]; then
		job "$1" "$2" "$3" "MAJOR=$2 $4 sh test/server.sh $pg_config $5"
	elif have_wheel "$2"; then
		job "$1" "$2" "$3" "MAJOR=$2 $4 sh test/server.sh $(wheel_pg_config "$2") $5"
	else
		job "$1" "$2" "$3" \
			"in_chroot $ACCEL_CACHE/pg$2 . 'MAJOR=$2 $4 sh test/server.sh pg_config $5'"
	fi
}

# regress: once per kernel.  A run forces one CRC-32C and one page kernel; the
# shorter list is padded with its best.
regress_jobs()
{
	bitcode=BITCODE=1	# the first job alone builds it
	pages=$(available page)
	for kernel in $(available crc32c); do
		# shellcheck disable=SC2086
		set -- $pages
		page=${1:-$(available page | head -1)}
		pages=$(printf '%s\n' "$pages" | sed 1d)
		server_job regress "$native" "crc32c/$kernel page/$page" \
			"$bitcode KERNEL=$kernel PAGE_KERNEL=$page" regress
		bitcode=
	done
	best=$(available crc32c | head -1)
	for page in $pages; do
		server_job regress "$native" "crc32c/$best page/$page" \
			"$bitcode KERNEL=$best PAGE_KERNEL=$page" regress
	done
	server_job regress "$native" "without bitcode, with our assertions" \
		"BUILD=COPT=-DUSE_ASSERT_CHECKING" regress
	server_job regress "$native" "installcheck, preloaded, WAL segments of 1 MB" \
		"CONF=shared_preload_libraries=crc32c_accel INITDB=--wal-segsize=1" regress
	server_job regress "$native" "installcheck, accelerated, WAL segments of 64 MB" \
		"CONF='shared_preload_libraries=crc32c_accel crc32c_accel.accelerate_server=on' INITDB=--wal-segsize=64" regress
	for version in $others; do
		server_job regress "$version" "best kernels" BITCODE=1 regress
		server_job regress "$version" "crc32c/slicing8 page/portable" \
			"KERNEL=slicing8 PAGE_KERNEL=portable" regress
	done
}

# Every script runs on the newest release, and each belongs to one of the others but
# the native server.  Two in three of those run there, others after the next commit.
# The native server runs one in four: it is the one of daily work.  --long: every
# script everywhere.
tap_scripts()	# version
{
	sharing=''
	for version in $others; do
		[ "$version" = "$newest_release" ] || sharing="$sharing $version"
	done
	commits=$(git -C "$top" rev-list --count HEAD 2>/dev/null) || commits=0
	case $LONG:$1:$sharing in
		1:*) set -- all ;;
		:"$native":* | :*:*" $1" | :*:*" $1 "*) ;;
		*) set -- all ;;
	esac
	# shellcheck disable=SC2012	# names of our own
	(cd "$top" && ls test/t/*.pl) | awk -v version="$1" -v native="$native" -v sharing="$sharing" -v commits="$commits" '
		BEGIN {n = split(sharing, of)}
		version == "all" {print; next}
		version == native {if ((NR + commits) % 4 == 0) print; next}
		of[NR % n + 1] == version && (int(NR / n) + commits) % 3 > 0' | tr '\n' ' '
}

# Every jobs-th script is in the same job.
tap_jobs()	# version, jobs, arguments for prove and more, script...
{
	version=$1 jobs=$2 environment=$3 share=0
	shift 3
	while [ $share -lt "$jobs" ]; do
		scripts=$(printf '%s\n' "$@" | awk -v jobs="$jobs" -v share=$share 'NR % jobs == share')
		# shellcheck disable=SC2086	# a list
		server_job tap "$version" "clusters, $(printf '%s\n' $scripts | wc -l) scripts" \
			"$environment" "tap $(echo $scripts)"
		share=$((share + 1))
	done
}

script_job()	# part, where, what, script, argument...
{
	part=$1 where=$2 what=$3 script=$4
	shift 4
	if [ -f "$top/$script" ]; then
		job "$part" "$where" "$what" "sh $script $*"
	else
		job "$part" "$where" "$what" "echo 'missing: $script'; exit 1"
	fi
}

long=${LONG:+--long}
once=$([ -n "$all" ] || echo once)
# shellcheck disable=SC2086	# $long and $once are one word or none
for part in $parts; do
	case $part in
		unit)
			script_job unit host "kernels and judges" test/unit/run.sh $once $long
			;;
		regress) regress_jobs ;;
		pgtap)
			for version in $native $others; do
				server_job pgtap "$version" "catalog contract" "" pgtap
			done
			;;
		tap)
			# the machine's own server: without scripts that say that they are slow
			# shellcheck disable=SC2046	# a list
			[ -n "$all" ] || tap_jobs "$native" 4 PROVE_FLAGS=-v \
				$(cd "$top" && grep -L '^# Slow:' test/t/*.pl)
			for version in ${all:+$native $others}; do
				scripts=$(tap_scripts "$version")
				# some thirty scripts are a job
				# shellcheck disable=SC2086	# a list
				tap_jobs "$version" $(($(echo "$scripts" | wc -w) / 35 + 1)) "PROVE_FLAGS=-v LONG=$LONG" $scripts
			done
			;;
		fuzz) script_job fuzz host "fuzz targets" test/fuzz/run.sh $long ;;
		matrix)
			for version in $native $needed; do
				server_job matrix "$version" "ASan and UBSan in the server" "SANITIZE=1" regress
			done
			server_job matrix "$native" "ASan and UBSan in the program" \
				"SANITIZE=1" "tap test/t/119_program_backups.pl test/t/120_windows.pl"
			server_job matrix "$native" "through a storage manager" \
				"BUILD='COPT=-DACCEL_THROUGH_SMGR'" "tap test/t/060_storage_manager.pl"
			server_job matrix "$native" "without heal, accelerate and decoders" \
				"BUILD=WITHOUT=z,lz4,zstd,heal,accelerate" "tap test/t/111_without.pl"
			for script in "$top"/test/matrix/*.sh; do
				case $script in
					*/lib.sh | */custom.sh) continue ;;	# of the others
					*/upgrades.sh | */builds.sh) continue ;;	# by name only
				esac
				script_job matrix host "$(basename "$script" .sh)" \
					"test/matrix/$(basename "$script")" $long
			done
			;;
		states)
			for state in $(sh "$top/test/states/run.sh" list | cut -f1); do
				script_job states bare "$(sh "$top/test/states/run.sh" list "$state")" \
					test/states/run.sh "$state"
			done
			;;
		packages)
			script_job packages "$native" "archive of a release" test/packages/archive.sh "$pg_config"
			script_job packages "$native" "upgrades by step scripts" test/packages/upgrade.sh "$pg_config"
			script_job packages host "the report in a browser" test/packages/browser.sh
			script_job packages host "the documents as a site" test/packages/site.sh "$pg_config"
			for release in $debian_releases; do
				script_job packages "$release" "Debian packages" test/packages/debian.sh "$release"
			done
			;;
		mutants) script_job mutants "$native" "checks seen red" test/mutants/run.sh ;;
		coverage) script_job coverage "$native" "what the tests run" test/coverage/run.sh ;;
		gates)
			for script in "$top"/test/gates/*.sh; do
				case $script in
					*/layers.sh | */symbols.sh) continue ;;	# run by build.sh
					# what is the same on every machine
					*/analyzer.sh | */new_kernel.sh | */pgindent.sh | */pushes.sh | */shellcheck.sh)
						[ -n "$all" ] || continue ;;
				esac
				script_job gates host "$(basename "$script" .sh)" \
					"test/gates/$(basename "$script")" "$pg_config" $once
			done
			;;
	esac
done

# Runs one job and prints its line; the lines a runner closes with go below.
cat >"$scratch/one" <<'END'
dir=$1
top=$TOP
started=$(date +%s)
if [ -n "$LAST_BEGIN" ] && [ "$started" -gt "$LAST_BEGIN" ]; then
	echo 'not begun' >"$dir/status"
	echo 'not run: the time given had ended' >"$dir/log"
	echo 0 >"$dir/seconds"
	exit
fi
. "$top/test/lib.sh"
( cd "$TOP" && eval "$(cat "$dir/command")" ) >"$dir/log" 2>&1 </dev/null
status=$?
echo $status >"$dir/status"
echo $(($(date +%s) - started)) >"$dir/seconds"
if [ $status = 0 ]; then word=ok tally='1 passed, 0 failed'; else word=FAILED tally='0 passed, 1 failed'; fi
grep -qE '[0-9]+ passed, [0-9]+ failed' "$dir/log" || printf '%s: %s\n' "$(cat "$dir/what")" "$tally" >>"$dir/log"
printf '%-6s  %-8s %-5s %-44s %4s s\n' $word "$(cat "$dir/part")" "$(cat "$dir/where")" \
	"$(cat "$dir/what")" "$(cat "$dir/seconds")"
[ $status = 0 ] || { grep -E -A 6 '^not ok|timed out' "$dir/log" | head -40; tail -25 "$dir/log"; } | sed 's/^/        | /'
END

count=$(find "$scratch/jobs" -mindepth 1 -maxdepth 1 | wc -l)
cores=$(nproc)
# more than cores: a TAP script waits for its servers most of the time
: "${JOBS:=$([ "$cores" -gt 1 ] && echo 4 || echo 2)}"
say "$count jobs, $JOBS at a time; PostgreSQL $native${others:+,}$others; log: $scratch/jobs"
TOP=$top LAST_BEGIN=${MINUTES:+$((started + MINUTES * 60))}
export TOP ACCEL_CACHE LAST_BEGIN
export TMPDIR="$scratch/tmp" ACCEL_BUILDS="$scratch/builds"
cat >"$scratch/all" <<'END'
# a password that sudo has asked for is good for some minutes only
[ "$(id -u)" = 0 ] || while sleep 60; do sudo -n -v; done >/dev/null 2>&1 &
find "$1/jobs" -mindepth 1 -maxdepth 1 | sort | xargs -r -P "$2" -n 1 sh "$1/one"
END
in_time sh "$scratch/all" "$scratch" "$JOBS"

#
# The report
#
column()	# dir, name
{
	cat "$1/$2" 2>/dev/null || echo '?'
}

# What was cut has failed if it had said so by then.
status_of()	# dir
{
	if [ -f "$scratch/late" ] && [ ! -f "$1/status" ] && ! grep -qE '^(not ok|FAIL)' "$1/log"; then
		echo cut
	else
		column "$1" status
	fi
}

say
say "What ran where:"
[ ! -f "$scratch/late" ] || say "ended: $((MINUTES + 10)) minutes are over; what still ran is cut"
passed=0 failed=0 skipped=0
for dir in "$scratch"/jobs/*; do
	case $(status_of "$dir") in
		0) passed=$((passed + 1)) word=ok ;;
		'not begun') skipped=$((skipped + 1)) word=skip ;;
		cut) skipped=$((skipped + 1)) word=cut ;;
		*) failed=$((failed + 1)) word=FAILED ;;
	esac
	printf '  %-6s  %-8s %-5s %-44s %4s s\n' "$word" "$(column "$dir" part)" \
		"$(column "$dir" where)" "$(column "$dir" what)" "$(column "$dir" seconds)"
	grep -E '[0-9]+ passed, [0-9]+ failed|^all  ' "$dir/log" | sed 's/^ */            /' || true
	[ -f "$dir/status" ] || tail -25 "$dir/log" | sed 's/^/        | /'	# ended before its end
done

say
say "Kernels of this CPU:"
while read -r algorithm kernel arch state; do
	name=$algorithm/$kernel
	runs=$(grep -lxE "ran kernel $name" "$scratch"/jobs/*/log 2>/dev/null | wc -l)
	case $state in
		available) state="ran in $runs jobs" ;;
		*) state="not run: $state" ;;
	esac
	case " $parts " in
		*" regress "*)
			if [ "$runs" = 0 ] && [ "$state" = "ran in 0 jobs" ]; then
				state="FAILED: this CPU has it and it did not run"
				failed=$((failed + 1))
			fi
			;;
	esac
	case $state in
		*"failed its self-test"*) failed=$((failed + 1)) ;;
	esac
	printf '  %-24s %-8s %s\n' "$name" "$arch" "$state"
done <"$scratch/kernels"

say
say "Skipped:"
cat >"$scratch/skips" </dev/null
for dir in "$scratch"/jobs/*; do
	grep -hE '^(skip|SKIP|not run)|\. skipped: |# skip' "$dir/log" |
		sed "s/^/$(column "$dir" part) $(column "$dir" where): /" >>"$scratch/skips" || true
done
for part in $all_parts; do
	case " $parts " in
		*" $part "*) ;;
		*) say "  part $part: not asked for" ;;
	esac
done
[ -n "$all" ] || say "  other PostgreSQL versions, slow tests: not asked for (sh test/run.sh all)"
for version in $missing; do
	say "  PostgreSQL $version: $(missing_reason "$version")"
done
sort -u "$scratch/skips" | cut -c1-150 | sed 's/^/  /'

say
if [ "$failed" != 0 ]; then
	keep_logs=1
	for dir in "$scratch"/jobs/*; do
		case $(status_of "$dir") in 0 | cut | 'not begun') continue ;; esac
		say "failed: $(column "$dir" part) $(column "$dir" where) $(column "$dir" what): $dir/log"
	done
fi
say "$(($(date +%s) - started)) s in all"
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
