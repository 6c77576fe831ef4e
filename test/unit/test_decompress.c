/* needs: kernel decompress pgport */
/*
 * test_decompress.c
 *	  The program's own pglz beside the server's, on what the server compressed
 *	  and on what was changed in it.
 */
#include "postgres_fe.h"

#include "common/pg_lzcompress.h"

#include "unit.h"
#include "program/decompress.h"

#define MOST	8192

/* Pages have runs of one byte, words that come again, and noise. */
static void
fill(uint8_t *data, uint32_t len)
{
	uint32_t	at = 0;

	while (at < len)
	{
		uint32_t	piece = 1 + (uint32_t) (unit_random() % 400);
		uint32_t	back = 1 + (uint32_t) (unit_random() % 5000);
		unsigned	kind = (unsigned) (unit_random() % 3);

		for (; piece > 0 && at < len; piece--, at++)
			data[at] = kind == 0 ? 0 : kind == 1 && back <= at ? data[at - back] :
				(uint8_t) unit_random();
	}
}

/* Both must say the same of a stream, and give the same bytes. */
static void
compare(const char *what, Arena in, Arena mine, const uint8_t *stream,
		uint32_t len, uint32_t raw)
{
	static uint8_t theirs[MOST];
	uint8_t    *end_in = in.end - len;
	uint8_t    *end_out = mine.end - raw;
	bool		restored;
	bool		expected;

	memcpy(end_in, stream, len);	/* the byte after it cannot be read */
	restored = pglz_restore(end_in, len, end_out, raw);
	/* the server reads up to two bytes beyond a stream that is cut off */
	expected = pglz_decompress((const char *) stream, (int32) len,
							   (char *) theirs, (int32) raw, true) == (int32) raw;
	check(restored == expected, "%s: restored %d, expected %d", what, restored, expected);
	check(!restored || memcmp(end_out, theirs, raw) == 0, "%s: other bytes", what);
}

static void
test_pages(Arena in, Arena out, uint64_t rounds)
{
	static uint8_t page[MOST];
	static uint8_t stream[PGLZ_MAX_OUTPUT(MOST) + 8];
	uint64_t	restored = 0;

	for (uint64_t i = 0; i < rounds; i++)
	{
		uint32_t	raw = 100 + (uint32_t) (unit_random() % (MOST - 100 + 1));
		int32		len;

		fill(page, raw);
		memset(stream, 0, sizeof(stream));
		len = pglz_compress((const char *) page, (int32) raw, (char *) stream,
							PGLZ_strategy_always);
		if (len < 0)
			continue;
		restored++;
		compare("as it is", in, out, stream, (uint32_t) len, raw);
		check(memcmp(out.end - raw, page, raw) == 0, "it is the page");
		compare("a byte more is wanted", in, out, stream, (uint32_t) len, raw < MOST ? raw + 1 : raw - 1);
		compare("cut off", in, out, stream, (uint32_t) (unit_random() % (uint64_t) len), raw);
		for (int n = 0; n < 20; n++)
		{
			size_t		at = unit_random() % (uint64_t) len;
			uint8_t		before = stream[at];

			stream[at] = (uint8_t) unit_random();
			compare("changed", in, out, stream, (uint32_t) len, raw);
			stream[at] = before;
		}
	}
	check(restored > rounds / 2, "most pages compress: %llu", (unsigned long long) restored);
}

int
main(int argc, char **argv)
{
	Arena		in;
	Arena		out;

	unit_begin("test_decompress", argc, argv);
	in = arena_make(PGLZ_MAX_OUTPUT(MOST) + 8);
	out = arena_make(MOST);
	test_pages(in, out, unit.scale == UNIT_FULL ? 3000 : unit.scale == UNIT_QUICK ? 500 : 50);
	return unit_finish();
}
