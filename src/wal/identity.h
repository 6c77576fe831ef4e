/*
 * identity.h
 *	  What a WAL file says of itself.
 */
#ifndef ACCEL_WAL_IDENTITY_H
#define ACCEL_WAL_IDENTITY_H

#include "wal/page.h"
#include "wal/reason.h"

typedef struct WalIdentity
{
	WalVerdict	unsupported;	/* no reason if ok, else the version is known,
								 * or two pages agree on an unknown magic */
	uint16_t	magic;			/* 0 if no page could be recognised */
	uint32_t	page_size;
	uint32_t	segment_size;	/* a valid one always */
	bool		has_long_header;
	bool		has_system;
	uint64_t	system;			/* any value, since a damaged header may hold
								 * 0 */
	bool		zero;			/* the first page is all zero */
	WalLsn		address;		/* of the first page by its own word, 0 if
								 * unknown */
	uint32_t	timeline;		/* likewise */
	WalLsn		second_address; /* the same by the second page's word, which
								 * in a recycled file is an older one */
} WalIdentity;

/*
 * Looks at the first len bytes of a file of file_size bytes (two pages are
 * enough, all of what is shorter).  The sizes given are those to fall back to.
 */
extern void wal_identify(WalIdentity *id, const uint8_t *data, size_t len,
						 uint64_t file_size, uint32_t page_size,
						 uint32_t segment_size);

#endif							/* ACCEL_WAL_IDENTITY_H */
