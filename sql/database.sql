--
-- Digests of pages, and the whole database
--
SET client_min_messages = error;	-- initdb made no data checksums before 18
CREATE EXTENSION crc32c_accel;
\set VERBOSITY sqlstate

CREATE TABLE digested AS SELECT i, repeat('x', 100) AS t FROM generate_series(1, 1000) i;
CREATE INDEX digested_btree ON digested (i);
CREATE INDEX digested_hash ON digested USING hash (i);
CREATE INDEX digested_brin ON digested USING brin (i);
CREATE INDEX digested_gin ON digested USING gin (to_tsvector('simple', t));
CREATE INDEX digested_gist ON digested USING gist (point(i, i));
CREATE INDEX digested_spgist ON digested USING spgist (point(i, i));
CREATE SEQUENCE digested_seq;
VACUUM digested;
CHECKPOINT;

-- the digest of a block is that of its image on disk
SELECT bool_and(crc32c = public.crc32c(read_disk_page('digested', 'main', blkno))) AS same,
	bool_and(lsn = (verify_page(read_disk_page('digested', 'main', blkno), blkno)).lsn) AS lsn,
	array_agg(blkno) = array_agg(n - 1) AS in_order,
	count(*) = pg_relation_size('digested') / 8192 AS every_block
FROM page_digests('digested') WITH ORDINALITY AS r(blkno, lsn, crc32c, n);
SELECT array_agg(blkno) FROM page_digests('digested', 'main', 2, 4);
-- rows of several blocks: the CRC of that part of the file
SELECT n, bool_and(crc32c = crc32c_file(pg_relation_filepath('digested'), r.blkno * 8192, n * 8192)) AS same,
	count(*) = (max(r.blkno) + n) / n AS rows, bool_and(r.blkno % n = 0) AS aligned
FROM unnest(ARRAY[1, 2, 3, 8, 1000000]::bigint[]) n, page_digests('digested', blocks_per_row => n::integer) r GROUP BY n ORDER BY n;
SELECT blkno, crc32c = crc32c_file(pg_relation_filepath('digested'), greatest(blkno, 2) * 8192, 8192 * (least(blkno + 2, 4) - greatest(blkno, 2) + 1)) AS same
FROM page_digests('digested', 'main', 2, 4, blocks_per_row => 3);
SELECT bool_and(r.lsn = b.lsn) AS lsn FROM page_digests('digested', blocks_per_row => 4) r,
	LATERAL (SELECT max(lsn) AS lsn FROM page_digests('digested', 'main', r.blkno, r.blkno + 3)) b;
SELECT count(*) FROM page_digests('digested', blocks_per_row => 4, max_rate => 1000000);
SELECT count(*) FROM page_digests('digested', blocks_per_row => 4, workers => 2, max_rate => 1000000);
SELECT count(*) FROM page_digests('digested', 'vm');
SELECT count(*) FROM page_digests('digested', 'main', 100000, 200000);

-- masked: hint bits do not matter, rows do; every access method has its mask
SELECT crc32c_agg(crc32c::text::bytea ORDER BY blkno) AS digest FROM page_digests('digested', masked => true) \gset before_
SELECT count(*) FROM digested;
CHECKPOINT;
SELECT crc32c_agg(crc32c::text::bytea ORDER BY blkno) = :before_digest AS same FROM page_digests('digested', masked => true);
UPDATE digested SET t = 'y' WHERE i = 1;
CHECKPOINT;
SELECT crc32c_agg(crc32c::text::bytea ORDER BY blkno) = :before_digest AS same FROM page_digests('digested', masked => true);
SELECT relname, count(*) = pg_relation_size(c.oid) / 8192 AS every_block, count(*) = count(crc32c) AS digests
FROM pg_class c, page_digests(c.oid, masked => true) r
WHERE relname LIKE 'digested%' GROUP BY c.oid, relname ORDER BY relname COLLATE "C";
SELECT count(crc32c) FROM page_digests('digested', 'vm', masked => true);

-- bad input
SELECT page_digests(NULL);
SELECT page_digests('digested', 'toast');
SELECT page_digests('digested', 'main', -1);
SELECT page_digests('digested', 'main', 2, 1);
SELECT page_digests('digested', blocks_per_row => 0);
SELECT page_digests('digested', max_rate => -1);
SELECT page_digests('digested', workers => -1);
SELECT page_digests('digested', workers => 1025);
SELECT page_digests('digested', 'fsm', masked => true);
SELECT page_digests('pg_views');
SELECT page_digests(0);
CREATE TABLE digested_parted (i int) PARTITION BY LIST (i);
SELECT page_digests('digested_parted');

-- the whole database
BEGIN;
CALL verify_database();
ROLLBACK;
CALL verify_database(workers => -1);
CALL verify_database(max_rate => -1);
SELECT count(*) FROM verify_runs;
CALL verify_database(include_catalogs => false);
SELECT state, relations = (SELECT count(*) FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'i', 'S', 't', 'm')) AS relations,
	blocks > 0 AS blocks, read_bytes = blocks * 8192 AS bytes,
	findings - (current_setting('data_checksums') = 'off')::int AS findings FROM verify_runs;
SELECT count(*) FROM verify_run_relations WHERE relid = 'digested'::regclass;
SELECT relid::regclass AS relation, status FROM verify_findings
EXCEPT SELECT NULL, 'not_verifiable' WHERE current_setting('data_checksums') = 'off';

-- a procedure that is called by another one commits all the same
CREATE PROCEDURE digested_call() LANGUAGE plpgsql AS $$
BEGIN
	CALL verify_database(include_catalogs => false, reverify_after => '1000 years');
	CALL verify_database(include_catalogs => false);
END $$;
CALL digested_call();
SELECT state, relations > 0 AS relations FROM verify_runs ORDER BY run;

-- what to verify: a table with its indexes, a partitioned one with its
-- partitions, an index alone; order; where to go on
CREATE TABLE digested_part PARTITION OF digested_parted FOR VALUES IN (1, 2) PARTITION BY LIST (i);
CREATE TABLE digested_leaf PARTITION OF digested_part FOR VALUES IN (1);
CREATE INDEX digested_parts ON digested_parted (i);
CREATE TABLE digested_heir () INHERITS (digested);
CALL verify_database(relations => '{digested}');
CREATE VIEW last_relations AS SELECT string_agg(regexp_replace(relation_name, '\d+', 'N'), ', '
	ORDER BY relation_name COLLATE "C") AS relations
	FROM verify_run_relations WHERE run = (SELECT max(run) FROM verify_runs);
SELECT * FROM last_relations;
CALL verify_database(relations => '{digested_parted}');
SELECT * FROM last_relations;
CALL verify_database(relations => '{digested_gin,digested_gin}');
SELECT * FROM last_relations;
CALL verify_database(relations => '{pg_am,digested_seq}', include_catalogs => false);
SELECT * FROM last_relations;
SET client_min_messages = warning;
CALL verify_database(relations => '{last_relations,999999}', cluster_files => false);
CALL verify_database(relations => '{}', cluster_files => false);
SET client_min_messages = error;
DO $$
DECLARE mine regclass[] := ARRAY(SELECT oid FROM pg_class WHERE relname ~ '^digested');
BEGIN
	CALL verify_database(relations => mine, order_by => 'largest');
END $$;
SELECT bool_and(size >= next) AS in_order FROM (SELECT pg_relation_size(relid) AS size,
	lead(pg_relation_size(relid)) OVER (ORDER BY verified_at) AS next
	FROM verify_run_relations WHERE run = (SELECT max(run) FROM verify_runs) AND relation_name ~ '^digested') r;
CALL verify_database(include_catalogs => false, order_by => 'stalest');
CALL verify_database(order_by => 'newest');
CALL verify_database(resume_at => 'here');
CALL verify_database(resume_at => '1/main/0', order_by => 'largest');
CALL verify_database(max_duration => '-1 s');
CALL verify_database(report_interval => '0');
CALL verify_database(relations => '{digested,NULL}');
CALL verify_database(reverify_after => '-1 s');
SELECT prune_history('-1');	-- as of crc32c_accel.history_keep_time, but here it would leave nothing
SELECT prune_history('1 day'), prune_history('0') > 0 AS pruned;
SELECT DISTINCT relation_name FROM verify_run_relations WHERE relation_name IN ('digested', 'digested_gin') ORDER BY 1;

-- progress: nothing is at work
SELECT * FROM verify_progress;

\set VERBOSITY default
DROP PROCEDURE digested_call();
DROP VIEW last_relations;

-- all databases: what verify_cluster has of its own
BEGIN;
CALL verify_cluster();
ROLLBACK;
CALL verify_cluster('{}');
CALL verify_cluster('{regression,NULL}');
CALL verify_cluster('{no such database}');
CALL verify_cluster(resume_at => '16384/main/0/16384');
CALL verify_cluster(order_by => 'newest');
CALL verify_cluster(workers => -1);
CALL verify_cluster(max_rate => -1);
CREATE ROLE regress_digested_nobody;
GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA public TO regress_digested_nobody;
SET ROLE regress_digested_nobody;
CALL verify_cluster();
RESET ROLE;
REVOKE EXECUTE ON ALL PROCEDURES IN SCHEMA public FROM regress_digested_nobody;
DROP ROLE regress_digested_nobody;

DROP TABLE digested_heir, digested, digested_parted;
DROP SEQUENCE digested_seq;
DROP EXTENSION crc32c_accel;
