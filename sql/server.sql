--
-- The server's own CRC, in a session that loaded the library by itself: it
-- tells, and replaces nothing
--
-- (what a preloaded library does: test/t/040_accelerate.pl and following; in a
-- server that preloads it, the rows are what its settings say)
--
CREATE EXTENSION IF NOT EXISTS crc32c_accel;

SELECT name, boot_val, context, vartype FROM pg_settings
WHERE name = 'crc32c_accel.accelerate_server';
SET crc32c_accel.accelerate_server = on;
SELECT current_setting('shared_preload_libraries') ~ 'crc32c_accel' AS is_preloaded,
	current_setting('crc32c_accel.accelerate_server') AS is_on \gset

-- the row is consistent on every server, whether it has the pointer or not
SELECT preloaded = :'is_preloaded' AS preloaded,
	accelerated = (preloaded AND swappable AND :'is_on') AS accelerated,
	swappable = (self_test ~ '^ok, [0-9]{5,} cases$') AS tested_if_swappable,
	swappable OR self_test = 'not run' AS else_not,
	accelerated OR active_kernel IS NOT DISTINCT FROM server_kernel AS servers_own_is_active,
	NOT swappable OR server_kernel LIKE 'pg\_comp\_crc32c\_%' AS named,
	preloaded OR reason = 'crc32c_accel is not in shared_preload_libraries' OR NOT swappable AS not_preloaded,
	accelerated OR reason IS NOT NULL AS with_a_reason
FROM crc32c_server();

-- forcing a kernel in the session changes nothing there
SET crc32c_accel.kernel = 'slicing8';
SELECT accelerated OR active_kernel IS NOT DISTINCT FROM server_kernel AS servers_own_is_active,
	self_test LIKE 'ok, %' OR NOT swappable AS agrees
FROM crc32c_server();
RESET crc32c_accel.kernel;

-- the server's function, seen from here, gives what this extension gives
SELECT public.crc32c('123456789') = 3808858755 AS check_value;

-- anyone may look, no one but a superuser may switch
CREATE ROLE regress_server_reader;
SET ROLE regress_server_reader;
SELECT preloaded = :'is_preloaded' AS looks FROM crc32c_server();
ALTER SYSTEM SET crc32c_accel.accelerate_server = on;
RESET ROLE;
DROP ROLE regress_server_reader;
DROP EXTENSION crc32c_accel;
