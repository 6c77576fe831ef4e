#!/bin/sh
# pairs.sh: the statistic of the reports (bench/pairs.py), on made-up runs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "check-pairs: skipped, no python3"; exit 0; }
PYTHONDONTWRITEBYTECODE=1 python3 "$here/pairs.py"
