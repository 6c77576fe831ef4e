#!/usr/bin/env python3
"""Derives the constants of SHA-2 (FIPS 180-4); prints sha2.auto.h.

They are the first 64 bits of the fractional parts of roots of primes: cube roots
of the first 80 in the rounds (4.2.3), square roots of the first 16 in the initial
hash values (5.3).  The algorithms of 32 bits take half of the same numbers.
"""


def primes(count):
    found = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def root(number, power):
    """The greatest integer whose power is not more than number."""
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if middle ** power <= number:
            low = middle
        else:
            high = middle
    return low


def fraction(prime, power):
    """The first 64 bits after the point of a root of the prime."""
    return root(prime << (64 * power), power) % (1 << 64)


def table(name, numbers):
    print("static const uint64_t %s[%d] = {" % (name, len(numbers)))
    for at in range(0, len(numbers), 2):
        print("\t" + ", ".join("UINT64_C(0x%016X)" % n for n in numbers[at:at + 2]) +
              ("," if at + 2 < len(numbers) else ""))
    print("};")


def main():
    print("/*\n * sha2.auto.h: generated, do not edit.")
    print(" *\t  python3 src/program/gen_sha2.py > src/program/sha2.auto.h\n */")
    print("#include <stdint.h>\n")
    table("sha2_rounds", [fraction(prime, 3) for prime in primes(80)])
    print()
    table("sha2_initial", [fraction(prime, 2) for prime in primes(16)])


main()
