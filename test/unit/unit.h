/*
 * unit.h
 *	  What the stand-alone unit tests share: counting, randomness, guard pages.
 *
 * A test file is one program.  It starts with unit_begin(), says check() for
 * every case, skip() for what this machine cannot do, and returns
 * unit_finish().  Its first lines may hold a comment that tells run.sh what to
 * compile it with, see run.sh.
 *
 * Usage of every program: test_x [--quick | --small] [seed].  --small is for
 * emulators.  The seed is printed and repeats a run.
 */
#ifndef UNIT_H
#define UNIT_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define UNIT_MAX_REPORTS	10

typedef enum UnitScale
{
	UNIT_SMALL,					/* emulators */
	UNIT_QUICK,
	UNIT_FULL
} UnitScale;

typedef struct Unit
{
	const char *name;
	UnitScale	scale;
	uint64_t	seed;
	uint64_t	random;			/* state of the generator */
	uint64_t	passed;
	uint64_t	failed;
	uint64_t	skipped;
	const char *subject;		/* the kernel at work, for signals */
	size_t		numbers[3];		/* the case at work, for signals */
} Unit;

static Unit unit;

/* A stretch of memory between two pages that nobody may touch. */
typedef struct Arena
{
	unsigned char *start;
	unsigned char *end;
} Arena;

/* splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014) */
static inline uint64_t
unit_random(void)
{
	uint64_t	z = (unit.random += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static inline void
unit_fill(void *data, size_t len)
{
	unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char) (unit_random() >> 56);
}

/* Names the case at work, so that a crash can name it too. */
static inline void
unit_at(size_t a, size_t b, size_t c)
{
	unit.numbers[0] = a;
	unit.numbers[1] = b;
	unit.numbers[2] = c;
}

__attribute__((format(printf, 1, 2), unused))
static void
unit_fail(const char *format,...)
{
	va_list		args;

	if (unit.failed++ >= UNIT_MAX_REPORTS)
		return;
	printf("FAIL %s: ", unit.name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

#define check(condition, ...) \
	do { \
		if (condition) \
			unit.passed++; \
		else \
			unit_fail(__VA_ARGS__); \
	} while (0)

__attribute__((format(printf, 1, 2), unused))
static void
skip(const char *format,...)
{
	va_list		args;

	unit.skipped++;
	printf("SKIP %s: ", unit.name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* SIGSEGV is a read or write outside the data, SIGILL a lie about the CPU. */
static void
unit_crash(int signo)
{
	char		text[256];
	int			n = snprintf(text, sizeof(text),
							 "FAIL %s: signal %d in %s, case %zu %zu %zu\n",
							 unit.name, signo,
							 unit.subject ? unit.subject : "?",
							 unit.numbers[0], unit.numbers[1],
							 unit.numbers[2]);

	if (write(STDOUT_FILENO, text, (size_t) n) < 0)
		_exit(3);
	_exit(2);
}

__attribute__((unused))
static void
unit_begin(const char *name, int argc, char **argv)
{
	unit.name = name;
	unit.scale = UNIT_FULL;
	unit.seed = (uint64_t) time(NULL) ^ ((uint64_t) getpid() << 32);
	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--quick") == 0)
			unit.scale = UNIT_QUICK;
		else if (strcmp(argv[i], "--small") == 0)
			unit.scale = UNIT_SMALL;
		else
			unit.seed = strtoull(argv[i], NULL, 0);
	}
	unit.random = unit.seed;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%s: seed %llu\n", name, (unsigned long long) unit.seed);
	signal(SIGSEGV, unit_crash);
	signal(SIGBUS, unit_crash);
	signal(SIGILL, unit_crash);
}

__attribute__((unused))
static int
unit_finish(void)
{
	printf("%s: %llu passed, %llu failed, %llu skipped\n", unit.name,
		   (unsigned long long) unit.passed,
		   (unsigned long long) unit.failed,
		   (unsigned long long) unit.skipped);
	if (unit.passed == 0 && unit.skipped == 0)
		printf("FAIL %s: nothing ran\n", unit.name);
	return unit.failed > 0 || (unit.passed == 0 && unit.skipped == 0);
}

/* At least size bytes, rounded up to whole pages. */
__attribute__((unused))
static Arena
arena_make(size_t size)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	size_t		inner = (size + page - 1) / page * page;
	unsigned char *base = mmap(NULL, inner + 2 * page, PROT_NONE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Arena		arena;

	if (base == MAP_FAILED ||
		mprotect(base + page, inner, PROT_READ | PROT_WRITE) != 0)
	{
		perror("guard pages");
		exit(3);
	}
	arena.start = base + page;
	arena.end = arena.start + inner;
	return arena;
}

/* While it is not writable, a kernel that writes to its input crashes. */
__attribute__((unused))
static void
arena_writable(Arena arena, bool writable)
{
	if (mprotect(arena.start, (size_t) (arena.end - arena.start),
				 writable ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
	{
		perror("mprotect");
		exit(3);
	}
}

#endif							/* UNIT_H */
