#!/bin/sh
# report.sh: bench/report.py makes a report of the committed results, and of
# results that lack parts or cases; each picture and file that it names is there.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
python=
for candidate in python3 /usr/bin/python3; do	# as bench/run.sh: the first that can draw
	command -v $candidate >/dev/null || continue
	python=${python:-$candidate}
	$candidate -c 'import matplotlib' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { echo "check-report: skipped, no python3"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/report.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

report()	# TITLE, of $work/report
{
	$python "$top/bench/report.py" "$work/report" || {
		echo "check-report: $1: no report" >&2
		exit 1
	}
	grep -o '([a-z0-9-]*\.\(svg\|csv\|txt\))' "$work/report/report.md" | tr -d '()' | sort -u | while read -r name; do
		[ -f "$work/report/$name" ] || {
			echo "check-report: $1: $name is not there" >&2
			exit 1
		}
	done
}

expect()	# TITLE WORDS
{
	grep -q "$2" "$work/report/report.md" || {
		echo "check-report: $1: no \"$2\"" >&2
		exit 1
	}
}

# each committed report, that of bench/report last: a section for each part that it has
for folder in "$top"/bench/report/*/ "$top/bench/report/"; do
	name=committed${folder#"$top/bench/report"}
	rm -rf "$work/report"
	mkdir "$work/report"
	cp "$folder/machine.txt" "$folder"/*.csv "$work/report/"
	report "$name"
	for part in "pages Pages" "wal WAL" "backup Backups" "program crc32c_verify" "checksums Data checksums" "server Server" \
		"recovery Recovery" "recover Recover" "dump Dump" "scale Scale" "kernels Kernels"; do
		[ ! -f "$folder/${part%% *}.csv" ] || expect "$name" "^## ${part#* }: "
	done
	[ ! -f "$folder/pages.csv" ] || expect "$name" "^### How fast for me"
	expect "$name" "^## Sources of the published"
	! grep -q "could not be made" "$work/report/report.md" || {
		echo "check-report: $name: a part's tables could not be made" >&2
		exit 1
	}
done

# the talk's own pair, with the switched one and alone
for keep in ',' ',sse42,\|,avx512,\|^part'; do
	grep "$keep" "$top/bench/report/18/server.csv" >"$work/report/server.csv"
	report "the talk's own pair"
	expect "the talk's own pair" "^### The talk's own pair, "
	expect "the talk's own pair" "AVX-512 function backups are [0-9.]* times as fast ("
done
! grep -q "or off" "$work/report/report.md" || {
	echo "check-report: the talk's own pair alone: a table of the other pair" >&2
	exit 1
}

# a part that gave a note and nothing else; one that ended early; one unreadable
head="part,case,variant,metric,unit,run,value"
printf '%s\nserver,run,failed,note,,0,"no ""disk"", or so"\n' $head >"$work/report/server.csv"
{
	sed -n '1,40p' "$top/bench/report/wal.csv"
	echo 'wal,run,failed,note,,0,"ended with status 1"'
} >"$work/report/wal.csv"
echo "part,case" >"$work/report/dump.csv"
report "parts missing"
expect "parts missing" 'Did not run here: no "disk", or so'
expect "parts missing" 'This part ended early: ended with status 1'
expect "parts missing" 'Did not run here: its results cannot be read'
echo "check-report: ok"
