"""report_servers.py: the report's parts that measure whole servers."""
import math
import re

import pairs
import published


def plot_metric(section, folder, plots, results, name, metric, title, own, cases=None, caption="", words=()):
    """Bars of one metric, a group a case."""
    groups, unit = {}, ""
    for case in cases if cases is not None else results.cases():
        values = {dict(words).get(m.variant, m.variant): (m.median, m.low, m.high) for m in results.variants(case, metric)}
        if values and any(v[0] > 0 for v in values.values()):
            groups[dict(words).get(case, case)] = values
            unit = results.variants(case, metric)[0].unit
    if not plots or not groups:
        return
    plots.bars(folder, name, title, groups, [dict(words).get(v, v) for v in own], f"{metric}, {unit}")
    section.blocks.append(("plot", name, caption or "Median of the runs; whiskers: their range."))


def plot_ratios(section, folder, plots, name, title, compared, xlabel, invert=False, rows=()):
    """compared: (words, base, other): how many times better other is, run by run.
    rows: those of plots.ratios() that stand above."""
    rows = list(rows)
    for words, a, b in compared:
        shown = pairs.gains(*((b, a) if invert else (a, b))) if a and b else pairs.Pairs(())
        if shown.count and math.isfinite(max(shown.ratios)) and min(shown.ratios) > 0:
            rows.append((words, shown.median, *shown.interval, shown.verdict))
    if plots and rows:
        plots.ratios(folder, name, title, rows, xlabel, not invert)
        section.blocks.append(("plot", name, "Median of the runs' ratios; whiskers: its 95 % interval; blue: better, orange: worse, grey: noise; hollow: too few pairs, whiskers their range."))


def change(results, case, base, other, metric="elapsed"):
    """'1.23 times as fast (1.20 to 1.31)', noise called noise, or '-'."""
    a, b = results.get(case, base, metric), results.get(case, other, metric)
    if not a or not b or a.median == 0 or b.median == 0:
        return "-"
    return pairs.gains(a, b).words(" times as fast")


def megabytes(case):
    found = re.search(r"of (\d+) MB", case)
    return int(found.group(1)) if found else 0


# --- pages -----------------------------------------------------------------

OURS = "verify_relation_summary"
STARTUP = "pg_checksums start-up"


def offline_gain(results):
    """(words, share of the start-up): pg_checksums without its start-up, warm."""
    ours, theirs, start = (results.get("warm", v, "elapsed") for v in (OURS, "pg_checksums --check", STARTUP))
    if not (ours and theirs and start):
        return None
    return pairs.gains(theirs.less(start), ours).words(" times as fast"), start.median / theirs.median


LIMIT, LIMIT_COLUMN = "pread loop", "ours beside the limit, a pread loop that only reads"


def limit_words(results, case, ours):
    """How many times as fast as the system's copy of the same files, which no kernel shortens."""
    limit = results.get(case, LIMIT, "elapsed")
    return pairs.gains(limit, ours).words() if limit else "-"


def limited_table(title, head, rows):
    """The last column has the limit; older results have none."""
    if all(row[-1] == "-" for row in rows):
        return ("table", title, head, [row[:-1] for row in rows], False)
    return ("table", title, (*head, LIMIT_COLUMN), rows, False)


def kernel_table(results):
    """The faithful row beside the talk's "about a 2x": one verifier, its kernel varied."""
    case = "CPU per pass"
    base = results.get(case, "portable", "CPU")
    rows = [(m.variant, f"{m.median * 1000:.1f} ms", f"{m.low * 1000:.1f} to {m.high * 1000:.1f}", f"{base.median / m.median:.2f}",
             f'"{published.PAGES_WORDS}"' if m is not base else "-")
            for m in results.variants(case, "CPU") if base and not m.variant.startswith("pg_checksums")]
    theirs, start = (results.get(case, v, "CPU") for v in ("pg_checksums --check", STARTUP))
    if theirs and start and base:
        theirs = theirs.less(start)
        rows.append(("pg_checksums --check, its start-up taken off", f"{theirs.median * 1000:.1f} ms", "-", f"{base.median / theirs.median:.2f}", "-"))
    return ("table", "The same verifier, its page kernel varied, and pg_checksums: CPU of one pass over the table",
            ("page kernel", "CPU", "range", "times as fast as portable", "published (talk)"), rows, False)


def lost_table(results):
    """Both read the server's WAL once; verify_lost_writes also asks the disk for each block that it tells of."""
    wal, lost, size, blocks = (results.get("own", *row) for row in (("verify_wal", "elapsed"), ("verify_lost_writes", "elapsed"),
                                                                    ("WAL", "bytes"), ("tables", "blocks")))
    if not (wal and lost and size and blocks):
        return None
    return ("table", "The server's own WAL of pgbench: every record by verify_wal, and by verify_lost_writes, which also asks the disk for the blocks",
            ("WAL", "blocks of the tables", "verify_wal", "verify_lost_writes", "times as fast as verify_wal"),
            [(f"{size.median / 1e9:.2f} GB", f"{blocks.median:.0f}", f"{wal.median:.3g} s", f"{lost.median:.3g} s", pairs.gains(wal, lost).words())], False)


def cold_table(results, what):
    """What is not in the page cache: through it, and past it with direct_io."""
    rows = []
    for m in results.variants("cold", "CPU"):
        speed = results.get("cold", m.variant, "rate")
        rows.append((m.variant, f"{speed.median:.2f} GB/s", f"{speed.low:.2f} to {speed.high:.2f}", f"{m.median:.3f} s", f"{m.low:.3f} to {m.high:.3f}"))
    return rows and ("table", f"{what} that is not in the page cache: through it, and past it", ("by what", "rate", "range", "CPU per GB", "range"), rows, False)


def part_pages(results, section, folder, plots):
    own = [v for v in dict.fromkeys(m.variant for m in results.found.values()) if v.startswith(OURS)]
    rows = []
    for case in ("warm", "cold"):
        ours = results.get(case, OURS, "rate")
        rows += [(case, m.variant, f"{m.median:.2f} GB/s", f"{ours.median:.2f} GB/s", change(results, case, m.variant, OURS, "rate"))
                 for m in results.variants(case, "rate") if ours and m.variant != OURS]
    gain = offline_gain(results)
    if gain:
        rows.append(("warm", "pg_checksums --check, its start-up taken off", "-", "-", gain[0]))
    section.blocks.append(kernel_table(results))
    section.blocks.append(("text", "Verifying from the page cache is mostly the system's copy of the file (the pread loop), which no kernel "
                           "shortens: a page checksum several times as fast makes the whole only as much faster as these rows show."))
    section.blocks.append(("table", "verify_relation_summary beside what else reads or checks the same table",
                           ("cache", "the other", "its rate", "ours", "ours is"), rows, False))
    plot_metric(section, folder, plots, results, "pages-rate", "rate", "Verifying a table, and what else reads it", own, ("warm", "cold"),
                "More is better. Median of the runs; whiskers: their range. From a disk they may overlap: then the order is chance.",
                {"warm": "from the page cache", "cold": "from the disk, whose rate varies"})
    if table := cold_table(results, "A table"):
        section.blocks.append(table)
    m = results.get("warm", OURS, "rate")
    if m and gain:
        section.sentence = (f"A table in use is verified at {m.median:.1f} GB/s on one core; against pg_checksums, which needs the server "
                            f"stopped: {gain[0]}, its start-up ({gain[1]:.0%} of its time here) not counted against it.")


# --- WAL -------------------------------------------------------------------

LOGS = {"pgbench": "WAL of pgbench", "small": "small records", "fpi": "full-page images"}
VARIANTS = {"auto": "ours", "auto 2 workers": "ours, 2 workers", "sse42": "ours with the SSE4.2 kernel"}
START = "pg_waldump start-up"
DECODERS = ("decoder", "decoder and pg_waldump", "auto", "auto 2 workers")


def user_table(results):
    size = results.get("pgbench", "WAL", "bytes")
    rows = []
    for words, kernel, seconds in published.WAL_USER + (("the best kernel of this CPU", "auto", ()),):
        user, cpu = (results.get("pgbench", kernel, m) for m in ("user", "CPU"))
        rows.append((words, " and ".join(f"{s} s" for s in seconds) or "-", f"{29.81 / seconds[0]:.1f}" if seconds else "-",
                     f"{user.median:.3f} s ({kernel})" if user else "-", f"{cpu.median:.3f} s" if cpu else "-",
                     gain_words(results.get("pgbench", "bytewise", "CPU"), cpu)))
    dump = results.get("pgbench", "pg_waldump --stats", "CPU")
    if dump:
        rows.append(("pg_waldump --stats of this server, its own CRC", "-", "-", f"{results.get('pgbench', dump.variant, 'user').median:.3f} s",
                     f"{dump.median:.3f} s", "-"))
    return ("table", f"CPU of one pass over pgbench's WAL (hackers: 11 GB{f', here {size.median / 1e9:.2f} GB' if size else ''}; compare the ratios)",
            ("CRC", "published (hackers): user", "times", "here: user", "here: user + system", "times"), rows, False)


def gain_words(a, b):
    return f"{a.median / b.median:.1f}" if a and b and b.median else "-"


def compressed_table(results):
    rows = []
    for program in ("gzip", "lz4", "zstd"):
        figures = [results.get(f"pgbench_{program}", v, "throughput") for v in DECODERS]
        if figures[2]:
            rows.append((program, *(f"{m.median:.2f} GB/s" if m else "-" for m in figures),
                         pairs.gains(figures[1], figures[2]).words() if figures[1] else "-"))
    return rows and ("table", "WAL of pgbench, compressed: bytes after decompression per second",
                     ("compressed by", "its decoder alone", "decoder, then pg_waldump -q", "ours", "ours, 2 workers", "ours: times as fast as those two"), rows, False)


def part_wal(results, section, folder, plots):
    logs = [c for c in LOGS if results.get(c, "pg_waldump", "elapsed")]
    section.blocks.append(user_table(results))
    rows, gains = [], []
    for c in logs:
        start = results.get(c, START, "elapsed")
        dump = start and results.get(c, "pg_waldump", "elapsed").less(start)
        for v, words in VARIANTS.items():
            m = results.get(c, v, "elapsed")
            if m and dump:
                rows.append((LOGS[c], words, f"{dump.median:.3g} s", f"{m.median:.3g} s", pairs.gains(dump, m).words(), limit_words(results, c, m)))
        if (m := results.get(c, "auto", "elapsed")) and dump:
            gains.append(f"{LOGS[c]} {pairs.gains(dump, m).words()}")
    section.blocks.append(limited_table("pg_waldump -q, its start-up taken off, and verify_wal over the same WAL",
                                        ("WAL", "by what", "pg_waldump", "ours", "times as fast"), rows))
    if table := compressed_table(results):
        section.blocks.append(table)
    if table := cold_table(results, "WAL"):
        section.blocks.append(table)
    if table := lost_table(results):
        section.blocks.append(table)
    plot_metric(section, folder, plots, results, "wal-throughput", "throughput", "Reading and verifying WAL", ["auto", "auto 2 workers", "sse42"], logs,
                "More is better. Median of the runs; whiskers: their range.", {**LOGS, **VARIANTS})
    if gains:
        section.sentence = ("Every record of archived WAL is verified, past damage too. Times as fast as pg_waldump, which stops at the first "
                            "error, on one core: " + "; ".join(gains) + ".")


# --- backup ----------------------------------------------------------------

BACKUPS = {"CRC32C": "CRC-32C manifest", "SHA256": "SHA-256 manifest"}
BACKUP_VARIANTS = (("hashes", "pg_verifybackup -n", "hashes and WAL"),
                   ("hashes and pages", "pg_verifybackup -n", "hashes, pages and WAL"),
                   ("hashes and pages 1 worker", "pg_verifybackup -n", "the same, and one worker"),
                   ("hashes and pages", "pg_verifybackup", "hashes, pages and WAL"))


def part_backup(results, section, folder, plots):
    rows, gains = [], []
    for case, words in BACKUPS.items():
        for variant, peer, what in BACKUP_VARIANTS:
            theirs, ours = results.get(case, peer, "elapsed"), results.get(case, variant, "elapsed")
            if theirs and ours:
                rows.append((words, peer, what, f"{theirs.median:.3g} s", f"{ours.median:.3g} s", pairs.gains(theirs, ours).words(), limit_words(results, case, ours)))
                if variant == "hashes and pages" and peer == "pg_verifybackup":
                    gains.append(f"{words} {pairs.gains(theirs, ours).words()}")
    section.blocks.append(limited_table("pg_verifybackup, its start-up taken off, and verify_backup_summary over the same backup",
                                        ("backup", "by what", "ours", "pg_verifybackup", "ours", "times as fast"), rows))
    if table := cold_table(results, "A backup"):
        section.blocks.append(table)
    if gains:
        section.sentence = ("A base backup is verified with every page, which pg_verifybackup does not look at. Times as fast as that on one core: "
                            + "; ".join(gains) + ".")


# --- program ---------------------------------------------------------------

PROGRAM_PEERS = (("wal", "pg_waldump"), ("wal_gzip", "gzip -t"), ("wal_gzip", "gzip -dc and pg_waldump"), ("wal_zstd", "zstd -t"),
                 ("wal_zstd", "zstd -dc and pg_waldump"), ("wal_lz4", "lz4 -t"), ("wal_lz4", "lz4 -dc and pg_waldump"),
                 ("backup", "pg_verifybackup"))


def part_program(results, section, folder, plots):
    rows, gains = [], []
    for case, peer in PROGRAM_PEERS:
        theirs, one, two = (results.get(case, v, "elapsed") for v in (peer, "crc32c_verify", "crc32c_verify -j2"))
        if theirs and one and two:
            rows.append((case, peer, f"{theirs.median:.3g} s", f"{one.median:.3g} s", pairs.gains(theirs, one).words(),
                         f"{two.median:.3g} s", pairs.gains(theirs, two).words(), limit_words(results, case, one)))
            gains.append(f"{peer} {pairs.gains(theirs, one).words()}")
    section.blocks.append(limited_table("The same files by other programs, and by crc32c_verify on one core and on two",
                                        ("files", "by what", "that", "crc32c_verify", "times as fast", "-j2", "times as fast"), rows))
    again = results.get("state", "second run", "elapsed")
    section.sentence = "Times as fast on one core: " + "; ".join(gains) + "." if gains else ""
    if again:
        section.sentence += f" 10,000 segments that are known: {again.median:.2g} s."


# --- server ----------------------------------------------------------------

BLACKHOLE = "backup to blackhole"
WITHOUT = " without page verification"
SWITCH, TALK = ("off", "on"), ("sse42", "avx512")


def backup_row(size, origin, off, on, gain, without=""):
    return (size, origin, off, on, gain, without)


def blackhole_gains(results, variants, without=""):
    """Of the backups of all sizes."""
    cases = [c for c in results.cases(BLACKHOLE) if megabytes(c) and c.endswith(WITHOUT) == bool(without)]
    both = [[results.get(c, v, "elapsed") for v in variants] for c in cases]
    return pairs.pooled([pairs.gains(*two) for two in both if all(two)])


def plain_backups(results, variants):
    """Those with page verification, by size."""
    return sorted((c for c in results.cases(BLACKHOLE) if megabytes(c) and not c.endswith(WITHOUT)
                   and all(results.get(c, v, "elapsed") for v in variants)), key=megabytes)


def backup_rows(results, plain, variants):
    """Published and measured backups in one list by size: none is put beside
    another of another size."""
    rows = [(gb, backup_row(f"{gb:g} GB", "published (talk)", f"{off:g} s", f"{on:g} s", f"{off / on:.2f} times as fast")) for gb, off, on in published.BACKUPS]
    for case in plain:
        gb = megabytes(case) / 1000
        off, on = (f"{results.get(case, v, 'elapsed').median:.3g} s" for v in variants)
        rows.append((gb, backup_row(f"{gb:g} GB", "here", off, on, change(results, case, *variants), change(results, case + WITHOUT, *variants))))
    rows = [row for _, row in sorted(rows)]
    if len(plain) > 1:
        rows.append(backup_row("pooled", "here", "-", "-", blackhole_gains(results, variants).words(" times as fast"),
                               blackhole_gains(results, variants, WITHOUT).words(" times as fast")))
    return rows


def backup_tables(results):
    """The talk's own pair stands alone where only it was measured."""
    switched, talk = plain_backups(results, SWITCH), plain_backups(results, TALK)
    gains = ("gain", "gain without page verification")
    if switched or not talk:
        yield ("table", "pg_basebackup by size of the database: published (to where is not said), and measured here, into the server's blackhole",
               ("size", "origin", "SSE4.2, or off", "AVX-512, or on", *gains), backup_rows(results, switched, SWITCH), False)
    if talk:
        yield ("table", "The talk's own pair, the server's SSE4.2 function and the server's AVX-512 function: published, and here, into the blackhole",
               ("size", "origin", "SSE4.2", "AVX-512", *gains), backup_rows(results, talk, TALK), False)


WAL_BYTE = "CPU per WAL byte"


def wal_byte_rows(results):
    """Writers and recovery: what a byte of WAL costs, switched off and on."""
    for case in results.cases():
        off, on = (results.get(case, v, WAL_BYTE) for v in ("off", "on"))
        if off and on:
            yield case, f"{off.median:.2f} ns", f"{on.median:.2f} ns", change(results, case, "off", "on", "CPU")


SWITCHED = ("elapsed", "rate", "redo", "CPU", "server CPU", "CPU per transaction")  # the first that a case has stands for it in the sentence


def switched(results):
    """{(work, metric): gains} of all that ran off and on.  Sizes are pooled, but
    those for whose CPU time the clock is too coarse."""
    found = {}
    for case in results.cases():
        for metric in SWITCHED:
            off, on = (results.get(case, v, metric) for v in ("off", "on"))
            if off and on:
                found.setdefault((re.sub(r" of \d+ MB", "", case), metric), []).append((pairs.resolved(off), pairs.gains(off, on)))
    return {key: pairs.pooled([gain for fine, gain in several if fine] or [gain for _, gain in several]) for key, several in found.items()}


def switched_table(gains):
    rows = [(work, metric, gain.count, gain.words(), gain.ways("better", "worse")) for (work, metric), gain in gains.items()]
    return ("table", "accelerate_server on against off, equal work of several sizes pooled (above 1: better with it)",
            ("work", "metric", "pairs", "times as good", "of the pairs"), rows, False)


def switched_words(gains):
    """Every case in one of four lists."""
    lists = {"Faster": [], "Slower": [], "No difference found": [], "Too few pairs to tell": []}
    seen = set()
    for (work, _), gain in gains.items():
        if work in seen or work.startswith(BLACKHOLE):
            continue
        seen.add(work)
        if gain.verdict == pairs.FEW:
            lists["Too few pairs to tell"].append(f"{work} ({gain.ways('faster', 'slower')})")
        elif gain.verdict == pairs.NOISE:
            lists["No difference found"].append(work)
        else:
            lists["Faster" if gain.median > 1 else "Slower"].append(f"{work} {gain.words()}")
    return "".join(f" {title}: {', '.join(works)}." for title, works in lists.items() if works)


def blackhole_words(results, plain):
    """The largest backup, then those of all sizes."""
    off, on = (results.get(plain[-1], v, "elapsed").median for v in ("off", "on"))
    plain_gains, without = blackhole_gains(results, SWITCH), blackhole_gains(results, SWITCH, WITHOUT)
    both = pairs.pooled([plain_gains, without])
    return (f"A base backup of {megabytes(plain[-1])} MB into the server's blackhole takes {off:.2g} s, with accelerate_server on {on:.2g} s. "
            f"Over all sizes it is {plain_gains.words(' times as fast')}, without page verification "
            f"{without.words(' times as fast')}, both together {both.words(' times as fast')}.")


def talk_words(results):
    gains = blackhole_gains(results, TALK)
    if not gains.count:
        return ""
    return (f" The talk's own pair: by the server's AVX-512 function backups are {gains.words(' times as fast')} as by its SSE4.2 function, "
            f"without page verification {blackhole_gains(results, TALK, WITHOUT).words(' times')}; published: \"{published.BACKUPS_WORDS}\".")


def part_server(results, section, folder, plots):
    plain = plain_backups(results, SWITCH)
    section.blocks[:0] = backup_tables(results)
    gains = switched(results)
    if gains:
        section.blocks.append(switched_table(gains))
    rows = list(wal_byte_rows(results))
    if rows:
        section.blocks.append(("table", "CPU per byte of WAL: writers and recovery, accelerate_server off and on", ("case", "off", "on", "change"), rows, False))
    compared = [(case, results.get(case, "off", metric), results.get(case, "on", metric))
                for case in results.cases() for metric in ("elapsed", "rate", "redo", "CPU") if results.get(case, "off", metric)]
    plot_ratios(section, folder, plots, "server-gain", "accelerate_server: how many times as fast", compared,
                "times as fast with our kernel (above 1: faster)")
    talk = plain_backups(results, TALK)
    if talk:
        plot_ratios(section, folder, plots, "server-talk", "Base backups by the server's own functions, AVX-512 against SSE4.2",
                    [(f"{megabytes(case) / 1000:g} GB, here", *(results.get(case, v, "elapsed") for v in TALK)) for case in talk],
                    "times as fast by the AVX-512 function",
                    rows=[(f"{gb:g} GB, published", *[off / on] * 3, "") for gb, off, on in published.BACKUPS])
    section.sentence = ((blackhole_words(results, plain) if plain else "") + talk_words(results) + switched_words(gains)).strip()


# --- recovery --------------------------------------------------------------

HOT, CRASH, STANDBY = "recovery of a hot backup", "recovery without images", "replay by a standby"
REDO_METRICS = ("elapsed", "user", "system", "CPU")


def saved(off, on):
    return f"{1 - on / off:.1%}" if off else "-"


def off_and_on(results, case, metric):
    return results.get(case, "off", metric), results.get(case, "on", metric)


def redo_rows(results, case):
    """A row a pair; none where the case did not run."""
    both = {m: off_and_on(results, case, m) for m in REDO_METRICS}
    if not all(both["CPU"]):
        return []
    rows = [(f"pair {n + 1}", *(f"{off.values[n]:.2f} to {on.values[n]:.2f} s" for off, on in both.values()))
            for n in range(min(len(both["CPU"][0].values), len(both["CPU"][1].values)))]
    rows.append(("minima, saved", *(saved(min(off.values), min(on.values)) for off, on in both.values())))
    rows.append(("times as fast", *(pairs.gains(off, on).words() for off, on in both.values())))
    return rows


def share_of(samples, crc):
    """Pooled over the recoveries, in words, with the interval of a binomial share."""
    n, k = sum(samples.values), sum(crc.values)
    p = k / n
    around = 1.96 * math.sqrt(p * (1 - p) / n)
    return f"{100 * p:.2f} % ({100 * (p - around):.2f} to {100 * (p + around):.2f})"


def share_rows(results):
    for case in (HOT, CRASH):
        for variant in ("off", "on"):
            samples, crc, ns = (results.get(case, variant, m) for m in ("samples", "samples in the CRC", "CRC of a record"))
            if samples and crc and ns and sum(samples.values):
                yield case, variant, f"{sum(samples.values):.0f}", share_of(samples, crc), f"{ns.median:.1f} ns ({min(ns.values):.1f} to {max(ns.values):.1f})"


def share_words(results):
    rows = list(share_rows(results))
    shares = [f"{row[3]} {row[1]} ({row[2]} samples)" for row in rows if row[0] == HOT]
    old = [m for m in off_and_on(results, HOT, "share of CPU") if m]
    if not shares:
        return f"; the CRC's share of CPU is {old[0].median:g} % and {old[1].median:g} %." if len(old) == 2 else "."
    return f"; the CRC's share of CPU is {' and '.join(shares)}; the source says {published.PREPARE_SHARE}."


def part_recovery(results, section, folder, plots):
    rows = [(f"pair {n}", *(f"{a} to {b} s" for a, b in zip(off, on))) for n, (off, on) in enumerate(published.PREPARE, 1)]
    section.blocks.append(("table", "Published (mdev): mariabackup --prepare, crc32c_3way to crc32_avx512", ("", "real", "user", "system"),
                           rows + [("in its words", published.PREPARE_WORDS, "", "")], False))
    redo = {case: redo_rows(results, case) for case in (HOT, CRASH)}
    for case, words in ((HOT, "redo of a hot pg_basebackup"), (CRASH, "redo after a crash, full_page_writes off")):
        if rows := redo[case]:
            section.blocks.append(("table", f"Here: {words}, off to on", ("", *REDO_METRICS), rows, False))
    rows = list(share_rows(results))
    if rows:
        section.blocks.append(("table", "The CRC in it, sampled and pooled over recoveries: 95 % interval of the share, range of the times",
                               ("", "accelerate_server", "samples", "share of CPU", "CRC of a record"), rows, False))
    off, on = off_and_on(results, STANDBY, "rate")
    if off and on:
        section.blocks.append(("table", "A standby: WAL replayed per second of its CPU", ("off", "on", "times as fast"),
                               [(f"{off.median:.1f} MB/s", f"{on.median:.1f} MB/s", pairs.gains(off, on).words())], False))
    if redo[HOT]:
        section.sentence = (f"Recovery of a hot backup, accelerate_server off and on: {change(results, HOT, 'off', 'on', 'CPU')} by CPU, "
                            f"{change(results, HOT, 'off', 'on')} by time" + share_words(results))


# --- recover ---------------------------------------------------------------

def part_recover(results, section, folder, plots):
    whole, rows = "whole restore", []
    for case in results.cases():
        for m in results.variants(case, "elapsed"):
            disk, tracked = results.get(case, m.variant, "disk"), results.get(case, m.variant, "blocks tracked")
            rows.append((case, m.variant, f"{m.median:.1f} s", "-" if m.variant == whole else change(results, case, whole, m.variant),
                         f"{disk.median:.0f} MB", f"{tracked.median:.0f}" if tracked else "-"))
    section.blocks.append(("table", "crc32c_verify recover beside a restore of the whole backup to the same LSN",
                           ("WAL since the backup", "what", "time", "beside the restore", "disk", "blocks tracked"), rows, False))
    plot_metric(section, folder, plots, results, "recover-time", "elapsed", "Blocks given back: seconds, less is better", [whole])
    last = results.cases()[-1]
    one, restore = results.get(last, "1 block", "elapsed"), results.get(last, whole, "elapsed")
    disks = results.get(last, "1 block", "disk"), results.get(last, whole, "disk")
    if not (one and restore):
        return
    section.sentence = (f"One block, over {last}: {one.median:.1f} s and {disks[0].median / 1000:.1f} GB of disk; the whole restore takes "
                        f"{restore.median:.1f} s and {disks[1].median / 1000:.1f} GB.")


# --- dump ------------------------------------------------------------------

def dump_rows(results):
    """(case, method, gains, size): relative to gzip:6 at the same jobs."""
    for case in results.cases("pg_dump "):
        gzip, gzip_size = (results.get(case, "gzip:6", m) for m in ("rate", "size"))
        for m in results.variants(case, "rate"):
            size = results.get(case, m.variant, "size")
            if gzip and size:
                yield case, m, pairs.gains(gzip, m), size.median / gzip_size.median


def restore_words(results, method):
    m = results.get("pg_restore", method, "elapsed")
    return f"{m.median:.2f} s" if m else "-"


def part_dump(results, section, folder, plots):
    rows, best = [], (0, None, None)
    for case, m, gain, size in dump_rows(results):
        rows.append((case, m.variant, f"{m.median:.1f}", "1" if m.variant == "gzip:6" else gain.words(), f"{size:.2f}", restore_words(results, m.variant)))
        if size <= 1.25 and gain.median > best[0]:
            best = (gain.median, m.variant, size)
    section.blocks.append(("table", "Throughput and size beside gzip at level 6 with the same number of jobs",
                           ("case", "method", "MB/s", "times gzip:6", "size, times gzip:6", "pg_restore"), rows, False))
    section.blocks.append(("table", "Published (zlib-accel): hardware that is not here, at 4 jobs or at the number of jobs where it gains most",
                           ("compared with", "hardware", "throughput gain", "tradeoff in size"), published.DUMP, False))
    plot_metric(section, folder, plots, results, "dump-rate", "rate", "pg_dump -Fd: MB of database per second", ["gzip:6"], results.cases("pg_dump "))
    if best[1]:
        section.sentence = (f"A dump with {best[1]} is {best[0]:.1f} times as fast as with gzip at level 6, pg_dump's default, at {best[2]:.2f} times "
                            "the size; the CRC-32C of every dump file is kept in `dump-crc32c.csv`, so a changed dump shows later.")
