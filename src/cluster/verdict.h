/*
 * verdict.h
 *	  What is said of a file of a cluster, as data, and its words.
 */
#ifndef ACCEL_CLUSTER_VERDICT_H
#define ACCEL_CLUSTER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "page/status.h"

#define CLUSTER_MESSAGE_SIZE	640

typedef enum ClusterReason
{
	CLUSTER_REASON_NONE,
#define CLUSTER_REASON(id, ...) CLUSTER_REASON_##id,
#include "cluster/reason.def"
#undef CLUSTER_REASON
} ClusterReason;

typedef struct ClusterVerdict
{
	ClusterStatus status;
	ClusterReason reason;
	bool		has_crc;		/* both are known */
	uint32_t	stored_crc;
	uint32_t	computed_crc;
	uint64_t	value;			/* found, see cluster/reason.def */
	uint64_t	expected;
	uint64_t	more;
} ClusterVerdict;

/* A file, as the judges see it. */
typedef struct ClusterFile
{
	ClusterKind kind;
	int			major;			/* of the cluster's server, 0 if unknown */
	uint64_t	size;			/* bytes */
	const uint8_t *head;		/* its first bytes, up to CLUSTER_HEAD */

	/* what its name says */
	bool		shared;			/* a relation map of the shared catalogs */
	uint32_t	xid;			/* of a two-phase file */
	const char *slot;			/* the name of a slot */
} ClusterFile;

/* Sets status, reason and numbers, but not the CRCs. */
extern void cluster_verdict_set(ClusterVerdict *verdict, ClusterStatus status,
								ClusterReason reason, uint64_t value,
								uint64_t expected);

/*
 * Puts a verdict on a file of this kind into words, "" if it is ok.  If
 * "live", the file is one of the running server, and the words end with what
 * to do.  Only what a test has seen to help is said there (t/044).
 */
extern void cluster_verdict_words(const ClusterVerdict *verdict,
								  ClusterKind kind, bool live,
								  char words[CLUSTER_MESSAGE_SIZE]);

#endif							/* ACCEL_CLUSTER_VERDICT_H */
