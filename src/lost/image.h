/*
 * image.h
 *	  Finds lost writes that the server has built upon, by the WAL alone.
 */
#ifndef ACCEL_LOST_IMAGE_H
#define ACCEL_LOST_IMAGE_H

#include "page/status.h"
#include "wal/block_image.h"
#include "wal/directory.h"

typedef struct LostImageOptions
{
	const WalDirectory *dir;
	WalLsn		start;			/* 0 for that of the oldest segment */
	WalLsn		end;			/* WAL_LSN_MAX for as far as there is any */
	uint32_t	timeline;		/* whose history is read, 0 for the newest */
	uint32_t	block_size;		/* of relations, in bytes */
	const WalDecompressors *decompressors;
	size_t		memory;			/* bytes */
	struct Throttle *throttle;	/* limits reading, or NULL */
} LostImageOptions;

typedef struct LostImageEnd
{
	WalLsn		begin;			/* what was read */
	WalLsn		end;
	uint64_t	records;
	uint64_t	images;			/* held against a record before them */
} LostImageEnd;

/*
 * A row of SQL.  LOST_NOT_VERIFIABLE is about no block, and the message tells
 * why.
 */
typedef struct LostImage
{
	LostStatus	status;
	WalBlockTag tag;
	WalLsn		page_lsn;		/* the image's own */
	WalLsn		expected_lsn;	/* the end of the record before it */
	WalLsn		lsn;			/* where the record with the image starts */
	char		segment[WAL_NAME_SIZE];
	char		message[WAL_MESSAGE_SIZE];
} LostImage;

typedef void (*LostImageFn) (void *arg, const LostImage *image);

/* What was read is told in end, if that is not NULL. */
extern void lost_images(const LostImageOptions *options, LostImageFn emit,
						void *arg, LostImageEnd *end);

#endif							/* ACCEL_LOST_IMAGE_H */
