/*
 * timing.h
 *	  The measuring loop that checksum_bench and bench/bench_kernels.c share, so
 *	  that both time the same thing.  C11, no PostgreSQL.
 *
 * A plan says which bytes the calls see.  Calls repeat a cycle of entries,
 * each relative to a slot of the working set.  An entry has an offset and a
 * length.  There is one entry for a fixed length.  A mix that no branch
 * predictor learns has a long table of random ones.  Slots are visited in the
 * order of a linear congruential generator of full period (Knuth, TAOCP 2,
 * 3.2.1.2), which prefetchers do not follow.  If there is one slot, the data
 * stay hot.
 *
 * All that is compared goes one walk together, each from where the one before
 * stopped.  So a slot comes again after all others did, whoever reads it, and
 * nobody meets what another has just brought into the cache.
 */
#ifndef ACCEL_TIMING_H
#define ACCEL_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TIMING_SEED			UINT64_C(0x9E3779B97F4A7C15)
#define TIMING_MIX_ENTRIES	32768	/* a power of two */
#define TIMING_MIX_SPAN		8192	/* the mix lies in so many bytes, hot */
#define TIMING_MIX_MIN		20	/* bytes of the random, WAL-like mix */
#define TIMING_MIX_MAX		300

typedef struct TimingEntry
{
	uint32_t	offset;			/* from the slot's start, bytes */
	uint32_t	length;			/* bytes */
} TimingEntry;

typedef struct TimingPlan
{
	const unsigned char *data;	/* the first slot */
	const TimingEntry *entries;
	uint32_t	entry_mask;		/* number of entries, a power of two, minus 1 */
	uint32_t	slot_mask;		/* number of slots, a power of two, minus 1 */
	uint32_t	slot_shift;		/* a slot has 2^slot_shift bytes */
	bool		chained;		/* a call continues the CRC of the one before */
	uint64_t   *walk;			/* where it goes on */
} TimingPlan;

/* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003), whose state is not 0 */
static inline uint64_t
timing_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Random bytes, the same for the same state on every little-endian machine. */
static inline void
timing_fill(unsigned char *data, size_t size, uint64_t *state)
{
	while (size > 0)
	{
		uint64_t	word = timing_random(state);
		size_t		piece = size < sizeof(word) ? size : sizeof(word);

		memcpy(data, &word, piece);
		data += piece;
		size -= piece;
	}
}

/*
 * Makes the order of a round, 0 to n - 1 shuffled (R. A. Fisher and F. Yates,
 * from the inside out).  What a contender does to the caches and to the CPU's
 * clock must not fall to the same successor every time.  On Ice Lake vectors of
 * 512 bits lower the clock for 0.7 ms, and the first are slow.
 */
static inline void
timing_shuffle(int *order, int n, uint64_t *state)
{
	for (int i = 0; i < n; i++)
	{
		int			j = (int) (timing_random(state) % (uint64_t) (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
}

/* Fills in random lengths at multiples of 8 bytes, as records start. */
static inline void
timing_fill_mix(TimingEntry *entries, uint32_t min, uint32_t max)
{
	uint64_t	state = TIMING_SEED;

	for (int i = 0; i < TIMING_MIX_ENTRIES; i++)
	{
		entries[i].length = min + timing_random(&state) % (max - min + 1);
		entries[i].offset = timing_random(&state) %
			(TIMING_MIX_SPAN - max) / 8 * 8;
	}
}

static inline double
timing_mix_mean(const TimingEntry *entries)
{
	double		sum = 0;

	for (int i = 0; i < TIMING_MIX_ENTRIES; i++)
		sum += entries[i].length;
	return sum / TIMING_MIX_ENTRIES;
}

/*
 * Fills the slots of a plan for buffers of slot_bytes in working_set bytes,
 * but never less than one slot.  Returns the bytes that the slots cover.
 */
static inline size_t
timing_slots(TimingPlan *plan, size_t slot_bytes, size_t working_set)
{
	plan->slot_shift = 0;
	while (((size_t) 1 << plan->slot_shift) < slot_bytes)
		plan->slot_shift++;
	plan->slot_mask = 0;
	while ((((size_t) plan->slot_mask * 2 + 2) << plan->slot_shift) <=
		   working_set)
		plan->slot_mask = plan->slot_mask * 2 + 1;
	return plan->slot_mask == 0 ? slot_bytes :
		((size_t) plan->slot_mask + 1) << plan->slot_shift;
}

#define TIMING_NEXT_SLOT(slot)	((slot) * 1103515245 + 12345)

/*
 * The body of a function (plan, first, count) -> uint32_t that makes calls
 * first to first + count - 1 of a plan.  CALL(crc, data, length) is an
 * expression.  The function's result depends on every call, so none can be
 * left out.
 */
#define TIMING_LOOP(plan, first, count, init, CALL) \
	uint32_t	crc = (init); \
	uint32_t	all = 0; \
	uint64_t	slot = *(plan)->walk; \
	for (uint64_t i = (first); i < (first) + (count); i++) \
	{ \
		const TimingEntry *entry = &(plan)->entries[i & (plan)->entry_mask]; \
		const unsigned char *data = (plan)->data + entry->offset + \
			((size_t) (slot & (plan)->slot_mask) << (plan)->slot_shift); \
		slot = TIMING_NEXT_SLOT(slot); \
		if ((plan)->chained) \
			all = crc = CALL(crc, data, entry->length); \
		else \
			all ^= CALL((init), data, entry->length); \
	} \
	*(plan)->walk = slot; \
	return all

/*
 * A trace is what the server computed, record by record
 * (bench/traces/README.md).  parts holds lengths.  TIMING_TRACE_END marks the
 * last part of a record.
 */
#define TIMING_TRACE_END	0x80000000u
#define TIMING_TRACE_SPAN	65536	/* records lie in so many bytes, then
									 * again from the start, so data are hot */
#define TIMING_TRACE_LONGEST	(32 * 1024) /* of a record, bytes */
#define TIMING_TRACE_MOST	(1 << 20)	/* parts */
#define TIMING_TRACE_HEADER	24	/* the record's header, 20 of it in the CRC */

typedef struct TimingTrace
{
	uint32_t	nparts;
	uint32_t	nrecords;
	uint64_t	bytes;			/* of all records that the CRC covers */
	uint32_t   *parts;
} TimingTrace;

/*
 * Reads the digits at *at, and moves it beyond them.  Returns false if there
 * are none or too many.
 */
static inline bool
timing_number(const char **at, uint32_t most, uint32_t *value)
{
	const char *start = *at;

	for (*value = 0; **at >= '0' && **at <= '9' && *value <= most; (*at)++)
		*value = *value * 10 + (uint32_t) (**at - '0');
	return *at > start && *value <= most;
}

/*
 * Reads a trace.  Records stand apart by blanks, parts by '+'.  '*' and a
 * number stand for equal records that follow each other, as in "22+5+46 40*3".
 * If parts is NULL, it only counts.  Returns the place of the first error,
 * else NULL.
 */
static inline const char *
timing_parse_trace(const char *at, TimingTrace *trace)
{
	trace->nparts = trace->nrecords = 0;
	trace->bytes = 0;
	for (;;)
	{
		uint32_t	first = trace->nparts;
		uint32_t	body = 0;
		uint32_t	times = 1;
		uint32_t	length;
		uint32_t	n;

		while (*at == ' ' || *at == '\n')
			at++;
		if (*at == '\0')
			return NULL;
		for (;;)
		{
			if (!timing_number(&at, TIMING_TRACE_LONGEST - body, &length))
				return at;
			body += length;
			if (trace->parts != NULL)
				trace->parts[trace->nparts] = length;
			trace->nparts++;
			if (*at != '+')
				break;
			at++;
		}
		n = trace->nparts - first;
		if (*at == '*')
		{
			at++;
			if (!timing_number(&at, TIMING_TRACE_MOST, &times) || times == 0)
				return at;
		}
		if (*at != ' ' && *at != '\n' && *at != '\0')
			return at;
		if (first + (uint64_t) times * n > TIMING_TRACE_MOST)
			return at;
		if (trace->parts != NULL)
		{
			trace->parts[trace->nparts - 1] |= TIMING_TRACE_END;
			for (uint32_t i = 0; i < (times - 1) * n; i++)
				trace->parts[trace->nparts + i] = trace->parts[first + i % n];
		}
		trace->nparts += (times - 1) * n;
		trace->nrecords += times;
		trace->bytes += (uint64_t) (body + 20) * times;
	}
}

/*
 * The body of a function (data, trace, times) -> uint32_t.  For each record it
 * computes its parts, one after the other, then 20 bytes of its header, as the
 * server does.  The buffer data holds TIMING_TRACE_SPAN + TIMING_TRACE_LONGEST
 * bytes.
 */
#define TIMING_TRACE_LOOP(data, trace, times, init, CALL) \
	uint32_t	all = 0; \
	for (uint64_t i = 0; i < (times); i++) \
	{ \
		const uint32_t *part = (trace)->parts; \
		const uint32_t *end = part + (trace)->nparts; \
		const unsigned char *header = (data); \
		while (part < end) \
		{ \
			const unsigned char *p = header + TIMING_TRACE_HEADER; \
			uint32_t	crc = (init); \
			uint32_t	length; \
			do \
			{ \
				length = *part & ~TIMING_TRACE_END; \
				crc = CALL(crc, p, length); \
				p += length; \
			} while (!(*part++ & TIMING_TRACE_END)); \
			all ^= CALL(crc, header, 20); \
			header = (data) + ((size_t) (p + 7 - (data)) & (TIMING_TRACE_SPAN - 8)); \
		} \
	} \
	return all

#endif							/* ACCEL_TIMING_H */
