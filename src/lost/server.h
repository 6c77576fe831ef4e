/*
 * server.h
 *	  What the search for lost writes asks this server.
 */
#ifndef ACCEL_LOST_SERVER_H
#define ACCEL_LOST_SERVER_H

#include "wal/format.h"

/*
 * Up to where the last completed checkpoint (on a standby: restartpoint) has
 * put everything on disk: its redo point.
 */
extern WalLsn lost_server_horizon(void);

/*
 * The end of the last record so far (on a standby: the last one replayed),
 * flushed, so that it can be read.
 */
extern WalLsn lost_server_end(uint32_t segment_size);

#endif							/* ACCEL_LOST_SERVER_H */
