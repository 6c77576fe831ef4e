/*
 * replace.c
 *	  Writes a file so that its name leads to the old or the new one, whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/host.h"
#include "program/replace.h"

static void
remove_temporary(void *arg)
{
	Replace    *replace = arg;

	unlink(replace->temporary);
}

/* As open() would have made it. */
static void
set_mode(int fd)
{
	mode_t		mask = umask(0);

	umask(mask);
	(void) fchmod(fd, 0666 & ~mask);
}

bool
replace_begin(Replace *replace, const char *path)
{
	size_t		room = strlen(path) + 8;
	int			fd;

	replace->path = path;
	replace->temporary = host_alloc(room);
	snprintf(replace->temporary, room, "%s.XXXXXX", path);
	fd = mkstemp(replace->temporary);
	if (fd < 0)
	{
		program_warn("could not write \"%s\": %s", path, strerror(errno));
		host_free(replace->temporary);
		return false;
	}
	program_at_end(remove_temporary, replace);
	set_mode(fd);
	replace->file = fdopen(fd, "w");
	if (replace->file == NULL)
		program_fail("out of memory");
	return true;
}

/* After a write that failed.  Nobody kept its error, but the next one fails, too. */
static int
write_error(FILE * file)
{
	clearerr(file);
	errno = EIO;
	return fputc('\n', file) == EOF || fflush(file) != 0 ? errno : EIO;
}

/* Closes the file.  Returns 0, or why what was written is not all there. */
static int
close_file(FILE * file, bool durable)
{
	int			error = 0;

	if (ferror(file))
		error = write_error(file);
	else if (fflush(file) != 0 || (durable && fsync(fileno(file)) != 0))
		error = errno;
	if (fclose(file) != 0 && error == 0)
		error = errno;
	return error;
}

bool
replace_end(Replace *replace, bool done, bool durable)
{
	int			error = close_file(replace->file, durable);

	if (done && error == 0 && rename(replace->temporary, replace->path) != 0)
		error = errno;
	if (!done || error != 0)
		unlink(replace->temporary);
	program_forget_end();
	host_free(replace->temporary);
	if (done && error != 0)
		program_warn("could not write \"%s\": %s", replace->path, strerror(error));
	return error == 0;
}
