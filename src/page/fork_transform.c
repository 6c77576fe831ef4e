/*
 * fork_transform.c
 *	  Tells storage that transforms pages from storage that damages them.
 *
 * Where pages are encrypted below the server's storage manager, no page is
 * valid in the files, and the server reads all of them.  Nothing is damaged,
 * and nothing can be verified.
 *
 * The claim is that where the answer is yes, the storage manager makes valid
 * pages of what the files hold.  On plain storage both of us read the same
 * bytes, for it is the same file at the same place.  Three things could look
 * otherwise there.
 *
 * (1) A write between the two reads.  Ours is made before and after the
 *	   storage manager's, and has to give the same bytes.  They are no valid
 *	   page, but what a write leaves is one.
 *
 * (2) Another file, since the manager keeps files open that were replaced.  It
 *	   is told to open them anew.
 *
 * (3) A medium that answers now this, now that, such as a mirror with a
 *	   damaged half, or a page in the page cache that has rotted there.  That
 *	   is a page or two of many, and some sectors of a page.  Storage that
 *	   transforms does so with each page and each sector.  So several blocks
 *	   from all over the file are asked, each several times in turn.  The
 *	   answer is no if one is valid in the file, or the server reads it as the
 *	   file has it.
 *
 * Pages that are transformed above the storage manager look damaged to it,
 * too, and nothing here tells.
 */
#include "compat.h"

#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "page/decide.h"
#include "page/fork_reader.h"
#include "page/fork_transform.h"
#include "page/judge.h"

/* Blocks that are asked, and how often each. */
#define SAMPLES		16
#define TURNS		3

/* No storage damages less, or leaves out less. */
#define SECTOR		512

typedef enum Sample
{
	SAMPLE_SILENT,				/* zeros, or not to be read, says nothing */
	SAMPLE_UNCLEAR,
	SAMPLE_PLAIN,
	SAMPLE_TRANSFORMED
} Sample;

typedef struct Probe
{
	PageRules	rules;
	ForkReader	file;
	ForkReader	manager;
	PGAlignedBlock raw;			/* as the file has it */
	PGAlignedBlock again;
	PGAlignedBlock served;		/* as the manager has it */
} Probe;

static bool ask_samples(Probe *probe, BlockNumber blkno);
static Sample ask_block(Probe *probe, BlockNumber blkno);
static Sample ask_in_turn(Probe *probe, BlockNumber blkno);
static bool read_block(ForkReader *reader, BlockNumber blkno,
					   PGAlignedBlock *block);
static bool is_valid(Probe *probe, const char *page, BlockNumber blkno);
static bool sectors_differ(const char *a, const char *b);

bool
fork_is_transformed(const Fork *fork, BlockNumber blkno, Throttle *throttle)
{
	Probe	   *probe;
	Fork		through = *fork;
	bool		transformed;

	if (!fork->md)
		return false;
	probe = palloc0(sizeof(Probe));
	probe->rules.checksums = fork->checksums;
	probe->rules.kind = fork->kind;
	probe->rules.horizon = fork->test_lsn ? block_horizon() :
		InvalidXLogRecPtr;
	through.md = false;
	fork_reader_init(&probe->file, fork);
	fork_reader_init(&probe->manager, &through);
	probe->file.throttle = probe->manager.throttle = throttle;
	smgrrelease(RelationGetSmgr(fork->rel));
	transformed = fork_reader_open(&probe->file, blkno) &&
		ask_samples(probe, blkno) && !fork_moved(fork);
	fork_reader_close(&probe->manager);
	fork_reader_close(&probe->file);
	pfree(probe);
	return transformed;
}

/* Asks blocks all over one segment, the given one first. */
static bool
ask_samples(Probe *probe, BlockNumber blkno)
{
	BlockNumber base = blkno / RELSEG_SIZE * RELSEG_SIZE;
	BlockNumber end = fork_reader_segment_end(&probe->file);
	BlockNumber count = end > blkno && end != InvalidBlockNumber ? end - base : 0;
	BlockNumber samples = Min(count, SAMPLES);
	int			votes[SAMPLE_TRANSFORMED + 1] = {0};

	for (BlockNumber i = 0; i < samples; i++)
	{
		BlockNumber at = (blkno - base + (uint64) i * count / samples) % count;

		CHECK_FOR_INTERRUPTS();
		votes[ask_block(probe, base + at)]++;
		if (votes[SAMPLE_PLAIN] > 0)
			return false;
	}
	return votes[SAMPLE_TRANSFORMED] > votes[SAMPLE_UNCLEAR];
}

static Sample
ask_block(Probe *probe, BlockNumber blkno)
{
	Sample		sample = SAMPLE_UNCLEAR;

	if (!read_block(&probe->file, blkno, &probe->raw) ||
		page_is_zero(probe->raw.data))
		return SAMPLE_SILENT;
	if (is_valid(probe, probe->raw.data, blkno))
		return SAMPLE_PLAIN;
	for (int turn = 0; turn < TURNS; turn++)
	{
		sample = ask_in_turn(probe, blkno);
		if (sample != SAMPLE_TRANSFORMED)
			break;
	}
	return sample;
}

/* Asks the manager, then the file, which has to be as it was. */
static Sample
ask_in_turn(Probe *probe, BlockNumber blkno)
{
	if (!read_block(&probe->manager, blkno, &probe->served))
		return SAMPLE_UNCLEAR;
	if (memcmp(probe->served.data, probe->raw.data, BLCKSZ) == 0)
		return SAMPLE_PLAIN;
	if (!sectors_differ(probe->served.data, probe->raw.data) ||
		!is_valid(probe, probe->served.data, blkno) ||
		!read_block(&probe->file, blkno, &probe->again) ||
		memcmp(probe->again.data, probe->raw.data, BLCKSZ) != 0)
		return SAMPLE_UNCLEAR;
	return SAMPLE_TRANSFORMED;
}

static bool
read_block(ForkReader *reader, BlockNumber blkno, PGAlignedBlock *block)
{
	if (reader->throttle)
		throttle_wait(reader->throttle, BLCKSZ);
	return fork_reader_read(reader, blkno, 1, block->data) == 1;
}

/* New ones are not, since a page of zeros proves nothing. */
static bool
is_valid(Probe *probe, const char *page, BlockNumber blkno)
{
	PageVerdict verdict;

	page_judge(page, blkno, &probe->rules, &verdict);
	block_judge_lsn(page, blkno, &probe->rules, &verdict);
	return verdict.status == PAGE_OK;
}

/* Does each of them differ? */
static bool
sectors_differ(const char *a, const char *b)
{
	for (size_t at = 0; at < BLCKSZ; at += SECTOR)
		if (memcmp(a + at, b + at, SECTOR) == 0)
			return false;
	return true;
}
