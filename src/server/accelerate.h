/*
 * accelerate.h
 *	  The server's own CRC-32C, computed by our kernel.
 */
#ifndef ACCELERATE_H
#define ACCELERATE_H

#include "server/server_crc.h"

/* What crc32c_server() shows, of this process. */
typedef struct AccelerateStatus
{
	bool		preloaded;
	bool		swappable;
	bool		accelerated;
	const char *server_kernel;	/* NULL if unknown */
	const char *active_kernel;	/* NULL if unknown */
	char		self_test[160];
	char		reason[192];	/* "" when accelerated */
} AccelerateStatus;

/*
 * Call once, from _PG_init, after checksum_init() and before the parameters
 * are defined.  Finds the server's pointer and, when preloaded, compares the
 * selected kernel with the server's function, so that children inherit the
 * result.
 */
extern void accelerate_init(bool preloaded);

/*
 * Assign hooks call these after accelerate_server or crc32c_accel.kernel
 * changed.
 */
extern void accelerate_switch(bool wanted);
extern void accelerate_kernel_changed(void);

extern void accelerate_get_status(AccelerateStatus *status);

#endif							/* ACCELERATE_H */
