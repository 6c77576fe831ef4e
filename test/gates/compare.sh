#!/bin/sh
# compare.sh: bench/compare.py tells a regression from noise, on made-up results.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "check-compare: skipped, no python3"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/compare.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
failed=0

results()	# VALUES...: five runs of one case, and a kernel's triple
{
	echo "part,case,variant,metric,unit,run,value"
	run=0
	for value in "$@"; do
		run=$((run + 1))
		echo "p,c,v,$metric,$unit,$run,$value"
	done
}

expect()	# TITLE STATUS PATTERN: compares old.csv and new.csv
{
	status=0
	python3 "$top/bench/compare.py" "$work/old.csv" "$work/new.csv" >"$work/out" 2>&1 || status=$?
	if [ "$status" != "$2" ] || ! grep -q "$3" "$work/out"; then
		echo "check-compare: $1: status $status, expected $2 and \"$3\"" >&2
		cat "$work/out" >&2
		failed=1
	fi
}

metric=elapsed unit=s
results 1.00 1.01 0.99 1.00 1.02 >"$work/old.csv"
results 1.01 1.03 1.00 0.99 1.02 >"$work/new.csv"
expect "the same within spread" 0 "0 worse, 0 better, 1 within noise"
results 1.30 1.31 1.29 1.30 1.32 >"$work/new.csv"
expect "slower" 1 "^WORSE"
results 0.70 0.71 0.69 0.70 0.72 >"$work/new.csv"
expect "faster" 0 "^better"
results 1.30 0.70 1.60 0.95 1.20 >"$work/new.csv"
expect "slower, but as noisy" 0 "1 within noise"
results 1.01 1.00 0.99 1.01 9.00 >"$work/new.csv"
expect "one outlier" 0 "1 within noise"
results 1.31 1.30 1.32 9.00 9.00 >"$work/new.csv"
expect "two far of five are spread, not outliers" 0 "1 within noise"
results 1.04 1.04 1.04 1.04 1.04 >"$work/new.csv"
expect "below the threshold" 0 "1 within noise"
for metric in cpu user "server CPU"; do
	results 0.01 0.01 0.01 0.01 0.01 >"$work/old.csv"
	results 0.03 0.03 0.03 0.03 0.03 >"$work/new.csv"
	expect "two ticks of the CPU clock, spelt $metric" 0 "1 within noise"
	results 0.04 0.04 0.04 0.04 0.04 >"$work/new.csv"
	expect "three ticks, spelt $metric" 1 "^WORSE"
done
metric=WAL unit=MB
results 0 0 0 0 0 >"$work/old.csv"
results 0.01 0.02 0.01 0.01 0.01 >"$work/new.csv"
expect "housekeeping is no WAL" 0 "1 within noise"
results 66 66 66 66 66 >"$work/new.csv"
expect "WAL where there was none" 1 "^WORSE"
results 66 66 66 66 66 >"$work/old.csv"
results 0 0 0 0 0 >"$work/new.csv"
expect "no WAL where there was" 0 "^better"
metric=rate unit=GB/s
results 1.00 1.01 0.99 1.00 1.02 >"$work/old.csv"
results 1.30 1.31 1.29 1.30 1.32 >"$work/new.csv"
expect "a rate that grows" 0 "^better"
results 0.70 0.71 0.69 0.70 0.72 >"$work/new.csv"
expect "a rate that falls" 1 "^WORSE"
triple()
{
	echo "part,case,variant,metric,unit,run,value"
	echo "kernels,c,v,ns_min,ns,99,$1"
	echo "kernels,c,v,ns_median,ns,99,$2"
	echo "kernels,c,v,ns_max,ns,99,$3"
}
triple 10 10.1 90 >"$work/old.csv"
triple 10.1 10.3 200 >"$work/new.csv"
expect "a kernel's minima agree" 0 "1 within noise"
triple 12 12.1 13 >"$work/new.csv"
expect "a kernel's minimum grows" 1 "^WORSE"
mkdir "$work/15" "$work/18"
metric=elapsed unit=s
results 1.00 1.01 0.99 1.00 1.02 | sed 's/,c,/,backup of 1046 MB,/' >"$work/15/server.csv"
results 0.70 0.71 0.69 0.70 0.72 | sed 's/,c,/,backup of 1049 MB,/' >"$work/18/server.csv"
echo 'server,run,server,note,,0,"PostgreSQL ""18"""' >>"$work/18/server.csv"
status=0
python3 "$top/bench/compare.py" "$work/15" "$work/18" >"$work/out" 2>&1 || status=$?
if [ "$status" != 0 ] || ! grep -q '^# server: - | PostgreSQL "18"$' "$work/out" || ! grep -q '^better.*1.43 times' "$work/out"; then
	echo "check-compare: two reports: status $status" >&2
	cat "$work/out" >&2
	failed=1
fi
echo "part,case" >"$work/new.csv"
expect "no results" 2 "columns are"
results >"$work/new.csv"
expect "nothing in common" 2 "no measurement in common"
[ "$failed" = 0 ] && echo "check-compare: ok"
exit "$failed"
