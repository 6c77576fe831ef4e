/*
 * image.h
 *	  Finds lost writes that the server has built upon, by the WAL alone.
 */
#ifndef ACCEL_LOST_IMAGE_H
#define ACCEL_LOST_IMAGE_H

#include "lost/disk.h"
#include "wal/directory.h"

typedef struct LostImageOptions
{
	const WalDirectory *dir;
	WalLsn		start;			/* 0 for that of the oldest segment */
	WalLsn		end;			/* WAL_LSN_MAX for as far as there is any */
	size_t		memory;			/* bytes */
	struct Throttle *throttle;	/* limits reading, or NULL */
} LostImageOptions;

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

extern void lost_images(const LostImageOptions *options, LostImageFn emit,
						void *arg);

#endif							/* ACCEL_LOST_IMAGE_H */
