--
-- Files and large objects
--
CREATE EXTENSION crc32c_accel;
\set VERBOSITY sqlstate

-- a file, whole and in parts, as the server's own function returns it
SELECT crc32c_file('PG_VERSION') = public.crc32c(pg_read_binary_file('PG_VERSION')) AS whole,
	crc32c_file('global/pg_control') = public.crc32c(pg_read_binary_file('global/pg_control')) AS control,
	crc32c_file('global/pg_control', 8, 100) = public.crc32c(pg_read_binary_file('global/pg_control', 8, 100)) AS part,
	crc32c_file('global/pg_control', 8) = public.crc32c(substr(pg_read_binary_file('global/pg_control'), 9)) AS rest,
	crc32c_file('global/pg_control', length => 9) = public.crc32c(pg_read_binary_file('global/pg_control', 0, 9)) AS head;

-- parts combine to the whole
SELECT crc32c_file('global/pg_control') = crc32c_combine(crc32c_file('global/pg_control', 0, 1000),
	crc32c_file('global/pg_control', 1000), 8192 - 1000) AS combined;

-- behind the end there is nothing; a length reaches up to the end
SELECT crc32c_file('PG_VERSION', 1000), crc32c_file('PG_VERSION', 0, 0),
	crc32c_file('PG_VERSION', 9223372036854775807),
	crc32c_file('PG_VERSION', 0, 9223372036854775807) = crc32c_file('PG_VERSION') AS capped,
	crc32c_file('PG_VERSION', NULL, NULL, NULL) = crc32c_file('PG_VERSION') AS nulls,
	crc32c_file(NULL);

-- absolute names, odd spellings
SELECT crc32c_file(current_setting('data_directory') || '/PG_VERSION') = crc32c_file('PG_VERSION') AS absolute,
	crc32c_file('.//base/../PG_VERSION') = crc32c_file('PG_VERSION') AS canonical;

-- a file larger than the buffer
COPY (SELECT repeat(md5(i::text), 100) FROM generate_series(1, 300) i) TO PROGRAM 'cat > accel_large.tmp';
SELECT crc32c_file('accel_large.tmp') = public.crc32c(pg_read_binary_file('accel_large.tmp')) AS whole,
	crc32c_file('accel_large.tmp', 131071, 262146) = public.crc32c(pg_read_binary_file('accel_large.tmp', 131071, 262146)) AS part;

-- bad input
SELECT crc32c_file('no/such/file');
SELECT crc32c_file('no/such/file', missing_ok => true);
SELECT crc32c_file('PG_VERSION/x', missing_ok => true);
SELECT crc32c_file('');
SELECT crc32c_file('PG_VERSION', -1);
SELECT crc32c_file('PG_VERSION', 0, -1);
SELECT crc32c_file('base');
SELECT crc32c_file('base', missing_ok => true);
SELECT crc32c_file('/dev/zero');
SELECT crc32c_file(repeat('x', 300)) IS NULL;
COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; mkfifo accel_fifo.tmp; ln -s accel_loop.tmp accel_loop.tmp; ln -s /etc/passwd accel_out.tmp; ln -s PG_VERSION accel_in.tmp';
SELECT crc32c_file('accel_fifo.tmp');
SELECT crc32c_file('accel_loop.tmp', missing_ok => true);
SELECT crc32c_file('accel_in.tmp') = crc32c_file('PG_VERSION') AS link;

-- without the role: no right to call it
CREATE ROLE regress_accel_file;
SET ROLE regress_accel_file;
SELECT crc32c_file('PG_VERSION');
RESET ROLE;

-- with the right to call it alone: below the data directory and nowhere else,
-- and no word on what exists outside
GRANT EXECUTE ON FUNCTION crc32c_file(text, bigint, bigint, boolean, boolean) TO regress_accel_file;
SET ROLE regress_accel_file;
SELECT crc32c_file('PG_VERSION') IS NOT NULL AS below;
SELECT crc32c_file('accel_in.tmp') IS NOT NULL AS link_below;
SELECT crc32c_file('no/such/file', missing_ok => true);
SELECT crc32c_file('/etc/passwd');
SELECT crc32c_file('/no/such/file', missing_ok => true);
SELECT crc32c_file('/dev/zero');
SELECT crc32c_file('../x', missing_ok => true);
SELECT crc32c_file('base/../../x', missing_ok => true);
SELECT crc32c_file('accel_out.tmp');
SELECT crc32c_file('accel_out.tmp/below', missing_ok => true);
RESET ROLE;

-- members of the role read anything
GRANT pg_read_server_files TO regress_accel_file;
SET ROLE regress_accel_file;
SELECT crc32c_file('/etc/passwd') IS NOT NULL AS outside,
	crc32c_file('accel_out.tmp') = crc32c_file('/etc/passwd') AS link;
RESET ROLE;
COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; rm accel_*.tmp';

-- large objects: empty, small, larger than the buffer, with a hole
BEGIN;
SELECT lo_from_bytea(0, '') AS lo_empty \gset
SELECT lo_from_bytea(0, '123456789') AS lo_small \gset
SELECT lo_from_bytea(0, decode(repeat(md5('a'), 20000), 'hex')) AS lo_large \gset
SELECT lo_from_bytea(0, '\x01') AS lo_hole \gset
SELECT lo_put(:lo_hole, 200000, '\x02');
COMMIT;
SELECT crc32c_lo(:lo_empty), crc32c_lo(:lo_small),
	crc32c_lo(:lo_large) = public.crc32c(lo_get(:lo_large)) AS large,
	crc32c_lo(:lo_hole) = public.crc32c(lo_get(:lo_hole)) AS hole;

-- a descriptor of the user stays open beside ours
BEGIN;
SELECT lo_open(:lo_small, 262144) AS fd \gset
SELECT crc32c_lo(:lo_small), convert_from(loread(:fd, 4), 'UTF8') AS read;
COMMIT;

-- an error leaves nothing behind
BEGIN;
SAVEPOINT s;
SELECT crc32c_lo(1);
ROLLBACK TO s;
SELECT crc32c_lo(:lo_small);
COMMIT;

-- privileges are the large object's own
SET ROLE regress_accel_file;
SELECT crc32c_lo(:lo_small);
RESET ROLE;
SET lo_compat_privileges = on;
SET ROLE regress_accel_file;
SELECT crc32c_lo(:lo_small);
RESET ROLE;
RESET lo_compat_privileges;
GRANT SELECT ON LARGE OBJECT :lo_small TO regress_accel_file;
SET ROLE regress_accel_file;
SELECT crc32c_lo(:lo_small);
RESET ROLE;
SELECT count(lo_unlink(lo)) FROM unnest(ARRAY[:lo_empty, :lo_small, :lo_large, :lo_hole]::oid[]) lo;
DROP OWNED BY regress_accel_file;
DROP ROLE regress_accel_file;
\set VERBOSITY default

DROP EXTENSION crc32c_accel;
