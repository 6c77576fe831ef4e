#!/bin/sh
# pairs.sh: the statistic of the reports (bench/pairs.py), on made-up runs; and a
# part's warm-up, which leaves no row.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/pairs.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# shellcheck disable=SC2016	# the inner shell's
sh -c '. "$(dirname "$0")/lib.sh"
	bench_part=part bench_csv=$1
	bench_row case variant bytes B 0 7
	for run in $(bench_rounds 2); do bench_row case variant elapsed s "$run" 1; done' "$top/bench/part.sh" "$work/rows"
rows=$(cut -d, -f4,6 "$work/rows" | tr '\n' ' ')
[ "$rows" = "bytes,0 elapsed,1 elapsed,2 " ] || {
	echo "check-pairs: rows of runs 1 and 2 expected, and no warm-up: $rows" >&2
	exit 1
}
command -v python3 >/dev/null || { echo "check-pairs: skipped, no python3"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 python3 "$here/pairs.py"
