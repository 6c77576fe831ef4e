/*
 * temporary.c
 *	  Temporary files of readers, of a program without a server.
 *
 * They are in the folder that TMPDIR names, else in /tmp.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/print.h"
#include "host/temporary.h"
#include "program/host.h"
#include "recover/path.h"

#define TEMPLATE	PROGRAM_NAME ".XXXXXX"

static const char *
temporary_place(void)
{
	const char *place = getenv("TMPDIR");

	return place == NULL || place[0] == '\0' ? "/tmp" : place;
}

/* ---- a folder ---- */

static void
remove_folder(void *arg)
{
	recover_remove(((HostFolder *) arg)->path);
}

void
host_folder_begin(HostFolder *folder)
{
	const char *place = temporary_place();

	if (strlen(place) + sizeof("/" TEMPLATE) > sizeof(folder->path))
		program_fail("path of TMPDIR is too long: \"%s\"", place);
	snprintf(folder->path, sizeof(folder->path), "%s/" TEMPLATE, place);
	if (mkdtemp(folder->path) == NULL)
		program_fail("could not create a temporary directory in \"%s\": %s",
					 place, strerror(errno));
	program_at_end(remove_folder, folder);
}

void
host_folder_end(HostFolder *folder)
{
	remove_folder(folder);
	program_forget_end();
}

bool
host_folder_add(const char *path)
{
	return mkdir(path, S_IRWXU) == 0;
}

int
host_folder_create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

bool
host_folder_close(int fd)
{
	return close(fd) == 0;
}

/* As much as the disk takes. */
void
host_folder_check(uint64_t bytes)
{
	(void) bytes;
}

void
host_folder_failed(const HostFolder *folder)
{
	program_fail("could not write to temporary directory \"%s\": %s",
				 folder->path, strerror(errno));
}

/* ---- a file without a name ---- */

struct HostScratch
{
	FILE	   *file;
};

_Noreturn static void
cannot_write(void)
{
	program_fail("could not write to a temporary file in \"%s\": %s",
				 temporary_place(), strerror(errno));
}

HostScratch *
host_scratch_begin(void)
{
	HostScratch *scratch = host_alloc(sizeof(HostScratch));
	char	   *path = host_print("%s/" TEMPLATE, temporary_place());
	int			fd = mkstemp(path);

	if (fd < 0 || unlink(path) != 0 || (scratch->file = fdopen(fd, "w+")) == NULL)
		cannot_write();
	host_free(path);
	return scratch;
}

void
host_scratch_write(HostScratch *scratch, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, scratch->file) != size)
		cannot_write();
}

/* What was written may not have got to the disk until then. */
void
host_scratch_read(HostScratch *scratch, void *bytes, size_t size,
				  int64_t offset)
{
	if (fseeko(scratch->file, (off_t) offset, SEEK_SET) != 0)
		cannot_write();
	if (fread(bytes, 1, size, scratch->file) != size)
		program_fail("could not read from a temporary file in \"%s\"",
					 temporary_place());
}

void
host_scratch_end(HostScratch *scratch)
{
	fclose(scratch->file);
	host_free(scratch);
}
