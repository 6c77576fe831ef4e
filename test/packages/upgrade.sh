#!/bin/sh
# upgrade.sh PG_CONFIG: upgrades by step scripts (sql/crc32c_accel--A--B.sql, one
# a step) end with the same catalog as a fresh install.  First those of the
# tree; then, in a scratch copy, a made-up version with a step of its own, so
# that this is tried before a version is released, and steps that lack something,
# which the comparison must find.
set -eu
pg_config=${1:?usage: upgrade.sh PG_CONFIG}
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
scratch_folder
copy_tree "$top" "$scratch/tree"

compare()	# the upgraded with the fresh
{
	sh "$scratch/tree/test/server.sh" "$pg_config" tap test/packages/upgrade.pl
}

control=$scratch/tree/crc32c_accel.control
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$control")
scripts=$scratch/tree/sql
[ -z "$(find "$scripts" -name 'crc32c_accel--*--*.sql')" ] || compare

# Every line is a statement, and each but the first can be forgotten.
step=$scratch/step
cat >"$step" <<'END'
CREATE FUNCTION made_up(a integer, b text = 'x') RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT a';
COMMENT ON FUNCTION made_up(integer, text) IS 'made up';
REVOKE ALL ON FUNCTION made_up(integer, text) FROM PUBLIC;
CREATE TABLE made_up_rows (run bigint CHECK (run > 0));
CREATE INDEX ON made_up_rows (run);
SELECT pg_catalog.pg_extension_config_dump('made_up_rows', 'WHERE run > 1');
GRANT SELECT ON made_up_rows TO pg_monitor;
ALTER TABLE verify_runs ADD COLUMN made_up integer DEFAULT 7;
COMMENT ON COLUMN verify_runs.made_up IS 'made up';
CREATE VIEW made_up_view AS SELECT run, made_up FROM verify_runs;
END
cp "$step" "$scripts/crc32c_accel--$version--made_up.sql"
{
	sed '/^CREATE TABLE verify_runs/,/);/s/^	datid oid NOT NULL);/	datid oid NOT NULL,\n	made_up integer DEFAULT 7);/' "$scripts/crc32c_accel--$version.sql"
	grep -v '^ALTER' "$step"
} >"$scripts/crc32c_accel--made_up.sql"
for line in 2 3 5 6 7 9 10; do
	sed "${line}d" "$step" >"$scripts/crc32c_accel--$version--lacks_line_$line.sql"
done
sed -i "s/^default_version.*/default_version = 'made_up'/" "$control"
compare
