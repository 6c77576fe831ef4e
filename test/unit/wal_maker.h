/*
 * wal_maker.h
 *	  Makes WAL, byte by byte as the server leaves it.
 *
 * Small segments and pages serve as well as large ones: the walker takes any.
 * The maker also notes what every byte belongs to, so that a test knows where
 * a finding must lie.
 */
#ifndef WAL_MAKER_H
#define WAL_MAKER_H

#include "kernel/checksum.h"
#include "wal/identity.h"
#include "wal/name.h"
#include "wal/walk.h"

#define MAKER_SYSTEM	UINT64_C(0x0123456789ABCDEF)
#define MAKER_MAX_ITEMS 65536

typedef enum MakerKind
{
	MAKER_RECORD,
	MAKER_HEADER,
	MAKER_PADDING,
	MAKER_ABANDONED,			/* cut off by a crash, nothing checks it */
	MAKER_TAIL					/* zeros behind a switch */
} MakerKind;

typedef struct MakerItem
{
	MakerKind	kind;
	WalLsn		start;
	WalLsn		end;			/* of a record: of its last byte, headers
								 * within it are items of their own */
} MakerItem;

typedef struct WalMaker
{
	uint8_t    *bytes;
	size_t		size;			/* of the whole log, segments */
	WalLsn		base;			/* LSN of bytes[0], a segment's start */
	uint32_t	segment_size;
	uint32_t	page_size;
	uint16_t	magic;
	uint32_t	timeline;
	WalLsn		at;				/* where the next byte goes */
	WalLsn		prev;
	uint64_t	records;
	uint64_t	image_bytes;
	bool		full;
	int			nitems;
	MakerItem	items[MAKER_MAX_ITEMS];
} WalMaker;

static inline void
maker_begin(WalMaker *m, uint8_t *bytes, size_t size, WalLsn base,
			uint32_t segment_size, uint32_t page_size, uint16_t magic)
{
	memset(m, 0, sizeof(*m));
	memset(bytes, 0, size);
	m->bytes = bytes;
	m->size = size;
	m->base = base;
	m->segment_size = segment_size;
	m->page_size = page_size;
	m->magic = magic;
	m->timeline = 1;
	m->at = base;
}

static inline uint8_t *
maker_byte(WalMaker *m, WalLsn lsn)
{
	return m->bytes + (lsn - m->base);
}

static inline void
maker_item(WalMaker *m, MakerKind kind, WalLsn start, WalLsn end)
{
	MakerItem	item = {kind, start, end};

	if (start < end && m->nitems < MAKER_MAX_ITEMS)
		m->items[m->nitems++] = item;
}

/* The header of the page that m->at stands at the start of. */
static inline void
maker_header(WalMaker *m, uint16_t flags, uint32_t rem_len)
{
	uint8_t    *page = maker_byte(m, m->at);
	uint64_t	address = m->at;
	uint64_t	system = MAKER_SYSTEM;
	bool		is_long = m->at % m->segment_size == 0;
	uint32_t	size = is_long ? WAL_PAGE_LONG : WAL_PAGE_SHORT;

	if (is_long)
		flags |= WAL_FLAG_LONG;
	if (rem_len > 0)
		flags |= WAL_FLAG_CONTRECORD;
	memcpy(page + WAL_PAGE_MAGIC, &m->magic, 2);
	memcpy(page + WAL_PAGE_INFO, &flags, 2);
	memcpy(page + WAL_PAGE_TLI, &m->timeline, 4);
	memcpy(page + WAL_PAGE_ADDR, &address, 8);
	memcpy(page + WAL_PAGE_REM_LEN, &rem_len, 4);
	if (is_long)
	{
		memcpy(page + WAL_PAGE_SYSTEM, &system, 8);
		memcpy(page + WAL_PAGE_SEG_SIZE, &m->segment_size, 4);
		memcpy(page + WAL_PAGE_BLCKSZ, &m->page_size, 4);
	}
	maker_item(m, MAKER_HEADER, m->at, m->at + size);
	m->at += size;
}

/* Room for len bytes of records and the headers between, roughly. */
static inline bool
maker_has_room(const WalMaker *m, uint64_t len)
{
	uint64_t	pages = len / (m->page_size - WAL_PAGE_LONG) + 2;

	return m->at + len + pages * WAL_PAGE_LONG < m->base + m->size;
}

/*
 * Writes the first n bytes of rec; the page headers between announce all of
 * len.  Returns its start.
 */
static inline WalLsn
maker_bytes(WalMaker *m, const uint8_t *rec, uint32_t n, uint32_t len,
			MakerKind kind)
{
	WalLsn		start;
	WalLsn		end;
	uint32_t	done = 0;
	int			item;

	if (m->at % m->page_size == 0)
		maker_header(m, 0, 0);
	start = m->at;
	item = m->nitems;
	maker_item(m, kind, start, start + 1);
	while (done < n)
	{
		uint32_t	room = m->page_size - (uint32_t) (m->at % m->page_size);
		uint32_t	piece;

		if (room == m->page_size)
		{
			maker_header(m, 0, len - done);
			continue;
		}
		piece = n - done < room ? n - done : room;
		memcpy(maker_byte(m, m->at), rec + done, piece);
		m->at += piece;
		done += piece;
	}
	end = m->at;
	if (item < m->nitems)
		m->items[item].end = end;
	m->at = wal_align(m->at);
	maker_item(m, MAKER_PADDING, end, m->at);
	return start;
}

static inline uint32_t
maker_crc(const uint8_t *rec, uint32_t len)
{
	uint32_t	reg = checksum_crc32c(CHECKSUM_CRC_INIT, rec + WAL_REC_HEADER,
									  len - WAL_REC_HEADER);

	return checksum_crc32c(reg, rec, WAL_REC_CRC) ^ CHECKSUM_CRC_INIT;
}

/* Fills in the header of rec, whose body is there.  m->at must be final. */
static inline void
maker_seal(WalMaker *m, uint8_t *rec, uint32_t len, uint8_t rmid, uint8_t info)
{
	uint32_t	xid = 42;
	uint32_t	crc;

	memset(rec, 0, WAL_REC_HEADER);
	memcpy(rec + WAL_REC_TOT_LEN, &len, 4);
	memcpy(rec + 4, &xid, 4);
	memcpy(rec + WAL_REC_PREV, &m->prev, 8);
	rec[WAL_REC_INFO] = info;
	rec[WAL_REC_RMID] = rmid;
	crc = maker_crc(rec, len);
	memcpy(rec + WAL_REC_CRC, &crc, 4);
}

/* A record of len bytes; its body is in rec already. */
static inline bool
maker_record(WalMaker *m, uint8_t *rec, uint32_t len, uint8_t rmid,
			 uint8_t info)
{
	if (!maker_has_room(m, len))
	{
		m->full = true;
		return false;
	}
	maker_seal(m, rec, len, rmid, info);
	m->prev = maker_bytes(m, rec, len, len, MAKER_RECORD);
	m->records++;
	return true;
}

/* A switch: the rest of the segment stays zero. */
static inline void
maker_switch(WalMaker *m)
{
	uint8_t		rec[WAL_REC_HEADER];
	WalLsn		end;

	if (!maker_record(m, rec, WAL_REC_HEADER, WAL_RMGR_XLOG, WAL_XLOG_SWITCH))
		return;
	end = (m->at + m->segment_size - 1) / m->segment_size * m->segment_size;
	maker_item(m, MAKER_TAIL, m->at, end);
	m->at = end;
}

/*
 * A record that a crash cut off at the end of a page, and what the server
 * writes then.  There must be a page border within len.
 */
static inline void
maker_abandon(WalMaker *m, uint8_t *rec, uint32_t len)
{
	uint8_t		overwrite[WAL_REC_HEADER + 18];
	uint32_t	room = m->page_size - (uint32_t) (m->at % m->page_size);
	WalLsn		abandoned;

	if (room == m->page_size || room >= len || !maker_has_room(m, len + 2 * m->page_size))
		return;
	maker_seal(m, rec, len, 10, 0);
	abandoned = maker_bytes(m, rec, room, len, MAKER_ABANDONED);
	maker_header(m, wal_version(m->magic)->overwrite_flag, 0);
	memset(overwrite, 0xFF, sizeof(overwrite));
	memcpy(overwrite + WAL_OVERWRITE_LSN, &abandoned, 8);
	overwrite[WAL_REC_HEADER + 1] = 16;
	maker_record(m, overwrite, sizeof(overwrite), WAL_RMGR_XLOG,
				 WAL_XLOG_OVERWRITE);
}

/* What a byte belongs to; NULL: nothing was written there. */
static inline const MakerItem *
maker_find(const WalMaker *m, WalLsn lsn)
{
	const MakerItem *found = NULL;

	for (int i = 0; i < m->nitems; i++)
		if (lsn >= m->items[i].start && lsn < m->items[i].end &&
			(found == NULL || m->items[i].kind == MAKER_HEADER))
			found = &m->items[i];
	return found;
}

#endif							/* WAL_MAKER_H */
