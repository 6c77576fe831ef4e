/*
 * verdict.c
 *	  The words of verdicts on files of a cluster.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/verdict.h"

/* for the formats of cluster/reason.def */
#define V		((unsigned long long) verdict->value)
#define E		((unsigned long long) verdict->expected)
#define M		((unsigned long long) verdict->more)
#define LSN(x)	(unsigned) ((x) >> 32), (unsigned) (x)

void
cluster_verdict_set(ClusterVerdict *verdict, ClusterStatus status,
					ClusterReason reason, uint64_t value, uint64_t expected)
{
	verdict->status = status;
	verdict->reason = reason;
	verdict->value = value;
	verdict->expected = expected;
}

/*
 * This is the least advance that makes the server write the file again.  It
 * skips no change of a logical slot, and one byte of WAL of a physical one.
 */
#define SLOT_REMEDY \
	"advance the slot to coalesce(confirmed_flush_lsn, restart_lsn + 1) and run CHECKPOINT, or drop it, which loses its position"

/*
 * What helps while the server runs, NULL if nothing that was tried does.  A
 * checkpoint writes pg_control over the file that is there, and ends the
 * server if there is none.
 */
static const char *
remedy(const ClusterVerdict *verdict, ClusterKind kind)
{
	static const char *const words[CLUSTER_KINDS] = {
		[CLUSTER_CONTROL] = "run CHECKPOINT, then check again; do not restart the server before",
		[CLUSTER_RELATION_MAP] = "put back the file of a standby or of a backup in which no system catalog has been rewritten since; do not restart the server before",
		[CLUSTER_TWO_PHASE] = "put back the file of a standby or of a backup; without one, move it away before the server restarts, which loses the transaction",
		[CLUSTER_SLOT] = SLOT_REMEDY "; then check again; do not restart the server before",
		[CLUSTER_ORIGINS] = "run CHECKPOINT, then check again; do not restart the server before",
	};

	if (verdict->status == CLUSTER_IO_ERROR ||
		verdict->status == CLUSTER_NOT_VERIFIABLE ||
		(verdict->status == CLUSTER_MISSING && kind == CLUSTER_CONTROL))
		return NULL;
	if (verdict->reason == CLUSTER_REASON_SLOT_UNKNOWN)
		return "move its folder out of pg_replslot";
	if (verdict->status == CLUSTER_MISSING && kind == CLUSTER_SLOT)
		return "make the slot's folder if it is gone, too; then " SLOT_REMEDY "; do not restart the server before";
	return words[kind];
}

static void
reason_words(const ClusterVerdict *verdict, char words[CLUSTER_MESSAGE_SIZE])
{
	words[0] = '\0';
	switch (verdict->reason)
	{
		case CLUSTER_REASON_NONE:
			break;
#define CLUSTER_REASON(id, ...) \
		case CLUSTER_REASON_##id: \
			snprintf(words, CLUSTER_MESSAGE_SIZE, __VA_ARGS__); \
			break;
#include "cluster/reason.def"
#undef CLUSTER_REASON
	}
}

void
cluster_verdict_words(const ClusterVerdict *verdict, ClusterKind kind,
					  bool live, char words[CLUSTER_MESSAGE_SIZE])
{
	const char *helps = live ? remedy(verdict, kind) : NULL;
	size_t		len;

	reason_words(verdict, words);
	len = strlen(words);
	if (len > 0 && helps != NULL)
		snprintf(words + len, CLUSTER_MESSAGE_SIZE - len, "; %s", helps);
}
