#!/bin/sh
# copy_cluster.sh DATA COPY: copies the data directory of a stopped server, or a
# plain base backup, to the new folder COPY.  Tablespaces, and WAL that lies
# elsewhere, go to COPY.tablespaces, and the links of the copy lead there: a copy
# by cp alone keeps links into the original, and a server would write to that.
set -eu
[ $# = 2 ] || { echo "usage: copy_cluster.sh DATA COPY" >&2; exit 2; }
data=$1 copy=$2

die()
{
	echo "copy_cluster.sh: $*" >&2
	exit 1
}

case $copy in
	/*) ;;
	*) die "\"$copy\" does not begin with /" ;;
esac
[ -f "$data/PG_VERSION" ] || die "$data is no data directory"
[ ! -e "$data/postmaster.pid" ] || die "a server runs in $data, or crashed there: $data/postmaster.pid"
for new in "$copy" "$copy.tablespaces"; do
	[ ! -e "$new" ] || die "$new is there already"
done

cp -a "$data/." "$copy" || die "the copy is not whole: docs/corruption.md tells what to do about a device that fails"
for link in "$copy/pg_wal" "$copy"/pg_tblspc/*; do
	[ -L "$link" ] || continue
	place=$copy.tablespaces/$(basename "$link")
	from=$(readlink -f "$link")
	[ -d "$from" ] || die "$link leads nowhere"
	mkdir -p "$copy.tablespaces"
	cp -a "$from/." "$place" || die "the copy is not whole"
	ln -sfn "$place" "$link"
done
# names places of the original, which a start would link again
[ ! -f "$copy/tablespace_map" ] || {
	while read -r oid _; do
		[ -d "$copy/pg_tblspc/$oid" ] || die "tablespace $oid is not in $data/pg_tblspc: restore the backup by its own tool"
	done <"$copy/tablespace_map"
	rm "$copy/tablespace_map"
}
