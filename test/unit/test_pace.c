/* needs: kernel */
/*
 * test_pace.c
 *	  Pacing by a clock that is made here.
 *
 * Readers that wake up late, that pause and that read pieces of any size: no
 * second, wherever it starts, has more bytes than the rate, and late ones reach
 * 95 % of it.  What no piece can do is left out: rates of few pieces.
 */
#include "unit.h"
#include "host/pace.h"

#define UNIT		8192
#define WANTED		(128 * 1024)
#define TURNS		20000

typedef struct Read
{
	uint64_t	at;
	uint32_t	bytes;
} Read;

/* How a reader behaves, in microseconds. */
typedef struct Reader
{
	const char *title;
	uint64_t	late;			/* up to as late it wakes up */
	uint64_t	works;			/* up to as long between two reads */
	uint64_t	pauses;			/* once in a hundred reads */
	bool		small;			/* a unit at a time */
} Reader;

static const Reader readers[] = {
	{"is never late", 0, 0, 0, false},
	{"is late by a scheduler's turn", 4000, 0, 0, false},
	{"works between its reads", 1000, 200, 0, false},
	{"pauses", 100, 0, 400000, false},
	{"reads small relations", 300, 70, 0, true},
	{"reads small relations and pauses", 300, 70, 3000000, true},
};

static Read turns[TURNS];

static uint64_t
up_to(uint64_t most)
{
	return most == 0 ? 0 : unit_random() % (most + 1);
}

static void
read_all(const Reader *reader, const Pace *pace)
{
	uint64_t	now = unit_random() % 1000;
	uint64_t	next = 0;

	for (int i = 0; i < TURNS; i++)
	{
		uint32_t	bytes = reader->small ? UNIT :
			UNIT * (uint32_t) (1 + up_to(pace->max_piece / UNIT - 1));

		now += up_to(reader->works);
		if (i % 100 == 99)
			now += up_to(reader->pauses);
		if (!pace_turn(pace, now, bytes, &next))
		{
			now = next + up_to(reader->late);
			check(pace_turn(pace, now, bytes, &next), "no turn at its time");
		}
		turns[i].at = now;
		turns[i].bytes = bytes;
	}
}

/* The most bytes of a second that starts with a read. */
static uint64_t
most_of_a_second(void)
{
	uint64_t	most = 0;
	uint64_t	bytes = 0;
	int			first = 0;

	for (int i = 0; i < TURNS; i++)
	{
		bytes += turns[i].bytes;
		while (turns[i].at - turns[first].at >= PACE_SECOND)
			bytes -= turns[first++].bytes;
		if (bytes > most)
			most = bytes;
	}
	return most;
}

static uint64_t
bytes_of_all(void)
{
	uint64_t	bytes = 0;

	for (int i = 0; i < TURNS; i++)
		bytes += turns[i].bytes;
	return bytes;
}

static void
test_reader(const Reader *reader, uint64_t rate)
{
	Pace		pace = pace_of(rate, UNIT, WANTED);
	uint64_t	least = rate < UNIT ? UNIT : rate;
	uint64_t	took;
	uint64_t	share;

	unit_at((size_t) (reader - readers), (size_t) rate, 0);
	check(pace.max_piece % UNIT == 0 && pace.max_piece >= UNIT &&
		  pace.max_piece <= WANTED, "pieces of %u", pace.max_piece);
	read_all(reader, &pace);
	check(most_of_a_second() <= least,
		  "who %s: %llu bytes in a second of %llu", reader->title,
		  (unsigned long long) most_of_a_second(), (unsigned long long) rate);
	took = turns[TURNS - 1].at - turns[0].at;
	share = bytes_of_all() * 100 / (rate / 1000 * took / 1000 + 1);
	/* who pauses loses that, and who works longer than a turn takes has no more */
	if (reader->pauses == 0 && rate >= UINT64_C(5000) * 1024 &&
		rate <= UINT64_C(300000) * 1024 &&
		(!reader->small || rate <= UINT64_C(20000) * 1024))
		check(share >= 95, "who %s: %llu %% of %llu bytes a second",
			  reader->title, (unsigned long long) share,
			  (unsigned long long) rate);
}

int
main(int argc, char **argv)
{
	static const uint64_t rates[] = {1, 5, 8, 9, 16, 31, 33, 100, 500, 512,
		1000, 5000, 8192, 20000, 100000, 300000, 1000000, 2147483647};

	unit_begin("pace", argc, argv);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		for (size_t n = 0; n < sizeof(rates) / sizeof(rates[0]); n++)
			test_reader(&readers[i], rates[n] * 1024);
	check(pace_of(0, UNIT, WANTED).max_piece == WANTED, "a bound of none");
	return unit_finish();
}
