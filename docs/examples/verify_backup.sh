#!/bin/sh
# verify_backup.sh BACKUP [WAL]: verifies a base backup, plain or in tar format; its
# WAL is in the archive WAL, else in the backup.  libpq's variables say which server
# does it.  Prints the findings; the exit status is 0 if there is none.
#
#	DIRECT_IO=true	reads the device past the page cache
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: verify_backup.sh BACKUP [WAL]" >&2; exit 2; }
# that there is no manifest is a row, and no finding
rows=$(psql -XAtq -v ON_ERROR_STOP=1 -v backup="$1" -v wal="${2:-}" -v direct="${DIRECT_IO:-false}" <<'SQL'
SELECT path, blkno, status, message FROM verify_backup(:'backup', nullif(:'wal', ''), direct_io => :'direct') WHERE status <> 'ok_no_manifest';
SQL
)
[ -z "$rows" ] || {
	printf '%s\n' "$rows"
	exit 1
}
