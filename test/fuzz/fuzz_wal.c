/* needs: wal max_len:12304 */
/*
 * fuzz_wal.c
 *	  Anything fed to the WAL walker and to the code that identifies files.
 *
 * Input: 16 bytes of options, then up to three segments of four pages of 1 kB.
 * The second segment is judged, the others are its neighbours.  Record CRCs
 * would stop nearly every mutation at the door, so the mutator repairs page
 * headers, links and CRCs of what it has mutated, most of the time; a fresh log
 * now and then comes from the maker of the unit test.
 */
#include <stdio.h>

#include "fuzz.h"

/*
 * The maker and the mutator are not what is tested: their branches and
 * comparisons would steer the fuzzer, and took half of its time.
 */
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#include "wal_maker.h"
#pragma clang attribute pop

#define OPTIONS		16
#define PAGE		1024
#define SEGMENT		(4 * PAGE)
#define SEGMENTS	3
#define LOG			(SEGMENTS * SEGMENT)
#define BASE		UINT64_C(0x100000)

static WalMaker maker;
static WalWalker walker;
static uint32_t findings;

static void
count_finding(void *arg, const WalFinding *finding)
{
	const WalWalkOptions *options = arg;
	char		words[WAL_MESSAGE_SIZE];

	must(finding->lsn >= options->segment_start);
	must(finding->lsn < options->segment_start + options->segment_size);
	must(finding->file_offset == finding->lsn - options->segment_start);
	must(finding->verdict.reason > WAL_REASON_NONE && finding->verdict.reason < WAL_REASONS);
	wal_verdict_words(&finding->verdict, words);
	must(words[0] != '\0' && memchr(words, '\0', sizeof(words)) != NULL);
	findings++;
}

static void
walk(const uint8_t *options_bytes, const uint8_t *log, size_t size)
{
	static const WalHistory history[] = {{1, BASE + SEGMENT + 1500}};
	WalWalkOptions options = {0};
	const WalCounts *counts = &walker.counts;
	size_t		at = (options_bytes[0] & 1) ? SEGMENT : 0;

	options.path.timeline = 1 + (options_bytes[0] >> 7);
	options.segment_start = BASE + SEGMENT;
	options.segment_size = SEGMENT;
	options.page_size = PAGE;
	options.magic = (options_bytes[0] & 2) ? (options_bytes[1] & 1 ? 0xD122 : 0xD110) : 0;
	options.limit = (options_bytes[0] & 4) ? BASE + wal_load16(options_bytes + 2) : WAL_LSN_MAX;
	options.limit_exact = (options_bytes[0] & 8) != 0;
	options.earliest_end = (options_bytes[0] & 16) ? 0 : WAL_LSN_MAX;
	options.from = (options_bytes[0] & 32) ? BASE + wal_load16(options_bytes + 4) : 0;
	options.path.known = (options_bytes[0] & 64) != 0;
	options.path.ancestors = history;
	options.path.nancestors = (options_bytes[0] & 64) ? 1 : 0;
	options.finding = count_finding;
	options.arg = &options;
	findings = 0;
	wal_walk_begin(&walker, &options, BASE + at);
	while (at + PAGE <= size &&
		   (at < 2 * SEGMENT || wal_walk_wants_more(&walker)))
	{
		wal_walk_page(&walker, log + at);
		at += PAGE;
	}
	wal_walk_finish(&walker);
	must(findings == counts->errors);
	must(counts->bytes_verified + counts->head_bytes + counts->tail_bytes +
		 counts->zero_bytes + counts->skipped_bytes <= SEGMENT);
	must(walker.end >= options.segment_start);
	must(walker.end <= options.segment_start + SEGMENT);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	WalIdentity id;
	WalName		name;
	char		text[64];

	if (size < OPTIONS)
		return 0;
	walk(data, data + OPTIONS, size - OPTIONS);
	wal_identify(&id, data + OPTIONS, size - OPTIONS, size, 8192, 16 << 20);
	must(id.segment_size >= WAL_SEGMENT_MIN && id.segment_size <= WAL_SEGMENT_MAX);
	must(wal_power_of_two(id.page_size, WAL_PAGE_MIN, WAL_PAGE_MAX));
	snprintf(text, sizeof(text), "%.*s", (int) (size > 60 ? 60 : size), (const char *) data);
	if (wal_name_parse(text, &name))
	{
		char		again[WAL_NAME_SIZE];

		wal_name_print(&name, again);
		must(strcmp(text, again) == 0);
	}
	return 0;
}

/* ---- the mutator ---- */

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

static size_t
fresh_log(uint8_t *data, unsigned int *seed)
{
	static uint8_t record[LOG];

	memset(data, 0, OPTIONS);
	data[0] = (uint8_t) next_random(seed);
	maker_begin(&maker, data + OPTIONS, LOG, BASE, SEGMENT, PAGE, 0xD110);
	while (!maker.full)
	{
		uint32_t	kind = next_random(seed) % 40;
		uint32_t	len = 26 + next_random(seed) % (kind < 4 ? 3000 : 300);

		for (uint32_t i = WAL_REC_HEADER; i < len; i++)
			record[i] = (uint8_t) next_random(seed);
		record[WAL_REC_HEADER] = 0xFF;
		if (kind == 5)
			maker_switch(&maker);
		else if (kind < 3)
			maker_abandon(&maker, record, len);
		else
			maker_record(&maker, record, len, (uint8_t) (kind % 22), 0);
	}
	return OPTIONS + LOG;
}

/*
 * Walks the log as its pages and lengths have it, and makes headers, links and
 * CRCs right on the way.
 */
static void
repair(uint8_t *log, size_t size, unsigned int *seed)
{
	static uint8_t record[LOG];
	uint32_t	spare = next_random(seed) % 16; /* a page left as it is */
	WalLsn		prev = 0;
	size_t		at = 0;

	while (at + WAL_PAGE_LONG < size)
	{
		size_t		start;
		uint32_t	len;
		uint32_t	done = 0;
		uint32_t	crc;

		if (at % PAGE == 0)
			at += at % SEGMENT == 0 ? WAL_PAGE_LONG : WAL_PAGE_SHORT;
		start = at;
		len = wal_load32(log + at);
		if (len < WAL_REC_HEADER || len > size - at)
			break;
		/* gather it, writing the headers of the pages that it enters */
		while (done < len && at < size)
		{
			if (at % PAGE == 0)
			{
				uint64_t	address = BASE + at;
				uint16_t	info = WAL_FLAG_CONTRECORD | (at % SEGMENT == 0 ? WAL_FLAG_LONG : 0);
				uint16_t	magic = 0xD110;
				uint32_t	rem = len - done;

				if (at / PAGE != spare)
				{
					memcpy(log + at + WAL_PAGE_MAGIC, &magic, 2);
					memcpy(log + at + WAL_PAGE_INFO, &info, 2);
					memcpy(log + at + WAL_PAGE_ADDR, &address, 8);
					memcpy(log + at + WAL_PAGE_REM_LEN, &rem, 4);
				}
				at += at % SEGMENT == 0 ? WAL_PAGE_LONG : WAL_PAGE_SHORT;
			}
			record[done++] = log[at++];
		}
		if (done < len)
			break;
		memcpy(record + WAL_REC_PREV, &prev, 8);
		if (prev == 0)
			memcpy(record + WAL_REC_PREV, log + start + WAL_REC_PREV, 8);
		crc = maker_crc(record, len);
		memcpy(record + WAL_REC_CRC, &crc, 4);
		prev = BASE + start;
		/* put its header back, which may cross a page */
		for (size_t i = 0, to = start; i < WAL_REC_HEADER; i++, to++)
		{
			if (to % PAGE == 0)
				to += to % SEGMENT == 0 ? WAL_PAGE_LONG : WAL_PAGE_SHORT;
			log[to] = record[i];
		}
		at = (size_t) wal_align(at);
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned int seed)
{
	if (max_size < OPTIONS + LOG)
		return LLVMFuzzerMutate(data, size, max_size);
	if (size < OPTIONS + PAGE || next_random(&seed) % 64 == 0)
		size = fresh_log(data, &seed);
	if (next_random(&seed) % 8 == 0)	/* a length, where the walk turns */
	{
		size_t		page = OPTIONS + next_random(&seed) % 12 * PAGE;
		size_t		at = page + WAL_PAGE_SHORT + next_random(&seed) % 100 * 8;

		if (at + 4 <= size)
			data[at + next_random(&seed) % 2] ^= (uint8_t) next_random(&seed);
	}
	else
		size = LLVMFuzzerMutate(data, size, max_size);
	if (size > OPTIONS && next_random(&seed) % 4 != 0)
		repair(data + OPTIONS, size - OPTIONS, &seed);
	return size;
}

#pragma clang attribute pop
