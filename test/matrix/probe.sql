SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected
SELECT (SELECT string_agg(algorithm || '/' || kernel, ' ' ORDER BY algorithm) FROM checksum_kernels() WHERE selected) AS selected
SELECT (public.crc32c('123456789') = 3808858755 AND crc32('123456789') = 3421780262 AND public.crc32c('') = 0)::text AS answers
SELECT (crc32c_combine(public.crc32c('12345'), public.crc32c('6789'), 4) = 3808858755)::text AS combines
SELECT count(*)::text AS kernels, sum(failures)::text AS failures FROM checksum_self_test()
SELECT (count(DISTINCT CASE WHEN set_config('crc32c_accel.kernel', kernel, false) IS NOT NULL THEN public.crc32c(decode(repeat('5a', n), 'hex')) END) = 1)::text AS agree FROM checksum_kernels(), generate_series(5000, 5000) n WHERE algorithm = 'crc32c' AND available
