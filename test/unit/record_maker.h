/*
 * record_maker.h
 *	  Makes one WAL record, byte by byte and without a CRC.
 */
#ifndef RECORD_MAKER_H
#define RECORD_MAKER_H

#include <string.h>

#include "wal/blocks.h"

static uint8_t made[10000];
static uint32_t made_bytes;		/* so far */

static inline void
make_record(uint8_t rmgr, uint8_t info)
{
	memset(made, 0, sizeof(made));
	made[WAL_REC_RMID] = rmgr;
	made[WAL_REC_INFO] = info;
	made_bytes = WAL_REC_HEADER;
}

static inline void
put8(uint8_t value)
{
	made[made_bytes++] = value;
}

static inline void
put16(uint16_t value)
{
	memcpy(made + made_bytes, &value, 2);
	made_bytes += 2;
}

static inline void
put32(uint32_t value)
{
	memcpy(made + made_bytes, &value, 4);
	made_bytes += 4;
}

/* A RelFileLocator. */
static inline void
put_locator(const WalBlockTag *tag)
{
	put32(tag->tablespace);
	put32(tag->database);
	put32(tag->relation);
}

/* So many bytes of main data follow. */
static inline void
put_main(uint8_t bytes)
{
	put8(WAL_ID_DATA_SHORT);
	put8(bytes);
}

static inline void
put_end(void)
{
	memcpy(made + WAL_REC_TOT_LEN, &made_bytes, 4);
}

#endif							/* RECORD_MAKER_H */
