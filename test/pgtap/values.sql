--
-- Known answers of every checksum function by every kernel, and the verdicts
-- over planted pages, relations and WAL given as bytes.
--
\set QUIET 1
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS crc32c_accel;
SELECT * FROM no_plan();

-- CRC-32C: RFC 3720, B.4, and the check values of the catalogue of CRCs.
CREATE TEMP TABLE known (what text, data bytea, crc32c bigint, crc32 bigint);
INSERT INTO known VALUES
	('nothing', '', 0, 0),
	('one byte', 'a', x'c1d04330'::bigint, x'e8b7be43'::bigint),
	('the check value', '123456789', x'e3069283'::bigint, x'cbf43926'::bigint),
	('32 zeros', decode(repeat('00', 32), 'hex'), x'8a9136aa'::bigint, x'190a55ad'::bigint),
	('32 ones', decode(repeat('ff', 32), 'hex'), x'62a8ab43'::bigint, x'ff6cab0b'::bigint),
	('ascending', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
		x'46dd794e'::bigint, x'91267e8a'::bigint),
	('descending', '\x1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100',
		x'113fdb5c'::bigint, x'9ab0ef72'::bigint),
	('an iSCSI read', '\x01c00000000000000000000000000000140000000000040000000014000000182800000000000000' ||
		'\x0200000000000000'::bytea, x'd9963a56'::bigint, NULL);
SELECT is(public.crc32c(data), crc32c, 'crc32c: ' || what) FROM known;
SELECT is(crc32(data), crc32, 'crc32: ' || what) FROM known WHERE crc32 IS NOT NULL;
-- The CRC-32C of a value by each kernel.
CREATE FUNCTION pg_temp.by_kernel(kernel text, data bytea, crc bigint DEFAULT 0) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('crc32c_accel.kernel', kernel, false);
	RETURN public.crc32c_extend(crc, data);
END $$;
SELECT is(pg_temp.by_kernel(kernel, data), crc32c, kernel || ': ' || what)
FROM known, checksum_kernels() WHERE algorithm = 'crc32c' AND available;
RESET crc32c_accel.kernel;

-- What extends, combines and collects them.
SELECT is(crc32c_extend(crc32c('1234'), '56789'), 3808858755, 'crc32c_extend goes on');
SELECT is(crc32_extend(crc32('1234'), '56789'), 3421780262, 'crc32_extend goes on');
SELECT is(crc32c_combine(crc32c('1234'), crc32c('56789'), 5), 3808858755, 'crc32c_combine');
SELECT is(crc32_combine(crc32('1234'), crc32('56789'), 5), 3421780262, 'crc32_combine');
SELECT is(crc32c_bytes(3808858755), '\xe3069283'::bytea, 'crc32c_bytes: most significant byte first');
SELECT is(crc32c_agg(part ORDER BY n), 3808858755, 'crc32c_agg of parts is that of the whole')
FROM (VALUES (1, '123'::bytea), (2, ''), (3, NULL), (4, '456789')) AS parts (n, part);
SELECT lo_from_bytea(0, '123456789') AS lo \gset
SELECT is(crc32c_lo(:lo), 3808858755, 'crc32c_lo');
SELECT is(crc32c_file('PG_VERSION'), crc32c(pg_read_binary_file('PG_VERSION')), 'crc32c_file');
SELECT is(crc32c_file('PG_VERSION', 1, 1), crc32c(pg_read_binary_file('PG_VERSION', 1, 1)), 'crc32c_file of a part');

-- Kernels.
SELECT is((SELECT count(*) FROM checksum_kernels() WHERE selected AND algorithm = a), 1::bigint,
	'one kernel is selected: ' || a) FROM unnest('{crc32,crc32c,page}'::text[]) a;
SELECT is_empty($$ SELECT * FROM checksum_self_test() WHERE failures > 0 $$, 'no self-test fails');

-- Pages: a new one, one sealed as block 7, and what damage makes of it.  The
-- header reads the same in either byte order.
CREATE TEMP TABLE page AS
	SELECT decode('0000000001010101' || '0000' || '0000' || '08080808' || '1010'
		|| '0000' || '00000000' || repeat('5a', 8168), 'hex') AS bytes;
UPDATE page SET bytes = sealed FROM (
	SELECT overlay(bytes placing seal from 9 for 2) AS sealed
	FROM page, verify_page(bytes, 7) v, decode(lpad(to_hex(v.computed_checksum), 4, '0'), 'hex') AS sum,
		LATERAL (VALUES (sum), (substr(sum, 2, 1) || substr(sum, 1, 1))) AS orders (seal)) AS s
WHERE (verify_page(sealed, 7)).status = 'ok';
SELECT is((verify_page(image, blkno)).status, expected, what) FROM page, LATERAL (VALUES
	('a page of zeros is new', decode(repeat('00', 8192), 'hex'), 0, 'ok_new'),
	('a sealed page is ok', bytes, 7, 'ok'),
	('the same as another block', bytes, 8, 'checksum_mismatch'),
	('a flipped bit', set_bit(bytes, 32000, 1 - get_bit(bytes, 32000)), 7, 'checksum_mismatch')
) AS planted (what, image, blkno, expected);
SELECT is(v.stored_checksum, v.computed_checksum, 'the checksum of a sealed page is computed as it is stored')
FROM page, verify_page(bytes, 7) v;
SELECT is(v.crc32c, crc32c(bytes), 'verify_page gives the CRC of the page') FROM page, verify_page(bytes, 7) v;

-- Relations: a catalog, whose pages are on disk.
SELECT is_empty($$ SELECT * FROM verify_relation('pg_proc', include_toast => true, include_indexes => true) $$,
	'no finding in pg_proc');
SELECT is(sum(blocks), sum(verified_blocks + zero_blocks), 'each block of pg_proc is verified or new')
FROM verify_relation_summary('pg_proc') WHERE current_setting('data_checksums')::bool;
SELECT is(sum(blocks)::bigint, pg_relation_size('pg_proc') / current_setting('block_size')::int,
	'as many blocks as pg_proc has') FROM verify_relation_summary('pg_proc', 'main');
SELECT is(count(*), pg_relation_size('pg_proc') / current_setting('block_size')::int,
	'page_digests has a row per block') FROM page_digests('pg_proc');
SELECT is_empty($$ SELECT * FROM page_digests('pg_proc') AS r
	WHERE r.crc32c <> crc32c(read_disk_page('pg_proc', 'main', r.blkno)) $$,
	'read_disk_page reads what page_digests digests');
SELECT is_empty($$ SELECT * FROM relation_files('pg_proc') WHERE status <> 'ok' $$, 'the files of pg_proc are whole');

-- WAL as bytes: a segment that is complete, and one bit of a record in it.
CREATE TEMP TABLE message AS
	SELECT pg_logical_emit_message(false, 'pgtap', repeat('x', 4000)) - 2000 AS lsn;
SELECT pg_switch_wal() > '0/0' AS switched \gset
CREATE TEMP TABLE wal AS
	SELECT name, pg_read_binary_file('pg_wal/' || name) AS bytes,
		((lsn - '0/0') % (SELECT setting::bigint FROM pg_settings WHERE name = 'wal_segment_size'))::int AS at
	FROM message, pg_walfile_name(lsn) AS name;
UPDATE wal SET at = at - 100 WHERE at % 8192 < 64;	-- not into a page header
SELECT ok(v.status LIKE 'ok%' AND v.findings = 0 AND v.records > 0, 'WAL of this server is ok: ' || v.status)
FROM wal, verify_wal_segment(bytes, name) v;
SELECT is(v.status || ' ' || v.findings, 'corrupt 1', 'a flipped bit is one error')
FROM wal, verify_wal_segment(set_byte(bytes, at, get_byte(bytes, at) # 16), name) v;
SELECT is(v.status, 'corrupt', 'a wrong magic number is corrupt')
FROM wal, verify_wal_segment(set_byte(bytes, 8192, get_byte(bytes, 8192) # 255), name) v;
SELECT * FROM finish();
ROLLBACK;
