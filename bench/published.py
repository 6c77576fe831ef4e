"""published.py: the figures that others published, each as it stands in its source.

Nothing else may stand in a column "published".  A figure of another origin, a
commit message say, stands in a table that names it.
"""

SOURCES = {
    "talk": "E. N. Pickett (Intel), \"Intel AVX-512 Accelerates PostgreSQL 18 CRC32C Checksums\", talk; 4th generation Xeon, PostgreSQL 18 RC1",
    "hackers": "A. Menon-Sen, \"What exactly is our CRC algorithm?\", pgsql-hackers, 2014-11-19; i5-3230",
    "mdev": "M. Mäkelä, MDEV-33817 (MariaDB); Xeon Platinum 8360Y, 144 threads",
    "zlib-accel": "M. Welch (Intel), wiki of zlib-accel, \"Postgres Performance\", 2025-11; i7i.metal-24xl, PostgreSQL 17.4",
    "study": "E. Worden (Command Prompt), \"Performance Analysis of PostgreSQL data-checksums\", 2019-05; PostgreSQL 10",
}
ELSEWHERE = "commit 3c6e8c123 of PostgreSQL (its message, not one of the five sources; Tiger Lake)"

# pg_basebackup: GB, seconds with SSE4.2, seconds with AVX-512
BACKUPS = ((15.0, 10.4, 9.2), (75.0, 51.4, 44.2), (150.0, 99.5, 85.2), (256.3, 173.0, 152.6))
BACKUPS_WORDS = "the performance improves on average by 15%"
PAGES_WORDS = "This gives about a 2x speedup in a synthetic benchmark for pg_checksum"

# pg_xlogdump --stats over 11 GB, 674 segments: (CRC, kernel here, user seconds of each run)
WAL_USER = (("HEAD's CRC code", "bytewise", (29.81, 29.59)), ("slice-by-4", "slicing4", (13.52, 13.34)),
            ("slice-by-8", "slicing8", (7.88, 7.85)), ("the hardware instruction", "sse42", (3.33,)))

# my_crc32c over 1 GiB of untouched anonymous memory: (words, kernel here, ms of user CPU)
UNTOUCHED = (("without the AVX512 code", "sse42_x3", 160), ("AVX512 (crc32_avx512)", "avx512", 52))

# mariabackup --prepare: real, user, system seconds, crc32c_3way and crc32_avx512
PREPARE = (((93.485, 168.489, 71.217), (89.479, 164.622, 74.979)), ((87.711, 155.903, 69.669), (83.792, 149.705, 60.143)),
           ((87.903, 161.782, 68.669), (104.265, 203.968, 99.505)), ((87.733, 159.429, 60.014), (95.112, 172.540, 88.358)))
PREPARE_SHARE = "1.57 %"
PREPARE_WORDS = "\"83.792s/87.711s = 4.4% real time saved, or 149.705s/155.903s = 3.8% user CPU time saved\"; share of samples 1.57%"

# pg_dump: (hardware, times zlib, size cost), then zlib-ng, then zstd
DUMP = (("zlib", "QAT", "up to 29.3x", "2.8%"), ("zlib", "IAA", "up to 23.4x", "5.4%"),
        ("zlib-ng", "QAT", "up to 7.6x", "3.1%"), ("zlib-ng", "IAA", "up to 6.1x", "5.7%"),
        ("zstd", "QAT", "up to 4.9x", "none"), ("zstd", "IAA", "up to 3.9x", "2.1%"))

# the study: (case, metric, words of the study)
CKSUM = "297 MB/s; \"roughly 50% slower than the rate when querying from cache\" (570 MB/s)"
STUDY = (
    ("OLTP", "CPU", "\"CPU usage was nearly indistinguishable\""),
    ("OLTP", "WAL", "\"50-100% higher for the checksumming cluster\""),
    ("the final VACUUM and CHECKPOINT alone", "written", "\"The checksumming cluster spiked twice as high\""),
    ("read-only from cache", "CPU", "\"exactly the same behavior\" (a prediction)"),
    ("insert", "elapsed", "\"no detectable CPU or I/O cost at all\""),
    ("first SELECT", "elapsed", "\"a query duration twice as long\""),
    ("first SELECT", "CPU", "\"more than double\""),
    ("second SELECT", "elapsed", "\"almost identical\""),
    ("dump of fresh rows", "CPU", "\"roughly double CPU and disk I/O use\" (a prediction)"),
    ("dump of read rows", "CPU", "\"little difference\" (a prediction)"),
    ("data logging", "CPU", "\"little difference\" (a prediction)"),
    ("ETL", "CPU", "\"expect double or greater CPU and disk I/O use\" (a prediction)"),
    ("ETL", "written", "\"expect double or greater CPU and disk I/O use\" (a prediction)"),
)
HINTS_WORDS = ("\"if the tests were repeated with a non-checksumming cluster with wal_log_hints enabled, "
               "the results would match a checksumming cluster very closely\"")


def sources_table():
    return ("table", "The sources", ("name here", "text"), list(SOURCES.items()), False)
