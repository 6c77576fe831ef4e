/*
 * abseil.cc
 *	  Abseil's CRC-32C behind a C interface, for bench_kernels only: finished
 *	  CRCs, crc = 0 to start.
 */
#include "absl/crc/crc32c.h"

extern "C" uint32_t
bench_abseil_crc32c(uint32_t crc, const char *data, size_t len)
{
	return static_cast<uint32_t>(absl::ExtendCrc32c(absl::crc32c_t{crc}, {data, len}));
}
