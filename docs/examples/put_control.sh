#!/bin/sh
# put_control.sh FROM DATA: puts the pg_control of a standby or a base backup, the
# data directory FROM, into the stopped data directory DATA.  It refuses what would
# lose rows: a file of state "shut down" starts a server without recovery, and one
# whose WAL is gone keeps it from starting.  DATA/pg_control.before is what was there.
set -eu
[ $# = 2 ] || { echo "usage: put_control.sh FROM DATA" >&2; exit 2; }
from=$1 data=$2

die()
{
	echo "put_control.sh: $*; nothing was written" >&2
	exit 1
}

[ -f "$data/PG_VERSION" ] || die "$data is no data directory"
[ ! -e "$data/postmaster.pid" ] || die "a server runs in $data, or crashed there: $data/postmaster.pid"
[ ! -e "$data/pg_control.before" ] || die "$data/pg_control.before is there already"
version=$(cat "$data/PG_VERSION")
[ "$version" = "$(cat "$from/PG_VERSION")" ] || die "$from is of another version"
PATH=$PATH:/usr/lib/postgresql/$version/bin
# one reading of it: that of a running standby changes
page=$(mktemp -d)
trap 'rm -rf "$page"' EXIT
mkdir "$page/global"
cp "$from/PG_VERSION" "$page/"
cp "$from/global/pg_control" "$page/global/"
LC_ALL=C pg_controldata -D "$page" >"$page/said" 2>&1 || die "$from/global/pg_control cannot be read"
! grep -qi warning "$page/said" || die "$from/global/pg_control is damaged"
state=$(sed -n 's/^Database cluster state: *//p' "$page/said")
case $state in
	'in production' | 'in archive recovery') ;;
	*) die "its state is \"$state\": the server would start without recovery" ;;
esac
segment=$(sed -n "s/^Latest checkpoint's REDO WAL file: *//p" "$page/said")
[ -f "$data/pg_wal/$segment" ] || die "$data/pg_wal has no $segment, where recovery begins"
[ ! -e "$data/global/pg_control" ] || cp -a "$data/global/pg_control" "$data/pg_control.before"
cp "$page/global/pg_control" "$data/global/pg_control"
chmod 600 "$data/global/pg_control"
[ "$(id -u)" != 0 ] || chown --reference="$data/PG_VERSION" "$data/global/pg_control"
