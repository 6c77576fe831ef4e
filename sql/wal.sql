--
-- Verifying WAL: this server's own, bytes, and bad arguments
--
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS crc32c_accel;
RESET client_min_messages;
SELECT pg_walfile_name(pg_switch_wal()) <> '' AS switched;
CREATE TABLE wal_rows AS SELECT g AS id, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
UPDATE wal_rows SET id = id + 1;
SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS segment \gset
SELECT pg_switch_wal() > '0/0' AS switched;

-- a switched segment, the one in use, and what lies behind it
SELECT segment = :'segment' AS segment, timeline_id, status, server_version = current_setting('server_version_num')::int / 10000 || '' AS version,
	records > 100 AS records, start_lsn < end_lsn AS range, unverified_head_bytes, unverified_tail_bytes, zero_bytes > 0 AS zeros,
	skipped_bytes, findings, first_finding_lsn, message,
	verified_bytes + zero_bytes = pg_size_bytes(current_setting('wal_segment_size')) AS all_bytes,
	crc32c = crc32c_file('pg_wal/' || :'segment') AS digest
FROM verify_wal(NULL, :'segment', :'segment');
SELECT pg_logical_emit_message(true, 'regress', 'x') > '0/0' AS written;
SELECT status, findings, unverified_tail_bytes FROM verify_wal(NULL, pg_walfile_name(pg_current_wal_flush_lsn()), pg_walfile_name(pg_current_wal_flush_lsn()));
SELECT count(*) FILTER (WHERE status IN ('ok', 'ok_switched')) > 0 AS complete,
	count(*) FILTER (WHERE status = 'ok_end_of_wal') AS in_use,
	count(*) FILTER (WHERE status NOT IN ('ok', 'ok_switched', 'ok_end_of_wal', 'ok_recycled', 'ok_unused')) AS other,
	sum(findings) AS findings
FROM verify_wal();
SELECT count(*), min(status), sum(findings) AS findings
FROM verify_wal(start_lsn => (SELECT start_lsn FROM verify_wal(NULL, :'segment', :'segment')), end_lsn => (SELECT end_lsn FROM verify_wal(NULL, :'segment', :'segment')));
SELECT count(*) FROM verify_wal_findings(NULL, :'segment');
-- parallel workers give the same rows in the same order
SELECT (SELECT array_agg(w::text) FROM verify_wal(last_segment => :'segment') w) =
	(SELECT array_agg(w::text) FROM verify_wal(last_segment => :'segment', workers => 2) w) AS same;

-- as bytes: intact, then one damage after the other
CREATE TEMP TABLE wal_bytes AS SELECT pg_read_binary_file('pg_wal/' || :'segment') AS data;
CREATE FUNCTION pg_temp.flip(data bytea, at integer, n integer = 0) RETURNS bytea LANGUAGE sql AS
$$ SELECT set_byte(data, at, get_byte(data, at) # (1 << n)) $$;
SELECT status, findings FROM wal_bytes, verify_wal_segment(data, :'segment');
SELECT what, (v).status, (v).findings,
	(v).first_finding_lsn - (v).start_lsn - CASE what WHEN 'zero tail' THEN length(data) ELSE 0 END AS at,
	regexp_replace((v).message, '[0-9A-F]{4,}|[0-9]+', 'N', 'g') AS message
FROM wal_bytes, LATERAL (VALUES
	('page magic', pg_temp.flip(data, 8192)),
	('page flags', pg_temp.flip(data, 8192 + 3)),
	('page timeline', pg_temp.flip(data, 8192 + 4)),
	('page address', pg_temp.flip(data, 2 * 8192 + 15)),
	('remaining length', pg_temp.flip(data, 8192 + 18)),
	('page padding', pg_temp.flip(data, 8192 + 20)),
	('system identifier', pg_temp.flip(data, 24)),
	('segment size', pg_temp.flip(data, 32, 3)),
	('block size', pg_temp.flip(data, 37, 4)),
	('zero tail', pg_temp.flip(data, length(data) - 100))
) t(what, damaged), LATERAL (SELECT v FROM verify_wal_segment(damaged, :'segment') v) x
WHERE what NOT IN ('system identifier', 'remaining length') ORDER BY what;
SELECT (v).status, (v).findings FROM wal_bytes, LATERAL (SELECT verify_wal_segment(pg_temp.flip(data, 24), :'segment') v) x;
SELECT what, (v).status FROM wal_bytes, LATERAL (VALUES
	('empty', ''::bytea),
	('few bytes', substr(data, 1, 30)),
	('half', substr(data, 1, length(data) / 2)),
	('longer', data || data),
	('zeros', decode(repeat('00', 1 << 20), 'hex')),
	('text', convert_to(repeat('no WAL at all, but long enough for one ', 1 << 15), 'UTF8')),
	('another name', data)
) t(what, damaged), LATERAL (SELECT verify_wal_segment(damaged, CASE what WHEN 'another name' THEN '0000000100000000000000FE' ELSE :'segment' END) v) x;
SELECT status, findings FROM wal_bytes, verify_wal_segment(data, :'segment' || '.partial');

-- bad arguments
\set VERBOSITY sqlstate
SELECT verify_wal(NULL, 'no segment', 'no segment');
SELECT verify_wal(NULL, '00000001000000000000000a', '00000001000000000000000a');
SELECT verify_wal(NULL, '000000000000000000000001', '000000000000000000000001');
SELECT verify_wal(NULL, '../pg_wal/000000010000000000000001', '../pg_wal/000000010000000000000001');
SELECT verify_wal(NULL, '0000000100000000FFFFFFFF', '0000000100000000FFFFFFFF');
SELECT verify_wal('no_such_directory', '000000010000000000000001', '000000010000000000000001');
SELECT verify_wal('PG_VERSION', '000000010000000000000001', '000000010000000000000001');
SELECT verify_wal('', '000000010000000000000001', '000000010000000000000001');
SELECT verify_wal_findings(NULL, 'no segment');
SELECT verify_wal_findings(NULL, :'segment', max_findings => -1);
SELECT * FROM verify_wal(start_lsn => '1/0', end_lsn => '0/1');
SELECT * FROM wal_block_history('pg_class', 'main', 0, NULL, '1/0', '0/1');
SELECT * FROM verify_wal(start_lsn => '0/0', end_lsn => '0/1', timeline_id => 0);
SELECT * FROM verify_wal('no_such_directory');
SELECT * FROM verify_wal(first_segment => '00000001000000000000000B', last_segment => '00000001000000000000000A');
SELECT * FROM verify_wal(first_segment => 'x');
SELECT * FROM verify_wal(workers => -1);
SELECT * FROM verify_wal_segment(''::bytea, 'no segment');
\set VERBOSITY default
SELECT * FROM verify_wal(first_segment => :'segment', start_lsn => '0/1');
SELECT * FROM verify_wal(end_lsn => '0/1');
SELECT * FROM verify_wal(max_rate => -1);
CALL verify_wal_archive(NULL);
CALL verify_wal_archive('pg_wal');
CALL verify_backups(NULL);
CALL verify_backups('no_such_directory');
CALL verify_backups('PG_VERSION');
CALL verify_backups('base', wal_directory => 'no_such_directory');
CALL verify_backups('base', settled_after => '-1 s');
CALL verify_backups('base', reverify_after => '-1 s');
CALL verify_backups('base', max_duration => '0');
CALL verify_backups('base', max_rate => -1);
CALL verify_backups('base', workers => -1);
SELECT * FROM verify_backup_windows(NULL);
SELECT * FROM verify_backup_windows('no_such_directory');
SELECT * FROM verify_backup_windows('base', 'no_such_directory');
SELECT * FROM verify_backup_windows('base', max_rate => -1);
SELECT * FROM verify_backup_windows('base', workers => -1);

-- privileges
CREATE ROLE regress_wal_reader;
SET ROLE regress_wal_reader;
SELECT verify_wal(NULL, :'segment', :'segment');
SELECT * FROM verify_wal();
SELECT * FROM verify_wal(start_lsn => '0/0');
SELECT * FROM verify_wal_findings(NULL, :'segment');
SELECT verify_wal_segment(''::bytea, :'segment');
CALL verify_wal_archive('/nowhere');
CALL verify_backups('/nowhere');
SELECT * FROM verify_backup_windows('/nowhere');
RESET ROLE;
GRANT pg_read_server_files TO regress_wal_reader;
SET ROLE regress_wal_reader;
SELECT status FROM verify_wal(NULL, :'segment', :'segment');
RESET ROLE;
DROP ROLE regress_wal_reader;
DROP TABLE wal_rows;
