/*
 * lost_witness.h
 *	  Which block references of WAL prove what the disk must hold.
 *
 * A reference is a witness if the page is certain to carry the end of its
 * record, or a later LSN, once the next checkpoint has completed.  That is
 * known row by row, see lost_witness.c; what is in no row proves nothing.
 */
#ifndef LOST_WITNESS_H
#define LOST_WITNESS_H

#include "verify/wal_blocks.h"

#pragma GCC visibility push(hidden)

#define LOST_WITNESS_RMGRS	21	/* up to Generic; later ones have no row */

typedef struct LostWitnessRow LostWitnessRow;

/* The rows of one version of WAL, by resource manager and info. */
typedef struct LostWitnesses
{
	const LostWitnessRow *rows[LOST_WITNESS_RMGRS][16];
} LostWitnesses;

typedef enum LostProof
{
	LOST_PROOF_NONE,
	LOST_PROOF_LSN,				/* of every relation */
	LOST_PROOF_LSN_BUFFERED		/* of relations whose access method writes
								 * through shared buffers alone */
} LostProof;

/* magic: of the WAL's pages */
extern void lost_witnesses_begin(LostWitnesses *witnesses, uint16_t magic);

/* What a reference of a decoded record proves of its page. */
extern LostProof lost_witness(const LostWitnesses *witnesses,
							  const uint8_t *rec, const WalBlocks *blocks,
							  const WalBlockRef *ref);

/* Can a record with this header hold a witness at all? */
static inline bool
lost_witness_possible(const LostWitnesses *witnesses, const uint8_t *rec)
{
	return rec[WAL_REC_RMID] < LOST_WITNESS_RMGRS &&
		witnesses->rows[rec[WAL_REC_RMID]][rec[WAL_REC_INFO] >> 4] != NULL;
}

/* The n-th row (from 0), for tests; false: there are no more. */
extern bool lost_witness_row(size_t n, uint8_t *rmgr, uint8_t *info,
							 uint64_t *ids);

#pragma GCC visibility pop

#endif							/* LOST_WITNESS_H */
