/*
 * proof.h
 *	  Takes pages out of the server's files, where they are proven.
 */
#ifndef ACCEL_RECOVER_PROOF_H
#define ACCEL_RECOVER_PROOF_H

#include "recover/context.h"

/* Returns the path of the file that a page is written to. */
extern char *recover_proof_path(const Recover *ctx,
								const RecoverWanted *wanted);

/*
 * Before the server runs, says of each block that is wanted if it can be
 * recovered at all.  Returns how many can.
 */
extern size_t recover_proof_expect(Recover *ctx);

/* Writes the pages of these that are proven. */
extern bool recover_proof_write(Recover *ctx);

#endif							/* ACCEL_RECOVER_PROOF_H */
