#!/usr/bin/env python3
"""Derives every constant of the kernels; prints constants.auto.h.

Polynomials over GF(2) are Python integers, bit i being the coefficient of x^i;
reflect() turns them into the bit order of the registers.  README.md beside
this file derives the formulas that are evaluated here.
"""

import functools

POLYNOMIALS = {
    "crc32c": 0x11EDC6F41,  # Castagnoli; RFC 3720, appendix B.4
    "crc32": 0x104C11DB7,  # ISO-HDLC; RFC 1952, section 8
}

# PostgreSQL's page format: the 32 lanes start from these, in the order of the
# lanes, and FNV's 32-bit prime multiplies.  Arbitrary values of the format,
# not derivable; a test compares the result with the server's function.
FNV_PRIME = 16777619
PAGE_BASE_OFFSETS = [
    0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A,
    0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
    0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
    0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
    0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE,
    0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
    0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E,
    0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756,
]


def reflect(value, bits):
    """The value with its bits in reverse order."""
    return int(format(value, "0%db" % bits)[::-1], 2)


def mod(value, poly):
    """The remainder of value by poly."""
    while value.bit_length() >= poly.bit_length():
        value ^= poly << (value.bit_length() - poly.bit_length())
    return value


def mul(a, b):
    """The carry-less product."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        b >>= 1
    return product


def xpow(n, poly):
    """x^n mod poly, by squaring."""
    result, base = 1, 2
    while n:
        if n & 1:
            result = mod(mul(result, base), poly)
        base = mod(mul(base, base), poly)
        n >>= 1
    return result


def array(ctype, name, values, width, per_line, storage="static "):
    """A C array; nested lists become nested initializers."""
    dims = ""
    level = values
    while isinstance(level, list):
        dims += "[%d]" % len(level)
        level = level[0]

    def body(v, indent):
        if not isinstance(v[0], list):
            lines = [v[i : i + per_line] for i in range(0, len(v), per_line)]
            fmt = "0x%0" + str(width) + "X"
            return ",\n".join(
                "\t" * indent + ", ".join(fmt % x for x in line) for line in lines
            )
        return ",\n".join(
            "\t" * indent + "{\n" + body(x, indent + 1) + "\n" + "\t" * indent + "}"
            for x in v
        )

    return "%sconst %s %s%s%s = {\n%s\n};\n" % (
        storage,
        ctype,
        name,
        dims,
        " __attribute__((aligned(64)))" if ctype == "uint64_t" else "",
        body(values, 1),
    )


def table(ctype, name, values, width, per_line):
    """The same, visible to other files, which declare it in kernel.h."""
    return array(ctype, name, values, width, per_line, "")


def slicing_tables(poly):
    """T[k][b]: the register after byte b and then k zero bytes."""
    rows = []
    for k in range(8):
        rows.append(
            [
                reflect(mod(reflect(b, 8) << (32 + 8 * k), poly), 32)
                for b in range(256)
            ]
        )
    return rows


# x86: every multiplier is x^(8j-33) for a distance of j bytes, see README.md,
# "Multipliers".  The power table holds them for j = POWER_LAST ... POWER_FIRST
# in eight rows by j mod 8, descending, so that the multipliers of the
# consecutive quadwords of a vector stand side by side.
POWER_FIRST, POWER_LAST = -64, 511
# Distances in bytes over which the bulk loops fold.
FOLD_DISTANCES = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512]


def multiplier(j, poly):
    """x^(8j-33) mod poly, reflected; x has an inverse, so j may be negative."""
    return reflect(xpow((8 * j - 33) % order(poly), poly), 32)


def power_table(poly):
    """T[r][i] = multiplier for j = POWER_LAST - 7 + r - 8 i."""
    per_row = (POWER_LAST + 1 - POWER_FIRST) // 8
    return [
        [multiplier(POWER_LAST - 7 + r - 8 * i, poly) for i in range(per_row)]
        for r in range(8)
    ]


def print_powers(name, poly):
    """The tables of multipliers, defined by powers.c."""
    upper = name.upper()
    print("#define %s_POWERS_LAST %d" % (upper, POWER_LAST))
    print("#ifdef WANT_POWERS")
    print("/* [r][i] for j = 504 + r - 8 i */")
    print(table("uint32_t", name + "_powers", power_table(poly), 8, 6), end="")
    print("/* for j = 256 i */")
    blocks = [multiplier(256 * i, poly) for i in range(256)]
    print(table("uint32_t", name + "_block_powers", blocks, 8, 6), end="")
    print("/* for j = 504 - 8 i down to 0 */")
    straight = [multiplier(504 - 8 * i, poly) for i in range(64)]
    print(table("uint64_t", name + "_straight_powers", straight, 16, 4), end="")
    if name == "crc32c":
        print("/* for j = -8 to 311 */")
        near = [multiplier(j, poly) for j in range(-8, 312)]
        print(table("uint32_t", name + "_near_powers", near, 8, 6), end="")
    print("#endif")


@functools.lru_cache(maxsize=None)
def order(poly):
    """The least n > 0 with x^n = 1 mod poly, checked against its divisors."""
    n, factors = {
        POLYNOMIALS["crc32c"]: ((1 << 31) - 1, []),  # a prime
        POLYNOMIALS["crc32"]: ((1 << 32) - 1, [3, 5, 17, 257, 65537]),
    }[poly]
    assert xpow(n, poly) == 1
    assert all(xpow(n // f, poly) != 1 for f in factors)
    return n


# The first digit's entries carry what the products and reductions of
# combine_x86.c add.
COMBINE_SURPLUS = {"crc32c": 99, "crc32": 3}
COMBINE_DIGITS = [(0, 11), (11, 11), (22, 10)]  # from bit, bits


def print_combine(name, poly):
    """x^(8 d 2^from) for the digits d of a length in bytes."""
    surplus = COMBINE_SURPLUS[name]
    powers = [
        xpow(((8 * d << start) - (0 if start else surplus)) % order(poly), poly)
        for start, bits in COMBINE_DIGITS
        for d in range(1 << bits)
    ]
    upper = name.upper()
    print("#define %s_ORDER_BITS %d" % (upper, order(poly).bit_length()))
    print("#define %s_X63 0x%08X" % (upper, reflect(xpow(63, poly), 32)))
    print("#define %s_SURPLUS 0x%08X" % (upper, reflect(xpow(surplus, poly), 32)))
    print("#ifdef WANT_COMBINE")
    print("/* for the digits of 11, 11, 10 bits; the first divided by x^%d */" % surplus)
    reflected = [reflect(v, 32) for v in powers]
    print(table("uint32_t", name + "_digit_powers", reflected, 8, 6), end="")
    print("#endif")


def print_fold(name, poly):
    """Single multipliers: folding by fixed distances, Barrett reduction."""
    upper = name.upper()
    for d in FOLD_DISTANCES:
        for e in (8 * d - 33, 8 * d + 31):
            print("#define %s_X%d 0x%08X" % (upper, e, reflect(xpow(e, poly), 32)))
    quotient = divide(1 << 96, poly)
    print("/* floor(x^96 / P) without its constant term, and P, reflected */")
    print(
        "#define %s_X96_DIV_P UINT64_C(0x%016X)"
        % (upper, reflect(quotient, 65) & ((1 << 64) - 1))
    )
    print("#define %s_P UINT64_C(0x%X)" % (upper, reflect(poly, 33)))
    print()


def divide(value, poly):
    """The quotient of value by poly."""
    quotient = 0
    while value.bit_length() >= poly.bit_length():
        shift = value.bit_length() - poly.bit_length()
        quotient |= 1 << shift
        value ^= poly << shift
    return quotient


# arm64: bytes that each of the three chains of kernel_armv8.c takes in a block.
CHAIN_LENGTHS = [128, 1024]


def shift_table(length, poly):
    """T[k][b]: byte k of a register being b, what length zero bytes make of it."""
    by_bit = [
        reflect(mod(reflect(1 << bit, 32) << (8 * length), poly), 32)
        for bit in range(32)
    ]

    def shifted(reg):
        total = 0
        for bit in range(32):
            if reg >> bit & 1:
                total ^= by_bit[bit]
        return total

    return [[shifted(b << 8 * k) for b in range(256)] for k in range(4)]


def print_arm(name, poly):
    """The tables that join the chains of kernel_armv8.c."""
    print("#ifdef WANT_%s_CHAINS" % name.upper())
    for length in CHAIN_LENGTHS:
        table = shift_table(length, poly)
        print(array("uint32_t", "%s_shift_%d" % (name, length), table, 8, 4), end="")
    print("#endif\n")


def main():
    print("/*")
    print(" * constants.auto.h: generated, do not edit.")
    print(" *	  python3 src/kernel/gen_constants.py > src/kernel/constants.auto.h")
    print(" */")
    for name, poly in POLYNOMIALS.items():
        upper = name.upper()
        print("#ifdef WANT_%s_SLICING" % upper)
        print(array("uint32_t", name + "_slicing", slicing_tables(poly), 8, 4), end="")
        print("#endif\n")
        print("#define %s_POLY_REFLECTED 0x%08X" % (upper, reflect(poly & 0xFFFFFFFF, 32)))
        print()
        print_powers(name, poly)
        print_combine(name, poly)
        print_fold(name, poly)
        print_arm(name, poly)
    print("#define PAGE_FNV_PRIME %du" % FNV_PRIME)
    print("#define PAGE_LANES %d" % len(PAGE_BASE_OFFSETS))
    print("#ifdef WANT_PAGE_BASE_OFFSETS")
    print(array("uint32_t", "page_base_offsets", PAGE_BASE_OFFSETS, 8, 4), end="")
    print("#endif")


if __name__ == "__main__":
    main()
