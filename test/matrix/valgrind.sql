-- One statement a line (a single-user server reads lines).  ":error" at the end: it must fail; else no error, and every "ok" is true.
SELECT string_agg(algorithm || '/' || kernel, ' ') AS kernels FROM checksum_kernels() WHERE available
SELECT string_agg(algorithm || '/' || kernel, ' ') AS others FROM checksum_kernels() WHERE arch = 'x86_64' AND NOT available
SELECT bool_and(failures = 0 AND cases > 0) AS ok FROM checksum_self_test()
SELECT crc32c(convert_to(k, 'UTF8')) = 3808858755 AND crc32('123456789') = 3421780262 AND crc32c_bytes(3808858755) = '\xe3069283' AS ok FROM (VALUES ('123456789')) v (k)
SELECT crc32c_extend(public.crc32c('1234'), '56789') = 3808858755 AND crc32_extend(crc32('1234'), '56789') = 3421780262 AS ok
SELECT crc32c_combine(public.crc32c('12345'), public.crc32c('6789'), 4) = 3808858755 AND crc32_combine(crc32('12345'), crc32('6789'), 4) = 3421780262 AS ok
SELECT crc32c_agg(convert_to(c, 'UTF8') ORDER BY c) = 3808858755 AS ok FROM regexp_split_to_table('123456789', '') c
SELECT bool_and(crcs = 1) AS ok FROM (SELECT n, count(DISTINCT CASE WHEN set_config('crc32c_accel.kernel', k.kernel, false) IS NOT NULL THEN public.crc32c(substr(d.data, 1, n)) END) AS crcs FROM checksum_kernels() k, (SELECT decode(string_agg(md5(i::text), ''), 'hex') AS data FROM generate_series(1, 600) i) d, generate_series(0, 9600, 61) n WHERE k.algorithm = 'crc32c' AND k.available GROUP BY n) x
RESET crc32c_accel.kernel
SELECT bool_and(crc32(substr(d.data, n)) = crc32_extend(crc32(substr(d.data, n, 100)), substr(d.data, n + 100))) AS ok FROM (SELECT decode(string_agg(md5(i::text), ''), 'hex') AS data FROM generate_series(1, 600) i) d, generate_series(1, 9400, 61) n
SET crc32c_accel.kernel = 'no_such' :error
SELECT crc32c_extend(-1, '') :error
SELECT drive_crc32c(3, 10000) = drive_crc32c(1, 10000) AS ok
SELECT count(DISTINCT crc) = 2 AS ok FROM checksum_bench('crc32c', '{100,0}', min_time => '1 ms', working_set => 100000)
SELECT count(DISTINCT crc) = 1 AS ok FROM checksum_bench('page', '{73728}', min_time => '1 ms')
SELECT NOT preloaded AND NOT accelerated AND server_kernel <> '' AS ok FROM crc32c_server()
SELECT verified_blocks + zero_blocks = blocks AND bad_blocks = 0 AND fork = 'main' AS ok FROM verify_relation_summary('clean', 'main')
SELECT sum(bad_blocks) = 0 AND count(*) > 10 AS ok FROM verify_relation_summary('clean', include_toast => true, include_indexes => true, workers => 2, max_rate => 500)
SELECT count(*) = 2 AND bool_or(blkno = 7 AND status = 'checksum_mismatch' AND stored_checksum <> computed_checksum) AND bool_or(blkno = 9 AND message <> '') AS ok FROM verify_relation('damaged', workers => 1)
SELECT count(*) = 1 AS ok FROM verify_relation('damaged', 'main', 0, 8)
SELECT count(*) = 1 AND min(status) = 'not_verifiable' AS ok FROM verify_relation('temporary', include_toast => true)
SELECT count(*) = 1 AND min(status) = 'partial_block' AS ok FROM verify_relation('short')
SELECT count(*) FROM verify_relation('views') :error
SELECT count(*) FROM verify_relation('clean', 'main', 5, 4) :error
SELECT count(*) = 3 AND bool_and(size = blocks * 8192) AS ok FROM relation_files('clean')
SELECT bool_and((v).status = 'ok' AND (v).crc32c = r.crc32c) AS ok FROM page_digests('clean', first_block => 3, last_block => 40) r, LATERAL (SELECT verify_page(read_disk_page('clean', 'main', r.blkno), r.blkno) v) x
SELECT (v).status = 'checksum_mismatch' AS ok FROM (SELECT verify_page(read_disk_page('damaged', 'main', 7), 7) v) x
SELECT bool_and(n > 0) AND count(*) = 7 AS ok FROM (SELECT c.oid, count(crc32c) n FROM pg_class c, page_digests(c.oid, masked => true) WHERE relname LIKE 'clean%' GROUP BY c.oid) x
SELECT count(crc32c) > 0 AS ok FROM page_digests('sequence', masked => true)
SELECT read_disk_page('clean', 'main', 1000000) :error
SELECT status = 'healthy' AND copy IS NULL AS ok FROM heal_block('clean', 'main', 3)
SELECT status = 'no_good_copy' AND message <> '' AS ok FROM heal_block('damaged', 'main', 7, true)
SELECT heal_block('clean', 'main', 1000000) :error
SELECT status = 'healthy' AS ok FROM restore_block('clean', 'main', 3, read_disk_page('clean', 'main', 3))
SELECT status IN ('outdated', 'invalid_page', 'not_proven') AND message <> '' AS ok FROM restore_block('damaged', 'main', 7, read_disk_page('clean', 'main', 7))
SELECT restore_block('clean', 'main', 1000000, read_disk_page('clean', 'main', 3), directory => 'no_such_directory') IS NOT NULL AS ok
CALL verify_database(include_catalogs => false, verbose => true)
CALL verify_database(workers => 2, report_failures => true, record_digests => true)
SELECT bool_and(status = 'not_verifiable') IS NOT FALSE AS ok FROM verify_page_digests()
CALL verify_database(reverify_after => '1000 years', max_rate => 1000)
SELECT count(*) = 3 AND bool_and(state = 'completed') AND sum(blocks) > 400 AND (SELECT count(*) FROM verify_findings) = 3 AS ok FROM verify_runs
SELECT count(*) = 0 AS ok FROM verify_progress
SELECT count(*) = 3 AS ok FROM verify_bad_blocks
SELECT prune_history('1 day') IS NOT NULL AS ok
CALL verify_cluster(include_catalogs => false, cluster_files => false, record_digests => true)
SELECT NOT internal_file_exists(1, 1663, 1) AS ok
SELECT internal_block_has_lsn(1, 1663, 1, 'main', 0, NULL) AND NOT internal_block_has_lsn(1, 1663, 1, 'main', 0, '0/1') AS ok
SELECT crc32c_file('PG_VERSION') = public.crc32c(pg_read_binary_file('PG_VERSION')) AND crc32c_file('global/pg_control', 8, 100) = public.crc32c(pg_read_binary_file('global/pg_control', 8, 100)) AND crc32c_file('no/such', missing_ok => true) IS NULL AS ok
SELECT crc32c_file('base') :error
SELECT crc32c_lo(oid) = public.crc32c(lo_get(oid)) AS ok FROM pg_largeobject_metadata
SELECT status IN ('ok', 'ok_switched') AND records > 0 AND findings = 0 AS ok FROM verify_wal(NULL, :segment, :segment)
SELECT status IN ('ok', 'ok_switched') AND findings = 0 AS ok FROM verify_wal_segment(pg_read_binary_file('pg_wal/' || :segment), :segment)
SELECT count(*) > 2 AND sum(findings) = 0 AS ok FROM verify_wal(workers => 2)
SELECT count(*) > 1 AND sum(findings) = 0 AS ok FROM verify_wal(start_lsn => (SELECT start_lsn FROM verify_wal(NULL, :segment, :segment)))
SELECT count(*) = 0 AS ok FROM verify_wal_findings(NULL, :segment)
SELECT bool_and(status = 'corrupt') AND sum(findings) >= 2 AS ok FROM verify_wal('accel_wal') WHERE segment = :segment
SELECT count(*) >= 2 AND bool_and(message <> '') AS ok FROM verify_wal_findings('accel_wal', :segment)
SELECT count(*) > 0 AS ok FROM generate_series(0, 300) n, LATERAL (SELECT status FROM verify_wal_segment(set_byte(substr(pg_read_binary_file('pg_wal/' || :segment), 1, 8192 * (n + 3) / 3), 31 * n % 8192, n), :segment)) v WHERE status <> 'ok'
SELECT verify_wal(NULL, 'no such name', 'no such name') :error
CALL verify_wal_archive('accel_wal')
CALL verify_wal_archive('accel_wal', reverify_after => '0', verbose => true, workers => 1)
CALL verify_wal_archive('accel_wal', system_identifier => 1)
SELECT count(*) > 0 AND bool_or(is_finding AND status = 'corrupt') AS ok FROM verify_wal_files
SELECT bool_and(status = 'ok') AND count(*) > 2 AS ok FROM verify_cluster_files()
SELECT count(*) > 0 AS ok FROM wal_block_history('clean', 'main', 3)
CREATE TABLE imaged AS SELECT 1 AS a
CHECKPOINT
UPDATE imaged SET a = 2
SELECT count(*) > 0 AND bool_and(octet_length(wal_page_image('imaged', 'main', 0, NULL, lsn)) = 8192) AS ok FROM wal_block_history('imaged', 'main', 0) WHERE kind = 'image'
SELECT count(*) FILTER (WHERE status = 'stale_page') = 0 AS ok FROM verify_wal_images();
SELECT count(*) > 0 AND bool_and(status = 'missing_block' AND relation = 'short'::regclass) AS ok FROM verify_lost_writes()
SELECT count(*) > 0 AS ok FROM verify_backup('.', include_healed => true) WHERE path = 'backup_manifest'
SELECT blocks > 1000 AND status <> 'ok' AS ok FROM verify_backup_summary('.')
CALL verify_backups('accel_backups', settled_after => '0', verbose => true, workers => 1)
CALL verify_backups('accel_backups', settled_after => '0', wal_directory => 'pg_wal')
SELECT count(*) = 2 AND bool_and(is_finding) AS ok FROM verify_backup_verdicts
SELECT count(*) = 2 AND bool_and(to_lsn IS NULL) AS ok FROM verify_backup_windows('accel_backups', 'pg_wal')
