/*
 * short_avx512.inc.h
 *	  CRC-32C of less than 320 bytes for CPUs, as Zen 4, on which a jump by a
 *	  table, even a predicted one, costs more than branches.
 *
 * See README.md, "Straight to the end".  It is included by kernel_avx512.c.
 */
#define BYTES_TARGET \
	__attribute__((target("sse4.2,pclmul,bmi2,avx2,avx512f,avx512bw,avx512vl,avx512vbmi,vpclmulqdq")))
#define BYTES_INLINE BYTES_TARGET inline __attribute__((always_inline))

/* CRC-32C of less than 8 bytes. */
static INLINE uint32_t
crc32c_below_8(uint32_t crc, const unsigned char *p, size_t len)
{
	if (len & 4)
	{
		crc = _mm_crc32_u32(crc, load_native32(p));
		p += 4;
	}
	if (len & 2)
	{
		crc = _mm_crc32_u16(crc, load_native16(p));
		p += 2;
	}
	if (len & 1)
		crc = _mm_crc32_u8(crc, *p);
	return crc;
}

/* CRC-32C of 0 < n < 8 bytes of at least 8, as crc32c_odd(). */
static INLINE uint64_t
crc32c_first(uint64_t crc, const unsigned char *p, size_t n)
{
	size_t		bits = 8 * n;
	uint64_t	word = (load_native64(p) ^ crc) << (-bits & 63);

	return _mm_crc32_u64(0, word) ^ (crc >> bits);
}

/*
 * CRC-32C of 8 to WORDS_MOST bytes, the odd ones first, with a branch per
 * word.
 */
#define WORD_IF_ANY(i) \
	if (len < 8 * (i) + 8) \
		return (uint32_t) crc; \
	crc = _mm_crc32_u64(crc, load_native64(p + 8 * (i)))

static INLINE uint32_t
crc32c_words(uint64_t crc, const unsigned char *p, size_t len)
{
	if (len & 7)
		crc = crc32c_first(crc, p, len & 7);
	p += len & 7;
	crc = _mm_crc32_u64(crc, load_native64(p));
	WORD_IF_ANY(1);
	WORD_IF_ANY(2);
	WORD_IF_ANY(3);
	WORD_IF_ANY(4);
	WORD_IF_ANY(5);
	return (uint32_t) crc;
}

/* The register moved up by n < 320 bytes, as a summand of the sum. */
static INLINE __m128i
joiner_of(uint32_t reg, size_t n)
{
	return _mm_clmulepi64_si128(_mm_cvtsi32_si128((int) reg),
								_mm_cvtsi32_si128((int) crc32c_near_powers[n]), 0);
}

static INLINE uint32_t
reduce_joined(__m512i sum, __m128i joiner)
{
	return reduce_crc32c(_mm_xor_si128(VTO128(sum), joiner),
						 _mm_setzero_si128());
}

/*
 * CRC-32C of WORDS_MOST + 1 to 63 bytes.  The last 32 come after the others,
 * which stand at the end of half a vector.  No load leaves the buffer.
 */
static BYTES_INLINE uint32_t
crc32c_one_vector(uint32_t reg, const unsigned char *p, size_t len)
{
	const __m256i *last = (const __m256i *) (p + len - 32);
	const __m256i *places = (const __m256i *) (kernel_byte_places + len % 32);
	__m256i		first = _mm256_maskz_permutexvar_epi8(UINT32_MAX << (-len & 31),
													  _mm256_loadu_si256(places),
													  _mm256_loadu_si256((const __m256i *) p));
	__m512i		data = _mm512_inserti64x4(_mm512_castsi256_si512(first),
										  _mm256_loadu_si256(last), 1);

	return reduce_joined(VMULTIPLY(data, VLOAD_ALIGNED(crc32c_straight_powers +
													   STRAIGHT_END - 8)),
						 joiner_of(reg, len));
}

/* CRC-32C of whole vectors, 64 to 256 bytes that end at end, by len / 64. */
static INLINE uint32_t
crc32c_whole(uint32_t reg, const unsigned char *end, size_t len)
{
	__m512i		sum = last_product(end, 1);

	if (__builtin_expect(len < 128, 1))
		return reduce_joined(sum, joiner_of(reg, 64));
	sum = crc32c_avx512_add_last(sum, end, 2);
	if (len < 192)
		return reduce_joined(sum, joiner_of(reg, 128));
	sum = crc32c_avx512_add_last(sum, end, 3);
	if (len < 256)
		return reduce_joined(sum, joiner_of(reg, 192));
	sum = crc32c_avx512_add_last(sum, end, 4);
	return reduce_joined(sum, joiner_of(reg, 256));
}

/* CRC-32C of 64 to 319 bytes, len % 64 (0 to FIRST_MOST) before whole vectors. */
static INLINE uint32_t
crc32c_few_and_whole(uint32_t reg, const unsigned char *p, size_t len)
{
	size_t		n = len % 64;

	if (n == 8)
		reg = (uint32_t) _mm_crc32_u64(reg, load_native64(p));
	else if (n > 0)
		reg = (uint32_t) crc32c_first(reg, p, n);
	return crc32c_whole(reg, p + len, len);
}

/*
 * CRC-32C of 65 to 319 bytes.  Before the whole vectors stand the first len %
 * 64, which are moved to the end of a vector.  Its multiplication waits for
 * that, so it comes last.
 */
#define ADD_FIRST(i) \
	reduce_joined(crc32c_avx512_add_product(sum, first, \
											VLOAD_ALIGNED(crc32c_straight_powers + \
														  STRAIGHT_END - 8 * (i))), \
				  joiner)

static BYTES_INLINE uint32_t
crc32c_part_and_whole(uint32_t reg, const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len;
	__m512i		first = _mm512_maskz_permutexvar_epi8(UINT64_MAX << (-len & 63),
													  VLOAD(kernel_byte_places + len % 64),
													  VLOAD(p));
	__m128i		joiner = joiner_of(reg, len);
	__m512i		sum = last_product(end, 1);

	if (__builtin_expect(len < 128, 1))
		return ADD_FIRST(2);
	sum = crc32c_avx512_add_last(sum, end, 2);
	if (len < 192)
		return ADD_FIRST(3);
	sum = crc32c_avx512_add_last(sum, end, 3);
	if (len < 256)
		return ADD_FIRST(4);
	sum = crc32c_avx512_add_last(sum, end, 4);
	return ADD_FIRST(5);
}
#undef ADD_FIRST

/*
 * CRC-32C of len < 320 bytes.  What is said to be likely falls through,
 * whether or not it is.  Of many orders this was the fastest.
 */
static BYTES_INLINE uint32_t
crc32c_branches(uint32_t reg, const unsigned char *p, size_t len)
{
	if (__builtin_expect(len < 8, 0))
		return crc32c_below_8(reg, p, len);
	if (__builtin_expect(len <= WORDS_MOST, 1))
		return crc32c_words(reg, p, len);
	if (__builtin_expect(len < VBYTES, 0))
		return crc32c_one_vector(reg, p, len);
	if (__builtin_expect(len % VBYTES <= FIRST_MOST, 0))
		return crc32c_few_and_whole(reg, p, len);
	return crc32c_part_and_whole(reg, p, len);
}

/* Does as crc32c_middle(), with a loop in the place of its jump. */
static TARGET __attribute__((noinline))
uint32_t
crc32c_middle_loop(uint32_t reg, const unsigned char *p, size_t len)
{
	const unsigned char *last = p + len;
	const unsigned char *end = p + len % 64;
	uint64_t	crc = reg;

	if (len & 7)
		crc = crc32c_first(crc, p, len & 7);
	for (p += len & 7; p < end; p += 8)
		crc = _mm_crc32_u64(crc, load_native64(p));
	return crc32c_vectors(crc, end, last);
}
