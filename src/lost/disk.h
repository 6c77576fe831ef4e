/*
 * disk.h
 *	  Holds what WAL has proved of blocks against the disk.
 *
 * Entries are first held against the disk without a lock, which gives
 * suspects.  Each suspect is then decided under the locks that make the answer
 * exact.
 */
#ifndef ACCEL_LOST_DISK_H
#define ACCEL_LOST_DISK_H

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "host/file_scan.h"
#include "lost/book.h"
#include "page/decide.h"

/* A block of this database, or a shared one, that the disk seems to lack. */
typedef struct LostSuspect
{
	LostEntry	entry;

	/* known once it is decided */
	Oid			relid;			/* AccessShareLock is held on it */
	LostStatus	status;
	XLogRecPtr	disk_lsn;		/* of a stale page */
	XLogRecPtr	cached_lsn;		/* of a valid buffer over it, or 0 */
	bool		dirty;			/* it is to be written */
	XLogRecPtr	page_cache_lsn; /* of a good page of the page cache over the
								 * device's, or 0 */
	int			error;			/* errno of a read that failed */
	bool		damaged;		/* the disk's page is, and the buffer's,
								 * proven by its checksum, is stale */
} LostSuspect;

typedef struct LostSuspects
{
	LostSuspect *items;
	size_t		room;
	size_t		count;
	struct Throttle *throttle;	/* limits the pages asked for, or NULL */
	FileWindow *window;			/* of reads of the device, NULL for those of
								 * the page cache */
	bool		pass_over;		/* file systems that do not read the device
								 * are no error */
	List	   *refused;		/* their tablespaces, as OIDs */
	bool		survey;			/* of all databases, whose catalogs are not
								 * asked */
	bool		(*enough) (void *arg, size_t blocks);	/* as of LostOptions */
	void	   *arg;
	size_t		unasked;		/* entries, since that was enough */
} LostSuspects;

/* Is it a block that this database can judge? */
static inline bool
lost_disk_is_ours(const WalBlockTag *tag)
{
	return tag->database == MyDatabaseId || tag->database == InvalidOid;
}

/*
 * Asks the disk for entries from the at-th on, in order.  Adds those to the
 * suspects that are older there, or missing.  Returns where it stopped because
 * there is no more room, else count.  Entries of relations that do not exist
 * are passed over.
 */
extern size_t lost_disk_ask(const LostEntry *entries, size_t at, size_t count,
							LostSuspects *suspects);

/*
 * Decides a suspect, if direct by what the device has.  Once it has returned
 * true, and while the lock is held, only an earlier record that ended the
 * storage can clear the suspect.  The caller releases the lock.
 */
extern bool lost_disk_decide(LostSuspect *suspect, bool direct);

/*
 * Does the same, but returns false, with nothing decided, if it would have to
 * wait for the lock.
 */
extern bool lost_disk_decide_at_once(LostSuspect *suspect, bool direct,
									 bool *found);

/* Does such a proof hold for relations of this access method? */
extern bool lost_disk_proof_holds(Relation rel, LostProof proof);

/*
 * What the disk has of a block of any database, if direct the device.  Nothing
 * is locked, and nothing but its LSN is judged.
 */
typedef enum LostDiskBlock
{
	LOST_DISK_NO_BLOCK,
	LOST_DISK_UNREADABLE,
	LOST_DISK_REFUSED,			/* the file system does not read the device */
	LOST_DISK_BLOCK				/* *lsn is set */
} LostDiskBlock;

extern LostDiskBlock lost_disk_read(const WalBlockTag *tag, bool direct,
									XLogRecPtr *lsn);

/* The path of the file that holds a block. */
extern void lost_disk_path(const WalBlockTag *tag, char dst[SCAN_PATH_SIZE]);

#endif							/* ACCEL_LOST_DISK_H */
