/*
 * runs.c
 *	  Cuts a list of segments into runs, for the processes that share it.
 *
 * The first segment of a run needs the end of the one before.  In a plain file
 * that is a page, but a compressed one is decoded up to there, once more.  So
 * runs of plain files are short, for all processes to end together.  Those of
 * compressed files come in rounds, of a run per process.  Each round takes
 * most of what is left, the last one all of it.  A process that is late or
 * slow does less of the later rounds.
 */
#include "wal/runs.h"

/* of a run, at most, since a worker's queue holds their results */
#define RUN_SEGMENTS	128

/* plain */
#define RUN_BYTES		(UINT64_C(256) * 1024 * 1024)
#define RUNS_WANTED		4		/* for each process */

/* compressed, with shorter ones in the last round only */
#define RUN_LEAST		8

/*
 * Runs of one length follow from a segment on.  The last one may be shorter.
 */
typedef struct Round
{
	uint64_t	begin;
	uint64_t	length;
	uint64_t	runs;
} Round;

static uint64_t
within(uint64_t value, uint64_t low, uint64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

/* Takes all of the list. */
static Round
round_of_plain(const WalRuns *runs)
{
	uint64_t	length = runs->count / (RUNS_WANTED * (uint64_t) runs->processes);
	Round		round = {0};

	if (runs->processes == 1)	/* each result as soon as it is there */
		length = 1;
	length = within(length, 0, RUN_BYTES / runs->segment_size);
	round.length = within(length, 1, RUN_SEGMENTS);
	round.runs = (runs->count + round.length - 1) / round.length;
	return round;
}

/* Takes three quarters of what is left, or all of it. */
static Round
round_of_compressed(const WalRuns *runs, uint64_t begin)
{
	uint64_t	left = runs->count - begin;
	Round		round = {begin, left * 3 / 4 / runs->processes, runs->processes};

	if (round.length < RUN_LEAST)
	{
		round.length = within((left + runs->processes - 1) / runs->processes,
							  1, RUN_SEGMENTS);
		round.runs = (left + round.length - 1) / round.length;
	}
	round.length = within(round.length, 1, RUN_SEGMENTS);
	return round;
}

/*
 * The first run has no segment before it.  So it has one more, with which the
 * list begins.
 */
static Round
first_round(const WalRuns *runs)
{
	return runs->compressed && runs->count > 1 ? round_of_compressed(runs, 1) :
		round_of_plain(runs);
}

static uint64_t
end_of(const WalRuns *runs, const Round *round)
{
	return within(round->begin + round->runs * round->length, 0, runs->count);
}

uint64_t
wal_runs_count(const WalRuns *runs)
{
	Round		round = first_round(runs);
	uint64_t	count = round.runs;

	while (end_of(runs, &round) < runs->count)
	{
		round = round_of_compressed(runs, end_of(runs, &round));
		count += round.runs;
	}
	return count;
}

WalRun
wal_runs_find(const WalRuns *runs, uint64_t number)
{
	Round		round = first_round(runs);
	uint64_t	n = number;
	WalRun		run;

	while (n >= round.runs)
	{
		n -= round.runs;
		round = round_of_compressed(runs, end_of(runs, &round));
	}
	run.begin = number == 0 ? 0 : round.begin + n * round.length;
	run.end = within(round.begin + (n + 1) * round.length, 0, runs->count);
	return run;
}
