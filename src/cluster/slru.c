/*
 * slru.c
 *	  Which files of pg_xact and pg_multixact a cluster must have.
 *
 * These are facts of clog.c, multixact.c and slru.c, 15 to 19.  A page exists
 * in memory before the first identifier on it is given out, and a checkpoint
 * writes all pages before it becomes the one in pg_control.  So what its next
 * identifiers begin after is on disk, in segments of 32 pages, and every
 * segment but the last is whole.  Segments before the oldest identifier are
 * cut off, and maybe some after it, which pg_control learns with the next
 * checkpoint.
 *
 * Left out are pg_subtrans, pg_serial and pg_notify, which a start makes anew,
 * and pg_commit_ts, which goes when its parameter is turned off.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cluster/format.h"
#include "cluster/slru.h"

#define PAGES_PER_SEGMENT	32	/* SLRU_PAGES_PER_SEGMENT */
#define MEMBER_GROUP_BYTES	20	/* four members and their flags */

/* How many identifiers a page has, by the release. */
static uint64_t
per_page(ClusterSlru slru, const ClusterControl *control)
{
	switch (slru)
	{
		case CLUSTER_SLRU_XACT:
			return (uint64_t) control->block_size * 4;
		case CLUSTER_SLRU_OFFSETS:
			return control->block_size / (control->wide_offsets ? 8 : 4);
		default:
			return (uint64_t) (control->block_size / MEMBER_GROUP_BYTES) * 4;
	}
}

/* The oldest identifier, and the one after the newest. */
static bool
range(ClusterSlru slru, const ClusterControl *control, uint64_t first_member,
	  uint64_t *oldest, uint64_t *next)
{
	/* 32 bits go round, so older ones are less than half of that away */
	uint32_t	xids = control->next_xid - control->oldest_xid;
	uint32_t	multis = control->next_multi - control->oldest_multi;

	if (slru == CLUSTER_SLRU_XACT)
	{
		*oldest = control->oldest_xid;
		*next = control->next_xid;
		return xids != 0 && xids <= INT32_MAX;
	}
	*oldest = slru == CLUSTER_SLRU_OFFSETS ? control->oldest_multi : first_member;
	*next = slru == CLUSTER_SLRU_OFFSETS ? control->next_multi :
		control->next_offset;
	return multis != 0 && multis <= INT32_MAX;
}

bool
cluster_slru_need(ClusterSlru slru, const ClusterControl *control,
				  uint64_t first_member, ClusterSlruNeed *need)
{
	bool		wide = slru == CLUSTER_SLRU_MEMBERS && control->wide_offsets;
	uint64_t	most = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t	page = per_page(slru, control);
	uint64_t	segment = page * PAGES_PER_SEGMENT;
	uint64_t	oldest;
	uint64_t	next;

	if (page == 0 || !range(slru, control, first_member, &oldest, &next))
		return false;
	next = (next - 1) & most;	/* the newest one */
	need->slru = slru;
	need->wide = wide;
	need->first = (oldest & most) / segment;
	need->last = next / segment;
	need->end = most / segment + 1;
	need->bytes = (uint64_t) control->block_size * PAGES_PER_SEGMENT;
	need->last_bytes = (next % segment / page + 1) * control->block_size;
	return true;
}

bool
cluster_slru_needs(const ClusterSlruNeed *need, uint64_t segment)
{
	if (need->first <= need->last)
		return segment >= need->first && segment <= need->last;
	return segment >= need->first || segment <= need->last;
}

uint64_t
cluster_slru_next(const ClusterSlruNeed *need, uint64_t segment)
{
	return segment + 1 == need->end ? 0 : segment + 1;
}

/* The last one that there can be may be no whole one. */
uint64_t
cluster_slru_bytes(const ClusterSlruNeed *need, uint64_t segment)
{
	if (segment == need->last)
		return need->last_bytes;
	return segment + 1 == need->end ? 1 : need->bytes;
}

void
cluster_slru_path(const ClusterSlruNeed *need, uint64_t segment,
				  char path[CLUSTER_SLRU_PATH_SIZE])
{
	static const char *const folders[CLUSTER_SLRUS] = {
		[CLUSTER_SLRU_XACT] = "pg_xact",
		[CLUSTER_SLRU_OFFSETS] = "pg_multixact/offsets",
		[CLUSTER_SLRU_MEMBERS] = "pg_multixact/members"
	};

	snprintf(path, CLUSTER_SLRU_PATH_SIZE, need->wide ? "%s/%015" PRIX64 :
			 "%s/%04" PRIX64, folders[need->slru], segment);
}

uint64_t
cluster_slru_of_xid(const ClusterControl *control, uint32_t xid,
					char path[CLUSTER_SLRU_PATH_SIZE])
{
	const ClusterSlruNeed of_xact = {.slru = CLUSTER_SLRU_XACT};
	uint64_t	segment = per_page(CLUSTER_SLRU_XACT, control) *
		PAGES_PER_SEGMENT;

	cluster_slru_path(&of_xact, xid / segment, path);
	return xid % segment / 4;
}

uint64_t
cluster_slru_first_member(const ClusterControl *control, uint64_t *offset,
						  int *width)
{
	uint64_t	segment = per_page(CLUSTER_SLRU_OFFSETS, control) *
		PAGES_PER_SEGMENT;

	*width = control->wide_offsets ? 8 : 4;
	*offset = control->oldest_multi % segment * (uint64_t) *width;
	return control->oldest_multi / segment;
}
