/*
 * state.c
 *	  State files of prepared transactions, slots, origins and logical
 *	  snapshots.
 *
 * What a file says of itself is compared with its name, since a sound file
 * under another's name is as bad as a damaged one.
 */
#include "cluster/format.h"
#include "cluster/state.h"

ClusterPrepared
cluster_state_prepared(const uint8_t *data)
{
	ClusterPrepared prepared;

	prepared.xid = cluster_load32(data + CLUSTER_TWO_PHASE_XID);
	prepared.database = cluster_load32(data + CLUSTER_TWO_PHASE_DATABASE);
	prepared.owner = cluster_load32(data + CLUSTER_TWO_PHASE_OWNER);
	prepared.prepared_at =
		(int64_t) cluster_load64(data + CLUSTER_TWO_PHASE_PREPARED);
	return prepared;
}

uint64_t
cluster_state_length(const ClusterFile *file)
{
	switch (file->kind)
	{
		case CLUSTER_TWO_PHASE:
			return cluster_load32(file->head + CLUSTER_TWO_PHASE_LENGTH);
		case CLUSTER_SLOT:
			return (uint64_t) CLUSTER_SLOT_NAME +
				cluster_load32(file->head + CLUSTER_SLOT_LENGTH);
		case CLUSTER_SNAPSHOT:
			return cluster_load32(file->head + CLUSTER_SNAPSHOT_LENGTH);
		default:
			return 0;
	}
}

static void
judge_two_phase(const ClusterFile *file, ClusterVerdict *verdict)
{
	uint32_t	xid = cluster_load32(file->head + CLUSTER_TWO_PHASE_XID);
	uint16_t	gid = cluster_load16(file->head + CLUSTER_TWO_PHASE_GIDLEN);

	if (gid == 0 || gid > CLUSTER_TWO_PHASE_GID_MAX)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_TWO_PHASE_GID, gid,
							CLUSTER_TWO_PHASE_GID_MAX);
	else if (xid != file->xid)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_TWO_PHASE_XID, xid, file->xid);
}

static void
judge_slot(const ClusterFile *file, ClusterVerdict *verdict)
{
	if (strncmp((const char *) file->head + CLUSTER_SLOT_NAME, file->slot,
				CLUSTER_NAME_SIZE) != 0)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_SLOT_NAME, 0, 0);
}

void
cluster_state_judge(const ClusterFile *file, ClusterVerdict *verdict)
{
	uint64_t	length = cluster_state_length(file);

	if (length != 0 && length != file->size)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_LENGTH, file->size, length);
	else if (file->kind == CLUSTER_TWO_PHASE)
		judge_two_phase(file, verdict);
	else if (file->kind == CLUSTER_SLOT)
		judge_slot(file, verdict);
	else if (file->kind == CLUSTER_ORIGINS &&
			 (file->size - CLUSTER_ORIGINS_MIN) % sizeof(ClusterOrigin) != 0)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_ORIGINS_ENTRY, file->size, 0);
}
