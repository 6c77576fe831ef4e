/*
 * dump_blocks.c
 *	  Every block reference in WAL segments, in the words of pg_waldump -b.
 *
 * dump_blocks FILE...: the segments in order.  Stand-alone, of src/kernel and
 * src/verify: what t/070 compares with pg_waldump, reference by reference.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernel/checksum.h"
#include "wal/block_image.h"
#include "wal/identity.h"
#include "wal/walk.h"

#define SEGMENT_MAX	(16 << 20)
#define BLOCK		8192

typedef struct Segment
{
	uint8_t    *bytes;
	WalIdentity id;
} Segment;

static uint8_t *gathered;

static void
print_record(void *arg, WalLsn lsn, WalLsn end, const uint8_t *rec, uint32_t len)
{
	static const char *const forks[] = {"main", "fsm", "vm", "init"};
	WalBlocks	blocks;
	WalBlocksReason reason;

	(void) arg;
	(void) end;
	rec = rec != NULL ? rec : gathered;
	reason = wal_blocks_decode(&blocks, rec, len, BLOCK);
	if (reason != WAL_BLOCKS_OK)
		printf("%X/%08X refused: %s\n", (uint32_t) (lsn >> 32), (uint32_t) lsn,
			   wal_blocks_words(reason));
	for (int i = 0; reason == WAL_BLOCKS_OK && i < blocks.count; i++)
	{
		const WalBlockRef *ref = &blocks.refs[i];
		const WalImage *image = &ref->image;

		printf("%X/%08X blkref #%d: rel %u/%u/%u fork %s blk %u",
			   (uint32_t) (lsn >> 32), (uint32_t) lsn, ref->id,
			   ref->tag.tablespace, ref->tag.database, ref->tag.relation,
			   forks[ref->tag.fork], ref->tag.block);
		if (ref->has_image)
			printf(" (FPW%s); hole: offset: %u, length: %u",
				   ref->apply ? "" : " for WAL verification",
				   image->hole_offset, image->hole_length);
		if (ref->has_image && image->compression != WAL_METHOD_NONE)
			printf(", compression saved: %u, method: %s",
				   BLOCK - image->hole_length - image->length,
				   wal_image_method_name(image->compression));
		printf("\n");
	}
	printf("%X/%08X origin %d, top %d\n", (uint32_t) (lsn >> 32), (uint32_t) lsn,
		   blocks.has_origin, blocks.has_top_xid);
}

static void
gather_piece(void *arg, const uint8_t *data, uint32_t offset, uint32_t n)
{
	(void) arg;
	gathered = realloc(gathered, offset + n);
	memcpy(gathered + offset, data, n);
}

static void
read_segment(Segment *segment, const char *path)
{
	FILE	   *file = fopen(path, "rb");
	size_t		len;

	segment->bytes = malloc(SEGMENT_MAX);
	len = file == NULL ? 0 : fread(segment->bytes, 1, SEGMENT_MAX, file);
	wal_identify(&segment->id, segment->bytes, len, len, 8192, SEGMENT_MAX);
	if (file == NULL || len < segment->id.segment_size)
	{
		fprintf(stderr, "no whole segment: %s\n", path);
		exit(1);
	}
	fclose(file);
}

/* One segment, with those around it for the records over its borders. */
static void
walk(const Segment *segments, int n, int count)
{
	static const WalRecordSink sink = {print_record, gather_piece, NULL, NULL};
	static WalWalker walker;
	const WalIdentity *id = &segments[n].id;
	int			first = n > 0 ? n - 1 : n;
	WalWalkOptions options = {0};

	options.path.timeline = id->timeline;
	options.segment_start = id->address;
	options.segment_size = id->segment_size;
	options.page_size = id->page_size;
	options.magic = id->magic;
	options.limit = WAL_LSN_MAX;
	options.earliest_end = 0;
	options.records = &sink;
	wal_walk_begin(&walker, &options, segments[first].id.address);
	for (int s = first; s < count && (s <= n || wal_walk_wants_more(&walker)); s++)
		for (uint32_t at = 0; at < id->segment_size &&
			 (s <= n || wal_walk_wants_more(&walker)); at += id->page_size)
			wal_walk_page(&walker, segments[s].bytes + at);
	wal_walk_finish(&walker);
	if (walker.counts.errors > 0)
		printf("%u errors in segment %d\n", walker.counts.errors, n);
}

int
main(int argc, char **argv)
{
	Segment    *segments = calloc((size_t) argc, sizeof(Segment));

	checksum_init();
	for (int i = 1; i < argc; i++)
		read_segment(&segments[i - 1], argv[i]);
	for (int i = 0; i < argc - 1; i++)
		walk(segments, i, argc - 1);
	return 0;
}
