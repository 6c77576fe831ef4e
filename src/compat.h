/*
 * compat.h
 *	  The only place that knows server versions (PG_VERSION_NUM).
 *
 * A wrapper here has the newest server's signature.  Callers never test the
 * version themselves.
 */
#ifndef ACCEL_COMPAT_H
#define ACCEL_COMPAT_H

#include "postgres.h"

#include <string.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"

#if PG_VERSION_NUM < 150000
#error "crc32c_accel needs PostgreSQL 15 or later"
#endif

/* RelidByRelfilenumber() is declared with the map from files to relations. */
#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#else
#include "utils/relfilenodemap.h"
#endif

/* 19's headers bring fewer others along, and 15 has no varatt.h yet. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * Symbols are hidden (-fvisibility in the Makefile), and 15 does not except
 * these.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

/* 15, 16 ... */
#define SERVER_MAJOR	(PG_VERSION_NUM / 10000)

/*
 * 16 renamed RelFileNode and made an inline function of INIT_BUFFERTAG.
 */
#if PG_VERSION_NUM < 160000
#define RelFileLocator RelFileNode
#define rd_locator rd_node
#define InitBufferTag(tag, locator, fork, blkno) \
	INIT_BUFFERTAG(*(tag), *(locator), fork, blkno)
#endif

/*
 * Are the relation's files those of the magnetic disk manager?  It is number 0
 * of the managers.  -DACCEL_THROUGH_SMGR makes a library that tests the other
 * answer.
 */
#ifdef ACCEL_THROUGH_SMGR
#define SMGR_IS_MD(smgr)	((void) (smgr), false)
#else
#define SMGR_IS_MD(smgr)	((smgr)->smgr_which == 0)
#endif

#if PG_VERSION_NUM < 180000
/*
 * Copies what relpath() has allocated, and frees it, since a run asks 300,000
 * times.
 */
static inline void
compat_take_path(char *dst, char *path, size_t size)
{
	strlcpy(dst, path, size);
	pfree(path);
}
#endif

/*
 * Writes the path of a relation's fork, relative to the data directory, into
 * dst of size bytes.  18 returns a struct where others allocate.  Wants
 * common/relpath.h and utils/rel.h.
 */
#if PG_VERSION_NUM >= 180000
#define RELATION_PATH(rel, fork, dst, size) \
	strlcpy(dst, relpathbackend((rel)->rd_locator, (rel)->rd_backend, \
								fork).str, size)
#else
#define RELATION_PATH(rel, fork, dst, size) \
	compat_take_path(dst, relpathbackend((rel)->rd_locator, \
										 (rel)->rd_backend, fork), size)
#endif

/*
 * The path of the first file of a main fork, by its parts, as RELATION_PATH.
 */
#if PG_VERSION_NUM >= 180000
#define LOCATOR_PATH(locator, dst, size) \
	strlcpy(dst, relpathperm(locator, MAIN_FORKNUM).str, size)
#else
#define LOCATOR_PATH(locator, dst, size) \
	compat_take_path(dst, relpathperm(locator, MAIN_FORKNUM), size)
#endif

/* The path of the first file of any fork, likewise. */
#if PG_VERSION_NUM >= 180000
#define LOCATOR_FORK_PATH(locator, fork, dst, size) \
	strlcpy(dst, relpathperm(locator, fork).str, size)
#else
#define LOCATOR_FORK_PATH(locator, fork, dst, size) \
	compat_take_path(dst, relpathperm(locator, fork), size)
#endif

/* 16 renamed the members of RelFileLocator, too. */
#if PG_VERSION_NUM < 160000
#define LOCATOR_TABLESPACE(locator)	((locator).spcNode)
#define LOCATOR_DATABASE(locator)	((locator).dbNode)
#define LOCATOR_NUMBER(locator)		((locator).relNode)
#define RelidByRelfilenumber		RelidByRelfilenode
#define RelationMapOidToFilenumber	RelationMapOidToFilenode
#else
#define LOCATOR_TABLESPACE(locator)	((locator).spcOid)
#define LOCATOR_DATABASE(locator)	((locator).dbOid)
#define LOCATOR_NUMBER(locator)		((locator).relNumber)
#endif

/* 16 tells numbers of backends from places in the array of their states. */
#if PG_VERSION_NUM < 160000
#define BACKEND_STATUS(index)	pgstat_fetch_stat_local_beentry((index) + 1)
#else
#define BACKEND_STATUS(index)	pgstat_get_local_beentry_by_index((index) + 1)
#endif

/*
 * Does the server read relations past the page cache, as debug_io_direct of 16
 * has it?  Wants storage/fd.h.
 */
#if PG_VERSION_NUM >= 160000
#define SERVER_READS_DIRECT()	((io_direct_flags & IO_DIRECT_DATA) != 0)
#else
#define SERVER_READS_DIRECT()	false
#endif

/* 17 bounds transactions, and ends the session with them. */
#if PG_VERSION_NUM >= 170000
#define DISABLE_TRANSACTION_TIMEOUT()	disable_timeout(TRANSACTION_TIMEOUT, false)
#else
#define DISABLE_TRANSACTION_TIMEOUT()	((void) 0)
#endif

/* 18 wants to be told, outside critical sections, before failures come. */
#if PG_VERSION_NUM < 180000
#define pgstat_prepare_report_checksum_failure(database) ((void) (database))
#endif

/*
 * The state of a buffer, of which 19 made 64 bits.  Wants
 * storage/buf_internals.h.
 */
#if PG_VERSION_NUM >= 190000
#define BufferStateRead(desc)	pg_atomic_read_u64(&(desc)->state)
#else
#define BufferStateRead(desc)	((uint64) pg_atomic_read_u32(&(desc)->state))
#endif

/*
 * 19 has places for the slots of REPACK after the others.  Wants
 * replication/slot.h.
 */
#if PG_VERSION_NUM >= 190000
#define SLOT_PLACES		(max_replication_slots + max_repack_replication_slots)
#else
#define SLOT_PLACES		max_replication_slots
#endif

/*
 * The entries of a new row in all indexes.  Wants executor/executor.h.
 */
#if PG_VERSION_NUM >= 190000
#define INSERT_INDEX_TUPLES(result, slot, estate) \
	ExecInsertIndexTuples(result, estate, 0, slot, NIL, NULL)
#elif PG_VERSION_NUM >= 160000
#define INSERT_INDEX_TUPLES(result, slot, estate) \
	ExecInsertIndexTuples(result, slot, estate, false, false, NULL, NIL, false)
#else
#define INSERT_INDEX_TUPLES(result, slot, estate) \
	ExecInsertIndexTuples(result, slot, estate, false, false, NULL, NIL)
#endif

/* 19 wants to be told when a tuple descriptor made by hand is complete. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/*
 * The server's CRC-32C register, as ours.  On big-endian machines the server
 * keeps it byte-reversed.  Wants port/pg_bswap.h.
 */
#ifdef WORDS_BIGENDIAN
#define compat_server_register(reg) pg_bswap32(reg)
#else
#define compat_server_register(reg) (reg)
#endif

#endif							/* ACCEL_COMPAT_H */
