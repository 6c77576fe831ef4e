--
-- Checksums of values
--
CREATE EXTENSION crc32c_accel;

-- the check values of the two algorithms, and nothing
SELECT public.crc32c('123456789'), crc32('123456789');
SELECT public.crc32c(''), crc32(''), crc32c(NULL) IS NULL AS null_in;

-- RFC 3720, B.4
SELECT to_hex(public.crc32c(decode(repeat('00', 32), 'hex'))) AS zeros,
	to_hex(public.crc32c(decode(repeat('ff', 32), 'hex'))) AS ones;

-- extending and combining give the checksum of the whole, split anywhere
WITH whole AS (SELECT decode(repeat('0123456789abcdef', 64), 'hex') AS v)
SELECT bool_and(crc32c_extend(crc32c(substr(v, 1, n)), substr(v, n + 1)) = crc32c(v)) AS extend,
	bool_and(crc32_extend(crc32(substr(v, 1, n)), substr(v, n + 1)) = crc32(v)) AS extend_crc32,
	bool_and(crc32c_combine(crc32c(substr(v, 1, n)), crc32c(substr(v, n + 1)), 512 - n) = crc32c(v)) AS combine,
	bool_and(crc32_combine(crc32(substr(v, 1, n)), crc32(substr(v, n + 1)), 512 - n) = crc32(v)) AS combine_crc32
FROM whole, generate_series(0, 512) n;
SELECT crc32c_combine(1, 2, 9223372036854775807) BETWEEN 0 AND 4294967295 AS longest;

-- the server's own functions, where it has them (PostgreSQL 18), agree on
-- random data of every length to 700
DO $$
DECLARE
	differing bigint := 0;
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		PERFORM setseed(0.18);
		EXECUTE $sql$
			WITH random AS MATERIALIZED (
				SELECT decode(string_agg(md5(random()::text), ''), 'hex') AS bytes FROM generate_series(1, 50))
			SELECT count(*) FROM random, generate_series(0, 700) AS n, LATERAL (SELECT substr(bytes, n / 9, n) AS v) AS piece
			WHERE pg_catalog.crc32c(v) IS DISTINCT FROM public.crc32c(v)
				OR pg_catalog.crc32(v) IS DISTINCT FROM crc32_extend(0, v)
		$sql$ INTO differing;
	END IF;
	IF differing > 0 THEN
		RAISE EXCEPTION '% values differ', differing;
	END IF;
END $$;

-- the aggregate honours ORDER BY and ignores NULL
SELECT crc32c_agg(v ORDER BY n) = crc32c('abcdef') AS ordered,
	crc32c_agg(v ORDER BY n DESC) = crc32c('efcdab') AS reversed
FROM (VALUES (1, 'ab'::bytea), (2, 'cd'), (3, NULL), (4, 'ef')) t(n, v);
SELECT crc32c_agg(NULL::bytea) FROM generate_series(1, 0);

SELECT crc32c_bytes(crc32c('123456789')), crc32c_bytes(0), crc32c_bytes(4294967295);

-- toasted values: inline compressed, out of line, out of line compressed
CREATE TEMP TABLE toasted (storage text, v bytea);
ALTER TABLE toasted ALTER v SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT 'external', decode(repeat(md5('a'), 50000), 'hex');
ALTER TABLE toasted ALTER v SET STORAGE EXTENDED;
INSERT INTO toasted SELECT 'extended', decode(repeat(md5('a'), 50000), 'hex');
ALTER TABLE toasted ALTER v SET STORAGE MAIN;
INSERT INTO toasted SELECT 'main', decode(repeat(md5('a'), 50000), 'hex');
ALTER TABLE toasted ALTER v SET STORAGE PLAIN;
SELECT storage, length(v), crc32c(v) = crc32c(decode(repeat(md5('a'), 50000), 'hex')) AS same,
	crc32c_extend(crc32c('x'), v) = crc32c('x'::bytea || v) AS extends
FROM toasted ORDER BY 1;

-- digests of a table: sum and bit_xor need no order, so they run in parallel
CREATE TABLE summed AS SELECT i, repeat('x', i % 100) AS t FROM generate_series(1, 20000) i;
SELECT sum(public.crc32c(s::text::bytea)) AS sum, bit_xor(public.crc32c(s::text::bytea)) AS xor FROM summed s \gset serial_
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT sum(public.crc32c(s::text::bytea)), bit_xor(public.crc32c(s::text::bytea)) FROM summed s;
SELECT sum(public.crc32c(s::text::bytea)) = :serial_sum AS sum, bit_xor(public.crc32c(s::text::bytea)) = :serial_xor AS xor FROM summed s;
SELECT sum(public.crc32c(s::text::bytea) ORDER BY i DESC) = :serial_sum AS sum, bit_xor(public.crc32c(s::text::bytea) ORDER BY i DESC) = :serial_xor AS xor,
	crc32c_agg(s::text::bytea ORDER BY i DESC) <> crc32c_agg(s::text::bytea ORDER BY i) AS agg_differs
FROM summed s;
SELECT proname, aggcombinefn::oid <> 0 AS parts FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid WHERE proname LIKE 'crc32%';
DROP TABLE summed;
RESET ALL;

-- bad input
\set VERBOSITY sqlstate
SELECT crc32c_extend(-1, 'a');
SELECT crc32c_extend(4294967296, 'a');
SELECT crc32_extend(-1, 'a');
SELECT crc32c_combine(-1, 0, 1);
SELECT crc32c_combine(0, 4294967296, 1);
SELECT crc32c_combine(0, 0, -1);
SELECT crc32c_bytes(-1);
\set VERBOSITY default
SELECT crc32c_extend(4294967296, 'a');

DROP EXTENSION crc32c_accel;
