/*
 * digits.h
 *	  Reads a number in decimal digits, without a server.
 */
#ifndef ACCEL_HOST_DIGITS_H
#define ACCEL_HOST_DIGITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads one digit or more, up to the first other byte.  Returns where that is,
 * or NULL if there is no digit, or the number is larger than most.  That is 9
 * at least.
 */
static inline const char *
digits_read(const char *digits, uint64_t most, uint64_t *value)
{
	const char *at = digits;
	uint64_t	n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
	{
		uint64_t	digit = (uint64_t) (*at - '0');

		if (n > most / 10 || n * 10 > most - digit)
			return NULL;
		n = n * 10 + digit;
	}
	*value = n;
	return at == digits ? NULL : at;
}

#endif							/* ACCEL_HOST_DIGITS_H */
