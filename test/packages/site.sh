#!/bin/sh
# site.sh PG_CONFIG: the documents as a site (make site): each has its page and its
# place in the navigation, in a browser, and the search finds words of theirs.
set -eu
pg_config=${1:?usage: site.sh PG_CONFIG}
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
for program in mkdocs chromium; do
	command -v $program >/dev/null || {
		echo "skip: the documents as a site: no $program (test/prepare.sh asks apt for it)"
		exit 0
	}
done
scratch_folder
copy_tree "$top" "$scratch/tree"
make -s -C "$scratch/tree" PG_CONFIG="$pg_config" site >"$scratch/log" 2>&1 || {
	tail -20 "$scratch/log"
	die "the site cannot be made"
}
HOME=$scratch PYTHONPATH=$top/test/packages python3 "$top/test/packages/site.py" "$scratch/tree"
