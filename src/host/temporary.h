/*
 * temporary.h
 *	  Temporary files of the program that readers run in.
 *
 * A part of the seam of host/host.h.  What cannot be made or written ends the
 * work, but for names that do not fit.  All is gone when the work ends, however
 * it ends.
 */
#ifndef ACCEL_HOST_TEMPORARY_H
#define ACCEL_HOST_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_FOLDER_PATH	1024	/* with terminator */

typedef struct HostFolder
{
	char		path[HOST_FOLDER_PATH]; /* empty if there is none */
} HostFolder;

/*
 * Makes a folder, which goes with the memory that is allocated now at the
 * latest.  The struct lives as long.
 */
extern void host_folder_begin(HostFolder *folder);
extern void host_folder_end(HostFolder *folder);

/* These make a folder or a new file in it.  False or -1 is with errno. */
extern bool host_folder_add(const char *path);
extern int	host_folder_create(const char *path);

/* Closes a file that was written.  False is with errno. */
extern bool host_folder_close(int fd);

/* Ends the work if its temporary files may not have so many bytes. */
extern void host_folder_check(uint64_t bytes);

/* Ends the work, since writing to the folder failed for what errno says. */
_Noreturn extern void host_folder_failed(const HostFolder *folder);

/* A file without a name, which is written from its start, and read anywhere. */
typedef struct HostScratch HostScratch;

extern HostScratch *host_scratch_begin(void);
extern void host_scratch_write(HostScratch *scratch, const void *bytes,
							   size_t size);

/* Reads what was written.  No write follows. */
extern void host_scratch_read(HostScratch *scratch, void *bytes, size_t size,
							  int64_t offset);
extern void host_scratch_end(HostScratch *scratch);

#endif							/* ACCEL_HOST_TEMPORARY_H */
