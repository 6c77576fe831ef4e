#!/bin/sh
# Every shell script of this tree, no warning by shellcheck.
set -eu
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || { echo "shellcheck: not installed"; exit 1; }
# shellcheck disable=SC2046	# no blanks in our file names
set -- $(find . -name '*.sh' ! -path './.git/*' ! -path './bench/build/*' | sort) .ci/run
shellcheck --severity=warning "$@"
echo "shellcheck: $# scripts: ok"
