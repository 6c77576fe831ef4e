/*
 * stored.h
 *	  Reads the files of a backup where another program stores them.
 *
 * A file may be compressed, part of a bundle, or in an earlier backup that has
 * the same one.  What is read is what it holds, in order.
 */
#ifndef ACCEL_BACKUP_STORED_H
#define ACCEL_BACKUP_STORED_H

#include "decode/decode.h"
#include "host/file_scan.h"
#include "manifest/list.h"

/* One file after the other is read with it. */
typedef struct StoredReader
{
	const BackupList *list;
	const char *root;
	struct Throttle *throttle;
	FileWindow *window;			/* for reads past the page cache, else NULL */
	Decoder    *decoder;
	struct HostAtEnd *at_end;	/* frees it if the work fails */

	/* the present one */
	const BackupStored *stored;
	char	   *path;
	FileScan	scan;
	bool		open;
	uint64_t	bytes;			/* that are stored of it */
	uint64_t	at;				/* of a plain one, where it is read next */
	DecodeFailure failure;		/* of a plain one */
} StoredReader;

/* It is of the memory that is allocated now. */
extern StoredReader *stored_begin(const BackupList *list, const char *root,
								  struct Throttle *throttle,
								  FileWindow *window);

/* Opens the file of an entry.  Where it fails, errno says why. */
extern FileScanResult stored_open(StoredReader *reader, uint32_t entry);

/* Reads the next bytes of it, fewer than len only at its end. */
extern size_t stored_read(StoredReader *reader, void *buffer, size_t len);

/* What went wrong with it, if anything did. */
extern DecodeFailure stored_failure(const StoredReader *reader);

extern void stored_close(StoredReader *reader);
extern void stored_end(StoredReader *reader);	/* may be NULL */

#endif							/* ACCEL_BACKUP_STORED_H */
