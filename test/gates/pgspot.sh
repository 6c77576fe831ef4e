#!/bin/sh
# pgspot.sh: pgspot (a Python package, in a virtual environment outside the
# tree) finds nothing in the install and upgrade scripts.
#
# PS017 and PS016 for an object or a function that the script itself has created
# by then are no findings: a relocatable script cannot qualify it, and the script's search_path is the
# extension's schema alone.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
pgspot=$(command -v pgspot || true)
if [ -z "$pgspot" ]; then
	python3 -m venv "$scratch/venv"
	"$scratch/venv/bin/pip" install -q pgspot >"$scratch/pip.log" 2>&1 || {
		tail -5 "$scratch/pip.log"
		echo "pgspot: cannot be installed"
		exit 1
	}
	pgspot=$scratch/venv/bin/pgspot
fi
failed=0
for script in "$top"/sql/*--*.sql; do
	"$pgspot" "$script" >"$scratch/out" 2>&1 || true
	grep -q 'Unknown: 0' "$scratch/out" || { cat "$scratch/out"; failed=1; }
	grep '^PS' "$scratch/out" | while read -r finding; do
		object=$(echo "$finding" | sed -n 's/^PS01[67]: Unqualified [a-z]* [a-z]*: \([a-z0-9_]*\) at.*/\1/p')
		[ -n "$object" ] && grep -qE "^CREATE (AGGREGATE|TABLE|VIEW|FUNCTION|PROCEDURE|SEQUENCE) (${object}|${object%_*_seq})\b" "$script" ||
			echo "$finding"
	done >"$scratch/findings"
	if [ -s "$scratch/findings" ]; then
		cat "$scratch/findings"
		failed=1
	fi
	echo "pgspot: $(basename "$script"): $(wc -l <"$scratch/findings") findings"
done
[ "$failed" = 0 ] && echo "pgspot: ok"
