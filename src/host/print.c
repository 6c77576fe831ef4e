/*
 * print.c
 *	  Text as by printf, in memory of its own.
 */
#include <stdarg.h>
#include <stdio.h>

#include "host/host.h"
#include "host/print.h"

char *
host_print(const char *format,...)
{
	va_list		arguments;
	char	   *text;
	int			length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		length = 0;				/* of no format of ours */
	text = host_alloc((size_t) length + 1);
	text[		0] = '\0';

	va_start(arguments, format);
	(void) vsnprintf(text, (size_t) length + 1, format, arguments);
	va_end(arguments);
	return text;
}
