/*
 * timing.h
 *	  The measuring loop that crc32c_bench and bench/bench_kernels.c share, so
 *	  that both time the same thing.  C11, no PostgreSQL.
 *
 * A plan says which bytes the calls see.  Calls repeat a cycle of entries
 * (offset and length; one entry for a fixed length, a long table of random
 * ones for a mix that no branch predictor learns), each relative to a slot of
 * the working set.  Slots are visited in the order of a linear congruential
 * generator of full period (Knuth, TAOCP 2, 3.2.1.2), which prefetchers do not
 * follow; one slot means that the data stay hot.
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
#define TIMING_MIX_MIN		20	/* the random, WAL-like mix: bytes */
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
} TimingPlan;

/* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003); state is not 0 */
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

/* Random lengths, as records start: at multiples of 8 bytes. */
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
 * Fills the slots of a plan for buffers of slot_bytes in working_set bytes;
 * never less than one slot.  Returns the bytes that the slots cover.
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

/*
 * Body of a function (plan, first, count) -> uint32_t that makes calls first
 * to first + count - 1 of a plan; CALL(crc, data, length) is an expression.
 * What it returns depends on every call, so none can be left out.
 */
#define TIMING_LOOP(plan, first, count, init, CALL) \
	uint32_t	crc = (init); \
	uint32_t	all = 0; \
	uint64_t	slot = (first); \
	for (uint64_t i = (first); i < (first) + (count); i++) \
	{ \
		const TimingEntry *entry = &(plan)->entries[i & (plan)->entry_mask]; \
		const unsigned char *data = (plan)->data + entry->offset + \
			((size_t) (slot & (plan)->slot_mask) << (plan)->slot_shift); \
		slot = slot * 1103515245 + 12345; \
		if ((plan)->chained) \
			all = crc = CALL(crc, data, entry->length); \
		else \
			all ^= CALL((init), data, entry->length); \
	} \
	return all

#endif							/* ACCEL_TIMING_H */
