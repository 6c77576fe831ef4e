/*
 * server.h
 *	  The places in WAL that the search for lost writes asks the server for.
 */
#ifndef ACCEL_LOST_SERVER_H
#define ACCEL_LOST_SERVER_H

#include "wal/format.h"

/*
 * Returns the redo point of the last completed checkpoint, or restartpoint on
 * a standby.  Up to there everything has been put on disk.
 */
extern WalLsn lost_server_horizon(void);

/*
 * Returns the end of the last record so far, flushed, so that it can be read.
 * On a standby it is the last one replayed.
 */
extern WalLsn lost_server_end(uint32_t segment_size);

#endif							/* ACCEL_LOST_SERVER_H */
