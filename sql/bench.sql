--
-- Timing the kernels: results are right, arguments are checked; no time is shown
--
CREATE EXTENSION crc32c_accel;

-- the same data in every call, by every kernel, in one piece or several
SELECT drive_crc32c(1, 100) = drive_crc32c(7, 100) AS repeats,
	drive_crc32c(0, 100) AS no_call, drive_crc32c(1, 0) AS no_data,
	drive_crc32c(1, 100) <> drive_crc32c(1, 101) AS differs,
	drive_crc32c(NULL, 1) IS NULL AS null_in,
	drive_crc32c(2, 100, server => false) = drive_crc32c(1, 100) AS kernel_agrees,
	drive_crc32c(3, 5000000, server => false) = drive_crc32c(1, 5000000) AS in_pieces,
	-- pg_prng_uint32() % 255 after pg_prng_seed(42), computed elsewhere
	drive_crc32c(5000, 100) = 532139994 AS the_same_bytes;
CREATE TEMP TABLE timed AS
SELECT * FROM checksum_bench('crc32c', '{1,20,300,5000000,0}', min_time => '1 ms');
SELECT bytes, count(*) FILTER (WHERE kernel <> 'server') = (SELECT count(*) FROM checksum_kernels()
		WHERE algorithm = 'crc32c' AND available AND kernel <> 'bitwise') AS every_kernel,
	count(*) FILTER (WHERE kernel = 'server') AS server,
	count(DISTINCT crc) AS crcs,
	bool_and(iterations > 0 AND ns_min > 0 AND ns_min <= ns_median AND ns_median <= ns_max) AS ordered,
	bool_and(CASE WHEN bytes > 0 THEN abs(gb_per_s * ns_min / bytes - 1) < 1e-9
		ELSE gb_per_s * ns_min BETWEEN 150 AND 170 END) AS rate
FROM timed GROUP BY bytes ORDER BY bytes;

-- misaligned, chained, spread over a working set: the same checksums
SELECT v.what, count(*) AS rows, bool_and(v.crc = t.crc) AS same
FROM (SELECT 'align', * FROM checksum_bench('crc32c', '{300,0}', '{slicing8}', '1 ms', align => 3)
	UNION ALL
	SELECT 'chained', * FROM checksum_bench('crc32c', '{300,0}', '{slicing8}', '1 ms', chained => true)
	UNION ALL
	SELECT 'working set', * FROM checksum_bench('crc32c', '{300,0}', '{slicing8}', '1 ms', working_set => 1000000)
	) v (what, kernel, bytes, iterations, ns_min, ns_median, ns_max, gb_per_s, crc)
	JOIN timed t USING (kernel, bytes) GROUP BY v.what ORDER BY v.what;

-- kernels as named and in that order, the reference too when it is named
SELECT kernel, bytes FROM checksum_bench('crc32c', '{20,64}', '{bitwise,slicing8}', '1 ms');

-- the default sizes
SELECT count(DISTINCT bytes) FROM checksum_bench(kernels => '{slicing8}', min_time => '1 ms');

-- the other algorithm, which the server has no function for
SELECT count(DISTINCT crc) AS crcs, count(*) = (SELECT count(*) FROM checksum_kernels()
		WHERE algorithm = 'crc32' AND available AND kernel <> 'bitwise') AS every_kernel
FROM checksum_bench('crc32', '{100}', min_time => '1 ms');

-- the records of a trace, nanoseconds per record
SELECT bytes, count(DISTINCT crc) AS crcs, count(*) > 3 AS kernels, bool_or(kernel = 'server') AS server,
	bool_and(iterations % 5 = 0) AS whole_traces,
	bool_and(abs(gb_per_s * ns_min / 64.4 - 1) < 1e-9) AS rate
FROM checksum_bench(trace => ' 76 22+5+46*2' || E'\n0*2 ', min_time => '1 ms') GROUP BY bytes;
SELECT a.crc = b.crc AS repeated FROM checksum_bench(trace => '40*3 22+5', kernels => '{slicing8}', min_time => '1 ms') a,
	checksum_bench(trace => '40 40 40 22+5', kernels => '{server}', min_time => '1 ms') b;

-- pages
SELECT count(DISTINCT crc) AS crcs, min(bytes) = 5 * current_setting('block_size')::integer AS five_pages,
	count(*) = (SELECT count(*) FROM checksum_kernels() WHERE algorithm = 'page' AND available) AS every_kernel,
	bool_and(iterations > 0 AND ns_min > 0 AND ns_min <= ns_median AND ns_median <= ns_max) AS ordered
FROM checksum_bench('page', ARRAY[5 * current_setting('block_size')::integer], min_time => '1 ms');
SELECT kernel, bytes = 4 * current_setting('block_size')::integer AS four_pages FROM checksum_bench('page', kernels => '{portable}', min_time => '1 ms');

-- a statement timeout ends it (in a time in which RESET ends, on a machine at work)
SET statement_timeout = 300;
SELECT drive_crc32c(2147483647, 1000000000);
SELECT count(*) FROM checksum_bench(min_time => '10 minutes');
SELECT count(*) FROM checksum_bench('crc32c', '{100000000}', min_time => '10 minutes');
SELECT count(*) FROM checksum_bench('page', min_time => '10 minutes');
RESET statement_timeout;

-- bad input
SELECT drive_crc32c(-1, 1);
SELECT drive_crc32c(1, -1);
SELECT count(*) FROM checksum_bench('crc32c', '{20,-1}');
SELECT count(*) FROM checksum_bench('crc32c', '{}');
SELECT count(*) FROM checksum_bench('crc32c', '{20,NULL}');
SELECT count(*) FROM checksum_bench('crc32c', '{{20},{30}}');
SELECT count(*) FROM checksum_bench('crc32c', '{2000000000}');
\set VERBOSITY sqlstate
SELECT count(*) FROM checksum_bench('crc32c', '{20}', '{}');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', '{NULL}');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', '{fastest}');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', '{portable}');
\set VERBOSITY default
SELECT count(*) FROM checksum_bench('crc32c', '{20}', min_time => '0');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', min_time => '-1 s');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', min_time => '1 day');
SELECT count(*) FROM checksum_bench('crc32c', '{20}', min_time => NULL);
SELECT count(*) FROM checksum_bench('crc32c', '{20}', align => -1);
SELECT count(*) FROM checksum_bench('crc32c', '{20}', align => 4096);
SELECT count(*) FROM checksum_bench('crc32c', '{20}', align => NULL);
SELECT count(*) FROM checksum_bench('crc32c', '{20}', chained => NULL);
SELECT count(*) FROM checksum_bench('crc32c', '{100000}', working_set => 99999);
SELECT count(*) FROM checksum_bench('crc32c', '{20}', working_set => 1073741825);
SELECT count(*) FROM checksum_bench('crc64');
SELECT count(*) FROM checksum_bench(NULL);
SELECT count(*) FROM checksum_bench('crc32', '{20}', '{server}');
SELECT count(*) FROM checksum_bench(trace => '');
SELECT count(*) FROM checksum_bench(trace => '20 30+');
SELECT count(*) FROM checksum_bench(trace => '20*0');
SELECT count(*) FROM checksum_bench(trace => '20 5x');
SELECT count(*) FROM checksum_bench(trace => '32769');
SELECT count(*) FROM checksum_bench(trace => '1*1048577');
SELECT count(*) FROM checksum_bench('page', '{0}');
SELECT count(*) FROM checksum_bench('page', '{8191}');
SELECT count(*) FROM checksum_bench('page', chained => true);
\set VERBOSITY sqlstate
SELECT count(*) FROM checksum_bench('page', kernels => '{slicing8}');
SELECT count(*) FROM checksum_bench('page', '{2147475456}');
\set VERBOSITY default

-- only for those who monitor
CREATE ROLE regress_bench_none;
CREATE ROLE regress_bench_monitor;
GRANT pg_monitor TO regress_bench_monitor;
SELECT r, f.oid::regprocedure AS function, has_function_privilege(r, f.oid, 'EXECUTE') AS may
FROM pg_proc f, unnest(ARRAY['regress_bench_none', 'regress_bench_monitor']) r
WHERE proname IN ('drive_crc32c', 'checksum_bench')
ORDER BY r, proname;
SET ROLE regress_bench_none;
SELECT drive_crc32c(1, 1);
RESET ROLE;
DROP ROLE regress_bench_none, regress_bench_monitor;

DROP EXTENSION crc32c_accel;
