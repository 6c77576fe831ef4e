/*
 * status.h
 *	  Verdicts of the verifiers, and their words.
 *
 * A status is an enum everywhere.  The words of SQL rows, logs and tests come
 * from the one function per family below.  page/status.def lists them.
 */
#ifndef ACCEL_PAGE_STATUS_H
#define ACCEL_PAGE_STATUS_H

#include <stdbool.h>

/*
 * Files of a cluster that carry a CRC-32C of their own, and others that it must
 * have.
 */
#define CLUSTER_KIND_LIST \
	CLUSTER_KIND(CLUSTER_CONTROL, "control") \
	CLUSTER_KIND(CLUSTER_RELATION_MAP, "relation_map") \
	CLUSTER_KIND(CLUSTER_RELATION, "relation") \
	CLUSTER_KIND(CLUSTER_TWO_PHASE, "two_phase") \
	CLUSTER_KIND(CLUSTER_SLOT, "replication_slot") \
	CLUSTER_KIND(CLUSTER_ORIGINS, "replication_origins") \
	CLUSTER_KIND(CLUSTER_SNAPSHOT, "logical_snapshot") \
	CLUSTER_KIND(CLUSTER_SUMMARY, "wal_summary") \
	CLUSTER_KIND(CLUSTER_SLRU, "transaction_status")

typedef enum PageStatus
{
#define PAGE_STATUS(id, word, is_finding) id,
#include "page/status.def"
} PageStatus;

typedef enum WalStatus
{
#define WAL_STATUS(id, word, is_finding) id,
#include "page/status.def"
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
#define CLUSTER_STATUS(id, word, is_finding) id,
#include "page/status.def"
} ClusterStatus;

typedef enum BackupStatus
{
#define BACKUP_STATUS(id, word, is_finding) id,
#include "page/status.def"
} BackupStatus;

typedef enum LostStatus
{
#define LOST_STATUS(id, word, is_finding) id,
#include "page/status.def"
} LostStatus;

typedef enum LedgerStatus
{
#define LEDGER_STATUS(id, word, is_finding) id,
#include "page/status.def"
} LedgerStatus;

typedef enum HealStatus
{
#define HEAL_STATUS(id, word, is_finding) id,
#include "page/status.def"
} HealStatus;

typedef enum RestoreStatus
{
#define RESTORE_STATUS(id, word, is_finding) id,
#include "page/status.def"
} RestoreStatus;

extern const char *page_status_name(PageStatus status);
extern const char *wal_status_name(WalStatus status);
extern const char *cluster_kind_name(ClusterKind kind);
extern const char *cluster_status_name(ClusterStatus status);
extern const char *backup_status_name(BackupStatus status);
extern const char *lost_status_name(LostStatus status);
extern const char *ledger_status_name(LedgerStatus status);
extern const char *heal_status_name(HealStatus status);
extern const char *restore_status_name(RestoreStatus status);

extern WalStatus wal_status_of(const char *name);	/* WAL_STATUSES if none */

/* Is there something to act on, by any family's word or by a status of WAL? */
extern bool status_is_finding(const char *name);
extern bool wal_status_is_finding(WalStatus status);

#endif							/* ACCEL_PAGE_STATUS_H */
