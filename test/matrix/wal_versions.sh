#!/bin/sh
# wal_versions.sh: write-ahead log of every version read by servers of every
# version.  15, 17 and 18 each write log of their own, with everything in it,
# and crash; each server then judges all three: every record, the end of the
# log where the writer's own pg_waldump has it, one damaged record found.
#
#	wal_versions.sh make PG_CONFIG	(within) writes such log, as tar to stdout
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/lib.sh
. "$top/test/matrix/lib.sh"
need_test_user
versions="15 17 18"
scratch=$(mktemp -d)
running=
cleanup()
{
	[ -z "$running" ] ||
		matrix_user "$running/pg_ctl" -D "$scratch/data" -m immediate stop >/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$scratch"

# A cluster with segments of 1 MB under some load, then killed.
make_log()	# pg_config
{
	bindir=$("$1" --bindir)
	[ "$(id -u)" != 0 ] || chown "$ACCEL_TEST_USER" "$scratch"
	matrix_user "$bindir/initdb" -D "$scratch/data" -k -N -A trust -U postgres -E UTF8 \
		--no-locale --wal-segsize=1 >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
	cat >>"$scratch/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$scratch'
wal_level = logical
wal_keep_size = 512MB
max_wal_size = 1GB
min_wal_size = 2MB
autovacuum = off
max_prepared_transactions = 5
END
	matrix_user "$bindir/pg_ctl" -D "$scratch/data" -l "$scratch/server.log" -s -w start ||
		{ cat "$scratch/server.log" >&2; exit 1; }
	running=$bindir
	matrix_user "$bindir/psql" -h "$scratch" -U postgres -Xq -v ON_ERROR_STOP=1 postgres >/dev/null <<'END'
CREATE TABLE t (id int PRIMARY KEY, filler text, n int[]);
INSERT INTO t SELECT g, repeat(md5(g::text), 8), ARRAY[g] FROM generate_series(1, 3000) g;
SET wal_compression = on;
CHECKPOINT;
UPDATE t SET filler = filler || 'x' WHERE id % 3 = 0;
SELECT pg_switch_wal();
SET wal_compression = off;
CREATE INDEX ON t USING gin (n);
CREATE INDEX ON t USING gist (int4range(id, id + 5));
CREATE INDEX ON t USING hash (filler);
CREATE INDEX ON t USING brin (id);
SELECT pg_logical_emit_message(false, 'over segments', repeat('y', 2500000));
SELECT count(pg_logical_emit_message(false, 'lengths', repeat('z', g))) FROM generate_series(1, 1500) g;
CREATE SEQUENCE s; SELECT nextval('s');
BEGIN; UPDATE t SET n = n || 1 WHERE id < 100; SAVEPOINT a; DELETE FROM t WHERE id < 50; PREPARE TRANSACTION 'p';
COMMIT PREPARED 'p';
VACUUM FREEZE t;
TRUNCATE t;
CREATE DATABASE other;
INSERT INTO t SELECT g, 'end', NULL FROM generate_series(1, 500) g;
END
	running=
	matrix_user "$bindir/pg_ctl" -D "$scratch/data" -m immediate -s stop
	mkdir "$scratch/out"
	cp -r "$scratch/data/pg_wal/." "$scratch/out/"
	# the writer's own list of records; it ends with an error, as the log does
	for segment in "$scratch"/out/0000*; do
		: "${first:=${segment##*/}}"
		last=${segment##*/}
	done
	matrix_user "$bindir/pg_waldump" -p "$scratch/data/pg_wal" "$first" "$last" \
		2>/dev/null >"$scratch/records" || true
	grep '^rmgr: ' "$scratch/records" >"$scratch/out/records"
	[ "$(wc -l <"$scratch/out/records")" -gt 5000 ] || die "pg_waldump lists too few records"
	tar cf - -C "$scratch/out" .
}

if [ "${1:-}" = make ]; then
	make_log "$2"
	exit 0
fi

at_version()	# version, command line in which PG_CONFIG stands for its own
{
	if [ "$1" = "$native" ]; then
		(cd "$scratch/tree" && sh -c "$(printf '%s' "$2" | sed "s|PG_CONFIG|$(pg_config_of "$1")|")")
	else
		in_chroot "$ACCEL_CACHE/pg$1" "$scratch/tree" "$(printf '%s' "$2" | sed 's|PG_CONFIG|pg_config|')"
	fi
}

native=$(native_major)
passed=0 failed=0
copy_tree "$top" "$scratch/tree"
for version in $versions; do
	[ "$version" = "$native" ] || need_chroot "$version"
	mkdir -p "$scratch/logs/$version"
	at_version "$version" 'sh test/matrix/wal_versions.sh make PG_CONFIG' >"$scratch/logs/$version.tar"
	tar xf "$scratch/logs/$version.tar" -C "$scratch/logs/$version"
	say "PostgreSQL $version wrote $(find "$scratch/logs/$version" -maxdepth 1 -size 1024k | wc -l) segments, $(wc -l <"$scratch/logs/$version/records") records"
done
mv "$scratch/logs" "$scratch/tree/test/matrix/logs"
rm -f "$scratch"/tree/test/matrix/logs/*.tar
chmod -R a+rX "$scratch/tree"
for version in $versions; do
	if at_version "$version" "sh test/server.sh PG_CONFIG tap test/matrix/wal_versions.pl" >"$scratch/out" 2>&1; then
		passed=$((passed + 1))
		printf 'ok    PostgreSQL %s reads the log of %s\n' "$version" "$versions"
	else
		failed=$((failed + 1))
		printf 'FAIL  PostgreSQL %s\n' "$version"
		tail -40 "$scratch/out"
	fi
done
say "wal_versions: $passed passed, $failed failed"
[ "$failed" = 0 ]
