/* needs: kernel runs */
/*
 * test_wal_runs.c
 *	  Lists of segments in runs: whole, bounded, and worth the workers.
 *
 * A model of processes that take run after run tells what a list costs them, in
 * files decoded: those of the run and, unless the run before was theirs too, the
 * one before it.
 */
#include "wal/runs.h"
#include "unit.h"

#define MEGABYTE		(1024 * 1024)
#define SEGMENTS_MAX	128		/* of a run */
#define PROCESSES_MAX	40

static WalRuns
runs_of(uint64_t count, uint32_t processes, uint32_t size, bool compressed)
{
	WalRuns		runs = {count, processes, size, compressed};

	return runs;
}

/* Every segment is in one run, and they are in order. */
static void
test_whole(const WalRuns *runs)
{
	uint64_t	end = 0;
	bool		good = true;

	for (uint64_t i = 0; i < wal_runs_count(runs); i++)
	{
		WalRun		run = wal_runs_find(runs, i);

		good = good && run.begin == end && run.end > run.begin &&
			run.end - run.begin <= SEGMENTS_MAX + (i == 0 ? 1 : 0);
		end = run.end;
	}
	check(good && end == runs->count, "%llu segments, %u processes, %s: %llu in runs",
		  (unsigned long long) runs->count, runs->processes,
		  runs->compressed ? "compressed" : "plain", (unsigned long long) end);
}

/*
 * Each process takes a run whenever it is free.  Returns when the last one ends;
 * *decoded becomes what all have decoded.
 */
static uint64_t
work(const WalRuns *runs, uint32_t processes, uint64_t *decoded)
{
	uint64_t	busy[PROCESSES_MAX] = {0};
	uint64_t	last[PROCESSES_MAX] = {0};	/* the end of its last run */
	uint64_t	end = 0;

	*decoded = 0;
	for (uint64_t i = 0; i < wal_runs_count(runs); i++)
	{
		WalRun		run = wal_runs_find(runs, i);
		uint32_t	free = 0;
		uint64_t	files;

		for (uint32_t p = 1; p < processes; p++)
			if (busy[p] < busy[free])
				free = p;
		files = run.end - run.begin + (run.begin == last[free] ? 0 : 1);
		last[free] = run.end;
		busy[free] += files;
		*decoded += files;
		end = busy[free] > end ? busy[free] : end;
	}
	return end;
}

/* Nothing is lost by workers, however many of them there are in the end. */
static void
test_gain(const WalRuns *runs)
{
	for (uint32_t processes = 1; processes <= runs->processes; processes++)
	{
		uint64_t	decoded;
		uint64_t	end = work(runs, processes, &decoded);

		check(end <= runs->count && (processes > 1 || decoded == runs->count),
			  "%llu segments, runs for %u, %u at work: they end after %llu",
			  (unsigned long long) runs->count, runs->processes, processes,
			  (unsigned long long) end);
	}
}

/* Few files are decoded twice, of a short list one per border of processes. */
static void
test_decoded(const WalRuns *runs)
{
	uint64_t	decoded;
	uint64_t	end = work(runs, runs->processes, &decoded);
	uint64_t	share = (runs->count + 2 * ((uint64_t) runs->processes - 1)) / runs->processes;

	check(decoded <= runs->count + runs->count / 9 + runs->processes - 1,
		  "%llu segments, %u processes: %llu are decoded",
		  (unsigned long long) runs->count, runs->processes, (unsigned long long) decoded);
	if (runs->count <= 10 * (uint64_t) runs->processes)
		check(decoded <= runs->count + runs->processes - 1 && end <= share,
			  "%llu segments, %u processes: %llu are decoded, the last at %llu",
			  (unsigned long long) runs->count, runs->processes,
			  (unsigned long long) decoded, (unsigned long long) end);
}

static void
test_list(uint64_t count, uint32_t processes)
{
	WalRuns		plain = runs_of(count, processes, MEGABYTE << unit_random() % 11, false);
	WalRuns		compressed = runs_of(count, processes, plain.segment_size, true);

	test_whole(&plain);
	test_whole(&compressed);
	if (processes == 1)
	{
		check(wal_runs_count(&plain) == count, "one process: runs of one segment");
		return;
	}
	test_gain(&compressed);
	test_decoded(&compressed);
}

int
main(int argc, char **argv)
{
	int			rounds;
	uint64_t	most;

	unit_begin("test_wal_runs", argc, argv);
	rounds = unit.scale == UNIT_SMALL ? 50 : unit.scale == UNIT_QUICK ? 500 : 2000;
	most = unit.scale == UNIT_SMALL ? 50 : 200;
	for (uint64_t count = 0; count <= most; count++)
		for (uint32_t processes = 1; processes <= 8; processes++)
			test_list(count, processes);
	for (int i = 0; i < rounds; i++)
		test_list(unit_random() % 20000, 1 + (uint32_t) (unit_random() % PROCESSES_MAX));
	return unit_finish();
}
