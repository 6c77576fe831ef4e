-- Relations verified while the server works: arguments, forks, recursion,
-- privileges.  Whether this cluster has data checksums is not known here, so
-- statuses that depend on them are left out.
CREATE EXTENSION crc32c_accel;
SET client_min_messages = error;	-- checksums may be off

CREATE FUNCTION pg_temp.sqlstate(command text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;

CREATE TABLE heap AS SELECT g, repeat('x', 100) AS b FROM generate_series(1, 5000) g;
CREATE INDEX heap_idx ON heap (g);
CREATE TABLE toasted (a text);
CREATE INDEX toasted_idx ON toasted (a);
VACUUM heap, toasted;
CHECKPOINT;

-- Nothing is found where nothing is wrong.
SELECT * FROM verify_relation('heap', include_toast => true, include_indexes => true);
SELECT fork, blocks > 0 AS has_blocks, blocks = verified_blocks + zero_blocks + unverifiable_blocks AS all_seen,
	bad_blocks, read_bytes = blocks * current_setting('block_size')::bigint AS all_read,
	elapsed >= '0' AS timed, bytes_per_second > 0 AS rated
FROM verify_relation_summary('heap');
SELECT fork, segment_number, size = blocks * current_setting('block_size')::bigint AS whole, status
FROM relation_files('heap');
SELECT bool_and(pg_relation_filepath('heap') = path)
FROM relation_files('heap') WHERE fork = 'main';

-- What belongs to a table comes on request.
SELECT relation, count(*) > 0 FROM verify_relation_summary('heap', include_indexes => true)
GROUP BY relation ORDER BY relation::text COLLATE "C";
SELECT relation = (SELECT reltoastrelid FROM pg_class WHERE relname = 'toasted') AS is_toast
FROM verify_relation_summary('toasted', 'main', include_toast => true);
SELECT count(*) FROM verify_relation_summary('toasted', 'main', include_toast => true, include_indexes => true);

-- Ranges count absolute blocks and may reach behind the end.
SELECT blocks FROM verify_relation_summary('heap', 'main', 3, 5);
SELECT blocks FROM verify_relation_summary('heap', 'main', 5, 5);
SELECT blocks FROM verify_relation_summary('heap', 'main', 100000);
SELECT blocks > 0 FROM verify_relation_summary('heap', 'main', 0, 4294967294);

-- Partitioned relations recurse.
CREATE TABLE parted (a int) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (a);
CREATE TABLE parted_1_1 PARTITION OF parted_1 FOR VALUES FROM (0) TO (5);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);
CREATE INDEX parted_idx ON parted (a);
INSERT INTO parted SELECT generate_series(0, 4);
CHECKPOINT;
SELECT relation, fork, blocks, verified_blocks + unverifiable_blocks AS seen, bad_blocks
FROM verify_relation_summary('parted', 'main', include_indexes => true);
SELECT relation, fork, blocks, verified_blocks + unverifiable_blocks AS seen, bad_blocks
FROM verify_relation_summary('parted_idx', 'main');
SELECT fork, segment_number, status FROM relation_files('parted');

-- Relations of every kind with storage.
CREATE SEQUENCE seq;
CREATE MATERIALIZED VIEW mv AS SELECT g FROM heap;
CREATE UNLOGGED TABLE unlogged (a int);
CREATE TEMPORARY TABLE temporary AS SELECT g FROM heap;
SELECT relation, fork, blocks > 0 AS has_blocks, bad_blocks FROM verify_relation_summary('seq');
SELECT relation, fork, blocks > 0 AS has_blocks, bad_blocks FROM verify_relation_summary('mv', 'main');
SELECT relation, fork, blocks, bad_blocks FROM verify_relation_summary('unlogged');
SELECT relation, fork, blocks > 0 AS has_blocks, bad_blocks FROM verify_relation_summary('pg_class', 'main');
SELECT relation, fork, blocks > 0 AS has_blocks, bad_blocks FROM verify_relation_summary('pg_database', 'main');
SELECT relation = 'temporary'::regclass AS is_temporary, fork, blocks, status, message
FROM verify_relation_summary('temporary');
SELECT fork, blkno, status, message FROM verify_relation('temporary');

-- The disk image of a block.
SELECT length(read_disk_page('heap', 'main', 0));
SELECT status <> 'bad_header' FROM verify_page(read_disk_page('heap', 'vm', 0), 0);

-- Relations without storage, and other arguments that make no sense.
CREATE VIEW v AS SELECT 1 AS a;
SELECT pg_temp.sqlstate($$SELECT verify_relation('v')$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation_summary('v')$$);
SELECT pg_temp.sqlstate($$SELECT relation_files('v')$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('v', 'main', 0)$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('parted', 'main', 0)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', 'nonsense')$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', first_block => -1)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', last_block => -1)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', last_block => 4294967295)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', 'main', 5, 4)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', workers => -1)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap', max_rate => -1)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation(NULL)$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation(4294967295::oid)$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'main', 100000)$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'init', 0)$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'nonsense', 0)$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'main', -1)$$);

-- Privileges.
CREATE ROLE regress_accel_none;
CREATE ROLE regress_accel_scan IN ROLE pg_stat_scan_tables;
SET ROLE regress_accel_none;
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap')$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation_summary('heap')$$);
SELECT pg_temp.sqlstate($$SELECT relation_files('heap')$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'main', 0)$$);
SET ROLE regress_accel_scan;
SELECT pg_temp.sqlstate($$SELECT verify_relation('heap')$$);
SELECT pg_temp.sqlstate($$SELECT verify_relation_summary('heap')$$);
SELECT pg_temp.sqlstate($$SELECT relation_files('heap')$$);
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'main', 0)$$);
RESET ROLE;
GRANT EXECUTE ON FUNCTION read_disk_page(regclass, text, bigint) TO regress_accel_scan;
SET ROLE regress_accel_scan;
SELECT pg_temp.sqlstate($$SELECT read_disk_page('heap', 'main', 0)$$);
RESET ROLE;
REVOKE ALL ON FUNCTION read_disk_page(regclass, text, bigint) FROM regress_accel_scan;
DROP ROLE regress_accel_none, regress_accel_scan;

DROP TABLE heap, toasted, parted, unlogged, temporary CASCADE;
DROP SEQUENCE seq;
DROP VIEW v;
DROP EXTENSION crc32c_accel;
