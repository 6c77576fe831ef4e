/*
 * finding.c
 *	  Makes and counts findings and summaries, and puts them into words.
 */
#include "compat.h"

#include "storage/bufpage.h"

#include "page/finding.h"

static const char checksums_off[] =
"data checksums are disabled: only page headers and segments were verified";

const char *
block_buffer_state_name(BlockBufferState state)
{
	switch (state)
	{
		case BLOCK_BUFFER_UNCACHED:
			return "uncached";
		case BLOCK_BUFFER_INVALID:
			return "invalid";
		case BLOCK_BUFFER_CLEAN:
			return "clean";
		case BLOCK_BUFFER_DIRTY:
			return "dirty";
		case BLOCK_BUFFER_UNKNOWN:
			break;
	}
	return NULL;
}

void
page_finding_init(PageFinding *finding, Oid relid, ForkNumber fork,
				  PageStatus status)
{
	memset(finding, 0, sizeof(*finding));
	finding->relid = relid;
	finding->fork = fork;
	finding->blkno = -1;
	finding->file_offset = -1;
	finding->status = status;
	finding->stored = -1;
	finding->computed = -1;
}

void
page_finding_not_verifiable(PageFinding *finding, Oid relid, ForkNumber fork,
							const char *why)
{
	page_finding_init(finding, relid, fork, PAGE_NOT_VERIFIABLE);
	strlcpy(finding->message, why, sizeof(finding->message));
}

void
page_finding_checksums_off(PageFinding *finding)
{
	page_finding_not_verifiable(finding, InvalidOid, InvalidForkNumber,
								checksums_off);
}

void
fork_summary_init(ForkSummary *summary, Oid relid, ForkNumber fork)
{
	memset(summary, 0, sizeof(*summary));
	summary->relid = relid;
	summary->fork = fork;
	summary->next = InvalidBlockNumber;
	summary->status = PAGE_OK;
}

/* The first finding gives the summary its status and message. */
void
fork_summary_note(ForkSummary *summary, const PageFinding *finding)
{
	summary->findings++;
	if (summary->status != PAGE_OK)
		return;
	summary->status = finding->status;
	if (finding->blkno >= 0)
		snprintf(summary->message, sizeof(summary->message),
				 "first at block " INT64_FORMAT ": %s", finding->blkno,
				 finding->message);
	else
		strlcpy(summary->message, finding->message,
				sizeof(summary->message));
}

void
fork_summary_checksums_off(ForkSummary *summary)
{
	summary->status = PAGE_NOT_VERIFIABLE;
	strlcpy(summary->message, checksums_off, sizeof(summary->message));
}

void
fork_summary_note_unwritten(ForkSummary *summary)
{
	size_t		used = strlen(summary->message);

	if (summary->unwritten > 0)
		snprintf(summary->message + used, sizeof(summary->message) - used,
				 "%s" INT64_FORMAT " %s not on disk yet: shared buffers hold %s",
				 used > 0 ? "; " : "", summary->unwritten,
				 summary->unwritten == 1 ? "block is" : "blocks are",
				 summary->unwritten == 1 ? "it" : "them");
}

void
fork_summary_add(ForkSummary *total, const ForkSummary *part)
{
	total->verified += part->verified;
	total->new_pages += part->new_pages;
	total->unwritten += part->unwritten;
	total->bad += part->bad;
	total->unverifiable += part->unverifiable;
	total->retried += part->retried;
	total->bytes += part->bytes;
	total->findings += part->findings;
	total->elapsed = Max(total->elapsed, part->elapsed);
	if (total->status == PAGE_OK && part->status != PAGE_OK)
	{
		total->status = part->status;
		strlcpy(total->message, part->message, sizeof(total->message));
	}
}

static void
			finding_append(PageFinding *finding, const char *format,...) pg_attribute_printf(2, 3);

static void
finding_append(PageFinding *finding, const char *format,...)
{
	size_t		used = strlen(finding->message);
	va_list		args;

	va_start(args, format);
	vsnprintf(finding->message + used, sizeof(finding->message) - used,
			  format, args);
	va_end(args);
}

/* What tells a page from those of its fork. */
static void
explain_kind(PageFinding *finding, const char *page, PageKind kind)
{
	const PageKindRule *rule = page_kind_rule(kind);
	int			special = BLCKSZ - ((const PageHeaderData *) page)->pd_special;

	finding_append(finding, "page is not one of %s: ", rule->words);
	if (special != rule->special)
		finding_append(finding, "its special area has %d bytes instead of %d",
					   special, rule->special);
	else if (page_kind_fits(kind, page))
		finding_append(finding, finding->blkno == 0 ?
					   "block 0 is a metapage, and it is none" :
					   "it is a metapage, and only block 0 is one");
	else if (rule->max > 0)
		finding_append(finding, "it ends with 0x%04X, outside the range 0x%04X to 0x%04X",
					   page_kind_mark(page), rule->min, rule->max);
	else
		finding_append(finding, "%s", kind == PAGE_KIND_SEQUENCE ?
					   "its magic number is missing" :
					   "its contents are not what its header says");
}

/* What is wrong about a page image. */
static void
explain_verdict(PageFinding *finding, const PageVerdict *verdict,
				const char *page, const PageRules *rules)
{
	bool		mismatch = rules->checksums &&
		verdict->stored != verdict->computed;

	switch (verdict->status)
	{
		case PAGE_OK:
			finding_append(finding, finding->status == PAGE_MAP_MISMATCH ?
						   "page is not marked all-visible, but the visibility map says so: a write of the page or of the map was lost" :
						   "page lacks the all-visible mark that the clean page in shared buffers has: a write was lost");
			break;
		case PAGE_NEW:
			if (finding->status == PAGE_BAD_ON_DEVICE_CACHED_OK)
				finding_append(finding, "page is all zeros");
			else if (PAGE_KIND_HAS_FIRST(rules->kind))
				finding_append(finding, "page is all zeros, but %s has none such at its beginning",
							   page_kind_rule(rules->kind)->words);
			else
				finding_append(finding, "page is all zeros, but the visibility map says that it was initialized: the page or the map is damaged");
			break;
		case PAGE_CHECKSUM_MISMATCH:
			finding_append(finding, "checksum is %u, but should be %u",
						   verdict->stored, verdict->computed);
			break;
		case PAGE_BAD_HEADER:
			finding_append(finding, "page header is out of bounds%s",
						   rules->checksums ? " (although the checksum matches)" : "");
			break;
		case PAGE_ZERO_HEADER:
			finding_append(finding, "page header is that of a new page, but the page is not empty");
			break;
		case PAGE_WRONG_KIND:
			explain_kind(finding, page, rules->kind);
			break;
		case PAGE_LSN_IN_FUTURE:
			finding_append(finding, "page LSN %X/%X lies beyond the end of WAL at %X/%X%s",
						   LSN_FORMAT_ARGS(verdict->lsn),
						   LSN_FORMAT_ARGS(rules->horizon),
						   mismatch ? "; the checksum does not match either" : "");
			break;
		default:
			break;
	}
}

void
page_finding_describe(PageFinding *finding, const PageVerdict *verdict,
					  const char *page, const PageRules *rules,
					  BlockCopy copy)
{
	finding->stored = verdict->stored;
	finding->computed = rules->checksums && verdict->status != PAGE_NEW ?
		verdict->computed : -1;
	finding->has_lsn = true;
	finding->lsn = verdict->lsn;
	finding->copy = copy;
	explain_verdict(finding, verdict, page, rules);
	if (copy != BLOCK_COPY_NONE &&
		finding->status != PAGE_BAD_ON_DEVICE_CACHED_OK)
		finding_append(finding, "; shared buffers hold a page that is %s",
					   copy == BLOCK_COPY_PROVEN ?
					   "proven by its checksum: heal_block() writes it if WAL has no newer one" :
					   "sane by its header, but not proven by its checksum");
}

void
page_finding_note_place(PageFinding *finding, XLogRecPtr good)
{
	if (finding->status == PAGE_BAD_ON_DEVICE_CACHED_OK)
		finding_append(finding, "; so the device has it, the page cache has a good page with LSN %X/%X: heal_block() with direct_io writes it",
					   LSN_FORMAT_ARGS(good));
	if (finding->status == PAGE_BAD_IN_PAGE_CACHE)
		finding_append(finding, "; so the page cache has it, the device has a good page with LSN %X/%X: drop the file from the page cache",
					   LSN_FORMAT_ARGS(good));
}

void
page_finding_note_fork(PageFinding *finding)
{
	if (finding->fork == FSM_FORKNUM || finding->fork == VISIBILITYMAP_FORKNUM)
		finding_append(finding, "; the server heals this fork itself");
}
