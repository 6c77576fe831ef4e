/*
 * status.h
 *	  Verdicts of the verifiers, and their words.
 *
 * A status is an enum everywhere.  The words of SQL rows, logs and tests come
 * from the one function per family below.
 */
#ifndef ACCEL_PAGE_STATUS_H
#define ACCEL_PAGE_STATUS_H

#include <stdbool.h>

#define PAGE_STATUS_LIST \
	PAGE_STATUS(PAGE_OK, "ok") \
	PAGE_STATUS(PAGE_NEW, "ok_new") \
	PAGE_STATUS(PAGE_CHECKSUM_MISMATCH, "checksum_mismatch") \
	PAGE_STATUS(PAGE_BAD_HEADER, "bad_header") \
	PAGE_STATUS(PAGE_ZERO_HEADER, "zero_header") \
	PAGE_STATUS(PAGE_ZEROED, "zeroed_page") \
	PAGE_STATUS(PAGE_WRONG_KIND, "wrong_page_kind") \
	PAGE_STATUS(PAGE_MAP_MISMATCH, "map_mismatch") \
	PAGE_STATUS(PAGE_LSN_IN_FUTURE, "lsn_in_future") \
	PAGE_STATUS(PAGE_PARTIAL_BLOCK, "partial_block") \
	PAGE_STATUS(PAGE_PARTIAL_TAIL, "ok_partial_tail") \
	PAGE_STATUS(PAGE_MISSING_SEGMENT, "missing") \
	PAGE_STATUS(PAGE_SHORT_SEGMENT, "size_mismatch") \
	PAGE_STATUS(PAGE_IO_ERROR, "io_error") \
	PAGE_STATUS(PAGE_BAD_ON_DISK_CACHED_OK, "bad_on_disk_cached_ok") \
	PAGE_STATUS(PAGE_NOT_VERIFIABLE, "not_verifiable")

#define WAL_STATUS_LIST \
	WAL_STATUS(WAL_OK, "ok") \
	WAL_STATUS(WAL_OK_END_OF_WAL, "ok_end_of_wal") \
	WAL_STATUS(WAL_OK_SWITCHED, "ok_switched") \
	WAL_STATUS(WAL_OK_PARTIAL, "ok_partial") \
	WAL_STATUS(WAL_OK_RECYCLED, "ok_recycled") \
	WAL_STATUS(WAL_OK_UNUSED, "ok_unused") \
	WAL_STATUS(WAL_OK_REMOVED, "ok_removed_during_scan") \
	WAL_STATUS(WAL_OK_EXPIRED, "ok_expired") \
	WAL_STATUS(WAL_CORRUPT, "corrupt") \
	WAL_STATUS(WAL_CHANGED, "changed") \
	WAL_STATUS(WAL_MISSING, "missing") \
	WAL_STATUS(WAL_SIZE_MISMATCH, "size_mismatch") \
	WAL_STATUS(WAL_FOREIGN_SYSTEM, "foreign_system") \
	WAL_STATUS(WAL_UNSUPPORTED_VERSION, "unsupported_version") \
	WAL_STATUS(WAL_IO_ERROR, "io_error") \
	WAL_STATUS(WAL_NOT_VERIFIABLE, "not_verifiable")

/* Files of a cluster that carry a CRC-32C of their own, and what they are. */
#define CLUSTER_KIND_LIST \
	CLUSTER_KIND(CLUSTER_CONTROL, "control") \
	CLUSTER_KIND(CLUSTER_RELATION_MAP, "relation_map") \
	CLUSTER_KIND(CLUSTER_TWO_PHASE, "two_phase") \
	CLUSTER_KIND(CLUSTER_SLOT, "replication_slot") \
	CLUSTER_KIND(CLUSTER_ORIGINS, "replication_origins") \
	CLUSTER_KIND(CLUSTER_SNAPSHOT, "logical_snapshot") \
	CLUSTER_KIND(CLUSTER_SUMMARY, "wal_summary") \
	CLUSTER_KIND(CLUSTER_SLRU, "transaction_status")

#define CLUSTER_STATUS_LIST \
	CLUSTER_STATUS(CLUSTER_OK, "ok") \
	CLUSTER_STATUS(CLUSTER_CHECKSUM_MISMATCH, "checksum_mismatch") \
	CLUSTER_STATUS(CLUSTER_BAD_FORMAT, "bad_format") \
	CLUSTER_STATUS(CLUSTER_SIZE_MISMATCH, "size_mismatch") \
	CLUSTER_STATUS(CLUSTER_MISSING, "missing") \
	CLUSTER_STATUS(CLUSTER_FOREIGN, "foreign_file") \
	CLUSTER_STATUS(CLUSTER_UNSUPPORTED_VERSION, "unsupported_version") \
	CLUSTER_STATUS(CLUSTER_IO_ERROR, "io_error") \
	CLUSTER_STATUS(CLUSTER_NOT_VERIFIABLE, "not_verifiable")

typedef enum PageStatus
{
#define PAGE_STATUS(id, words) id,
	PAGE_STATUS_LIST
#undef PAGE_STATUS
} PageStatus;

typedef enum WalStatus
{
#define WAL_STATUS(id, words) id,
	WAL_STATUS_LIST
#undef WAL_STATUS
	WAL_STATUSES				/* how many */
} WalStatus;

typedef enum ClusterKind
{
#define CLUSTER_KIND(id, words) id,
	CLUSTER_KIND_LIST
#undef CLUSTER_KIND
	CLUSTER_KINDS				/* how many */
} ClusterKind;

typedef enum ClusterStatus
{
#define CLUSTER_STATUS(id, words) id,
	CLUSTER_STATUS_LIST
#undef CLUSTER_STATUS
} ClusterStatus;

extern const char *page_status_name(PageStatus status);
extern const char *wal_status_name(WalStatus status);
extern bool wal_status_is_finding(WalStatus status);
extern WalStatus wal_status_of(const char *name);	/* WAL_STATUSES if none */
extern const char *cluster_kind_name(ClusterKind kind);
extern const char *cluster_status_name(ClusterStatus status);

/*
 * Is there something to act on?  In every family, a word that begins with "ok"
 * is no finding, and neither is not_verifiable.
 */
extern bool status_is_finding(const char *name);

#endif							/* ACCEL_PAGE_STATUS_H */
