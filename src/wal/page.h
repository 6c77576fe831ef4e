/*
 * page.h
 *	  Whether a WAL page header is what it must be.
 *
 * Pure.  It takes bytes and an expectation and gives a verdict.
 */
#ifndef ACCEL_WAL_PAGE_H
#define ACCEL_WAL_PAGE_H

#include "wal/reason.h"
#include "wal/version.h"

/* What the header of a page must say. */
typedef struct WalPageExpectation
{
	WalLsn		lsn;			/* of the page */
	uint32_t	segment_size;
	uint32_t	page_size;
	const WalVersion *version;	/* NULL if any supported one */
	uint32_t	timeline;		/* 0 if only known to be between the next two */
	uint32_t	timeline_least; /* that of the page before */
	uint32_t	timeline_most;
} WalPageExpectation;

/* Is the header valid?  If not, *verdict is the reason why. */
extern bool wal_page_check(const WalPageExpectation *expect,
						   const uint8_t *page, WalVerdict *verdict);

/* Is this a page with this very address, of a version that is known? */
extern bool wal_page_is_at(const uint8_t *page, WalLsn address);

/*
 * The same, and does a record start on it?  Given the pages of a record from
 * the last one backwards, a walk can start at the first for which this holds.
 */
extern bool wal_page_starts_record(const uint8_t *page, uint32_t page_size,
								   WalLsn address);

/*
 * Is this what a recycled file held here before, where the page at address
 * should be?
 */
extern bool wal_page_is_recycled(const uint8_t *page, WalLsn address,
								 uint32_t segment_size);

/* Has the page flags of this version, or of any for NULL, and no others? */
extern bool wal_page_flags_known(const uint8_t *page,
								 const WalVersion *version);

static inline uint32_t
wal_page_header_size(WalLsn page, uint32_t segment_size)
{
	return page % segment_size == 0 ? WAL_PAGE_LONG : WAL_PAGE_SHORT;
}

#endif							/* ACCEL_WAL_PAGE_H */
