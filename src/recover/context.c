/*
 * context.c
 *	  The state of a recovery of blocks, and how it fails.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recover/context.h"

bool
recover_fail(Recover *ctx, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(ctx->message, sizeof(ctx->message), format, args);
	va_end(args);
	return false;
}

bool
recover_fail_file(Recover *ctx, const char *what, const char *path)
{
	return recover_fail(ctx, "cannot %s \"%s\": %s", what, path,
						strerror(errno));
}
