#!/bin/sh
# verify_all.sh: verifies every database of a server but templates, one after the
# other, as who runs psql.  Standbys too, which record nothing.  libpq's variables
# (PGHOST, PGPORT) say which server; MAX_RATE bounds kB/s (default 100000).
# Exit status 0: all were verified, without a finding.  A database without the
# extension counts as not verified.
#
# Names of databases are their makers': each is passed on as a quoted value, with
# a NUL behind it, and nobody's search_path is in force.
set -eu
PGOPTIONS="${PGOPTIONS:-} -c search_path=pg_catalog"
export PGOPTIONS

verify()	# connection string
{
	psql -XAtq -v ON_ERROR_STOP=1 -v rate="${MAX_RATE:-100000}" -d "$1" <<'SQL'
DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'crc32c_accel') THEN
		RAISE 'database "%" has no extension crc32c_accel: not verified', current_database();
	END IF;
END $$;
SELECT format('CALL %I.verify_database_checksums(max_rate => %s, fail_on_findings => true)',
	n.nspname, :'rate'::integer)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'crc32c_accel' \gexec
SQL
}

if [ $# -gt 0 ]; then
	verify "$1"
	exit
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
psql -XAt0q -v ON_ERROR_STOP=1 -d postgres -c "
	SELECT format('dbname=''%s''', regexp_replace(datname, '([\\\\''])', '\\\\\\1', 'g'))
	FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname" >"$list"
xargs -0 -r -n 1 sh "$0" <"$list"
