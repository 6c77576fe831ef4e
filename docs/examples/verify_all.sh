#!/bin/sh
# verify_all.sh [lost_writes | page_digests]: verifies every database of a server but
# templates, one after the other, as who runs psql; with lost_writes, that their files
# have what the WAL in pg_wal says; with page_digests, what the page ledger knows, which
# RECORD_DIGESTS=1 records in a run without argument.  Standbys too, which record nothing.  libpq's
# variables (PGHOST, PGPORT) say which server; MAX_RATE bounds kB/s (default 100000).
# DIRECT_IO=true reads the device past the page cache; page_digests never does.
# Exit status 0: all were verified, without a finding.  A database without the
# extension counts as not verified.  INSTALL=1 creates the extension there, and takes
# templates along: for a copy of a server.
#
# Names of databases are their makers': each is passed on as a quoted value, with
# a NUL behind it, and nobody's search_path is in force.
set -eu
PGOPTIONS="${PGOPTIONS:-} -c search_path=pg_catalog"
WHAT=${WHAT:-${1:-checksums}} INSTALL=${INSTALL:-0} RECORD_DIGESTS=${RECORD_DIGESTS:-0}
export PGOPTIONS WHAT INSTALL RECORD_DIGESTS
case $WHAT in
	checksums | lost_writes | page_digests) ;;
	*) echo "usage: verify_all.sh [lost_writes | page_digests]" >&2; exit 2 ;;
esac

verify()	# connection string
{
	psql -XAtq -v ON_ERROR_STOP=1 -v what="$WHAT" -v install="$INSTALL" -v record="$RECORD_DIGESTS" -v rate="${MAX_RATE:-100000}" -v direct="${DIRECT_IO:-false}" -d "$1" <<'SQL'
SELECT unnest(ARRAY['CREATE SCHEMA crc32c_accel_drill', 'CREATE EXTENSION crc32c_accel SCHEMA crc32c_accel_drill'])
WHERE :'install' = '1' AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'crc32c_accel') \gexec
DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'crc32c_accel') THEN
		RAISE 'database "%" has no extension crc32c_accel: not verified', current_database();
	END IF;
END $$;
SELECT format(CASE :'what'
	WHEN 'checksums' THEN 'CALL %1$I.verify_database(max_rate => %2$s, fail_on_findings => true, record_digests => %3$L, direct_io => %4$L)'
	WHEN 'page_digests' THEN 'SELECT coalesce(database, current_database()), coalesce(relation::text, relation_name), blkno, status, message FROM %1$I.verify_page_digests(max_rate => %2$s)'
	ELSE 'SELECT current_database(), relation, fork, blkno, status, message FROM %1$I.verify_lost_writes(max_rate => %2$s, direct_io => %4$L)' END,
	n.nspname, :'rate'::integer, :'record' = '1' AND NOT pg_is_in_recovery(), :'direct'::boolean)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'crc32c_accel' \gexec
SQL
}

if [ "${1:-}" = --one ]; then
	rows=$(verify "$2")
	[ -n "$rows" ] || exit 0
	printf '%s\n' "$rows"
	! printf '%s\n' "$rows" | grep -qv '|not_verifiable|'
	exit
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
psql -XAt0q -v ON_ERROR_STOP=1 -d postgres -c "
	SELECT format('dbname=''%s''', regexp_replace(datname, '([\\\\''])', '\\\\\\1', 'g'))
	FROM pg_database WHERE datallowconn AND (NOT datistemplate OR '$INSTALL' = '1') ORDER BY datname" >"$list"
xargs -0 -r -n 1 sh "$0" --one <"$list"
