/*
 * image.c
 *	  Finds lost writes that the server has built upon, by the WAL alone.
 *
 * The first change of a page after a checkpoint puts the page into the WAL, as
 * it is with the change.  It still has the LSN that it had before.  That LSN
 * is the end of the last record that changed the page.  In this WAL it is the
 * record before, if there is one.  An older LSN is that of an older page.
 * Storage had lost the write, and the server read the page back, changed it,
 * and wrote it.  On disk nothing is wrong by then, and no checksum tells.
 *
 * Four facts make this exact.
 *
 * (1) A record counts as a change if it is a witness of an LSN for every kind
 *	   of relation, see lost/witness.c.  The page has then got the record's end
 *	   as its LSN, both from the session that inserted it and from redo.  So
 *	   hints, the table's block of VISIBLE, blocks that are only locked, and
 *	   pages that bypass shared buffers are not changes.
 *
 * (2) An LSN never goes back except for pages that are made anew.  Those of
 *	   records with WILL_INIT have no image to judge.  Those without an LSN (0,
 *	   and 1 of a sorted build of GiST) are passed over.
 *
 * (3) A record that ends storage ends what was said of it.  A gap in the WAL
 *	   may hold such a record, so everything is forgotten there.
 *
 * (4) Only main forks are judged, since bits of maps are cleared without an
 *	   LSN.
 *
 * An LSN that is newer than the record before is that of a hint's image.
 *
 * What does not decode or decompress here has no verdict.  That is told once,
 * and what was said of blocks before such a record is forgotten.
 *
 * Memory is bounded.  When the book is full, half of the blocks leave it, and
 * the WAL is read once more for them.  What was said of them stays said.  This
 * is proved by experiment in test/t/078_lost_images.pl and
 * test/t/073_lost_none.pl.
 */
#include <stdio.h>
#include <string.h>

#include "lost/book.h"
#include "lost/image.h"
#include "wal/block_walk.h"

/* Ends of storage that are looked through for an image, at most. */
#define ENDS_MAX		512

/* LSNs below are none.  New pages have them, and GiST's sorted builds. */
#define FIRST_LSN		2

/* Blocks that one pass over the WAL is for, see lost_book_keep(). */
typedef struct Share
{
	uint32_t	number;
	uint32_t	mask;
	WalLsn		said;			/* rows up to here are out already */
} Share;

#define SHARES_MAX		33		/* each has one bit of the mask more */

/* What is not judged. */
typedef enum Unread
{
	UNREAD_RECORD,
	UNREAD_IMAGE,
	UNREAD_KINDS
} Unread;

typedef struct ImageScan
{
	const LostImageOptions *options;
	LostImageFn emit;
	void	   *arg;
	LostWitnesses witnesses;
	LostBook	book;
	WalBlocks  *blocks;			/* of the record at work */
	const WalBlockRecord *record;
	Share		shares[SHARES_MAX]; /* the last one is at work */
	int			nshares;
	bool		again;			/* the WAL was read before */
	LostImage	unread[UNREAD_KINDS];	/* where the first one was */
	uint64_t	nunread[UNREAD_KINDS];
	WalImageMethod method;		/* of such an image */
	uint64_t	nimages;
	uint8_t    *page;
} ImageScan;

/* ---- the book ---- */

static Share *
at_work(ImageScan *scan)
{
	return &scan->shares[scan->nshares - 1];
}

static bool
is_of_share(ImageScan *scan, const WalBlockTag *tag)
{
	const Share *share = at_work(scan);

	return tag->fork == WAL_FORK_MAIN &&
		(lost_book_number(tag) & share->mask) == share->number;
}

/*
 * Halves the share that is being read.  The other half comes later.  Returns
 * false where all that is left are blocks of one number.
 */
static bool
split_share(ImageScan *scan)
{
	Share	   *share = at_work(scan);
	Share		half;

	if (share->mask == UINT32_MAX)
		return false;
	half.mask = share->mask << 1 | 1;
	half.number = share->number;
	half.said = share->said;
	share->number |= half.mask & ~share->mask;
	share->mask = half.mask;
	if (share->said < scan->record->lsn)
		share->said = scan->record->lsn;
	scan->shares[scan->nshares++] = half;
	lost_book_keep(&scan->book, half.number, half.mask);
	return true;
}

static void
forget(ImageScan *scan)
{
	lost_book_close(&scan->book);
	lost_book_reopen(&scan->book);
}

static void
note_change(ImageScan *scan, const WalBlockTag *tag)
{
	while (is_of_share(scan, tag) &&
		   !lost_book_prove(&scan->book, tag, LOST_PROOF_LSN,
							scan->record->end))
		if (!split_share(scan))
			forget(scan);
}

static void
note_end(void *arg, const LostEvent *event)
{
	ImageScan  *scan = arg;
	const Share *share = at_work(scan);

	if (scan->book.nends >= ENDS_MAX)
		lost_book_keep(&scan->book, share->number, share->mask);
	while (!lost_book_end(&scan->book, event, scan->record->end))
		lost_book_keep(&scan->book, share->number, share->mask);
}

/* ---- images ---- */

/* Every image is met once, every record once per share. */
static void
note_unread(ImageScan *scan, Unread kind)
{
	LostImage  *first = &scan->unread[kind];

	if (kind == UNREAD_RECORD && scan->again)
		return;
	if (scan->nunread[kind]++ > 0 && first->lsn <= scan->record->lsn)
		return;
	first->status = LOST_NOT_VERIFIABLE;
	first->lsn = scan->record->lsn;
	wal_name_print(scan->record->segment, first->segment);
}

static void
report_unread(ImageScan *scan)
{
	LostImage  *record = &scan->unread[UNREAD_RECORD];
	LostImage  *image = &scan->unread[UNREAD_IMAGE];

	if (scan->nunread[UNREAD_RECORD] > 0)
	{
		snprintf(record->message, sizeof(record->message),
				 "%llu records from here on do not decode with blocks of %u bytes",
				 (unsigned long long) scan->nunread[UNREAD_RECORD],
				 (unsigned) scan->options->block_size);
		scan->emit(scan->arg, record);
	}
	if (scan->nunread[UNREAD_IMAGE] > 0)
	{
		snprintf(image->message, sizeof(image->message),
				 "%llu full-page images from here on, by %s, do not decompress here",
				 (unsigned long long) scan->nunread[UNREAD_IMAGE],
				 wal_image_method_name(scan->method));
		scan->emit(scan->arg, image);
	}
}

/*
 * Returns pd_lsn of the page in an image, or 0 if it does not decompress here.
 */
static WalLsn
lsn_of_image(ImageScan *scan, const WalImage *image)
{
	const uint8_t *start = image->data;
	uint32_t	halves[2];

	if (image->compression != WAL_METHOD_NONE)
	{
		start = scan->page;
		if (wal_block_image_restore(image, scan->options->block_size,
									scan->options->decompressors,
									scan->page) != WAL_IMAGE_RESTORED)
		{
			scan->method = image->compression;
			note_unread(scan, UNREAD_IMAGE);
			return 0;
		}
	}
	memcpy(halves, start, sizeof(halves));
	return (WalLsn) halves[0] << 32 | halves[1];
}

static void
report_stale(ImageScan *scan, const WalBlockRef *ref, WalLsn page_lsn,
			 WalLsn expected)
{
	LostImage	image = {LOST_STALE_PAGE, ref->tag, page_lsn, expected};

	image.lsn = scan->record->lsn;
	wal_name_print(scan->record->segment, image.segment);
	snprintf(image.message, sizeof(image.message),
			 "a write was lost: the page that was changed here had LSN " WAL_LSN_FORMAT ", the record before it that changed the block ends at " WAL_LSN_FORMAT,
			 WAL_LSN_ARGS(page_lsn), WAL_LSN_ARGS(expected));
	scan->emit(scan->arg, &image);
}

static void
judge_image(ImageScan *scan, const WalBlockRef *ref)
{
	const LostEntry *before;
	WalLsn		lsn;

	if (!ref->has_image || !ref->apply || ref->will_init ||
		!is_of_share(scan, &ref->tag) ||
		scan->record->lsn <= at_work(scan)->said)
		return;
	before = lost_book_find(&scan->book, &ref->tag, scan->record->end);
	if (before == NULL)
		return;
	lsn = lsn_of_image(scan, &ref->image);
	scan->nimages += lsn == 0 ? 0 : 1;
	if (lsn >= FIRST_LSN && lsn < before->lsn)
		report_stale(scan, ref, lsn, before->lsn);
}

/* ---- records ---- */

/* Does what most records need.  Returns false if this one must be decoded. */
static bool
note_single(ImageScan *scan, const LostForkRule *rule)
{
	const WalBlockRecord *record = scan->record;
	WalBlockTag tag;
	uint8_t		id;

	if (rule->need != LOST_NEED_NOTHING ||
		!wal_blocks_single(record->bytes, record->present, &tag, &id))
		return false;
	if ((rule->ids >> id & 1) != 0 && rule->proof == LOST_PROOF_LSN)
		note_change(scan, &tag);
	return true;
}

static void
note_references(ImageScan *scan, const LostWitnessRule *rule)
{
	for (int i = 0; i < scan->blocks->count; i++)
		judge_image(scan, &scan->blocks->refs[i]);
	for (int i = 0; rule != NULL && i < scan->blocks->count; i++)
	{
		const WalBlockRef *ref = &scan->blocks->refs[i];

		if (lost_witness(rule, scan->blocks, ref) == LOST_PROOF_LSN)
			note_change(scan, &ref->tag);
	}
}

static bool
note_record(void *arg, const WalBlockRecord *record)
{
	ImageScan  *scan = arg;
	const uint8_t *rec = record->bytes;
	bool		event = wal_storage_possible(rec);
	const LostWitnessRule *rule = lost_witness_rule(&scan->witnesses, rec);
	bool		plain = wal_blocks_restore_nothing(rec, record->present);

	scan->record = record;
	if (!event && plain &&
		(rule == NULL || note_single(scan, &rule->main)))
		return true;
	if (wal_blocks_decode(scan->blocks, rec, record->present, scan->options->block_size) != WAL_BLOCKS_OK ||
		(event && !lost_events(rec, scan->blocks, note_end, scan)))
	{
		note_unread(scan, UNREAD_RECORD);
		forget(scan);
	}
	else
		note_references(scan, rule);
	return true;
}

/* ---- the run ---- */

static void
note_gap(void *arg, const WalBlockGap *gap)
{
	ImageScan  *scan = arg;
	LostImage	image = {LOST_NOT_VERIFIABLE};

	forget(scan);
	if (scan->again)
		return;
	image.lsn = gap->begin;
	wal_name_print(&gap->segment, image.segment);
	wal_trouble_words(&gap->verdict, gap->status, image.message);
	scan->emit(scan->arg, &image);
}

static void
read_wal(ImageScan *scan, LostImageEnd *total)
{
	const LostImageOptions *options = scan->options;
	WalBlockWalk walk = {options->dir, options->start, options->end,
	options->timeline, 0, note_record, note_gap, scan};
	WalBlockWalkEnd end;

	walk.throttle = options->throttle;
	wal_block_walk(&walk, &end);
	if (!scan->again && total != NULL)
	{
		total->begin = end.begin;
		total->end = end.end;
		total->records = end.records;
	}
	/* the share just read is done, and what left it lies below */
	scan->nshares--;
	scan->again = true;
	forget(scan);
}

void
lost_images(const LostImageOptions *options, LostImageFn emit, void *arg,
			LostImageEnd *end)
{
	ImageScan  *scan = host_alloc(sizeof(ImageScan));
	size_t		bytes = options->memory / 2 < LOST_BOOK_MIN ? LOST_BOOK_MIN : options->memory / 2;
	void	   *book = host_alloc(bytes);

	memset(scan, 0, sizeof(ImageScan));
	scan->options = options;
	scan->emit = emit;
	scan->arg = arg;
	scan->blocks = host_alloc(sizeof(WalBlocks));
	scan->page = host_alloc(options->block_size);
	lost_witnesses_begin(&scan->witnesses, options->dir->limits.server.magic);
	lost_book_open(&scan->book, book, bytes, 1);
	scan->nshares = 1;
	while (scan->nshares > 0)
		read_wal(scan, end);
	report_unread(scan);
	if (end != NULL)
		end->images = scan->nimages;
	host_free(scan->page);
	host_free(scan->blocks);
	host_free(book);
	host_free(scan);
}
