#!/bin/sh
# restore_drill.sh BACKUP COPY PORT: verifies a plain base backup, copies it to the
# new folder COPY, starts a server there that keeps to itself, and verifies every
# database of it.  The server of PGHOST and PGPORT verifies the backup.  The exit
# code is 0 if all is well; else it is not, whatever it was.
set -eu
[ $# = 3 ] || { echo "usage: restore_drill.sh BACKUP COPY PORT" >&2; exit 2; }
backup=$1 copy=$2 port=$3
here=$(dirname "$0")

sh "$here/verify_backup.sh" "$backup" || { echo "restore_drill.sh: the backup has findings, or could not be verified" >&2; exit 1; }
sh "$here/copy_cluster.sh" "$backup" "$copy"
sh "$here/start_alone.sh" "$copy" "$port"
PATH=$PATH:/usr/lib/postgresql/$(cat "$copy/PG_VERSION")/bin
trap 'pg_ctl -s -w -D "$copy" -m fast stop' EXIT
failed=0
PGPORT=$port INSTALL=1 MAX_RATE=0 sh "$here/verify_all.sh" || failed=1
trap - EXIT
pg_ctl -s -w -D "$copy" -m fast stop
[ "$failed" = 0 ] || { echo "restore_drill.sh: the restored cluster has findings, or could not be verified" >&2; exit 1; }
