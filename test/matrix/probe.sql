SELECT crc32c_kernel() AS kernel
SELECT (SELECT string_agg(algorithm || '/' || kernel, ' ' ORDER BY algorithm) FROM checksum_kernels() WHERE selected) AS selected
SELECT (crc32c_accel('123456789') = 3808858755 AND crc32('123456789') = 3421780262 AND crc32c_accel('') = 0)::text AS answers
SELECT (crc32c_combine(crc32c_accel('12345'), crc32c_accel('6789'), 4) = 3808858755)::text AS combines
SELECT count(*)::text AS kernels, sum(failures)::text AS failures FROM checksum_self_test()
SELECT bool_and(crc32c_with_kernel(kernel, decode(repeat('5a', 5000), 'hex')) = crc32c_accel(decode(repeat('5a', 5000), 'hex')))::text AS agree FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available
