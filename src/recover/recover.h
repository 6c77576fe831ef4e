/*
 * recover.h
 *	  Gives pages of blocks back, by the redo of a server of the same version.
 *
 * Everything that is made lies in one folder, which a process of its own
 * removes whatever ends this one.
 */
#ifndef ACCEL_RECOVER_RECOVER_H
#define ACCEL_RECOVER_RECOVER_H

#include "recover/context.h"

/*
 * Does it all.  Returns false if it failed, and ctx->message says why.  Else
 * each block that is wanted says what became of it.
 */
extern bool recover_run(Recover *ctx);

#endif							/* ACCEL_RECOVER_RECOVER_H */
