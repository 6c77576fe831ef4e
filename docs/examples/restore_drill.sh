#!/bin/sh
# restore_drill.sh BACKUP COPY PORT: verifies a plain base backup, copies it to the
# new folder COPY, starts a server there that keeps to itself, and verifies every
# database of it.  The server of PGHOST and PGPORT verifies the backup.  The exit
# code is 0 if all is well; else it is not, whatever it was.
set -eu
[ $# = 3 ] || { echo "usage: restore_drill.sh BACKUP COPY PORT" >&2; exit 2; }
backup=$1 copy=$2 port=$3
here=$(dirname "$0")

ask()	# psql's arguments
{
	psql -XAtq -v ON_ERROR_STOP=1 "$@"
}

# that there is no manifest is a row, and no finding
echo "SELECT path, blkno, status, message FROM verify_backup(:'backup') WHERE status <> 'no_manifest';" |
	ask -v backup="$backup" >"$copy.findings"
cat "$copy.findings"
[ ! -s "$copy.findings" ] || { echo "restore_drill.sh: the backup has findings" >&2; exit 1; }

sh "$here/copy_cluster.sh" "$backup" "$copy"
sh "$here/start_alone.sh" "$copy" "$port"
PATH=$PATH:/usr/lib/postgresql/$(cat "$copy/PG_VERSION")/bin
trap 'pg_ctl -s -w -D "$copy" -m fast stop' EXIT

# A name of a database goes by PGDATABASE: -d would take some for connection strings.
failed=0
for oid in $(PGPORT=$port PGDATABASE=postgres ask -c "SELECT oid FROM pg_database WHERE datallowconn"); do
	name=$(PGPORT=$port PGDATABASE=postgres ask -c "SELECT datname FROM pg_database WHERE oid = $oid")
	PGPORT=$port PGDATABASE=$name ask <<'END' || failed=1
CREATE EXTENSION IF NOT EXISTS crc32c_accel;
SELECT extnamespace::regnamespace AS schema FROM pg_extension WHERE extname = 'crc32c_accel' \gset
CALL :schema.verify_database_checksums(fail_on_findings => true);
END
done
trap - EXIT
pg_ctl -s -w -D "$copy" -m fast stop
[ "$failed" = 0 ] || { echo "restore_drill.sh: the restored cluster has findings" >&2; exit 1; }
