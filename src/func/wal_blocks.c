/*
 * wal_blocks.c
 *	  SQL functions about the history and the images of a block in the WAL.
 *
 * An image equals the current page if no later record changed the block.  To
 * know that, all WAL up to the present must have been read.  Also, whatever
 * changes the block must be in the WAL with a reference to it.
 *
 * What the present is, and which WAL is read, says func/own_wal.c.  If there
 * is one gap after the image, the answer is not known.  Where nothing tells
 * whose archive it is, no image of it is the page.
 *
 * Some pages change without WAL, or with WAL that does not name them.
 * Sequences are such, as a record says more than the page holds, and calls
 * between records say nothing.  So are free space maps, and visibility maps,
 * where records up to 18 clear bits without a reference.  Access methods of
 * extensions may do anything.  Hint bits remain, on tables and indexes.  The
 * image is the page except for those.
 */
#include "compat.h"

#include "access/relation.h"
#include "access/rmgr.h"
#include "access/xlog_internal.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "func/own_wal.h"
#include "page/relation_kind.h"
#include "repair/image.h"
#include "wal/block_history.h"

#define HISTORY_COLUMNS 10

/* The block that is looked for, and the WAL to look in. */
typedef struct BlockSearch
{
	Relation	rel;
	WalBlockTag tag;
	OwnWal		wal;
} BlockSearch;

typedef struct History
{
	BlockSearch search;
	WalBlockHistory rows;
} History;

typedef struct ImageSearch
{
	BlockSearch search;
	XLogRecPtr	lsn;
	bool		found;			/* the record */
	bytea	   *page;			/* NULL if it has no image of the block */
	bool		broken;			/* something before the first record */
	WalBlockGap gap;
} ImageSearch;

/* ---- the block ---- */

static void
name_block(BlockSearch *search, FunctionCallInfo fcinfo)
{
	int64		blkno = PG_GETARG_INT64(2);

	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "blkno", blkno, 0,
					  MaxBlockNumber);
	search->tag.fork = forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	search->rel = scan_open_relation(PG_GETARG_OID(0));
	search->tag.tablespace = LOCATOR_TABLESPACE(search->rel->rd_locator);
	search->tag.database = LOCATOR_DATABASE(search->rel->rd_locator);
	search->tag.relation = LOCATOR_NUMBER(search->rel->rd_locator);
	search->tag.block = (uint32) blkno;
}

/* ---- rows of the history ---- */

static const char *
manager_name(uint8 rmid)
{
	return RmgrIdExists(rmid) ? GetRmgr(rmid).rm_name :
		psprintf("custom%03u", rmid);
}

/* What the manager calls the record, as pg_waldump does. */
static const char *
record_name(uint8 rmid, uint8 info)
{
	const char *name = RmgrIdExists(rmid) ? GetRmgr(rmid).rm_identify(info) : NULL;

	return name != NULL ? name : psprintf("UNKNOWN (%x)", info & WAL_INFO_MASK);
}

static void
emit_row(void *arg, const WalBlockRow *row, bool is_last, bool is_page)
{
	ReturnSetInfo *rsinfo = arg;
	bool		gap = row->kind == WAL_ROW_GAP;
	Datum		values[HISTORY_COLUMNS] = {0};
	bool		nulls[HISTORY_COLUMNS] = {false};
	char		segment[WAL_NAME_SIZE];

	wal_name_print(&row->segment, segment);
	values[0] = LSNGetDatum(row->lsn);
	values[1] = LSNGetDatum(row->end);
	nulls[1] = row->end == InvalidXLogRecPtr;
	values[2] = CStringGetTextDatum(segment);
	nulls[3] = nulls[4] = gap;
	if (!gap)
	{
		values[3] = CStringGetTextDatum(manager_name(row->rmid));
		values[4] = CStringGetTextDatum(record_name(row->rmid, row->info));
	}
	values[5] = CStringGetTextDatum(wal_row_kind_name(row->kind));
	nulls[6] = !wal_block_row_has_image(row);
	values[6] = CStringGetTextDatum(wal_image_method_name(row->compression));
	values[7] = BoolGetDatum(is_last);
	values[8] = BoolGetDatum(is_page);
	nulls[9] = !gap;
	if (gap)
		values[9] = CStringGetTextDatum(row->message);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* ---- the end of the history ---- */

/* Walks everything.  Returns whether it is complete up to the present. */
static bool
walk_all(History *history, XLogRecPtr from)
{
	BlockSearch *search = &history->search;
	WalBlockHistory *rows = &history->rows;
	WalStream  *stream = &search->wal.stream;

	stream->record = wal_block_history_record;
	stream->broken = wal_block_history_gap;
	stream->arg = rows;
	wal_stream_read(stream, from, rows->until);
	if (!stream->complete)
		wal_block_history_gap(rows, &stream->rest);
	return search->wal.present != InvalidXLogRecPtr &&
		rows->until == search->wal.present && stream->complete &&
		search->wal.own_history;
}

/*
 * wal_block_history(relation regclass, fork text, blkno bigint, directory
 * text, start_lsn, end_lsn pg_lsn)
 */
SQL_FUNCTION(accel_wal_block_history)
{
	History    *history = palloc0(sizeof(History));
	BlockSearch *search = &history->search;
	WalBlockHistory *rows = &history->rows;
	XLogRecPtr	from = PG_ARGISNULL(4) ? 0 : PG_GETARG_LSN(4);

	accel_check_null(fcinfo, 0, "relation");
	accel_check_null(fcinfo, 1, "fork");
	accel_check_null(fcinfo, 2, "blkno");
	if (!PG_ARGISNULL(5))
		accel_check_lsns(from, PG_GETARG_LSN(5));
	InitMaterializedSRF(fcinfo, 0);
	name_block(search, fcinfo);
	own_wal_open(&search->wal, accel_text(fcinfo, 3));
	rows->tag = search->tag;
	rows->block_size = BLCKSZ;
	rows->emit = emit_row;
	rows->arg = fcinfo->resultinfo;
	rows->until = search->wal.present;
	if (rows->until == InvalidXLogRecPtr)
		rows->until = WAL_LSN_MAX;
	if (!PG_ARGISNULL(5) && PG_GETARG_LSN(5) < rows->until)
		rows->until = PG_GETARG_LSN(5);
	if (from < rows->until)
		wal_block_history_end(rows, walk_all(history, from) &&
							  relation_wal_is_complete(search->rel,
													   search->tag.fork));
	relation_close(search->rel, AccessShareLock);
	return (Datum) 0;
}

/* ---- images ---- */

static void
raise_not_restored(WalImageResult result, const WalBlockRecord *record,
				   WalImageMethod compression)
{
	if (result == WAL_IMAGE_UNAVAILABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("full-page image at %X/%X is compressed with %s, which this server does not support",
						LSN_FORMAT_ARGS(record->lsn),
						wal_image_method_name(compression)),
				 errhint("Use a server that was built with that library.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("full-page image at %X/%X does not decompress",
					LSN_FORMAT_ARGS(record->lsn))));
}

static bytea *
restore_page(const WalBlockRecord *record, const WalBlockRef *ref)
{
	bytea	   *result = palloc(VARHDRSZ + BLCKSZ);
	PGAlignedBlock page;
	WalImageResult restored = redo_image(record, ref, page.data);

	if (restored != WAL_IMAGE_RESTORED)
		raise_not_restored(restored, record, ref->image.compression);
	SET_VARSIZE(result, VARHDRSZ + BLCKSZ);
	memcpy(VARDATA(result), page.data, BLCKSZ);
	return result;
}

/*
 * Takes the first record from the position on.  It is the one, or there is
 * none.
 */
static void
on_image(void *arg, const WalBlockRecord *record)
{
	ImageSearch *image = arg;
	WalBlocks	blocks;

	image->found = record->lsn == image->lsn &&
		wal_blocks_decode(&blocks, record->bytes, record->present,
						  BLCKSZ) == WAL_BLOCKS_OK;
	for (int i = 0; image->found && i < blocks.count; i++)
		if (blocks.refs[i].has_image &&
			wal_block_tag_equal(&blocks.refs[i].tag, &image->search.tag))
			image->page = restore_page(record, &blocks.refs[i]);
	image->search.wal.stream.stop = true;
}

static void
note_gap(void *arg, const WalBlockGap *gap)
{
	ImageSearch *image = arg;

	image->broken = true;
	image->gap = *gap;
}

static void
find_image(ImageSearch *image)
{
	WalStream  *stream = &image->search.wal.stream;

	stream->record = on_image;
	stream->broken = note_gap;
	stream->arg = image;
	wal_stream_read(stream, Max(image->lsn, 1),
					image->search.wal.present != InvalidXLogRecPtr ?
					image->search.wal.present : WAL_LSN_MAX);
	if (!image->found && !image->broken && !stream->complete)
		note_gap(image, &stream->rest);
}

static int
gap_detail(const WalBlockGap *gap)
{
	char		words[WAL_MESSAGE_SIZE];
	char		segment[WAL_NAME_SIZE];

	wal_trouble_words(&gap->verdict, gap->status, words);
	wal_name_print(&gap->segment, segment);
	return errdetail("Segment %s: %s.", segment, words);
}

/*
 * wal_page_image(relation regclass, fork text, blkno bigint, directory text,
 * lsn pg_lsn) returns NULL if the record has no image of the block.
 */
SQL_FUNCTION(accel_wal_page_image)
{
	ImageSearch image = {{0}};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) ||
		PG_ARGISNULL(4))
		PG_RETURN_NULL();
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to read raw pages")));
	name_block(&image.search, fcinfo);
	image.lsn = PG_GETARG_LSN(4);
	own_wal_open(&image.search.wal, accel_text(fcinfo, 3));
	find_image(&image);
	relation_close(image.search.rel, AccessShareLock);
	if (!image.found)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no valid WAL record starts at %X/%X",
						LSN_FORMAT_ARGS(image.lsn)),
				 image.broken ? gap_detail(&image.gap) : 0,
				 errhint("Take the position from column \"lsn\" of wal_block_history(), with the same directory.")));
	if (image.page == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(image.page);
}
