/*
 * judge.c
 *	  Judges the bytes of a file of a cluster.
 *
 * The order is a size that cannot be, the CRC, then what the bytes say.  A
 * file whose CRC is wrong says nothing else.
 */
#include "cluster/control.h"
#include "cluster/format.h"
#include "cluster/judge.h"
#include "cluster/map.h"
#include "cluster/state.h"

#define AT_END	UINT64_MAX		/* the CRC is the last four bytes */

typedef struct Kind
{
	uint32_t	magic;
	uint64_t	least;			/* bytes of the shortest file */
	uint64_t	from;			/* start of what the CRC covers */
	uint64_t	crc_at;
} Kind;

static const Kind kinds[CLUSTER_KINDS] = {
	[CLUSTER_RELATION_MAP] = {CLUSTER_MAP_MAGIC, CLUSTER_MAP_SIZE_15, 0, AT_END},
	[CLUSTER_TWO_PHASE] = {CLUSTER_TWO_PHASE_MAGIC, CLUSTER_TWO_PHASE_MIN, 0, AT_END},
	[CLUSTER_SLOT] = {CLUSTER_SLOT_MAGIC, CLUSTER_SLOT_MIN, CLUSTER_SLOT_VERSION, CLUSTER_SLOT_CRC},
	[CLUSTER_ORIGINS] = {CLUSTER_ORIGINS_MAGIC, CLUSTER_ORIGINS_MIN, 0, AT_END},
	[CLUSTER_SNAPSHOT] = {CLUSTER_SNAPSHOT_MAGIC, CLUSTER_SNAPSHOT_MIN, CLUSTER_SNAPSHOT_VERSION, CLUSTER_SNAPSHOT_CRC},
	[CLUSTER_SUMMARY] = {CLUSTER_SUMMARY_MAGIC, CLUSTER_SUMMARY_MIN, 0, AT_END},
};

static uint32_t
reversed(uint32_t n)
{
	return n << 24 | (n & 0xFF00) << 8 | (n >> 8 & 0xFF00) | n >> 24;
}

/* Only these sizes are possible. */
static uint64_t
exact_size(const ClusterFile *file)
{
	switch (file->kind)
	{
		case CLUSTER_CONTROL:
			return CLUSTER_CONTROL_SIZE;
		case CLUSTER_RELATION_MAP:
			return cluster_map_size(file->major);
		default:
			return 0;
	}
}

bool
cluster_judge_extent(const ClusterFile *file, ClusterExtent *extent,
					 ClusterVerdict *verdict)
{
	const Kind *kind = &kinds[file->kind];
	uint64_t	exact = exact_size(file);

	if (exact != 0 && file->size != exact)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_SIZE, file->size, exact);
	else if (file->size < kind->least)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_SIZE_LEAST, file->size, kind->least);
	else if (file->kind == CLUSTER_CONTROL && !CLUSTER_ALIGNED_8)
		cluster_verdict_set(verdict, CLUSTER_NOT_VERIFIABLE,
							CLUSTER_REASON_ALIGNMENT, 0, 0);
	else if (file->kind == CLUSTER_CONTROL)
		cluster_control_judge(file, verdict);
	else
	{
		extent->from = kind->from;
		extent->crc_at = file->kind == CLUSTER_RELATION_MAP ?
			cluster_map_covered(file->size) :
			kind->crc_at == AT_END ? file->size - 4 : kind->crc_at;
		extent->to = kind->crc_at == AT_END ? extent->crc_at : file->size;
		return true;
	}
	return false;
}

void
cluster_judge(const ClusterFile *file, uint32_t stored, uint32_t crc,
			  ClusterVerdict *verdict)
{
	uint32_t	expected = kinds[file->kind].magic;
	uint32_t	magic = cluster_load32(file->head);

	verdict->has_crc = true;
	verdict->stored_crc = stored;
	verdict->computed_crc = crc;
	if (magic == reversed(expected))
		cluster_verdict_set(verdict, CLUSTER_UNSUPPORTED_VERSION,
							CLUSTER_REASON_BYTE_ORDER, 0, 0);
	else if (stored != crc && magic == expected && cluster_state_length(file) > file->size)
		cluster_verdict_set(verdict, CLUSTER_SIZE_MISMATCH,
							CLUSTER_REASON_LENGTH, file->size, cluster_state_length(file));
	else if (stored != crc)
		cluster_verdict_set(verdict, CLUSTER_CHECKSUM_MISMATCH,
							CLUSTER_REASON_CRC, 0, 0);
	else if (magic != expected)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_MAGIC, magic, expected);
	else if (file->kind == CLUSTER_RELATION_MAP)
		cluster_map_judge(file, verdict);
	else
		cluster_state_judge(file, verdict);
}
