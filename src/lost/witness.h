/*
 * witness.h
 *	  Which block references of WAL prove what the disk must hold.
 *
 * A reference is a witness if the page is certain to carry the end of its
 * record, or a later LSN.  That is meant for the time after the next
 * checkpoint.  A weaker witness makes it certain only that the page is not all
 * zeros then.  All this is known row by row, see lost/witness.c.  What is in
 * no row proves nothing.
 */
#ifndef ACCEL_LOST_WITNESS_H
#define ACCEL_LOST_WITNESS_H

#include "wal/blocks.h"

#define LOST_WITNESS_RMGRS	21	/* up to Generic, since later ones have no row */

typedef enum LostProof
{
	LOST_PROOF_NONE,
	LOST_PROOF_LSN,				/* of every relation */
	LOST_PROOF_LSN_BUFFERED,	/* of relations whose access method writes
								 * through shared buffers alone */
	LOST_PROOF_NOT_ZERO			/* of the same, that there is a page of
								 * whatever LSN */
} LostProof;

typedef enum LostNeed
{
	LOST_NEED_NOTHING,			/* every such reference */
	LOST_NEED_RESTORED,			/* redo restores or initializes the page */
	LOST_NEED_NOT_NEW,			/* an image of a page that is not new */
	LOST_NEED_CHANGED_19		/* prune records that tell of changes */
} LostNeed;

/* What a record's references to a fork prove. */
typedef struct LostForkRule
{
	uint64_t	ids;			/* a bit per block reference, 0 for nothing */
	uint8_t		need;			/* a LostNeed */
	uint8_t		proof;			/* a LostProof */
} LostForkRule;

typedef struct LostWitnessRule
{
	LostForkRule main;
	LostForkRule map;			/* the visibility map */
} LostWitnessRule;

/* The rules of one version of WAL, by resource manager and info. */
typedef struct LostWitnesses
{
	LostWitnessRule rules[LOST_WITNESS_RMGRS][16];
} LostWitnesses;

/* Begins with the rules for WAL whose pages have this magic. */
extern void lost_witnesses_begin(LostWitnesses *witnesses, uint16_t magic);

/*
 * Returns the rule for a record with this header, or NULL if it holds no
 * witness.
 */
static inline const LostWitnessRule *
lost_witness_rule(const LostWitnesses *witnesses, const uint8_t *rec)
{
	const LostWitnessRule *rule;

	if (rec[WAL_REC_RMID] >= LOST_WITNESS_RMGRS)
		return NULL;
	rule = &witnesses->rules[rec[WAL_REC_RMID]][rec[WAL_REC_INFO] >> 4];
	return (rule->main.ids | rule->map.ids) != 0 ? rule : NULL;
}

extern bool lost_witness_met(LostNeed need, const WalBlocks *blocks,
							 const WalBlockRef *ref);

static inline const LostForkRule *
lost_fork_rule(const LostWitnessRule *rule, uint32_t fork)
{
	if (fork == WAL_FORK_MAIN)
		return &rule->main;
	return fork == WAL_FORK_MAP ? &rule->map : NULL;
}

/*
 * Returns what a reference of a decoded record with this rule proves of its
 * page.
 */
static inline LostProof
lost_witness(const LostWitnessRule *rule, const WalBlocks *blocks,
			 const WalBlockRef *ref)
{
	const LostForkRule *fork = lost_fork_rule(rule, ref->tag.fork);

	if (fork == NULL || (fork->ids >> ref->id & 1) == 0 ||
		(fork->need != LOST_NEED_NOTHING &&
		 !lost_witness_met((LostNeed) fork->need, blocks, ref)))
		return LOST_PROOF_NONE;
	return (LostProof) fork->proof;
}

/* Returns the n-th row (from 0), for tests, or false if there are no more. */
extern bool lost_witness_row(size_t n, uint8_t *rmgr, uint8_t *info,
							 uint64_t *ids);

#endif							/* ACCEL_LOST_WITNESS_H */
