#!/bin/sh
# measures.sh: functions stay small (measures.py has the bounds).
set -eu
exec python3 "$(dirname "$0")/measures.py" "$(dirname "$0")/../../src"
