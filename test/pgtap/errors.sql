--
-- Bad input: a clear error, with its SQLSTATE.
--
\set QUIET 1
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS crc32c_accel;
CREATE TABLE t AS SELECT 1 AS x;
CREATE VIEW v AS SELECT 1 AS x;
CREATE FUNCTION code(sql text) RETURNS text LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
	EXECUTE sql;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE TEMP TABLE bad (n serial, what text, sql text, expected text[]);
INSERT INTO bad (what, sql, expected) VALUES
	('CRC below the range', $$SELECT crc32c_extend(-1, 'a')$$, '{22003}'),
	('CRC above the range', $$SELECT crc32c_extend(4294967296, 'a')$$, '{22003}'),
	('CRC out of range', $$SELECT crc32_extend(-1, 'a')$$, '{22003}'),
	('CRC out of range', $$SELECT crc32c_bytes(4294967296)$$, '{22003}'),
	('CRC out of range', $$SELECT crc32c_combine(1, -1, 4)$$, '{22003}'),
	('negative length', $$SELECT crc32c_combine(1, 1, -4)$$, '{22003,22023}'),
	('negative length', $$SELECT crc32_combine(1, 1, -4)$$, '{22003,22023}'),
	('unknown kernel', $$SET crc32c_accel.kernel = 'fastest'$$, '{22023}'),
	('unknown kernel', $$SET crc32c_accel.page_kernel = 'fastest'$$, '{22023}'),
	('kernel of another architecture', format($$SET crc32c_accel.kernel = %L$$,
		(SELECT min(kernel) FROM checksum_kernels() WHERE algorithm = 'crc32c' AND NOT compiled)), '{0A000}'),
	('missing file', $$SELECT crc32c_file('no_such_file')$$, '{58P01}'),
	('a directory', $$SELECT crc32c_file('base')$$, '{42809}'),
	('negative offset', $$SELECT crc32c_file('PG_VERSION', -1)$$, '{22003,22023}'),
	('negative length', $$SELECT crc32c_file('PG_VERSION', 0, -1)$$, '{22003,22023}'),
	('no such large object', $$SELECT crc32c_lo(4711)$$, '{42704}'),
	('page too short', $$SELECT verify_page('\x00', 0)$$, '{22023}'),
	('page too long', $$SELECT verify_page(decode(repeat('00', 8193), 'hex'), 0)$$, '{22023}'),
	('negative block', $$SELECT verify_page(decode(repeat('00', 8192), 'hex'), -1)$$, '{22003,22023}'),
	('block above the range', $$SELECT verify_page(decode(repeat('00', 8192), 'hex'), 4294967296)$$, '{22003,22023}'),
	('wrong fork', $$SELECT * FROM verify_relation('t', 'mains')$$, '{22023}'),
	('wrong fork', $$SELECT * FROM verify_relation_summary('t', '')$$, '{22023}'),
	('negative block', $$SELECT * FROM verify_relation('t', 'main', -1)$$, '{22003,22023}'),
	('reversed range', $$SELECT * FROM verify_relation('t', 'main', 2, 1)$$, '{22003,22023}'),
	('block above the range', $$SELECT * FROM verify_relation_summary('t', 'main', 4294967296)$$, '{22003,22023}'),
	('a view', $$SELECT * FROM verify_relation('v')$$, '{42809,22023}'),
	('a view', $$SELECT * FROM verify_relation_summary('v')$$, '{42809,22023}'),
	('a view', $$SELECT * FROM relation_files('v')$$, '{42809,22023}'),
	('no such relation', $$SELECT * FROM verify_relation('nothing')$$, '{42P01}'),
	('no such relation, by number', $$SELECT * FROM verify_relation(4294967295::oid)$$, '{42P01,XX000,42704}'),
	('negative workers', $$SELECT * FROM verify_relation('t', workers => -1)$$, '{22023}'),
	('negative rate', $$SELECT * FROM verify_relation('t', max_rate => -1)$$, '{22023}'),
	('no block', $$SELECT read_disk_page('t', 'main', -1)$$, '{22003,22023}'),
	('block behind the end', $$SELECT read_disk_page('t', 'main', 1000)$$, '{22003,22023}'),
	('wrong fork', $$SELECT read_disk_page('t', 'x', 0)$$, '{22023}'),
	('healing: block past the end', $$SELECT heal_block('t', 'main', 1000)$$, '{22023}'),
	('healing: wrong fork', $$SELECT heal_block('t', 'x', 0)$$, '{22023}'),
	('healing: a view', $$SELECT heal_block('v', 'main', 0)$$, '{42809}'),
	('restoring: wrong fork', $$SELECT restore_block('t', 'x', 0, '')$$, '{22023}'),
	('restoring: a view', $$SELECT restore_block('v', 'main', 0, '')$$, '{42809}'),
	('restoring: no page', $$SELECT restore_block('t', 'main', 0, NULL)$$, '{22004}'),
	('restoring: a page and a backup', $$SELECT restore_block('t', 'main', 0, '', '/')$$, '{22023}'),
	('restoring: earlier backups, and no backup', $$SELECT restore_block('t', 'main', 0, '', prior_backups => '{}')$$, '{22023}'),
	('restoring: a NULL in the list of backups', $$SELECT restore_block('t', 'main', 0, backup => '/', prior_backups => ARRAY[NULL])$$, '{22004}'),
	('restoring: no fork', $$SELECT restore_block('t', NULL, 0, '')$$, '{22004}'),
	('restoring: negative block', $$SELECT restore_block('t', 'main', -1, '')$$, '{22023}'),
	('malformed segment name', $$SELECT * FROM verify_wal(NULL, 'x', 'x')$$, '{22023}'),
	('malformed segment name', $$SELECT * FROM verify_wal(NULL, '../PG_VERSION', '../PG_VERSION')$$, '{22023}'),
	('malformed segment name', $$SELECT * FROM verify_wal_findings(NULL, '00000001000000000000000')$$, '{22023}'),
	('segment of no directory', $$SELECT * FROM verify_wal('no_such_directory', '0000000100000FFF000000AA', '0000000100000FFF000000AA')$$, '{58P01}'),
	('no directory', $$SELECT * FROM verify_wal('no_such_directory')$$, '{58P01}'),
	('no data directory', $$SELECT * FROM verify_cluster_files('base')$$, '{22023}'),
	('a file for a data directory', $$SELECT * FROM verify_cluster_files('PG_VERSION')$$, '{42809}'),
	('a file for a directory', $$SELECT * FROM verify_wal('PG_VERSION')$$, '{58P01,42809,22023}'),
	('reversed range', $$SELECT * FROM verify_wal(start_lsn => '0/2000000', end_lsn => '0/1000000')$$, '{22023}'),
	('negative limit', $$SELECT * FROM verify_wal_findings(NULL, pg_walfile_name(pg_current_wal_lsn()), max_findings => -1)$$, '{22023}'),
	('reversed range', $$SELECT * FROM verify_lost_writes(NULL, '0/2000000', '0/1000000')$$, '{22023}'),
	('no directory', $$SELECT * FROM verify_lost_writes('no_such_directory')$$, '{58P01}'),
	('a view', $$SELECT * FROM verify_page_digests('v')$$, '{42809}'),
	('no such relation', $$SELECT * FROM verify_page_digests('nothing')$$, '{42P01}'),
	('negative workers', $$SELECT * FROM verify_page_digests(workers => -1)$$, '{22023}'),
	('negative rate', $$SELECT * FROM verify_page_digests(max_rate => -1)$$, '{22023}'),
	('negative block', $$SELECT * FROM wal_block_history('t', 'main', -1)$$, '{22003,22023}'),
	('wrong fork', $$SELECT * FROM wal_block_history('t', 'x', 0)$$, '{22023}'),
	('a view', $$SELECT * FROM wal_block_history('v', 'main', 0)$$, '{42809,22023}'),
	('no fork', $$SELECT * FROM wal_block_history('t', NULL, 0)$$, '{22004}'),
	('no directory', $$SELECT * FROM wal_block_history('t', 'main', 0, 'no_such_directory')$$, '{58P01}'),
	('block above the range', $$SELECT wal_page_image('t', 'main', 4294967296, NULL, '0/1')$$, '{22003,22023}'),
	('no record there', $$SELECT wal_page_image('t', 'main', 0, NULL, pg_current_wal_lsn() - 1)$$, '{22023}'),
	('a procedure that commits', $$CALL verify_backups('.')$$, '{2D000}'),
	('negative count', $$SELECT drive_crc32c(-1, 8)$$, '{22023}'),
	('negative size', $$SELECT drive_crc32c(1, -8)$$, '{22023}'),
	('negative size', $$SELECT * FROM checksum_bench(sizes => '{-1}')$$, '{22023}'),
	('unknown kernel', $$SELECT * FROM checksum_bench(kernels => '{fastest}')$$, '{22023}'),
	('unknown kernel', $$SELECT * FROM checksum_bench('page', kernels => '{fastest}')$$, '{22023}'),
	('negative time', $$SELECT * FROM checksum_bench(min_time => '-1 s')$$, '{22023}'),
	('no pages', $$SELECT * FROM checksum_bench('page', '{0}')$$, '{22023}'),
	('dimensions', $$SELECT * FROM checksum_bench(sizes => '{{1,2},{3,4}}')$$, '{22023,2202E}');

SELECT plan((SELECT count(*)::int FROM bad) + 1);
SELECT is(code(sql) = ANY (expected), true, what || ': ' || sql || ' gives ' || code(sql)) FROM bad ORDER BY n;
SELECT is_empty($$ SELECT sql, code(sql) FROM bad WHERE code(sql) IN ('XX000', 'no error') $$,
	'no internal error, no silence');
SELECT * FROM finish();
ROLLBACK;
