--
-- Kernels: listing, forcing, self-test
--
CREATE EXTENSION crc32c_accel;

-- one kernel an algorithm is selected, the best that is available
SELECT algorithm, count(*) FILTER (WHERE selected) AS selected,
	bool_and(available) FILTER (WHERE selected) AS available,
	bool_and(compiled OR NOT available) AS compiled
FROM checksum_kernels() GROUP BY algorithm ORDER BY algorithm;
SELECT crc32c_kernel() = kernel AS agrees FROM checksum_kernels()
WHERE algorithm = 'crc32c' AND selected;
SELECT algorithm, kernel, arch, requires, compiled, available FROM checksum_kernels()
WHERE arch = 'any' ORDER BY algorithm, kernel;

-- every kernel that this CPU has agrees with the definition
SELECT algorithm, kernel, failures, first_failure FROM checksum_self_test()
WHERE failures > 0 OR cases < 100;
SELECT bool_and(crc32c_with_kernel(kernel, '123456789') = 3808858755) AS check_value,
	bool_and(crc32c_with_kernel(kernel, '6789', crc32c('12345')) = 3808858755) AS extended
FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available;

-- forcing
SET crc32c_accel.kernel = 'slicing8';
SELECT crc32c_kernel(), crc32c_accel('123456789'), crc32('123456789');
SELECT kernel, reason FROM checksum_kernels()
WHERE algorithm = 'crc32c' AND arch = 'any' ORDER BY kernel;
SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32' AND selected;
SET crc32c_accel.kernel = 'bitwise';
SELECT crc32c_kernel(), crc32c_accel('123456789');
SET crc32c_accel.page_kernel = 'portable';
SELECT kernel FROM checksum_kernels() WHERE algorithm = 'page' AND selected;
RESET crc32c_accel.kernel;
RESET crc32c_accel.page_kernel;

-- bad input
\set VERBOSITY terse
SET crc32c_accel.kernel = 'fastest';
\set VERBOSITY sqlstate
SELECT crc32c_with_kernel('fastest', 'a');
SELECT crc32c_with_kernel('slicing8', 'a', -1);
SET crc32c_accel.no_such = 1;
\set VERBOSITY default

-- a kernel that cannot run here is refused, by function and by parameter
DO $$
DECLARE
	k text;
	state text;
BEGIN
	SELECT kernel INTO k FROM checksum_kernels()
	WHERE algorithm = 'crc32c' AND NOT available AND NOT compiled LIMIT 1;
	BEGIN
		PERFORM crc32c_with_kernel(k, 'a');
		RAISE 'accepted %', k;
	EXCEPTION WHEN feature_not_supported THEN NULL;
	END;
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
SELECT sum(crc32c_accel(n::text::bytea)) FROM generate_series(1, 100) n WHERE crc32(n::text::bytea) > 0;

DROP EXTENSION crc32c_accel;
