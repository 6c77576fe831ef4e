#!/bin/sh
# valgrind.sh: every SQL function in a single-user server under valgrind's
# memcheck (use of undefined values, reads and writes outside of allocations).
#
# Debian's servers do not tell valgrind about palloc, so a chunk is seen as part
# of its malloc'ed block; larger ones (8 kB and more) are blocks of their own.
# What the server does by itself is not judged: only errors in whose stack
# stands a function of our library count.  valgrind knows no AVX-512, shows a CPU
# without it, and the kernels that it cannot run are printed as not run.
#
# valgrind.sql holds the statements; that no function is left out is asked from
# the server's own statistics.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
# shellcheck source=test/matrix/lib.sh
. "$top/test/matrix/lib.sh"
need_test_user
command -v valgrind >/dev/null || die "no valgrind"
pg_config=${PG_CONFIG:-$(pg_config_of "$(native_major)")}
matrix_begin

check()	# what, command...: 0 is right
{
	what=$1
	shift
	if "$@"; then
		say "ok    $what"
		passed=$((passed + 1))
	else
		say "FAIL  $what"
		failed=$((failed + 1))
	fi
}

matrix_cluster PG_CFLAGS='-O1 -g'
echo 'wal_keep_size = 1GB' >>"$scratch/data/postgresql.conf"
# -j: a statement ends with a semicolon and an empty line
sed 's/$/\n/' >"$scratch/setup.sql" <<'END'
CREATE EXTENSION crc32c_accel;
CREATE TABLE clean AS SELECT i, repeat('x', i % 500) AS t FROM generate_series(1, 2000) i;
ALTER TABLE clean ADD big text;
ALTER TABLE clean ALTER big SET STORAGE EXTERNAL;
UPDATE clean SET big = repeat('b', 5000) WHERE i % 100 = 0;
CREATE INDEX clean_btree ON clean (i);
CREATE INDEX clean_hash ON clean USING hash (i);
CREATE INDEX clean_brin ON clean USING brin (i);
CREATE INDEX clean_gin ON clean USING gin (to_tsvector('simple', t));
CREATE INDEX clean_gist ON clean USING gist (point(i, i));
CREATE INDEX clean_spgist ON clean USING spgist (point(i, i));
CREATE SEQUENCE sequence;
CREATE VIEW views AS SELECT 1;
CREATE TABLE damaged AS SELECT i, repeat('y', 300) FROM generate_series(1, 1000) i;
CREATE TABLE short AS SELECT i, repeat('z', 300) FROM generate_series(1, 1000) i;
SELECT lo_from_bytea(0, decode(repeat(md5('a'), 10000), 'hex'));
VACUUM clean;
SELECT pg_switch_wal();
CREATE TABLE filler AS SELECT repeat('f', 500) FROM generate_series(1, 200);
SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment;
SELECT pg_switch_wal();
CREATE TABLE more AS SELECT i FROM generate_series(1, 10000) i;
SELECT pg_relation_filepath('damaged') AS damaged;
SELECT pg_relation_filepath('short') AS short;
CHECKPOINT;
END
matrix_user "$bindir/postgres" --single -j -D "$scratch/data" postgres \
	<"$scratch/setup.sql" >"$scratch/setup.log" 2>&1
segment=$(value segment "$scratch/setup.log")
damaged=$scratch/data/$(value damaged "$scratch/setup.log")
short=$scratch/data/$(value short "$scratch/setup.log")
if grep 'ERROR: ' "$scratch/setup.log" || [ ! -f "$damaged" ] || [ -z "$segment" ]; then
	die "the cluster could not be set up"
fi
cp -r "$scratch/data/pg_wal" "$scratch/data/accel_wal"
mkdir -p "$scratch/data/accel_backups/plain" "$scratch/data/accel_backups/tar"
cp -r "$scratch/data/PG_VERSION" "$scratch/data/global" "$scratch/data/accel_backups/plain"
echo '{}' >"$scratch/data/accel_backups/plain/backup_manifest"
tar -czf "$scratch/data/accel_backups/tar/base.tar.gz" -C "$scratch/data" PG_VERSION global
for place in "$damaged $((7 * 8192 + 3000))" "$damaged $((9 * 8192 + 12))" \
	"$scratch/data/accel_wal/$segment 9000" "$scratch/data/accel_wal/$segment 30000"; do
	printf damage | dd of="${place% *}" bs=1 seek="${place#* }" conv=notrunc status=none
done
truncate -s 100000 "$short"
[ "$(id -u)" != 0 ] || chown -R "$ACCEL_TEST_USER" "$scratch/data"

{
	echo "SET track_functions = 'all'"
	echo "CREATE TEMP TABLE temporary AS SELECT i FROM generate_series(1, 1000) i"
	sed -e '/^--/d' -e 's/ :error$//' -e "s/:segment/'$segment'/g" "$top/test/matrix/valgrind.sql"
	echo "SELECT pg_stat_force_next_flush()"
	echo "SELECT coalesce(string_agg(oid::regprocedure::text, ', '), 'none') AS forgotten FROM pg_proc JOIN pg_depend ON objid = oid WHERE classid = 'pg_proc'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel') AND deptype = 'e' AND prokind <> 'a' AND pg_stat_get_function_calls(oid) IS NULL"
} >"$scratch/statements"
status=0
matrix_user valgrind --quiet --xml=yes --xml-file="$scratch/memcheck.xml" \
	--num-callers=30 --error-limit=no --keep-debuginfo=yes --leak-check=no \
	"$bindir/postgres" --single -D "$scratch/data" postgres \
	<"$scratch/statements" >"$scratch/out" 2>&1 || status=$?

# Errors with a frame of ours, each once with its stack.
cat >"$scratch/ours.py" <<'END'
import sys
import xml.etree.ElementTree as tree

ours = others = 0
root = tree.parse(sys.argv[1]).getroot()
for error in root.iter("error"):
    frames = list(error.iter("frame"))
    first = next((i for i, f in enumerate(frames) if "crc32c_accel.so" in f.findtext("obj", "")), None)
    # WAL that we flush holds padding that the server did not set
    if first is None or any(f.findtext("fn") == "XLogFlush" for f in frames[:first]):
        others += 1
        continue
    ours += 1
    print(error.findtext("kind") + ": " + (error.findtext("what") or error.findtext("xwhat/text", "")))
    for f in frames[:12]:
        print("    %s (%s:%s)" % (f.findtext("fn"), f.findtext("file"), f.findtext("line")))
print("%d errors of our library, %d of the server's own" % (ours, others))
sys.exit(ours != 0)
END
expected=$(grep -c ':error$' "$top/test/matrix/valgrind.sql")
count=$(grep -cE ' AS ok( |$)' "$top/test/matrix/valgrind.sql")
check "the server ended with 0" [ "$status" = 0 ]
check "$count answers are right" [ "$(grep -c '[0-9]: ok = "t"' "$scratch/out")" = "$count" ]
check "$expected bad arguments are refused, nothing else" [ "$(grep -c 'ERROR: ' "$scratch/out")" = "$expected" ]
check "every function was called" grep -q 'forgotten = "none"' "$scratch/out"
check "memcheck" python3 "$scratch/ours.py" "$scratch/memcheck.xml"
[ "$failed" = 0 ] || grep -E 'ERROR|STATEMENT|= "|FATAL' "$scratch/out" | sed 's/	(typeid.*//'
say "kernels that ran: $(value kernels "$scratch/out")"
say "not run: by valgrind, which lacks their instructions: $(value others "$scratch/out")"
say "valgrind: $passed passed, $failed failed"
[ "$failed" = 0 ]
