/*
 * fold_arm.inc.h
 *	  Template of the arm64 kernels that fold vectors by carry-less multiplications.
 *
 * Included once per CRC by a kernel file, which has defined
 *
 *	  TARGET			attribute that enables the instructions
 *	  XOR3(a, b, c)		of three vectors
 *
 * and for each inclusion
 *
 *	  FN(x)				name of a function
 *	  CRC_CONST(x)		CRC32C_##x, say, the constants of constants.auto.h
 *	  CRC_U64(r, v), CRC_U32(r, v), CRC_U8(r, v)	the CRC instructions
 *
 * Eight vectors are folded side by side, as many as hide the latency of two
 * pmull and their xor.  The CRC instructions, which every CPU with pmull has,
 * take short inputs, the last bytes, and the 128 bits that folding leaves.
 * See README.md, "Folding", and V. Gopal et al., "Fast CRC Computation for
 * Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009.
 */

/* Moves 128 bits by the distance of the multipliers k, and adds data. */
TARGET static inline __attribute__((always_inline)) uint64x2_t
FN(fold) (uint64x2_t a, uint64x2_t k, uint64x2_t data)
{
	return XOR3(multiply_low(a, k), multiply_high(a, k), data);
}

TARGET static inline uint32_t
FN(chain) (uint32_t reg, const unsigned char *p, size_t len)
{
	for (; len >= 8; len -= 8, p += 8)
		reg = CRC_U64(reg, load_le64(p));
	if (len & 4)
	{
		reg = CRC_U32(reg, load_le32(p));
		p += 4;
	}
	for (len &= 3; len > 0; len--, p++)
		reg = CRC_U8(reg, *p);
	return reg;
}

/* Makes one of eight neighbouring vectors, by 64, 32 and 16 bytes. */
TARGET static inline __attribute__((always_inline)) uint64x2_t
FN(join) (const uint64x2_t a[8])
{
	const uint64x2_t by64 = pair(CRC_CONST(X543), CRC_CONST(X479));
	const uint64x2_t by32 = pair(CRC_CONST(X287), CRC_CONST(X223));
	const uint64x2_t by16 = pair(CRC_CONST(X159), CRC_CONST(X95));
	uint64x2_t	b0 = FN(fold) (a[0], by64, a[4]);
	uint64x2_t	b1 = FN(fold) (a[1], by64, a[5]);
	uint64x2_t	b2 = FN(fold) (a[2], by64, a[6]);
	uint64x2_t	b3 = FN(fold) (a[3], by64, a[7]);

	b2 = FN(fold) (b0, by32, b2);
	b3 = FN(fold) (b1, by32, b3);
	return FN(fold) (b2, by16, b3);
}

/* len >= 128 */
TARGET static __attribute__((noinline)) uint32_t
FN(bulk) (uint32_t reg, const unsigned char *p, size_t len)
{
	uint64x2_t	by128 = pair(CRC_CONST(X1055), CRC_CONST(X991));
	const unsigned char *end = p + len;
	uint64x2_t	a[8];
	uint64x2_t	sum;

	/* a constant that it sees through keeps clang 14 from using pmull2 */
	__asm__("":"+w"(by128));
	a[0] = veorq_u64(load_vector(p), pair(reg, 0));
	a[1] = load_vector(p + 16);
	a[2] = load_vector(p + 32);
	a[3] = load_vector(p + 48);
	a[4] = load_vector(p + 64);
	a[5] = load_vector(p + 80);
	a[6] = load_vector(p + 96);
	a[7] = load_vector(p + 112);
	for (p += 128; end - p >= 128; p += 128)
	{
		a[0] = FN(fold) (a[0], by128, load_vector(p));
		a[1] = FN(fold) (a[1], by128, load_vector(p + 16));
		a[2] = FN(fold) (a[2], by128, load_vector(p + 32));
		a[3] = FN(fold) (a[3], by128, load_vector(p + 48));
		a[4] = FN(fold) (a[4], by128, load_vector(p + 64));
		a[5] = FN(fold) (a[5], by128, load_vector(p + 80));
		a[6] = FN(fold) (a[6], by128, load_vector(p + 96));
		a[7] = FN(fold) (a[7], by128, load_vector(p + 112));
	}
	sum = FN(join) (a);
	reg = CRC_U64(0, vgetq_lane_u64(sum, 0));
	reg = CRC_U64(reg, vgetq_lane_u64(sum, 1));
	return FN(chain) (reg, p, (size_t) (end - p));
}
