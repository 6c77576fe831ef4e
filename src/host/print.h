/*
 * print.h
 *	  Text as by printf, in memory of its own.
 */
#ifndef ACCEL_HOST_PRINT_H
#define ACCEL_HOST_PRINT_H

/* Returns it allocated by host_alloc(). */
extern char *host_print(const char *format,...)
			__attribute__((format(printf, 1, 2)));

#endif							/* ACCEL_HOST_PRINT_H */
