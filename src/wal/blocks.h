/*
 * blocks.h
 *	  The block references of a WAL record.
 *
 * Pure.  The bytes of a record go in, and its references come out.  Every
 * length is compared with the record's own, so that anything may be fed.  A
 * record is decoded whole or refused with a reason.  The CRC is not checked,
 * since records come from the walker, which did that.  What is decoded points
 * into the record.
 *
 * The format (PostgreSQL's xlogrecord.h, DecodeXLogRecord() of xlogreader.c)
 * is the same from 15 to 19, and 14 had other bits for images.  So a record
 * must be of a supported version, see wal_version_supported().
 */
#ifndef ACCEL_WAL_BLOCKS_H
#define ACCEL_WAL_BLOCKS_H

#include "wal/format.h"

#define WAL_BLOCKS_MAX		(WAL_BLOCK_MAX_ID + 1)

/* ForkNumber, up to WAL_FORK_MAX */
#define WAL_FORK_MAIN		0
#define WAL_FORK_FREE_SPACE	1
#define WAL_FORK_MAP		2	/* VISIBILITYMAP_FORKNUM */
#define WAL_FORK_INIT		3

/* why a record is refused, as id and words */
#define WAL_BLOCKS_REASONS(REASON) \
	REASON(HEADER, "record is shorter than its header") \
	REASON(LENGTH, "record has another length than its header says") \
	REASON(TRUNCATED, "block headers go on beyond the record") \
	REASON(UNKNOWN_ID, "invalid block_id") \
	REASON(ID_ORDER, "out-of-order block_id") \
	REASON(FORK, "invalid fork number") \
	REASON(DATA_FLAG, "BKPBLOCK_HAS_DATA and the data length disagree") \
	REASON(IMAGE_FLAGS, "invalid bits in bimg_info") \
	REASON(HOLE, "hole offset and hole length do not fit the image") \
	REASON(IMAGE_LENGTH, "image length does not fit the block size") \
	REASON(NO_RELATION, "BKPBLOCK_SAME_REL set but no previous relation") \
	REASON(DATA_LENGTH, "lengths in the headers do not add up to the record")

typedef enum WalBlocksReason
{
	WAL_BLOCKS_OK,
#define WAL_BLOCKS_REASON(id, words) WAL_BLOCKS_##id,
	WAL_BLOCKS_REASONS(WAL_BLOCKS_REASON)
#undef WAL_BLOCKS_REASON
	WAL_BLOCKS_NREASONS			/* how many */
} WalBlocksReason;

typedef enum WalImageMethod
{
	WAL_METHOD_NONE,
	WAL_METHOD_PGLZ,
	WAL_METHOD_LZ4,
	WAL_METHOD_ZSTD
} WalImageMethod;

/* A full-page image is the page without its hole, and may be compressed. */
typedef struct WalImage
{
	const uint8_t *data;
	uint16_t	length;			/* bytes as stored */
	uint16_t	hole_offset;	/* bytes before the hole, 0 if there is none */
	uint16_t	hole_length;
	WalImageMethod compression;
} WalImage;

/* RelFileLocator (RelFileNode in 15), fork and block */
typedef struct WalBlockTag
{
	uint32_t	tablespace;		/* spcOid */
	uint32_t	database;		/* dbOid, 0 of a shared relation */
	uint32_t	relation;		/* relNumber */
	uint32_t	fork;			/* ForkNumber, 0 to 3 */
	uint32_t	block;
} WalBlockTag;

typedef struct WalBlockRef
{
	WalBlockTag tag;
	uint8_t		id;				/* ascending within a record, with gaps */
	bool		has_image;
	bool		apply;			/* redo restores the image, which otherwise
								 * serves wal_consistency_checking alone */
	bool		will_init;		/* redo makes the page anew */
	bool		has_data;
	WalImage	image;			/* if has_image */
	uint32_t	info_at;		/* likewise, offset of bimg_info in the record */
	const uint8_t *data;		/* if has_data */
	uint16_t	data_length;
} WalBlockRef;

typedef struct WalBlocks
{
	int			count;
	WalBlockRef refs[WAL_BLOCKS_MAX];	/* the first count are set */
	const uint8_t *main;		/* main data, see wal_blocks_decode */
	uint32_t	main_length;	/* bytes as the record has it */
	uint32_t	main_present;	/* bytes at hand */
	bool		has_origin;
	uint16_t	origin;			/* of replication */
	bool		has_top_xid;
	uint32_t	top_xid;		/* of a subtransaction's top-level one */
} WalBlocks;

/*
 * Decodes a record of which len bytes are at hand.  These are fewer than all if
 * it was cut within its main data.  The block size is that of relations
 * (BLCKSZ) in bytes.  If the record is refused, *blocks must not be used.
 */
extern WalBlocksReason wal_blocks_decode(WalBlocks *blocks, const uint8_t *rec,
										 uint32_t len, uint32_t block_size);

extern const char *wal_blocks_words(WalBlocksReason reason);

/* Does redo write the page without reading it? */
static inline bool
wal_block_restores(const WalBlockRef *ref)
{
	return (ref->has_image && ref->apply) || ref->will_init;
}

static inline bool
wal_block_tag_equal(const WalBlockTag *a, const WalBlockTag *b)
{
	return a->block == b->block && a->relation == b->relation &&
		a->fork == b->fork && a->database == b->database &&
		a->tablespace == b->tablespace;
}

/*
 * Finds the block of a record that names just one, without an image, of a
 * relation named in full, and has short main data.  Most records are like that.
 * Returns true if decoding would give the same, false if the record must be
 * decoded.  len bytes are at hand.
 */
static inline bool
wal_blocks_single(const uint8_t *rec, uint32_t len, WalBlockTag *tag,
				  uint8_t *id)
{
	const uint8_t others = WAL_BLOCK_HAS_IMAGE | WAL_BLOCK_SAME_REL;
	const uint8_t *block = rec + WAL_REC_HEADER;
	uint32_t	data_length;

	if (len < WAL_BLOCK_SECOND + 2 || block[0] > WAL_BLOCK_MAX_ID ||
		(block[1] & others) != 0 ||
		rec[WAL_BLOCK_SECOND] != WAL_ID_DATA_SHORT)
		return false;
	data_length = wal_load16(block + 2);
	*id = block[0];
	tag->fork = block[1] & WAL_BLOCK_FORK_MASK;
	tag->tablespace = wal_load32(block + 4);
	tag->database = wal_load32(block + 8);
	tag->relation = wal_load32(block + 12);
	tag->block = wal_load32(block + 16);
	return len == wal_load32(rec + WAL_REC_TOT_LEN) &&
		len == WAL_BLOCK_SECOND + 2 + data_length + rec[WAL_BLOCK_SECOND + 1] &&
		tag->fork <= WAL_FORK_MAX &&
		((block[1] & WAL_BLOCK_HAS_DATA) != 0) == (data_length > 0);
}

/*
 * Does the record restore or initialise no block at all?  If true, that is
 * certain, and if false, the record must be decoded.  It serves callers that
 * want such records alone, and pass millions of others.  len bytes are at hand.
 */
static inline bool
wal_blocks_restore_nothing(const uint8_t *rec, uint32_t len)
{
	const uint8_t restores = WAL_BLOCK_HAS_IMAGE | WAL_BLOCK_WILL_INIT;

	if (len <= WAL_REC_HEADER + 1)
		return true;
	/* it has no block if main data, which is last, leads the headers */
	if (rec[WAL_REC_HEADER] >= WAL_ID_DATA_LONG)
		return true;
	/* it has one block of a relation named in full, then main data */
	return rec[WAL_REC_HEADER] <= WAL_BLOCK_MAX_ID &&
		(rec[WAL_REC_HEADER + 1] & (restores | WAL_BLOCK_SAME_REL)) == 0 &&
		len > WAL_BLOCK_SECOND && rec[WAL_BLOCK_SECOND] >= WAL_ID_DATA_LONG;
}

#endif							/* ACCEL_WAL_BLOCKS_H */
