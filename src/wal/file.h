/*
 * file.h
 *	  One file of WAL, plain or compressed, read at any offset.
 *
 * A compressed file is decoded forwards, and only as far as it is read.  What
 * was decoded first and last stays at hand.  Reading between decodes it anew.
 */
#ifndef ACCEL_WAL_FILE_H
#define ACCEL_WAL_FILE_H

#include <limits.h>

#include "decode/decode.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "wal/reason.h"

/* stays in the second-level cache, a multiple of every page size */
#define WAL_PIECE_BYTES		(128 * 1024)

/* the size of a compressed file whose end was not reached yet */
#define WAL_SIZE_UNKNOWN	UINT64_MAX

typedef struct WalFile
{
	FileScan	scan;			/* the file as it is stored */
	char		path[PATH_MAX]; /* empty if not open */
	DecodeFormat format;		/* settled by the first read */
	struct Throttle *throttle;	/* for each read of it, NULL if unbounded */
	FileWindow *device;			/* for reads past the page cache, else NULL */
	bool		through_cache;	/* the next one is read so all the same */
	bool		stopped;		/* nothing more is read, see wal_files_stop() */

	/*
	 * If it is compressed, the first piece, and the last bytes decoded, from
	 * held up to position.
	 */
	uint8_t    *head;			/* WAL_PIECE_BYTES */
	size_t		head_len;
	Decoder    *decoder;		/* kept for the next file */
	HostAtEnd  *at_end;			/* frees it if the work fails */
	uint8_t    *window;			/* 2 * WAL_PIECE_BYTES */
	uint64_t	held;
	uint64_t	position;
	bool		ended;
	WalVerdict	failed;			/* no reason if it ended well, or not yet */
} WalFile;

/*
 * Makes *file ready to be opened, any number of times, and if direct, read past
 * the page cache.  It must be of the memory that is allocated now.  What it
 * holds is freed with that.  Nothing of it is allocated later, since a walk may
 * free the memory of each segment after it.
 */
extern void wal_file_init(WalFile *file, bool direct);

/* From now on what is read is bounded, or no longer (NULL). */
extern void wal_file_throttle(WalFile *file, struct Throttle *throttle);

/*
 * Opens a file of any format, readable or not.  The format that its name
 * promises is in named, which decides where the first bytes do not.
 */
extern FileScanResult wal_file_open(WalFile *file, const char *path,
									DecodeFormat named);

/* The next read is of what is in the file then, which may have grown. */
extern void wal_file_restart(WalFile *file);

/* Returns the number of decoded bytes, or WAL_SIZE_UNKNOWN. */
extern uint64_t wal_file_size(const WalFile *file);

/*
 * Returns at most WAL_PIECE_BYTES at an offset, in buffer or in place until
 * the next call.  Sets *len, which is short at the end and 0 after it.  Sets
 * *failed where less than wanted is there because something failed.
 */
extern const uint8_t *wal_file_piece(WalFile *file, uint8_t *buffer,
									 uint64_t offset, size_t wanted,
									 size_t *len, WalVerdict *failed);

/*
 * Is the open file longer than when its last reading began?  If it was written
 * in the last minute, somebody may be about to make it so.  Waits for that, as
 * long as there are pauses (of WAL_PAUSE microseconds) left.
 */
extern bool wal_file_grows(const WalFile *file, int *pauses);

#define WAL_PAUSE	10000

extern void wal_file_close(WalFile *file);

/* Returns what went wrong with a file of a format, as a verdict on it. */
extern WalVerdict wal_file_failure(DecodeFormat format,
								   const DecodeFailure *failure);

/* Closes it for good and frees what it holds. */
extern void wal_file_end(WalFile *file);

#endif							/* ACCEL_WAL_FILE_H */
