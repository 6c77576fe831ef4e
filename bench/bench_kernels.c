/*
 * bench_kernels.c
 *	  Times every kernel of the table, and other libraries' beside them.
 *
 *	  bench_kernels [--out FILE.csv] [--time MS] [--memory BYTES] [--only PREFIX]
 *		[--cpu N] [--quick] [--library LABEL=FILE]... [--traces FILE]...
 *
 * Stand-alone; bench/kernels.sh builds and runs it.  Contenders are loaded at
 * run time: a library that is not there is a row that says so.  A server's
 * kernels come as shared objects made from its libpgport.a and from its header
 * storage/checksum_impl.h (kernels.sh makes them).
 *
 * Method: one process, pinned to one CPU; a case (algorithm, pattern, bytes)
 * is measured in many short rounds, each round times all contenders, and the
 * order rotates from round to round.  Shown are the minimum, the median and
 * the maximum over rounds of the time per call.  Every contender first agrees
 * with the bitwise definition on random data and, in each case, on that case's
 * own calls; one that does not is not timed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "bench_limits.h"
#include "func/timing.h"
#include "kernel/checksum.h"

#define MAX_CONTENDERS	96
#define PAGE_SIZE_8K	8192
#define MAX_PAGES		16
#define ROUND_NS		2.5e5
#define MAX_ROUNDS		20000
#define REFERENCE_BYTES (64 * 1024) /* longer inputs: slicing-by-8 */
#define GIB				((size_t) 1 << 30)

/* How a function takes its arguments; whether its CRC is raw is found out. */
typedef enum CallForm
{
	FORM_STANDARD,				/* (uint32 crc, data, size_t len) */
	FORM_ZLIB,					/* (unsigned long crc, data, size_t len) */
	FORM_ISCSI					/* (data, int len, unsigned crc) */
} CallForm;

typedef uint32_t (*StandardFn) (uint32_t crc, const void *data, size_t len);
typedef unsigned long (*ZlibFn) (unsigned long crc, const unsigned char *data,
								 size_t len);
typedef unsigned int (*IscsiFn) (unsigned char *data, int len,
								 unsigned int crc);
typedef unsigned long (*ZlibCombineFn) (unsigned long crc1, unsigned long crc2,
										long len2);

/* One function of a library.  The label is what the report shows. */
typedef struct LibraryFunction
{
	const char *library;		/* LABEL of --library, or a file name */
	const char *label;
	ChecksumAlgorithm algorithm;
	const char *symbol;
	CallForm	form;
	const char *init;			/* called once before, or NULL */
	uint32_t	needs;			/* features, as in kernels.def */
} LibraryFunction;

#define NEED(id)	CHECKSUM_FEATURE_##id

static const LibraryFunction library_functions[] = {
#if defined(__x86_64__)
	{"pg15", "PostgreSQL 15 sse42", CHECKSUM_crc32c, "pg_comp_crc32c_sse42", FORM_STANDARD, NULL, NEED(sse42)},
	{"pg17", "PostgreSQL 17 sse42", CHECKSUM_crc32c, "pg_comp_crc32c_sse42", FORM_STANDARD, NULL, NEED(sse42)},
	{"pg18", "PostgreSQL 18 avx512", CHECKSUM_crc32c, "pg_comp_crc32c_avx512", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"pg18", "PostgreSQL 18 sse42", CHECKSUM_crc32c, "pg_comp_crc32c_sse42", FORM_STANDARD, NULL, NEED(sse42)},
	{"pg19", "PostgreSQL 19 avx512", CHECKSUM_crc32c, "pg_comp_crc32c_avx512", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"abseil", "abseil", CHECKSUM_crc32c, "bench_abseil_crc32c", FORM_STANDARD, NULL, NEED(sse42) | NEED(pclmul)},
	{"crc32_simd", "crc32_simd", CHECKSUM_crc32c, "crc32c_refl_vpclmulqdq", FORM_STANDARD, NULL, NEED(avx512bw) | NEED(avx512vl) | NEED(vpclmul)},
	{"crc32_simd", "crc32_simd", CHECKSUM_crc32, "crc32_refl_vpclmulqdq", FORM_STANDARD, NULL, NEED(avx512bw) | NEED(avx512vl) | NEED(vpclmul)},
	{"fast_crc32", "fast-crc32 v3s2x4", CHECKSUM_crc32c, "avx512_vpclmulqdq_crc32c_v3s2x4", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"fast_crc32", "fast-crc32 v3s1_s3", CHECKSUM_crc32c, "avx512_vpclmulqdq_crc32c_v3s1_s3", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"fast_crc32", "fast-crc32 v4s5x3", CHECKSUM_crc32c, "avx512_vpclmulqdq_crc32c_v4s5x3", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"fast_crc32", "fast-crc32 v4_v1", CHECKSUM_crc32, "avx512_vpclmulqdq_crc32_v4_v1", FORM_STANDARD, NULL, NEED(avx512vl) | NEED(vpclmul)},
	{"fast_crc32", "fast-crc32 sse v1s4x2", CHECKSUM_crc32c, "sse_crc32c_v1s4x2", FORM_STANDARD, NULL, NEED(sse42) | NEED(pclmul)},
	{"fast_crc32", "fast-crc32 sse v7s3x3", CHECKSUM_crc32c, "sse_crc32c_v7s3x3", FORM_STANDARD, NULL, NEED(sse42) | NEED(pclmul)},
	{"fast_crc32", "fast-crc32 sse v4_v1", CHECKSUM_crc32, "sse_crc32_v4_v1", FORM_STANDARD, NULL, NEED(sse42) | NEED(pclmul)},
#elif defined(__aarch64__)
	{"abseil", "abseil", CHECKSUM_crc32c, "bench_abseil_crc32c", FORM_STANDARD, NULL, NEED(armcrc) | NEED(pmull)},
	{"pg15", "PostgreSQL 15 armv8", CHECKSUM_crc32c, "pg_comp_crc32c_armv8", FORM_STANDARD, NULL, NEED(armcrc)},
	{"pg17", "PostgreSQL 17 armv8", CHECKSUM_crc32c, "pg_comp_crc32c_armv8", FORM_STANDARD, NULL, NEED(armcrc)},
	{"pg18", "PostgreSQL 18 armv8", CHECKSUM_crc32c, "pg_comp_crc32c_armv8", FORM_STANDARD, NULL, NEED(armcrc)},
	{"pg19", "PostgreSQL 19 armv8", CHECKSUM_crc32c, "pg_comp_crc32c_armv8", FORM_STANDARD, NULL, NEED(armcrc)},
#endif
	{"pg15", "PostgreSQL 15 slicing-by-8", CHECKSUM_crc32c, "pg_comp_crc32c_sb8", FORM_STANDARD, NULL, 0},
	{"libisal.so.2", "ISA-L", CHECKSUM_crc32c, "crc32_iscsi", FORM_ISCSI, NULL, 0},
	{"libisal.so.2", "ISA-L pclmul", CHECKSUM_crc32c, "crc32_iscsi_00", FORM_ISCSI, NULL, NEED(sse42) | NEED(pclmul)},
	{"isal", "ISA-L built", CHECKSUM_crc32c, "crc32_iscsi", FORM_ISCSI, NULL, 0},
	{"isal", "ISA-L built", CHECKSUM_crc32, "crc32_gzip_refl", FORM_STANDARD, NULL, 0},
	{"mariadb", "MariaDB", CHECKSUM_crc32c, "my_crc32c", FORM_STANDARD, NULL, 0},
	{"mariadb", "MariaDB", CHECKSUM_crc32, "my_checksum", FORM_STANDARD, NULL, 0},
	{"google-crc32c", "google crc32c", CHECKSUM_crc32c, "crc32c_extend", FORM_STANDARD, NULL, 0},
	{"crc32c-wheel", "crc32c wheel", CHECKSUM_crc32c, "_crc32c_hw_adler", FORM_STANDARD, "crc32c_init_hw_adler", NEED(sse42)},
	{"crc-fast", "crc-fast", CHECKSUM_crc32c, "bench_crc_fast_crc32c", FORM_STANDARD, NULL, 0},
	{"crc-fast", "crc32c crate", CHECKSUM_crc32c, "bench_crate_crc32c", FORM_STANDARD, NULL, 0},
	{"rocksdb", "RocksDB", CHECKSUM_crc32c, "_ZN7rocksdb6crc32c6ExtendEjPKcm", FORM_STANDARD, NULL, 0},
	{"libz.so.1", "zlib", CHECKSUM_crc32, "crc32_z", FORM_ZLIB, NULL, 0},
	{"libz-ng.so.2", "zlib-ng", CHECKSUM_crc32, "zng_crc32_z", FORM_STANDARD, NULL, 0},
	{"zlib-ng-built", "zlib-ng built", CHECKSUM_crc32, "crc32_z", FORM_ZLIB, NULL, 0},
	{"libdeflate.so.0", "libdeflate", CHECKSUM_crc32, "libdeflate_crc32", FORM_STANDARD, NULL, 0},
	{"libisal.so.2", "ISA-L", CHECKSUM_crc32, "crc32_gzip_refl", FORM_STANDARD, NULL, 0},
	{"libisal.so.2", "ISA-L pclmul", CHECKSUM_crc32, "crc32_gzip_refl_by8", FORM_STANDARD, NULL, NEED(sse42) | NEED(pclmul)},
	{"crc-fast", "crc-fast", CHECKSUM_crc32, "bench_crc_fast_crc32", FORM_STANDARD, NULL, 0},
	{"pages", "PostgreSQL as built", CHECKSUM_page, "server_pages", FORM_STANDARD, NULL, 0},
	{"pages-avx2", "PostgreSQL avx2", CHECKSUM_page, "server_pages", FORM_STANDARD, NULL, NEED(avx2)},
};

#define NLIBRARY_FUNCTIONS \
	((int) (sizeof(library_functions) / sizeof(library_functions[0])))

typedef struct Contender
{
	const char *label;
	ChecksumAlgorithm algorithm;
	CallForm	form;
	bool		own;			/* a kernel of the table */
	bool		wrong;
	uint32_t	init;			/* of an empty input, in the function's terms */
	void	   *function;
	/* the case at work */
	uint64_t	calls;
	uint64_t	next;
	double	   *samples;
} Contender;

typedef struct Bench
{
	/* options */
	double		time_ns;		/* per contender and case */
	size_t		memory;
	const char *only;
	bool		quick;
	FILE	   *csv;
	/* what competes */
	int			ncontenders;
	Contender	contenders[MAX_CONTENDERS];
	char	   *library_labels[32];
	char	   *library_files[32];
	int			nlibraries;
	const char *trace_files[8];
	int			ntrace_files;
	/* what they work on */
	unsigned char *data;
	size_t		data_size;
	TimingEntry *mix_records;	/* 20 to 300 bytes */
	TimingEntry *mix_short;		/* 1 to 64 bytes */
	uint64_t	walk;			/* through the slots, of all contenders together */
	int			failures;
} Bench;

/* One case: what the report calls it, and what a round of it does. */
typedef struct Case
{
	const char *pattern;
	ChecksumAlgorithm algorithm;
	size_t		bytes;			/* label; 0 for a mix */
	double		mean_bytes;
	TimingPlan	plan;
	uint32_t	npages;
	uint64_t	combine_length; /* combine: the length of the second part */
	const TimingTrace *trace;	/* or NULL; a call is all of its records */
} Case;

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* --- contenders ---------------------------------------------------------- */

static uint32_t
call_contender(const Contender *c, uint32_t crc, const void *data, size_t len)
{
	switch (c->form)
	{
		case FORM_ZLIB:
			return (uint32_t) ((ZlibFn) c->function) (crc, data, len);
		case FORM_ISCSI:
			return ((IscsiFn) c->function) ((unsigned char *) data, (int) len, crc);
		default:
			return ((StandardFn) c->function) (crc, data, len);
	}
}

/* A raw register starts with ones, a finished CRC with zero. */
static uint32_t
finished(const Contender *c, uint32_t crc)
{
	return c->init == 0 ? crc : crc ^ CHECKSUM_CRC_INIT;
}

static bool
find_init(Contender *c)
{
	static const char check[] = "123456789";
	uint32_t	want = c->algorithm == CHECKSUM_crc32c ? 0xE3069283u : 0xCBF43926u;

	for (c->init = 0;; c->init = CHECKSUM_CRC_INIT)
	{
		if (finished(c, call_contender(c, c->init, check, 9)) == want)
			return true;
		if (c->init != 0)
			return false;
	}
}

/* Every length, at random alignments, incoming CRCs: against the reference. */
static bool
agrees(Contender *c)
{
	ChecksumCrcFn reference = checksum_find(c->algorithm, "bitwise")->crc;
	unsigned char buffer[2048];
	uint64_t	state = TIMING_SEED;

	timing_fill(buffer, sizeof(buffer), &state);
	for (int i = 0; i < 3 * 1900; i++)
	{
		size_t		offset = timing_random(&state) % 64;
		size_t		len = i % 1900;
		uint32_t	reg = (uint32_t) timing_random(&state);
		uint32_t	start = c->init == 0 ? reg ^ CHECKSUM_CRC_INIT : reg;
		uint32_t	crc = call_contender(c, start, buffer + offset, len);

		if ((c->init == 0 ? crc ^ CHECKSUM_CRC_INIT : crc) !=
			reference(reg, buffer + offset, len))
			return false;
	}
	return true;
}

static bool
agrees_on_pages(Contender *c)
{
	enum
	{
		N = 9
	};
	static unsigned char pages[N * PAGE_SIZE_8K] __attribute__((aligned(64)));
	uint64_t	state = TIMING_SEED;
	uint32_t	blknos[N];
	uint16_t	want[N];
	uint16_t	got[N];

	timing_fill(pages, sizeof(pages), &state);
	for (uint32_t i = 0; i < N; i++)
		blknos[i] = (uint32_t) timing_random(&state);
	for (uint32_t n = 1; n <= N; n++)
	{
		checksum_find(CHECKSUM_page, "portable")->page(pages, PAGE_SIZE_8K, n, blknos, want);
		((ChecksumPageFn) c->function) (pages, PAGE_SIZE_8K, n, blknos, got);
		if (memcmp(want, got, n * sizeof(uint16_t)) != 0)
			return false;
	}
	return true;
}

static void
report_missing(Bench *ctx, const LibraryFunction *f, const char *reason)
{
	printf("%-8s%-28s %s\n", checksum_algorithm_name(f->algorithm), f->label, reason);
	if (ctx->csv != NULL)
		fprintf(ctx->csv, "kernels,%s,%s,missing,,0,%s\n",
				checksum_algorithm_name(f->algorithm), f->label, reason);
}

static void
add_contender(Bench *ctx, ChecksumAlgorithm algorithm, const char *label,
			  CallForm form, void *function, bool own)
{
	Contender  *c = &ctx->contenders[ctx->ncontenders];

	if (ctx->ncontenders == MAX_CONTENDERS)
		abort();
	c->label = label;
	c->algorithm = algorithm;
	c->form = form;
	c->function = function;
	c->own = own;
	if (algorithm == CHECKSUM_page ? agrees_on_pages(c) : find_init(c) && agrees(c))
	{
		printf("%-8s%-28s agrees with the reference\n",
			   checksum_algorithm_name(algorithm), label);
		ctx->ncontenders++;
		return;
	}
	printf("%-8s%-28s WRONG RESULTS, not timed\n",
		   checksum_algorithm_name(algorithm), label);
	ctx->failures++;
}

static void
add_kernels(Bench *ctx)
{
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *k = &checksum_kernel_table[i];
		char		reason[CHECKSUM_REASON_SIZE];
		LibraryFunction row = {.label = k->name,.algorithm = k->algorithm};

		if (k->needs & CHECKSUM_POLICY_REFERENCE)
			continue;
		checksum_unavailable_reason(k, reason);
		ctx->failures += checksum_kernel_failed(k);
		if (reason[0] != '\0')
			report_missing(ctx, &row, reason);
		else
			add_contender(ctx, k->algorithm, k->name, FORM_STANDARD,
						  k->crc != NULL ? (void *) k->crc : (void *) k->page, true);
	}
}

/* Which row automatic selection takes here. */
static void
report_selected(Bench *ctx)
{
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
	{
		const char *algorithm = checksum_algorithm_name((ChecksumAlgorithm) a);
		const char *name = checksum_selected((ChecksumAlgorithm) a)->name;

		printf("%-8s%-28s is selected here\n", algorithm, name);
		if (ctx->csv != NULL)
			fprintf(ctx->csv, "kernels,,selected %s,note,,0,%s\n",
					algorithm, name);
	}
}

/* The file that --library names for a label, else the label is a file. */
static const char *
library_file(const Bench *ctx, const char *library)
{
	for (int i = 0; i < ctx->nlibraries; i++)
		if (strcmp(ctx->library_labels[i], library) == 0)
			return ctx->library_files[i];
	return library;
}

static void *
open_library(const Bench *ctx, const char *library)
{
	return dlopen(library_file(ctx, library), RTLD_LAZY | RTLD_LOCAL);
}

static void
add_libraries(Bench *ctx)
{
	for (int i = 0; i < NLIBRARY_FUNCTIONS; i++)
	{
		const LibraryFunction *f = &library_functions[i];
		void	   *library = open_library(ctx, f->library);
		void	   *function = library ? dlsym(library, f->symbol) : NULL;
		void		(*init) (void) = NULL;

		if (library == NULL)
			report_missing(ctx, f, library_file(ctx, f->library) == f->library ?
						   "not installed" : "installed but cannot be loaded alone");
		else if (function == NULL)
			report_missing(ctx, f, "not in this build of the library");
		else if (f->needs & ~checksum_features())
			report_missing(ctx, f, "this CPU cannot run it");
		else
		{
			if (f->init != NULL)
				*(void **) &init = dlsym(library, f->init);
			if (init != NULL)
				init();
			add_contender(ctx, f->algorithm, f->label, f->form, function, false);
		}
	}
}

/* --- one case ------------------------------------------------------------ */

static uint32_t
standard_calls(const Contender *c, const TimingPlan *plan, uint64_t count)
{
	StandardFn	fn = (StandardFn) c->function;

	TIMING_LOOP(plan, c->next, count, c->init, fn);
}

static uint32_t
zlib_calls(const Contender *c, const TimingPlan *plan, uint64_t count)
{
	ZlibFn		fn = (ZlibFn) c->function;

	TIMING_LOOP(plan, c->next, count, c->init, fn);
}

static uint32_t
iscsi_calls(const Contender *c, const TimingPlan *plan, uint64_t count)
{
	IscsiFn		fn = (IscsiFn) c->function;

#define CALL(crc, data, len) fn((unsigned char *) (data), (int) (len), (crc))
	TIMING_LOOP(plan, c->next, count, c->init, CALL);
#undef CALL
}

/* The records of a trace, as the server computes them. */
static uint32_t
trace_calls(const Contender *c, const Case *t, uint64_t times)
{
	StandardFn	fn = (StandardFn) c->function;

	TIMING_TRACE_LOOP(t->plan.data, t->trace, times, c->init, fn);
}

static uint32_t
iscsi_trace_calls(const Contender *c, const Case *t, uint64_t times)
{
	IscsiFn		fn = (IscsiFn) c->function;

#define CALL(crc, data, len) fn((unsigned char *) (data), (int) (len), (crc))
	TIMING_TRACE_LOOP(t->plan.data, t->trace, times, c->init, CALL);
#undef CALL
}

static uint32_t
any_trace_calls(const Contender *c, const Case *t, uint64_t times)
{
	return c->form == FORM_ISCSI ? iscsi_trace_calls(c, t, times) :
		trace_calls(c, t, times);
}

static void
page_calls(const Contender *c, const Case *t, uint64_t count)
{
	ChecksumPageFn fn = (ChecksumPageFn) c->function;
	uint32_t	blknos[MAX_PAGES] = {0};
	uint16_t	sums[MAX_PAGES];
	uint64_t	slot = *t->plan.walk;

	for (uint64_t i = 0; i < count; i++)
	{
		const unsigned char *data = t->plan.data +
			((size_t) (slot & t->plan.slot_mask) << t->plan.slot_shift);

		slot = TIMING_NEXT_SLOT(slot);
		fn(data, PAGE_SIZE_8K, t->npages, blknos, sums);
	}
	*t->plan.walk = slot;
}

static inline uint32_t
combine_once(const Contender *c, uint32_t crc1, uint32_t crc2, uint64_t len2)
{
	uint32_t	(*own) (uint32_t, uint32_t, uint64_t);

	if (!c->own)
		return (uint32_t) ((ZlibCombineFn) c->function) (crc1, crc2, (long) len2);
	*(void **) &own = c->function;
	return own(crc1, crc2, len2);
}

/* Two loops: a choice of crc1 in one would chain the calls by itself. */
static uint32_t
combine_calls(const Contender *c, const Case *t, uint64_t count)
{
	uint32_t	crc = 1;

	if (t->plan.chained)
		for (uint64_t i = 0; i < count; i++)
			crc = combine_once(c, crc, (uint32_t) i, t->combine_length);
	else
		for (uint64_t i = 0; i < count; i++)
			crc ^= combine_once(c, ~(uint32_t) i, (uint32_t) i, t->combine_length);
	return crc;
}

/*
 * ISA-L 2.30 returns without clearing the upper halves of the vectors.  From
 * then on instructions on 128 bits without AVX wait for their old contents, on
 * Zen 4 twice as long, in whatever is measured next.
 */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void
clear_upper_halves(void)
{
	__builtin_ia32_vzeroupper();
}
#endif

static void
start_clean(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx"))
		clear_upper_halves();
#endif
}

static double
time_calls(const Case *t, Contender *c, uint64_t count)
{
	static volatile uint32_t sink;
	double		start;

	start_clean();
	start = now_ns();
	if (t->combine_length > 0)
		sink = combine_calls(c, t, count);
	else if (t->npages > 0)
		page_calls(c, t, count);
	else if (t->trace != NULL)
		sink = any_trace_calls(c, t, count);
	else if (c->form == FORM_ZLIB)
		sink = zlib_calls(c, &t->plan, count);
	else if (c->form == FORM_ISCSI)
		sink = iscsi_calls(c, &t->plan, count);
	else
		sink = standard_calls(c, &t->plan, count);
	(void) sink;
	c->next += count;
	return now_ns() - start;
}

/* What a call's time is divided by. */
static double
units_per_call(const Case *t)
{
	return t->npages > 0 ? t->npages : t->trace != NULL ? t->trace->nrecords : 1;
}

static const char *
unit_name(const Case *t)
{
	return t->npages > 0 ? "page" : t->trace != NULL ? "record" : "call";
}

/* The CRCs of a trace, xored, are those of slicing-by-8. */
static bool
agrees_on_trace(const Case *t, const Contender *c)
{
	Contender	reference = {.form = FORM_STANDARD,.init = CHECKSUM_CRC_INIT};
	uint32_t	all = any_trace_calls(c, t, 1);

	reference.function = (void *) checksum_find(t->algorithm, "slicing8")->crc;
	if (c->init == 0 && t->trace->nrecords % 2 == 1)
		all ^= CHECKSUM_CRC_INIT;
	return all == trace_calls(&reference, t, 1);
}

/* The calls of this very case give what the reference gives. */
static bool
agrees_on_case(const Case *t, const Contender *c)
{
	ChecksumCrcFn reference;
	uint32_t	calls = t->plan.entry_mask + 1 < 256 ? t->plan.entry_mask + 1 : 256;
	static const unsigned char *known_data;
	static size_t known_len;
	static uint32_t known_crc;
	static ChecksumAlgorithm known_algorithm;

	if (t->npages > 0 || t->combine_length > 0)
		return true;
	if (t->trace != NULL)
		return agrees_on_trace(t, c);
	reference = checksum_find(t->algorithm, t->plan.entries[0].length >
							  REFERENCE_BYTES ? "slicing8" : "bitwise")->crc;
	for (uint32_t i = 0; i < calls; i++)
	{
		const unsigned char *data = t->plan.data + t->plan.entries[i].offset;
		size_t		len = t->plan.entries[i].length;

		if (data != known_data || len != known_len || t->algorithm != known_algorithm)
			known_crc = reference(CHECKSUM_CRC_INIT, data, len) ^ CHECKSUM_CRC_INIT;
		known_data = data;
		known_len = len;
		known_algorithm = t->algorithm;
		if (finished(c, call_contender(c, c->init, data, len)) != known_crc)
			return false;
	}
	return true;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
emit(Bench *ctx, const Case *t, const char *label, double *samples, int n)
{
	static const char *const metrics[] = {"ns_min", "ns_median", "ns_max"};

	qsort(samples, n, sizeof(double), compare_doubles);
	printf("  %-28s %12.2f %12.2f %12.2f", label, samples[0], samples[n / 2],
		   samples[n - 1]);
	if (t->mean_bytes > 0)
		printf(" %9.2f GB/s", t->mean_bytes / samples[0]);
	putchar('\n');
	for (int m = 0; ctx->csv != NULL && m < 3; m++)
		fprintf(ctx->csv, "kernels,%s/%s/%zu,%s,%s,ns,%d,%.4g\n",
				checksum_algorithm_name(t->algorithm), t->pattern, t->bytes,
				label, metrics[m], n, samples[m == 0 ? 0 : m == 1 ? n / 2 : n - 1]);
}

/*
 * The shortest of a few: a time slice of a neighbour in the middle would make a
 * short piece of work look long, and its rounds too short to measure.
 */
static double
shortest(const Case *t, Contender *c, uint64_t calls)
{
	double		ns = time_calls(t, c, calls);

	for (int i = 0; i < 4 && ns < 1e7; i++)
	{
		double		again = time_calls(t, c, calls);

		ns = again < ns ? again : ns;
	}
	return ns;
}

/* Warms up and chooses the calls of a round; returns the time of one call. */
static double
calibrate(const Case *t, Contender *c)
{
	double		ns;

	c->next = 0;
	for (c->calls = 1;; c->calls *= 2)
		if ((ns = shortest(t, c, c->calls)) >= ROUND_NS / 4)
			break;
	ns /= c->calls;
	c->calls = ns < ROUND_NS ? (uint64_t) (ROUND_NS / ns) : 1;
	return ns;
}

static int
round_count(const Bench *ctx, double slowest_round)
{
	double		rounds = ctx->time_ns / (slowest_round > ROUND_NS ? slowest_round : ROUND_NS);
	int			least = slowest_round > 2e8 ? 3 : slowest_round > 4e6 ? 5 : 15;

	return rounds < least ? least : rounds > MAX_ROUNDS ? MAX_ROUNDS : (int) rounds;
}

static void
time_contenders(Bench *ctx, const Case *t, Contender *list, int n)
{
	double		slowest = 0;
	int			rounds;
	int			order[MAX_CONTENDERS] = {0};
	static uint64_t state = TIMING_SEED;

	for (int i = 0; i < n; i++)
	{
		double		ns = calibrate(t, &list[i]) * list[i].calls;

		slowest = ns > slowest ? ns : slowest;
	}
	rounds = round_count(ctx, slowest);
	for (int i = 0; i < n; i++)
		list[i].samples = malloc(sizeof(double) * rounds);
	for (int round = 0; round < rounds; round++)
	{
		timing_shuffle(order, n, &state);
		for (int k = 0; k < n; k++)
		{
			Contender  *c = &list[order[k]];

			c->samples[round] = time_calls(t, c, c->calls) / c->calls /
				units_per_call(t);
		}
	}
	printf("%s/%s/%zu: ns per %s (minimum, median, maximum of %d rounds)\n",
		   checksum_algorithm_name(t->algorithm), t->pattern, t->bytes,
		   unit_name(t), rounds);
	for (int i = 0; i < n; i++)
	{
		emit(ctx, t, list[i].label, list[i].samples, rounds);
		free(list[i].samples);
	}
	fflush(stdout);
}

static bool
wanted(const Bench *ctx, const Case *t)
{
	char		name[128];

	snprintf(name, sizeof(name), "%s/%s/%zu", checksum_algorithm_name(t->algorithm),
			 t->pattern, t->bytes);
	return ctx->only == NULL || strncmp(name, ctx->only, strlen(ctx->only)) == 0;
}

static void
run_case(Bench *ctx, const Case *t)
{
	Contender	list[MAX_CONTENDERS];
	int			n = 0;

	if (!wanted(ctx, t))
		return;
	for (int i = 0; i < ctx->ncontenders; i++)
	{
		if (ctx->contenders[i].algorithm != t->algorithm)
			continue;
		list[n] = ctx->contenders[i];
		if (agrees_on_case(t, &list[n]))
			n++;
		else
		{
			printf("%s: WRONG RESULT in %s/%zu\n", list[n].label, t->pattern, t->bytes);
			ctx->failures++;
		}
	}
	time_contenders(ctx, t, list, n);
}

/* --- the cases ----------------------------------------------------------- */

/* Calls of one length; working_set 0: always the same bytes. */
static void
fixed_case(Bench *ctx, ChecksumAlgorithm algorithm, const char *pattern,
		   size_t bytes, size_t offset, size_t working_set, bool chained)
{
	TimingEntry entry = {(uint32_t) offset, (uint32_t) bytes};
	Case		t = {pattern, algorithm, bytes, (double) bytes,
	{ctx->data, &entry, 0, 0, 0, chained, &ctx->walk}, 0, 0, NULL};

	if (bytes + offset > ctx->data_size || working_set > ctx->data_size)
	{
		printf("%s/%s/%zu: left out, needs more than the %zu MB of --memory\n",
			   checksum_algorithm_name(algorithm), pattern, bytes, ctx->memory >> 20);
		return;
	}
	timing_slots(&t.plan, bytes < 64 ? 64 : bytes, working_set);
	run_case(ctx, &t);
}

static void
mix_case(Bench *ctx, ChecksumAlgorithm algorithm, const char *pattern,
		 const TimingEntry *entries, size_t working_set, bool chained)
{
	Case		t = {pattern, algorithm, 0, timing_mix_mean(entries),
	{ctx->data, entries, TIMING_MIX_ENTRIES - 1, 0, 0, chained, &ctx->walk}, 0, 0, NULL};

	timing_slots(&t.plan, TIMING_MIX_SPAN, working_set);
	run_case(ctx, &t);
}

static void
mix_cases(Bench *ctx, ChecksumAlgorithm algorithm)
{
	mix_case(ctx, algorithm, "random 20..300", ctx->mix_records, 0, false);
	mix_case(ctx, algorithm, "random 20..300 chained", ctx->mix_records, 0, true);
	mix_case(ctx, algorithm, "random 1..64", ctx->mix_short, 0, false);
	mix_case(ctx, algorithm, "random 1..64 chained", ctx->mix_short, 0, true);
}

#define FOR_EACH(var, ...) \
	for (const size_t *var = (const size_t[]) {__VA_ARGS__, 0}; *var != 0; var++)

static void
crc_cases(Bench *ctx, ChecksumAlgorithm algorithm)
{
	mix_cases(ctx, algorithm);
	FOR_EACH(n, 20, 64, 100, 128, 200, 256, 300, 512, 1024, 8192, 65536)
		fixed_case(ctx, algorithm, "independent", *n, 0, 0, false);
	if (ctx->quick)
		return;
	FOR_EACH(n, 1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 80, 96, 112, 160, 400, 768,
			 1500, 2048, 4096, 16384, 32768, 262144, 1048576, 8388608, 67108864)
		fixed_case(ctx, algorithm, "independent", *n, 0, 0, false);
	fixed_case(ctx, algorithm, "independent", GIB, 0, 0, false);
	FOR_EACH(n, 8, 20, 64, 80, 100, 128, 160, 200, 256, 300, 512, 1024, 8192)
		fixed_case(ctx, algorithm, "chained", *n, 0, 0, true);
	FOR_EACH(n, 64, 300, 1024, 4096, 8192, 65536)
		fixed_case(ctx, algorithm, "misaligned", *n, 5, 0, false);
	mix_case(ctx, algorithm, "random 20..300 cold", ctx->mix_records, ctx->memory, false);
	FOR_EACH(n, 64, 300, 1024, 8192, 65536)
		fixed_case(ctx, algorithm, "cold", *n, 0, ctx->memory, false);
}

static void
trace_case(Bench *ctx, const char *file, const char *name, char *records)
{
	TimingTrace trace = {0};
	char		pattern[64];
	Case		t = {pattern, CHECKSUM_crc32c, 0, 0, {.data = ctx->data}, 0, 0, &trace};

	if (timing_parse_trace(records, &trace) != NULL || trace.nrecords == 0)
	{
		printf("%s: %s is no trace\n", file, name);
		ctx->failures++;
		return;
	}
	trace.parts = malloc(trace.nparts * sizeof(uint32_t));
	if (trace.parts == NULL)
		exit(1);
	timing_parse_trace(records, &trace);
	snprintf(pattern, sizeof(pattern), "trace %.*s %s",
			 (int) strcspn(file, "."), file, name);
	for (char *p = pattern; *p; p++)
		if (*p == '/')
			*p = ' ';
	t.mean_bytes = (double) trace.bytes / trace.nrecords;
	run_case(ctx, &t);
	free(trace.parts);
}

/* A file holds a trace per line: its name, a blank, its records. */
static void
trace_cases(Bench *ctx, const char *path)
{
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	FILE	   *f = fopen(path, "r");
	char	   *line = NULL;
	size_t		size = 0;

	if (f == NULL)
	{
		printf("%s: %s\n", path, strerror(errno));
		ctx->failures++;
		return;
	}
	while (getline(&line, &size, f) > 0)
	{
		char	   *blank = strchr(line, ' ');

		if (blank == NULL)
			continue;
		*blank = '\0';
		trace_case(ctx, file, line, blank + 1);
	}
	free(line);
	fclose(f);
}

/* 8 kB calls over working sets from a piece of L1 to memory. */
static void
working_set_cases(Bench *ctx)
{
	static const TimingEntry entry = {0, 8192};

	for (size_t set = 16384; set <= ctx->memory; set *= 4)
	{
		Case		t = {"8 kB in a set of", CHECKSUM_crc32c, set, 8192,
		{ctx->data, &entry, 0, 0, 0, false, &ctx->walk}, 0, 0, NULL};

		timing_slots(&t.plan, 8192, set);
		run_case(ctx, &t);
	}
}

static void
page_cases(Bench *ctx)
{
	FOR_EACH(n, 1, 2, 3, 4, 8, 16)
	{
		Case		t = {"hot pages", CHECKSUM_page, *n, PAGE_SIZE_8K,
		{ctx->data, NULL, 0, 0, 0, false, &ctx->walk}, (uint32_t) *n, 0, NULL};

		run_case(ctx, &t);
		t.pattern = "cold pages";
		timing_slots(&t.plan, *n * PAGE_SIZE_8K, ctx->memory);
		if (*n == 1 || *n == 16)
			run_case(ctx, &t);
	}
}

/* Combining is no kernel of the table: two functions and zlib's. */
static void
combine_cases(Bench *ctx)
{
	Contender	list[3] = {
		{.label = "crc32c_combine",.own = true,.function = (void *) checksum_crc32c_combine},
		{.label = "crc32_combine",.own = true,.function = (void *) checksum_crc32_combine},
		{.label = "zlib crc32_combine"},
	};
	void	   *zlib = open_library(ctx, "libz.so.1");
	int			n = 2;

	list[2].function = zlib ? dlsym(zlib, "crc32_combine") : NULL;
	if (list[2].function != NULL)
	{
		n = 3;
		for (long len = 1; len < 1L << 40; len = len * 3 + 1)
			if (checksum_crc32_combine(1, 2, len) !=
				((ZlibCombineFn) list[2].function) (1, 2, len))
			{
				printf("crc32_combine: WRONG RESULT for %ld\n", len);
				ctx->failures++;
			}
	}
	FOR_EACH(len, 1, 20, 100, 8192, 1000000, 4294967295, (size_t) 1 << 40)
		for (int chained = 0; chained < 2; chained++)
	{
		Case		t = {chained ? "combine chained" : "combine", CHECKSUM_crc32c,
		*len, 0, {.chained = chained != 0}, 0, *len, NULL};

		if (wanted(ctx, &t))
			time_contenders(ctx, &t, list, n);
	}
}

static void
limit_case(Bench *ctx, const char *what, const char *unit, double value,
		   size_t bytes)
{
	if (value <= 0)
		return;
	printf("limit: %-22s %12zu bytes %9.2f %s\n", what, bytes, value, unit);
	if (ctx->csv != NULL)
		fprintf(ctx->csv, "kernels,limit/%s/%zu,limit,limit,%s,0,%.4g\n",
				what, bytes, unit, value);
}

/* The roofline: what the ports and the memory of this machine can give. */
static void
limits(Bench *ctx)
{
	if (ctx->only != NULL && strncmp(ctx->only, "limit", 5) != 0)
		return;
	limit_case(ctx, "clock", "GHz", bench_clock_ghz(), 0);
	limit_case(ctx, "crc32 instruction", "GB/s", bench_crc32q_gb_per_s(), 0);
	limit_case(ctx, "clmul 128", "GB/s", bench_clmul_gb_per_s(128), 0);
	limit_case(ctx, "clmul 256", "GB/s", bench_clmul_gb_per_s(256), 0);
	limit_case(ctx, "clmul 512", "GB/s", bench_clmul_gb_per_s(512), 0);
	for (size_t size = 8192; size <= ctx->data_size; size *= 4)
		limit_case(ctx, "read", "GB/s", bench_read_gb_per_s(ctx->data, size), size);
	limit_case(ctx, "read", "GB/s", bench_read_gb_per_s(ctx->data, ctx->memory), ctx->memory);
}

/* --- set-up -------------------------------------------------------------- */

static void
allocate(Bench *ctx)
{
	uint64_t	state = TIMING_SEED;

	ctx->data_size = ctx->memory + 65536;
	ctx->data = mmap(NULL, ctx->data_size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ctx->mix_records = malloc(sizeof(TimingEntry) * TIMING_MIX_ENTRIES);
	ctx->mix_short = malloc(sizeof(TimingEntry) * TIMING_MIX_ENTRIES);
	if (ctx->data == MAP_FAILED || !ctx->mix_records || !ctx->mix_short)
	{
		fprintf(stderr, "bench_kernels: no memory for --memory %zu\n", ctx->memory);
		exit(1);
	}
	madvise(ctx->data, ctx->data_size, MADV_HUGEPAGE);
	timing_fill(ctx->data, ctx->data_size, &state);
	timing_fill_mix(ctx->mix_records, TIMING_MIX_MIN, TIMING_MIX_MAX);
	timing_fill_mix(ctx->mix_short, 1, 64);
}

static void
pin(int cpu)
{
	cpu_set_t	set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		printf("pinned to CPU %d\n", cpu);
	else
		printf("not pinned to CPU %d: %s\n", cpu, strerror(errno));
}

static int
last_cpu(void)
{
	cpu_set_t	set;
	int			last = 0;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				last = i;
	return last;
}

static void
usage(void)
{
	fprintf(stderr, "usage: bench_kernels [--out FILE.csv] [--time MS] [--memory BYTES] [--only PREFIX]\n"
			"\t[--cpu N] [--quick] [--library LABEL=FILE]... [--traces FILE]...\n");
	exit(2);
}

static void
library_option(Bench *ctx, char *value)
{
	char	   *equals = strchr(value, '=');

	if (equals == NULL || ctx->nlibraries == 32)
		usage();
	*equals = '\0';
	ctx->library_labels[ctx->nlibraries] = value;
	ctx->library_files[ctx->nlibraries++] = equals + 1;
}

static int
parse_options(Bench *ctx, int argc, char **argv)
{
	int			cpu = last_cpu();

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--quick") == 0)
		{
			ctx->quick = true;
			continue;
		}
		if (i + 1 == argc)
			usage();
		else if (strcmp(argv[i], "--out") == 0)
			ctx->csv = fopen(argv[i + 1], "w");
		else if (strcmp(argv[i], "--time") == 0)
			ctx->time_ns = atof(argv[i + 1]) * 1e6;
		else if (strcmp(argv[i], "--memory") == 0)
			ctx->memory = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--only") == 0)
			ctx->only = argv[i + 1];
		else if (strcmp(argv[i], "--cpu") == 0)
			cpu = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--library") == 0)
			library_option(ctx, argv[i + 1]);
		else if (strcmp(argv[i], "--traces") == 0 && ctx->ntrace_files < 8)
			ctx->trace_files[ctx->ntrace_files++] = argv[i + 1];
		else
			usage();
		i++;
	}
	return cpu;
}

int
main(int argc, char **argv)
{
	static Bench bench = {.time_ns = 25e6,.memory = GIB};
	Bench	   *ctx = &bench;
	int			cpu = parse_options(ctx, argc, argv);

	checksum_init();
	pin(cpu);
	if (ctx->csv != NULL)
		fprintf(ctx->csv, "part,case,variant,metric,unit,run,value\n");
	allocate(ctx);
	add_kernels(ctx);
	add_libraries(ctx);
	report_selected(ctx);
	limits(ctx);
	for (int i = 0; i < ctx->ntrace_files; i++)
		trace_cases(ctx, ctx->trace_files[i]);
	crc_cases(ctx, CHECKSUM_crc32c);
	combine_cases(ctx);
	page_cases(ctx);
	crc_cases(ctx, CHECKSUM_crc32);
	if (!ctx->quick)
		working_set_cases(ctx);
	if (ctx->csv != NULL && fclose(ctx->csv) != 0)
		perror("bench_kernels: --out");
	return ctx->failures > 0;
}
