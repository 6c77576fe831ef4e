/*
 * bench.c
 *	  SQL functions that time the kernels.
 *
 * What is compared runs interleaved.  A round times every kernel once, in an
 * order of its own, for half a millisecond at most.  There are as many rounds as
 * min_time holds, so a noisy neighbour hurts all alike.  Each kernel's results
 * are compared with the reference before anything is timed.
 */
#include "compat.h"

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"
#include "portability/instr_time.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "func/func.h"
#include "func/timing.h"
#include "kernel/checksum.h"

#define SERVER_NAME			"server"
#define MAX_BYTES			(1024 * 1024 * 1024)
#define MAX_ALIGN			4095
#define MAX_MIN_TIME		(10 * 60 * USECS_PER_SEC)
#define DATA_ALIGNMENT		4096
#define MIN_ROUNDS			15
#define MAX_ROUND_NS		5e5 /* short, to lie between a neighbour's time
								 * slices */
#define PIECE_BYTES			(4 * 1024 * 1024)	/* between two checks for
												 * interrupts */
#define REFERENCE_BYTES		(64 * 1024) /* slower than this is the reference */

/* One kernel, or the server's function, under one size or trace. */
typedef struct Contender
{
	const char *name;
	ChecksumCrcFn crc_function; /* NULL for pages */
	ChecksumPageFn page_function;
	uint64		calls;			/* in a round */
	uint64		next;			/* first call of the next round */
	double	   *samples;		/* ns per call, one per round */
	uint32		crc;
} Contender;

typedef struct BenchRun
{
	/* arguments */
	ChecksumAlgorithm algorithm;
	int64		min_time;		/* microseconds, per kernel and size */
	int			ncontenders;
	Contender  *contenders;
	ReturnSetInfo *rsinfo;
	/* the size that is timed */
	TimingPlan	plan;
	uint64_t	walk;			/* of all contenders together */
	int			bytes;			/* as shown, 0 for the mix */
	double		mean_bytes;		/* of a call */
	int			nrounds;
	TimingTrace trace;			/* a size is timed if nrecords is 0 */
	/* pages */
	uint32		npages;			/* CRCs are timed if it is 0 */
	uint32	   *blknos;
	uint16	   *sums;
} BenchRun;

static void time_contenders(BenchRun *ctx);
static void emit_contender(BenchRun *ctx, Contender *c);

/* The elements of a one-dimensional array without nulls, not empty. */
static int
array_argument(ArrayType *array, Oid type, const char *name, Datum **elements)
{
	bool	   *nulls;
	int			n;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("\"%s\" must be a one-dimensional array", name)));
	if (type == INT4OID)
		deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT,
						  elements, &nulls, &n);
	else
		deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
						  elements, &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must not be empty", name)));
	for (int i = 0; i < n; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("\"%s\" must not contain nulls", name)));
	return n;
}

static int64
min_time_value(const Interval *interval)
{
	if (interval->month != 0 || interval->day != 0 ||
		interval->time <= 0 || interval->time > MAX_MIN_TIME)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be positive and at most 10 minutes",
						"min_time")));
	return interval->time;
}

static void *
allocate_data(size_t size)
{
	char	   *raw = palloc_extended(size + DATA_ALIGNMENT, MCXT_ALLOC_HUGE);

	return (void *) TYPEALIGN(DATA_ALIGNMENT, raw);
}

/* Also touches every page of the memory before anything is timed. */
static void
fill_data(unsigned char *data, size_t size)
{
	uint64		state = TIMING_SEED;

	for (size_t done = 0; done < size;)
	{
		size_t		piece = Min(size - done, PIECE_BYTES);

		CHECK_FOR_INTERRUPTS();
		timing_fill(data + done, piece, &state);
		done += piece;
	}
}

/* One CRC, long inputs in pieces so that a cancel is seen. */
static uint32
crc_in_pieces(ChecksumCrcFn crc, uint32 reg, const unsigned char *data,
			  size_t len)
{
	while (len > PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		reg = crc(reg, data, PIECE_BYTES);
		data += PIECE_BYTES;
		len -= PIECE_BYTES;
	}
	return crc(reg, data, len);
}

static uint32
short_calls(ChecksumCrcFn kernel, const TimingPlan *plan, uint64 first,
			uint64 count)
{
	TIMING_LOOP(plan, first, count, CHECKSUM_CRC_INIT, kernel);
}

static uint32
long_calls(ChecksumCrcFn kernel, const TimingPlan *plan, uint64 first,
		   uint64 count)
{
#define CALL(reg, data, len)	crc_in_pieces(kernel, reg, data, len)
	TIMING_LOOP(plan, first, count, CHECKSUM_CRC_INIT, CALL);
#undef CALL
}

/* The function that the running server uses, in our register's form. */
static uint32_t
server_crc32c(uint32_t reg, const void *data, size_t len)
{
	pg_crc32c	crc = compat_server_register(reg);

	COMP_CRC32C(crc, data, len);
	return compat_server_register(crc);
}

/*
 * Calls between two checks for interrupts, so many that the check costs nothing
 * beside calls of a few bytes.
 */
#define CALLS_AT_ONCE		1024

/* So many whole calls on the same bytes.  Returns the last one's register. */
static uint32
drive_server(const unsigned char *data, size_t len, int32 calls)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	while (calls-- > 0)
	{
		INIT_CRC32C(crc);
		COMP_CRC32C(crc, data, len);
	}
	return compat_server_register(crc);
}

static uint32
drive_kernel(const unsigned char *data, size_t len, int32 calls)
{
	uint32		reg = CHECKSUM_CRC_INIT;

	while (calls-- > 0)
		reg = checksum_crc32c(CHECKSUM_CRC_INIT, data, len);
	return reg;
}

/* Bytes of drive_crc32c() in PostgreSQL's module test_crc32c. */
static unsigned char *
driven_data(int32 num)
{
	unsigned char *data = palloc_extended(Max(num, 1), MCXT_ALLOC_HUGE);
	pg_prng_state state;

	pg_prng_seed(&state, 42);
	for (int32 i = 0; i < num; i++)
	{
		if (i % PIECE_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
		data[i] = pg_prng_uint32(&state) % 255;
	}
	return data;
}

SQL_FUNCTION(accel_drive_crc32c)
{
	int32		count = PG_GETARG_INT32(0);
	int32		num = PG_GETARG_INT32(1);
	bool		server = PG_GETARG_BOOL(2);
	int32		calls = Min(CALLS_AT_ONCE, PIECE_BYTES / Max(num, 1));
	unsigned char *data;
	uint32		reg = CHECKSUM_CRC_INIT;

	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "count", count, 0, PG_INT32_MAX);
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "num", num, 0, MAX_BYTES);
	data = driven_data(num);
	for (; count > 0; count -= Max(calls, 1))
	{
		CHECK_FOR_INTERRUPTS();
		if (calls == 0)
			reg = crc_in_pieces(server ? server_crc32c : checksum_crc32c,
								CHECKSUM_CRC_INIT, data, num);
		else
			reg = (server ? drive_server : drive_kernel) (data, num, Min(count, calls));
	}
	PG_RETURN_INT64(reg ^ CHECKSUM_CRC_INIT);
}

static void
add_kernel(BenchRun *ctx, const ChecksumKernel *kernel)
{
	Contender  *c = &ctx->contenders[ctx->ncontenders++];

	c->name = kernel->name;
	c->crc_function = kernel->crc;
	c->page_function = kernel->page;
}

static void
add_server(BenchRun *ctx)
{
	Contender  *c = &ctx->contenders[ctx->ncontenders++];

	c->name = SERVER_NAME;
	c->crc_function = server_crc32c;
}

/* All that can run here but the references, and the server's function. */
static void
add_all(BenchRun *ctx)
{
	ctx->contenders = palloc0(sizeof(Contender) * (checksum_kernel_count + 1));
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];

		if (kernel->algorithm == ctx->algorithm && checksum_available(kernel) &&
			!(kernel->needs & CHECKSUM_POLICY_REFERENCE))
			add_kernel(ctx, kernel);
	}
	if (ctx->algorithm == CHECKSUM_crc32c)
		add_server(ctx);
}

static void
add_named(BenchRun *ctx, ArrayType *array)
{
	Datum	   *names;
	int			n = array_argument(array, TEXTOID, "kernels", &names);

	ctx->contenders = palloc0(sizeof(Contender) * n);
	for (int i = 0; i < n; i++)
		if (ctx->algorithm == CHECKSUM_crc32c &&
			strcmp(TextDatumGetCString(names[i]), SERVER_NAME) == 0)
			add_server(ctx);
		else
			add_kernel(ctx, accel_kernel_of(ctx->algorithm,
											DatumGetTextPP(names[i])));
}

/* What to time, of the algorithm in ctx, and for how long. */
static void
begin_run(BenchRun *ctx, FunctionCallInfo fcinfo)
{
	accel_check_null(fcinfo, 3, "min_time");
	ctx->min_time = min_time_value(PG_GETARG_INTERVAL_P(3));
	if (PG_ARGISNULL(2))
		add_all(ctx);
	else
		add_named(ctx, PG_GETARG_ARRAYTYPE_P(2));
	InitMaterializedSRF(fcinfo, 0);
	ctx->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
}

static uint32
trace_calls(ChecksumCrcFn kernel, const BenchRun *ctx, uint64 times)
{
	TIMING_TRACE_LOOP(ctx->plan.data, &ctx->trace, times, CHECKSUM_CRC_INIT,
					  kernel);
}

/*
 * Returns the chained CRC over a cycle of the plan, or over its first calls if
 * that is long.
 */
static uint32
crc_of_cycle(const BenchRun *ctx, ChecksumCrcFn crc)
{
	uint32		reg = CHECKSUM_CRC_INIT;
	uint32		calls = Min(ctx->plan.entry_mask + 1, 256);

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < calls; i++)
		reg = crc_in_pieces(crc, reg,
							ctx->plan.data + ctx->plan.entries[i].offset,
							ctx->plan.entries[i].length);
	return reg ^ CHECKSUM_CRC_INIT;
}

/* The CRC-32C of all page checksums, as an array of little-endian words. */
static uint32
crc_of_pages(const BenchRun *ctx, ChecksumPageFn page)
{
	const unsigned char *data = ctx->plan.data;
	uint32		reg = CHECKSUM_CRC_INIT;

	CHECK_FOR_INTERRUPTS();
	page(data, BLCKSZ, ctx->npages, ctx->blknos, ctx->sums);
	for (uint32 i = 0; i < ctx->npages; i++)
	{
		unsigned char word[2] = {ctx->sums[i] & 0xFF, ctx->sums[i] >> 8};

		reg = checksum_crc32c(reg, word, sizeof(word));
	}
	return reg ^ CHECKSUM_CRC_INIT;
}

/* What a contender makes of the size or trace at hand. */
static uint32
crc_of(const BenchRun *ctx, ChecksumCrcFn crc, ChecksumPageFn page)
{
	if (ctx->algorithm == CHECKSUM_page)
		return crc_of_pages(ctx, page);
	if (ctx->trace.nrecords > 0)
		return trace_calls(crc, ctx, 1);
	return crc_of_cycle(ctx, crc);
}

/* Nothing is timed before it has agreed with the reference. */
static void
check_contenders(BenchRun *ctx)
{
	const ChecksumKernel *reference;
	uint32		want;

	reference = checksum_find(ctx->algorithm, ctx->npages > 0 ? "portable" :
							  ctx->trace.nrecords > 0 ||
							  ctx->bytes > REFERENCE_BYTES ? "slicing8" :
							  "bitwise");
	want = crc_of(ctx, reference->crc, reference->page);
	for (int i = 0; i < ctx->ncontenders; i++)
	{
		Contender  *c = &ctx->contenders[i];

		c->crc = crc_of(ctx, c->crc_function, c->page_function);
		if (c->crc != want)
			elog(ERROR, "kernel \"%s\" gives %08X instead of %08X",
				 c->name, c->crc, want);
	}
}

static void
page_calls(BenchRun *ctx, ChecksumPageFn page, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
		page(ctx->plan.data, BLCKSZ, ctx->npages, ctx->blknos, ctx->sums);
}

/* Nanoseconds for the next count calls. */
static double
time_calls(BenchRun *ctx, Contender *c, uint64 count)
{
	static volatile uint32 sink;
	instr_time	start;
	instr_time	end;

	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	if (ctx->npages > 0)
		page_calls(ctx, c->page_function, count);
	else if (ctx->trace.nrecords > 0)
		sink = trace_calls(c->crc_function, ctx, count);
	else if (ctx->bytes <= PIECE_BYTES)
		sink = short_calls(c->crc_function, &ctx->plan, c->next, count);
	else
		sink = long_calls(c->crc_function, &ctx->plan, c->next, count);
	INSTR_TIME_SET_CURRENT(end);
	(void) sink;
	c->next += count;
	INSTR_TIME_SUBTRACT(end, start);
	return INSTR_TIME_GET_DOUBLE(end) * 1e9;
}

/*
 * Returns the shortest of a few.  A time slice of a neighbour in the middle
 * would make a short piece of work look long, and its rounds too short to
 * measure.
 */
static double
shortest(BenchRun *ctx, Contender *c, uint64 calls)
{
	double		ns = time_calls(ctx, c, calls);

	for (int i = 0; i < 4 && ns < MAX_ROUND_NS * 4; i++)
	{
		double		again = time_calls(ctx, c, calls);

		ns = Min(ns, again);
	}
	return ns;
}

/*
 * Returns how many units a call has.  These are records of a trace, or one
 * checksum.
 */
static uint32
units_per_call(const BenchRun *ctx)
{
	return Max(ctx->trace.nrecords, 1);
}

/* Warms up, and sets the calls of a round so that it takes round_ns. */
static double
calibrate(BenchRun *ctx, Contender *c, double round_ns)
{
	double		ns;

	c->next = 0;
	for (c->calls = 1;; c->calls *= 2)
	{
		ns = shortest(ctx, c, c->calls);
		if (ns >= round_ns / 4)
			break;
	}
	c->calls = Max(1, (uint64) (c->calls * round_ns / ns));
	return ns;
}

static void
time_contenders(BenchRun *ctx)
{
	double		round_ns = Min(MAX_ROUND_NS, ctx->min_time * 1e3 / MIN_ROUNDS);
	double		slowest = 0;
	int		   *order = palloc0(sizeof(int) * ctx->ncontenders);
	uint64		state = TIMING_SEED;

	check_contenders(ctx);
	for (int i = 0; i < ctx->ncontenders; i++)
		slowest = Max(slowest, calibrate(ctx, &ctx->contenders[i], round_ns));
	/* where a single call takes longer than a round should, fewer will do */
	ctx->nrounds = Max(MIN_ROUNDS, (int) (ctx->min_time * 1e3 / round_ns));
	if (slowest > 2 * round_ns)
		ctx->nrounds = Max(5, (int) (ctx->min_time * 1e3 / slowest));
	for (int i = 0; i < ctx->ncontenders; i++)
		ctx->contenders[i].samples = palloc(sizeof(double) * ctx->nrounds);
	for (int round = 0; round < ctx->nrounds; round++)
	{
		timing_shuffle(order, ctx->ncontenders, &state);
		for (int i = 0; i < ctx->ncontenders; i++)
		{
			Contender  *c = &ctx->contenders[order[i]];

			c->samples[round] = time_calls(ctx, c, c->calls) / c->calls /
				units_per_call(ctx);
		}
	}
	for (int i = 0; i < ctx->ncontenders; i++)
		emit_contender(ctx, &ctx->contenders[i]);
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
emit_contender(BenchRun *ctx, Contender *c)
{
	Datum		values[8];
	bool		nulls[8] = {0};

	qsort(c->samples, ctx->nrounds, sizeof(double), compare_doubles);
	values[0] = CStringGetTextDatum(c->name);
	values[1] = Int32GetDatum(ctx->bytes);
	values[2] = Int64GetDatum((int64) (c->calls * ctx->nrounds *
									   units_per_call(ctx)));
	values[3] = Float8GetDatum(c->samples[0]);
	values[4] = Float8GetDatum(c->samples[ctx->nrounds / 2]);
	values[5] = Float8GetDatum(c->samples[ctx->nrounds - 1]);
	values[6] = Float8GetDatum(ctx->mean_bytes / c->samples[0]);
	values[7] = Int64GetDatum(c->crc);
	tuplestore_putvalues(ctx->rsinfo->setResult, ctx->rsinfo->setDesc,
						 values, nulls);
	pfree(c->samples);
}

static void
time_size(BenchRun *ctx, int bytes, int64 working_set, TimingEntry *mix,
		  TimingEntry *fixed)
{
	ctx->bytes = bytes;
	if (bytes == 0)
	{
		ctx->plan.entries = mix;
		ctx->plan.entry_mask = TIMING_MIX_ENTRIES - 1;
		ctx->mean_bytes = timing_mix_mean(mix);
	}
	else
	{
		fixed->offset = 0;
		fixed->length = bytes;
		ctx->plan.entries = fixed;
		ctx->plan.entry_mask = 0;
		ctx->mean_bytes = bytes;
	}
	timing_slots(&ctx->plan, bytes == 0 ? TIMING_MIX_SPAN : Max(bytes, 64),
				 working_set);
	time_contenders(ctx);
}

/*
 * Returns the sizes to time.  Without an argument, these are usual ones of the
 * algorithm.
 */
static int
sizes_argument(BenchRun *ctx, FunctionCallInfo fcinfo, const int32 **sizes)
{
	static const int32 crc_sizes[] = {
		0, 20, 64, 100, 128, 200, 256, 300, 512, 1024, 8192, 65536
	};
	static const int32 page_sizes[] = {4 * BLCKSZ};
	Datum	   *elements;
	int32	   *values;
	int			n;

	if (PG_ARGISNULL(1))
	{
		bool		pages = ctx->algorithm == CHECKSUM_page;

		*sizes = pages ? page_sizes : crc_sizes;
		return pages ? lengthof(page_sizes) : lengthof(crc_sizes);
	}
	n = array_argument(PG_GETARG_ARRAYTYPE_P(1), INT4OID, "sizes", &elements);
	values = palloc(sizeof(int32) * n);
	for (int i = 0; i < n; i++)
		values[i] = DatumGetInt32(elements[i]);
	*sizes = values;
	return n;
}

static ChecksumAlgorithm
algorithm_argument(FunctionCallInfo fcinfo, int argument)
{
	char	   *name;

	accel_check_null(fcinfo, argument, "algorithm");
	name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	for (int a = 0; a < CHECKSUM_NALGORITHMS; a++)
		if (strcmp(name, checksum_algorithm_name((ChecksumAlgorithm) a)) == 0)
			return (ChecksumAlgorithm) a;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized algorithm \"%s\"", name),
			 errhint("The algorithms are: crc32c, crc32, page.")));
}

/* The records of a trace, as a line of bench/traces/ holds them. */
static void
trace_argument(BenchRun *ctx, FunctionCallInfo fcinfo, int argument)
{
	char	   *records = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	const char *error = timing_parse_trace(records, &ctx->trace);

	if (error != NULL || ctx->trace.nrecords == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid trace, at character %d",
						error != NULL ? (int) (error - records) + 1 : 1),
				 errdetail("A trace holds records like 76, 22+5+46 or 40*3: bytes, added up to %d at most.",
						   TIMING_TRACE_LONGEST)));
	ctx->trace.parts = palloc_extended(sizeof(uint32) * ctx->trace.nparts,
									   MCXT_ALLOC_HUGE);
	timing_parse_trace(records, &ctx->trace);
}

static void
time_trace(BenchRun *ctx, FunctionCallInfo fcinfo, int argument)
{
	trace_argument(ctx, fcinfo, argument);
	ctx->mean_bytes = (double) ctx->trace.bytes / ctx->trace.nrecords;
	ctx->bytes = (int) ctx->mean_bytes;
	time_contenders(ctx);
}

/* The largest of the sizes of CRCs, and of what else they read. */
static size_t
check_crc_sizes(const int32 *sizes, int nsizes)
{
	size_t		largest = TIMING_MIX_SPAN;

	for (int i = 0; i < nsizes; i++)
	{
		accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "sizes", sizes[i], 0, MAX_BYTES);
		largest = Max(largest, sizes[i]);
	}
	return largest;
}

static void
bench_crcs(BenchRun *ctx, FunctionCallInfo fcinfo, const int32 *sizes,
		   int nsizes)
{
	size_t		largest = check_crc_sizes(sizes, nsizes);
	int64		working_set = 0;
	TimingEntry *mix = palloc(sizeof(TimingEntry) * TIMING_MIX_ENTRIES);
	TimingEntry fixed;
	unsigned char *data;

	if (!PG_ARGISNULL(5))
	{
		working_set = PG_GETARG_INT64(5);
		accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "working_set", working_set, largest, MAX_BYTES);
	}
	if (!PG_ARGISNULL(7))
		largest = Max(largest, TIMING_TRACE_SPAN + TIMING_TRACE_LONGEST);
	data = allocate_data(Max(largest, working_set) + MAX_ALIGN);
	data += PG_GETARG_INT32(4);
	fill_data(data, Max(largest, working_set));
	ctx->plan.data = data;
	ctx->plan.walk = &ctx->walk;
	ctx->plan.chained = PG_GETARG_BOOL(6);
	if (!PG_ARGISNULL(7))
	{
		time_trace(ctx, fcinfo, 7);
		return;
	}
	timing_fill_mix(mix, TIMING_MIX_MIN, TIMING_MIX_MAX);
	for (int i = 0; i < nsizes; i++)
		time_size(ctx, sizes[i], working_set, mix, &fixed);
}

/* Whole pages, in calls of as many as each size holds. */
static void
bench_pages(BenchRun *ctx, const int32 *sizes, int nsizes)
{
	const int	most = PIECE_BYTES / BLCKSZ;
	unsigned char *data = allocate_data(PIECE_BYTES);

	for (int i = 0; i < nsizes; i++)
		if (sizes[i] <= 0 || sizes[i] > PIECE_BYTES || sizes[i] % BLCKSZ != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("size %d is not that of 1 to %d pages", sizes[i], most),
					 errdetail("A page has %d bytes.", BLCKSZ)));
	fill_data(data, PIECE_BYTES);
	ctx->plan.data = data;
	ctx->blknos = palloc(sizeof(uint32) * most);
	ctx->sums = palloc(sizeof(uint16) * most);
	for (int i = 0; i < most; i++)
		ctx->blknos[i] = i;
	for (int i = 0; i < nsizes; i++)
	{
		ctx->npages = sizes[i] / BLCKSZ;
		ctx->bytes = ctx->mean_bytes = sizes[i];
		time_contenders(ctx);
	}
}

/*
 * checksum_bench(algorithm text, sizes integer[], kernels text[],
 * min_time interval, align integer, working_set bigint, chained boolean,
 * trace text)
 */
SQL_FUNCTION(accel_checksum_bench)
{
	BenchRun	run = {0};
	const int32 *sizes;
	int			nsizes;

	run.algorithm = algorithm_argument(fcinfo, 0);
	nsizes = sizes_argument(&run, fcinfo, &sizes);
	begin_run(&run, fcinfo);
	accel_check_null(fcinfo, 4, "align");
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, "align", PG_GETARG_INT32(4), 0, MAX_ALIGN);
	accel_check_null(fcinfo, 6, "chained");
	if (run.algorithm != CHECKSUM_page)
		bench_crcs(&run, fcinfo, sizes, nsizes);
	else if (PG_GETARG_INT32(4) == 0 && PG_ARGISNULL(5) &&
			 !PG_GETARG_BOOL(6) && PG_ARGISNULL(7))
		bench_pages(&run, sizes, nsizes);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("algorithm \"page\" takes no align, working_set, chained or trace")));
	return (Datum) 0;
}
