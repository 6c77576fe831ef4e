#!/bin/sh
# put_page.sh FILE OFFSET PAGE: puts the one block of the file PAGE at OFFSET into
# FILE, a file of a stopped server's data directory, named from there on
# ($PGDATA/base/5/16384.1).  OFFSET is the column file_offset of a finding: a place
# in this file, not in the relation.  PAGE.before keeps what was there.
set -eu
[ $# = 3 ] || { echo "usage: put_page.sh FILE OFFSET PAGE" >&2; exit 2; }
file=$1 offset=$2 page=$3 size=${BLOCK_SIZE:-8192}

die()
{
	echo "put_page.sh: $*; nothing was written" >&2
	exit 1
}

block_of()	# file, offset
{
	dd if="$1" bs="$size" skip="$(($2 / size))" count=1 2>/dev/null
}

bytes_of()	# file
{
	wc -c <"$1" | tr -d ' '
}

case $offset in
	'' | *[!0-9]*) die "\"$offset\" is no offset" ;;
esac
[ $((offset % size)) = 0 ] || die "offset $offset is no multiple of $size"
[ -f "$file" ] || die "there is no file $file"
[ -f "$page" ] || die "there is no file $page"
[ "$(bytes_of "$page")" = "$size" ] || die "$page is no page of $size bytes"
before=$(bytes_of "$file")
[ "$before" -ge $((offset + size)) ] || die "$file ends before offset $((offset + size))"

data=$(dirname "$file")
while [ ! -f "$data/global/pg_control" ]; do
	case $data in
		/ | .) die "$file is in no data directory" ;;
	esac
	data=$(dirname "$data")
done
[ ! -e "$data/postmaster.pid" ] || die "a server runs in $data, or crashed there: $data/postmaster.pid"

if [ -e "$page.before" ]; then
	die "$page.before is there already"
fi
block_of "$file" "$offset" >"$page.before"
[ "$(bytes_of "$page.before")" = "$size" ] || die "the block cannot be saved in $page.before"
dd if="$page" of="$file" bs="$size" seek="$((offset / size))" count=1 conv=notrunc,fsync 2>/dev/null
block_of "$file" "$offset" | cmp -s - "$page" || {
	echo "put_page.sh: what $file holds at offset $offset is not what was written" >&2
	exit 1
}
[ "$(bytes_of "$file")" = "$before" ] || { echo "put_page.sh: $file has another size now" >&2; exit 1; }
