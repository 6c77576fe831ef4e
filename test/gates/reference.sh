#!/bin/sh
# reference.sh: docs/reference.md lists what the extension has, and nothing else.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
exec python3 "$top/test/gates/reference.py" "$top"
