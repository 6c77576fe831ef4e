/*
 * sink.h
 *	  Where scans of relations put what they find, as output and nothing else.
 */
#ifndef ACCEL_PAGE_SINK_H
#define ACCEL_PAGE_SINK_H

#include "page/digest.h"
#include "page/finding.h"

typedef struct ScanSink ScanSink;

/*
 * These are the callbacks of a scan, to be embedded in a larger struct that
 * carries state.  Any of them may be NULL.  They may raise errors (a cancel,
 * say), since no buffer lock is held when they are called, and files and pins
 * are the transaction's.
 */
struct ScanSink
{
	/* a fork begins, whose blocks are known */
	void		(*fork_begin) (ScanSink *sink, const ForkSummary *summary);

	/* a finding, in block order within a fork */
	void		(*finding) (ScanSink *sink, const PageFinding *finding);

	/* every page that is ok or new, in block order, aligned to 8 bytes */
	void		(*page) (ScanSink *sink, BlockNumber blkno, const char *page);

	/*
	 * The same where workers share the blocks, or where page is NULL. Workers
	 * send no pages, but what digest asks them to make of these, in block
	 * order.
	 */
	PageDigestOptions digest;
	void		(*part) (ScanSink *sink, const DigestRow *part);

	/* so many blocks more have been dealt with */
	void		(*progress) (ScanSink *sink, int64 blocks);

	/*
	 * Shall the scan end early?  It is asked between two reads, and the
	 * summary then says where to go on.  It may raise an error, and workers
	 * are not waited for then.
	 */
	bool		(*enough) (ScanSink *sink);

	/* a fork ends */
	void		(*fork_end) (ScanSink *sink, const ForkSummary *summary);
};

#endif							/* ACCEL_PAGE_SINK_H */
