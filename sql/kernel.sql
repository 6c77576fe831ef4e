--
-- Kernels: listing, forcing, self-test
--
CREATE EXTENSION crc32c_accel;

-- one kernel an algorithm is selected, the best that is available
SELECT algorithm, count(*) FILTER (WHERE selected) AS selected,
	bool_and(available) FILTER (WHERE selected) AS available,
	bool_and(compiled OR NOT available) AS compiled
FROM checksum_kernels() GROUP BY algorithm ORDER BY algorithm;
SELECT algorithm, kernel, arch, requires, compiled, available FROM checksum_kernels()
WHERE arch = 'any' ORDER BY algorithm, kernel;

-- every kernel that this CPU has agrees with the definition
SELECT algorithm, kernel, failures, first_failure FROM checksum_self_test()
WHERE failures > 0 OR cases < 100;
-- the CRC-32C of a value by each kernel
CREATE FUNCTION pg_temp.by_kernel(kernel text, data bytea, crc bigint DEFAULT 0) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('crc32c_accel.kernel', kernel, false);
	RETURN public.crc32c_extend(crc, data);
END $$;
SELECT bool_and(pg_temp.by_kernel(kernel, '123456789') = 3808858755) AS check_value,
	bool_and(pg_temp.by_kernel(kernel, '6789', crc32c('12345')) = 3808858755) AS extended
FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available;
RESET crc32c_accel.kernel;

-- forcing
SET crc32c_accel.kernel = 'slicing8';
SELECT public.crc32c('123456789'), crc32('123456789');
SELECT kernel, reason FROM checksum_kernels()
WHERE algorithm = 'crc32c' AND arch = 'any' ORDER BY kernel;
SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32' AND selected;
SET crc32c_accel.kernel = 'bitwise';
SELECT kernel, public.crc32c('123456789') FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected;
SET crc32c_accel.page_kernel = 'portable';
SELECT kernel FROM checksum_kernels() WHERE algorithm = 'page' AND selected;
RESET crc32c_accel.kernel;
RESET crc32c_accel.page_kernel;

-- bad input
\set VERBOSITY terse
SET crc32c_accel.kernel = 'fastest';
\set VERBOSITY sqlstate
SET crc32c_accel.no_such = 1;
\set VERBOSITY default

-- a kernel that cannot run here is refused
DO $$
DECLARE
	k text;
	state text;
BEGIN
	SELECT kernel INTO k FROM checksum_kernels()
	WHERE algorithm = 'crc32c' AND NOT available AND NOT compiled LIMIT 1;
	BEGIN
		PERFORM set_config('crc32c_accel.kernel', k, false);
		RAISE 'accepted %', k;
	EXCEPTION WHEN feature_not_supported THEN NULL;
	END;
END $$;

-- JIT must not try to inline what this library hides
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT sum(public.crc32c(n::text::bytea)) FROM generate_series(1, 100) n WHERE crc32(n::text::bytea) > 0;

DROP EXTENSION crc32c_accel;
