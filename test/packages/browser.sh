#!/bin/sh
# browser.sh: the benchmark report, made of the committed results, in a browser.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
command -v chromium >/dev/null || {
	echo "skip: the report in a browser: no chromium (test/prepare.sh asks apt for it)"
	exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || {
	echo "skip: the report in a browser: no python3-matplotlib, so no plots"
	exit 0
}
cp -r "$top/bench/report" "$scratch/report"
/usr/bin/python3 "$top/bench/report.py" "$scratch/report" >"$scratch/log" 2>&1 || {
	tail -5 "$scratch/log"
	die "the report cannot be made"
}
HOME=$scratch python3 "$top/test/packages/browser.py" "$scratch/report"
