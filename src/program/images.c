/*
 * images.c
 *	  The command that finds lost writes by the WAL alone.
 *
 * Its rows are those of verify_wal_images().
 */
#include <string.h>

#include "lost/image.h"
#include "program/decompress.h"
#include "program/images.h"
#include "program/output.h"
#include "program/owner.h"

#define MEMORY_BYTES	(64 * 1024 * 1024)

typedef struct ImagesRun
{
	Output		output;
	WalDirectory dir;
} ImagesRun;

/* The columns of verify_wal_images(), in their order. */
static void
print_columns(Json *json, const void *of)
{
	const LostImage *image = of;
	bool		stale = image->status == LOST_STALE_PAGE;

	json_number(json, "tablespace", stale, image->tag.tablespace);
	json_number(json, "database", stale, image->tag.database);
	json_number(json, "relfilenode", stale, image->tag.relation);
	json_text(json, "fork", stale, "main"); /* no other is judged */
	json_number(json, "blkno", stale, image->tag.block);
	json_text(json, "status", true, lost_status_name(image->status));
	json_lsn(json, "page_lsn", image->page_lsn != 0, image->page_lsn);
	json_lsn(json, "expected_lsn", image->expected_lsn != 0, image->expected_lsn);
	json_lsn(json, "lsn", image->lsn != 0, image->lsn);
	json_text(json, "segment", image->segment[0] != '\0', image->segment);
	json_text(json, "message", image->message[0] != '\0', image->message);
}

static void
on_image(void *arg, const LostImage *image)
{
	ImagesRun  *run = arg;
	const WalBlockTag *tag = &image->tag;
	bool		stale = image->status == LOST_STALE_PAGE;
	OutputRow	row = {stale, !stale, lost_status_name(image->status),
	image->message, print_columns, image};
	char		name[128 + WAL_NAME_SIZE];

	if (stale)
		snprintf(name, sizeof(name), "%s: tablespace %u, database %u, relfilenode %u, block %u, record at " WAL_LSN_FORMAT,
				 image->segment, tag->tablespace, tag->database, tag->relation,
				 tag->block, WAL_LSN_ARGS(image->lsn));
	else
		snprintf(name, sizeof(name), "%s", image->segment);
	output_other(&run->output, name[0] == '\0' ? NULL : name, &row);
}

int
images_command(const Options *options)
{
	const char *path = options->operands[0];
	ImagesRun  *run = host_alloc(sizeof(ImagesRun));
	LostImageOptions scan = {&run->dir, 0, WAL_LSN_MAX, options->timeline,
		options->block_size, &program_decompressors, MEMORY_BYTES,
	program_throttle(options->max_rate)};
	LostImageEnd end = {0};
	LostImage	none = {LOST_NOT_VERIFIABLE,.message = "there is no segment of WAL"};
	HostServer	owner;
	uint32_t	size;

	memset(run, 0, sizeof(*run));
	output_begin(&run->output, options, path);
	owner_open(&run->dir, path, options);
	owner = owner_find(&run->dir, options->system, options->magic);
	owner_set(&run->dir, &owner);
	size = run->dir.limits.segment_size;
	if (options->since.timeline != 0)
		scan.start = wal_name_start(&options->since, size);
	if (options->until.timeline != 0)
		scan.end = wal_name_start(&options->until, size) + size;
	lost_images(&scan, on_image, run, &end);
	if (wal_directory_listing(&run->dir)->files.count == 0)
		on_image(run, &none);
	run->output.files = end.images;
	run->output.read = end.images;
	run->output.records = end.records;
	run->output.bytes = end.end - end.begin;
	return output_end(&run->output);
}
