#!/bin/sh
# analyzer.sh PG_CONFIG: gcc's and clang's static analyzers over src/, no finding.
# They take ten minutes: of the files that no commit of the last four hours
# changed, one in three is looked at, others after the next commit.  LONG=1: all.
set -eu
pg_config=${1:-pg_config}
cd "$(dirname "$0")/../.."
headers=$("$pg_config" --includedir-server)
documents=-DACCEL_DOCUMENTS='"."'	# the Makefile's
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
make -s PG_CONFIG="$pg_config" src/func/signatures.auto.h src/program/help.auto.h

chosen_files()
{
	head=$(git log -1 --format=%ct 2>/dev/null) || LONG=1
	if [ -n "${LONG:-}" ]; then
		ls src/*.c src/*/*.c
		return
	fi
	{
		git log --since="$((head - 14400))" --format= --name-only -- src
		# shellcheck disable=SC2012	# names of our own
		ls src/*.c src/*/*.c | awk -v commits="$(git rev-list --count HEAD)" '(NR + commits) % 3 == 0'
	} | sort -u | while read -r file; do
		case $file in *.c) [ ! -f "$file" ] || echo "$file" ;; esac
	done
}

files=0
for file in $(chosen_files); do
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -fanalyzer "$documents" -Isrc -isystem "$headers" -c "$file" -o /dev/null 2>>"$log" ||
		echo "$file: warning: gcc failed" >>"$log"
	clang --analyze -Xclang -analyzer-output=text -std=gnu11 -D_GNU_SOURCE "$documents" -Isrc -isystem "$headers" \
		-o /dev/null "$file" 2>>"$log" || echo "$file: warning: clang failed" >>"$log"
	files=$((files + 1))
done
if grep -q 'warning:' "$log"; then
	cat "$log"
	echo "analyzer: $(grep -c 'warning:' "$log") findings"
	exit 1
fi
echo "analyzer: $files files, gcc -fanalyzer and clang --analyze: ok"
