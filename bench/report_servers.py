"""report_servers.py: the report's parts that measure whole servers."""
import re

import measure


def plot_metric(section, folder, plots, results, name, metric, title, own, cases=None, caption=""):
    """Bars of one metric, a group a case."""
    groups = {}
    for case in cases if cases is not None else results.cases():
        values = {m.variant: (m.median, m.low, m.high) for m in results.variants(case, metric)}
        if values and any(v[0] > 0 for v in values.values()):
            groups[case] = values
    if not plots or not groups:
        return
    unit = next(m.unit for c in groups for m in results.variants(c, metric))
    plots.bars(folder, name, title, groups, own, f"{metric}, {unit}")
    section.blocks.append(("plot", name, caption or "Median of the runs; whiskers: their range."))


def change(results, case, base, other, metric="elapsed"):
    """'1.23 times' with noise called noise, or '-'."""
    a, b = results.get(case, base, metric), results.get(case, other, metric)
    if not a or not b or a.median == 0 or b.median == 0:
        return "-"
    gain = measure.speedup(a, b)
    if measure.is_noise_interleaved(a, b):
        return f"{gain:.2f} times, within noise"
    return f"{gain:.2f} times as fast" if gain >= 1 else f"{1 / gain:.2f} times slower"


def ratio_words(results, case, base, other, metric):
    """other / base of a quantity, noise called noise."""
    a, b = results.get(case, base, metric), results.get(case, other, metric)
    if not a or not b:
        return "-"
    shown = f"{a.median:.4g} and {b.median:.4g} {a.unit}"
    if a.median == 0 or b.median == 0 or not 0.01 < b.median / a.median < 100:
        return shown
    return f"{shown}: {b.median / a.median:.2f} times" + (", within noise" if measure.is_noise_interleaved(a, b) else "")


def megabytes(case):
    found = re.search(r"of (\d+) MB", case)
    return int(found.group(1)) if found else 0


# --- pages -----------------------------------------------------------------

# what the project wants to be, times the other's rate
PAGES_WANTED = (("warm", "pg_checksums", 1.6), ("warm", "page_checksum", 5.0), ("warm", "pread loop", 0.9), ("cold", "dd", 1.0))


def part_pages(results, section, folder, plots):
    ours = "verify_relation_summary"
    own = [v for v in dict.fromkeys(m.variant for m in results.found.values()) if v.startswith(ours)]
    rows, offline = [], "-"
    for case in results.cases():
        for m in results.variants(case, "rate"):
            if m.variant == ours:
                continue
            wanted = next((w for c, v, w in PAGES_WANTED if c == case and m.variant.startswith(v)), "-")
            words = change(results, case, m.variant, ours, "rate")
            if m.variant.startswith("pg_checksums"):
                offline = words
            rows.append((case, m.variant, f"{m.median:.2f} and {results.get(case, ours, 'rate').median:.2f} GB/s", words, wanted))
    section.blocks.append(("table", "Published and measured", ("what", "published", "here"), [
        ("vectorised page checksum in a synthetic pg_checksums benchmark (the PostgreSQL 18 talk)", "about 2 times",
         f"verify_relation_summary against pg_checksums --check: {offline}")], False))
    section.blocks.append(("table", "verify_relation_summary beside what else reads or checks the same table",
                           ("cache", "the other", "its rate and ours", "ours", "wanted, times"), rows, False))
    plot_metric(section, folder, plots, results, "pages-rate", "rate", "Verifying a table, and what else reads it", own,
                caption="More is better. Median of the runs; whiskers: their range.")
    m = results.get("warm", ours, "rate")
    if m:
        section.sentence = (f"A table in use is verified at {m.median:.1f} GB/s on one core; against pg_checksums, which needs the server "
                            f"stopped: {offline}.")


# --- WAL -------------------------------------------------------------------

LOGS = {"pgbench": "pgbench", "small": "small records", "fpi": "full-page images"}


def part_wal(results, section, folder, plots):
    own = ["auto", "auto 2 workers", "sse42", "slicing8"]
    logs = [c for c in LOGS if results.get(c, "pg_waldump", "elapsed")]
    shown = [(kernel, results.get("pgbench", kernel, "user")) for kernel in ("slicing8", "sse42", "auto")]
    user = {kernel: f"{m.median:.3g} s" for kernel, m in shown if m}
    size = results.get("pgbench", "log", "bytes")
    what = f", {size.median / 1e6:.0f} MB here" if size else ""
    section.blocks.append(("table", f"User time over the log of pgbench (published: 11 GB of 2014{what}; compare the ratios)",
                           ("CRC", "published", "here"), [
        ("the CRC of 2014 (byte by byte)", "29.8 s", "in no server of today"), ("slicing-by-4", "13.5 s", "in no server of today"),
        ("slicing-by-8", "7.9 s", user.get("slicing8", "-")), ("the SSE4.2 instruction", "3.3 s", user.get("sse42", "-")),
        ("the best kernel of this CPU", "-", user.get("auto", "-"))], False))
    rows = [(LOGS[c], v, f"{results.get(c, 'pg_waldump', 'elapsed').median:.3g} and {m.median:.3g} s", change(results, c, "pg_waldump", v))
            for c in logs for v in own if (m := results.get(c, v, "elapsed"))]
    section.blocks.append(("table", "pg_waldump -q and verify_wal_directory: the same log",
                           ("log", "kernel", "pg_waldump, ours", "ours"), rows, False))
    plot_metric(section, folder, plots, results, "wal-throughput", "throughput", "Reading and verifying WAL", own, logs,
                "More is better. Median of the runs; whiskers: their range.")
    gains = [f"{LOGS[c]} {change(results, c, 'pg_waldump', 'auto')}" for c in logs if results.get(c, "auto", "elapsed")]
    if gains:
        section.sentence = ("Every record of archived WAL is verified, past damage too; against pg_waldump, which stops at the first "
                            "error, on one core: " + "; ".join(gains) + ".")


# --- server ----------------------------------------------------------------

PUBLISHED_BACKUPS = ((15, 10.4, 9.2), (75, 51.4, 44.2), (150, 99.5, 85.2), (256, 173.0, 152.6))


def part_server(results, section, folder, plots):
    backups = sorted((c for c in results.cases("backup to blackhole") if megabytes(c) and results.get(c, "off", "elapsed")), key=megabytes)
    plain = [c for c in backups if "without" not in c]
    rows = [(f"pg_basebackup of {gb} GB, SSE4.2 against AVX-512 (4th generation Xeon)", f"{a} and {b} s: {a / b:.2f} times as fast", "-")
            for gb, a, b in PUBLISHED_BACKUPS]
    for i, case in enumerate(backups):
        shown = f"{case}: {results.get(case, 'off', 'elapsed').median:.3g} and {results.get(case, 'on', 'elapsed').median:.3g} s: " + change(results, case, "off", "on")
        if i < len(rows):
            rows[i] = (*rows[i][:2], shown)
        else:
            rows.append(("", "", shown))
    section.blocks.insert(0, ("table", "Published and measured (sizes differ: compare the ratios)", ("what", "published", "here"), rows, False))
    plot_metric(section, folder, plots, results, "server-elapsed", "elapsed", "accelerate_server off and on: time", ["on"],
                caption="Less is better. Median of the runs; whiskers: their range.")
    plot_metric(section, folder, plots, results, "server-rate", "rate", "accelerate_server off and on: transactions a second", ["on"],
                caption="More is better. Median of the runs; whiskers: their range.")
    if plain:
        largest = plain[-1]
        without = next((c for c in backups if "without" in c and megabytes(c) == megabytes(largest)), None)
        off, on = (results.get(largest, v, "elapsed").median for v in ("off", "on"))
        section.sentence = (f"A base backup of {megabytes(largest)} MB takes {off:.2g} s, with accelerate_server on {on:.2g} s: "
                            + change(results, largest, "off", "on"))
        section.sentence += f" (without page verification {change(results, without, 'off', 'on')})." if without else "."
        others = [c for c in results.cases() if c.startswith(("updates", "COPY", "pgbench", "prepared", "crash"))]
        quiet = [c for c in others for metric in ("elapsed", "rate", "redo")
                 if (a := results.get(c, "off", metric)) and (b := results.get(c, "on", metric)) and measure.is_noise_interleaved(a, b)]
        if quiet:
            section.sentence += f" Within noise: {', '.join(dict.fromkeys(quiet))}."


# --- checksums -------------------------------------------------------------

FILE_CASE = "checksum of a 1 GB file"
STUDY = (("OLTP at a fixed rate", "cpu", "no difference"), ("OLTP at a fixed rate", "wal", "50 to 100 % more with checksums"),
         ("second SELECT", "elapsed", "the same"), ("first SELECT (hint bits)", "elapsed", "twice the time with checksums"),
         ("first SELECT (hint bits)", "wal", "hint bits are logged"), ("insert larger than shared_buffers", "elapsed", "the same"))


def part_checksums(results, section, folder, plots):
    rows = [(f"{case}: {metric}, off and on", words, ratio_words(results, case, "off", "on", metric)) for case, metric, words in STUDY]
    rates = results.variants(FILE_CASE, "rate")
    rows.insert(0, ("checksum of a file: rate of cksum over 1 GB", "a CPU does far more than a disk",
                    "; ".join(f"{m.variant} {m.median:,.0f} MB/s" for m in rates) or "-"))
    section.blocks.append(("table", "The study of 2019 (PostgreSQL 10) and here", ("case", "published", "here"), rows, False))
    own = [m.variant for m in rates if m.variant.startswith("crc32c_file")]
    plot_metric(section, folder, plots, results, "checksums-file", "rate", "Checksum of a 1 GB file in the page cache", own, [FILE_CASE])
    statements = [c for c in results.cases() if c not in (FILE_CASE, "OLTP at a fixed rate")]
    plot_metric(section, folder, plots, results, "checksums-elapsed", "elapsed", "Data checksums off and on: time", ["on"], statements)
    plot_metric(section, folder, plots, results, "checksums-wal", "wal", "Data checksums off and on: WAL written", ["on"],
                [c for c in results.cases() if c != FILE_CASE])
    first = ratio_words(results, "first SELECT (hint bits)", "off", "on", "elapsed")
    second, insert, oltp = (results.get(c, "off", m) and measure.is_noise_interleaved(results.get(c, "off", m), results.get(c, "on", m))
                            for c, m in (("second SELECT", "elapsed"), ("insert larger than shared_buffers", "elapsed"), ("OLTP at a fixed rate", "cpu")))
    words = [w for w, same in (("the second SELECT", second), ("a big insert", insert), ("the CPU of an OLTP load", oltp)) if same]
    section.sentence = ("Data checksums cost the first SELECT after a load (hint bits are logged: " + first + ")"
                        + (f"; {', '.join(words)} differ{'s' if len(words) == 1 else ''} by no more than noise." if words else "."))


# --- dump ------------------------------------------------------------------

SEEN_BEFORE = {"gzip:6": "1, size 1", "gzip:1": "2.5, size 1.03", "zstd": "3.0, size 0.90", "zstd:1": "4.2, size 0.85",
               "lz4": "4.9, size 1.74", "none": "3.7, size 4.31"}


def part_dump(results, section, folder, plots):
    rows, best = [], (0, None, None)
    for case in results.cases("pg_dump "):
        gzip, gzip_size = results.get(case, "gzip:6", "rate"), results.get(case, "gzip:6", "size")
        for m in results.variants(case, "rate"):
            size = results.get(case, m.variant, "size")
            if not gzip or not size:
                continue
            relative, relative_size = m.median / gzip.median, size.median / gzip_size.median
            noise = ", noise" if m is not gzip and measure.is_noise_interleaved(gzip, m) else ""
            rows.append((case, m.variant, f"{m.median:.1f}", f"{relative:.2f}{noise}", f"{size.median:.1f}", f"{relative_size:.2f}", SEEN_BEFORE.get(m.variant, "-")))
            if relative_size <= 1.25 and relative > best[0]:
                best = (relative, m.variant, relative_size)
    section.blocks.append(("table", "Throughput and size, normalised to gzip at level 6",
                           ("case", "method", "MB/s", "to gzip:6", "size, MB", "size to gzip:6", "seen on a Xeon before"), rows, False))
    plot_metric(section, folder, plots, results, "dump-rate", "rate", "pg_dump -Fd: MB of database a second", ["none"])
    if best[1]:
        section.sentence = (f"A dump with {best[1]} is {best[0]:.1f} times as fast as with pg_dump's default, at {best[2]:.2f} times the size; "
                            "the CRC-32C of every dump file is kept in `dump-crc32c.csv`, so a changed dump shows later.")
