/*
 * amount.c
 *	  Amounts in words and figures, that is counts, sizes, rates.
 */
#include "compat.h"

#include "func/func.h"

const char *
accel_counted(int64 number, const char *one, const char *several)
{
	return psprintf(INT64_FORMAT " %s", number, number == 1 ? one : several);
}

const char *
accel_size_text(double bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	int			unit = 0;

	for (; bytes >= 1000 && unit < lengthof(units) - 1; unit++)
		bytes /= 1024;
	return psprintf("%.*f %s", unit > 0 && bytes < 10 ? 1 : 0, bytes,
					units[unit]);
}

int64
accel_bytes_per_second(int64 bytes, double seconds)
{
	return (int64) (bytes / Max(seconds, 1e-6));
}
