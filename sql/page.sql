-- A page from any source is judged by its bytes alone.
CREATE EXTENSION crc32c_accel;

CREATE FUNCTION pg_temp.sqlstate(command text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;

-- An all-zero page is new, valid as any block.
SELECT status, stored_checksum, computed_checksum, lsn = '0/0' AS no_lsn, crc32c
FROM verify_page(decode(repeat('00', 8192), 'hex'), 0);
SELECT status FROM verify_page(decode(repeat('00', 8192), 'hex'), 4294967294);

-- A page that the server never wrote, sealed as block 7.  Its header reads the
-- same in either byte order: LSN 0/1010101, pd_lower = pd_upper = 0x0808,
-- pd_special 0x1010.
SELECT decode('0000000001010101' || '0000' || '0000' || '08080808' || '1010'
	|| '0000' || '00000000' || repeat('5a', 8168), 'hex') AS unsealed \gset
SELECT computed_checksum AS sum, lpad(to_hex(computed_checksum), 4, '0') AS sum_hex
FROM verify_page(:'unsealed', 7) \gset
SELECT page AS sealed FROM (VALUES
	(overlay(:'unsealed'::bytea placing decode(:'sum_hex', 'hex') from 9 for 2)),
	(overlay(:'unsealed'::bytea placing
		decode(right(:'sum_hex', 2) || left(:'sum_hex', 2), 'hex') from 9 for 2))) AS orders (page)
WHERE (verify_page(page, 7)).status = 'ok' \gset
SELECT status, stored_checksum = :sum AS stored, computed_checksum = :sum AS computed, lsn = '0/1010101' AS lsn
FROM verify_page(:'sealed', 7);
SELECT status, stored_checksum = :sum, computed_checksum = :sum
FROM verify_page(:'sealed', 8);
SELECT blkno, status FROM (VALUES (7 + 131072), (4294967294)) AS b (blkno), verify_page(:'sealed', blkno);
SELECT crc32c = public.crc32c(:'sealed'::bytea) FROM verify_page(:'sealed', 7);

-- Each rule in its turn.
SELECT status FROM verify_page(set_byte(:'sealed', 4000, 0), 7);
SELECT status FROM verify_page(overlay(:'sealed'::bytea placing '\x0000' from 15 for 2), 7);
SELECT status FROM verify_page(overlay(:'sealed'::bytea placing
	decode(repeat('00', 24), 'hex') from 1 for 24), 7);

-- What is no page, or no block number.
SELECT pg_temp.sqlstate('SELECT verify_page(''\x00'', 0)');
SELECT pg_temp.sqlstate('SELECT verify_page('''', 0)');
SELECT pg_temp.sqlstate('SELECT verify_page(decode(repeat(''00'', 8192), ''hex''), -1)');
SELECT pg_temp.sqlstate('SELECT verify_page(decode(repeat(''00'', 8192), ''hex''), 4294967295)');
SELECT verify_page(NULL, 0) IS NULL;

-- Everybody may judge a page.
CREATE ROLE regress_accel_page;
SET ROLE regress_accel_page;
SELECT status FROM verify_page(decode(repeat('00', 8192), 'hex'), 0);
RESET ROLE;
DROP ROLE regress_accel_page;
DROP EXTENSION crc32c_accel;
