"""report_servers.py: the report's parts that measure whole servers."""
import re

import measure
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


def plot_ratios(section, folder, plots, name, title, pairs, xlabel, invert=False):
    """pairs: (words, base, other): how many times better other is, run by run."""
    rows = []
    for words, a, b in pairs:
        gains = measure.pair_gains(a, b) if a and b else []
        if gains:
            gains = [1 / g for g in gains] if invert else gains
            rows.append((words, measure.statistics.median(gains), min(gains), max(gains), measure.is_noise_interleaved(a, b)))
    if plots and rows:
        plots.ratios(folder, name, title, rows, xlabel, not invert)
        section.blocks.append(("plot", name, "Median of the runs' ratios; whiskers: their range; blue: better, orange: worse, grey: noise."))


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

OURS = "verify_relation_summary"
STARTUP = "pg_checksums start-up"


def less(m, start):
    """Seconds of a program without its start-up."""
    return m.median - start.median if m and start else None


def offline_gain(results):
    """(words, share of the start-up): pg_checksums without its start-up, warm."""
    ours, theirs, start = (results.get("warm", v, "elapsed") for v in (OURS, "pg_checksums --check", STARTUP))
    if not (ours and theirs and start):
        return None
    noise = ", within noise" if measure.is_noise_interleaved(ours, theirs) else ""
    return f"{less(theirs, start) / ours.median:.2f} times as fast{noise}", start.median / theirs.median


def kernel_table(results):
    """The faithful row beside the talk's "about a 2x": one verifier, its kernel varied."""
    case = "CPU per pass"
    base = results.get(case, "portable", "CPU")
    rows = [(m.variant, f"{m.median * 1000:.1f} ms", f"{m.low * 1000:.1f} to {m.high * 1000:.1f}", f"{base.median / m.median:.2f}",
             f'"{published.PAGES_WORDS}"' if m is not base else "-")
            for m in results.variants(case, "CPU") if base and not m.variant.startswith("pg_checksums")]
    theirs = less(results.get(case, "pg_checksums --check", "CPU"), results.get(case, STARTUP, "CPU"))
    if theirs and base:
        rows.append(("pg_checksums --check, its start-up taken off", f"{theirs * 1000:.1f} ms", "-", f"{base.median / theirs:.2f}", "-"))
    return ("table", "The same verifier, its page kernel varied, and pg_checksums: CPU of one pass over the table",
            ("page kernel", "CPU", "range", "times as fast as portable", "published (talk)"), rows, False)


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
                caption="More is better. Median of the runs; whiskers: their range.")
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
            rows.append((program, *(f"{m.median:.2f} GB/s" if m else "-" for m in figures)))
    return rows and ("table", "WAL of pgbench, compressed: bytes after decompression per second",
                     ("compressed by", "its decoder alone", "decoder, then pg_waldump -q", "ours", "ours, 2 workers"), rows, False)


def part_wal(results, section, folder, plots):
    logs = [c for c in LOGS if results.get(c, "pg_waldump", "elapsed")]
    section.blocks.append(user_table(results))
    rows, gains = [], []
    for c in logs:
        dump = less(results.get(c, "pg_waldump", "elapsed"), results.get(c, START, "elapsed"))
        for v, words in VARIANTS.items():
            m = results.get(c, v, "elapsed")
            if m and dump:
                rows.append((LOGS[c], words, f"{dump:.3g} s", f"{m.median:.3g} s", f"{dump / m.median:.2f}"))
        if (m := results.get(c, "auto", "elapsed")) and dump:
            gains.append(f"{LOGS[c]} {dump / m.median:.2f}")
    section.blocks.append(("table", "pg_waldump -q, its start-up taken off, and verify_wal over the same WAL",
                           ("WAL", "by what", "pg_waldump", "ours", "times as fast"), rows, False))
    if table := compressed_table(results):
        section.blocks.append(table)
    if table := cold_table(results, "WAL"):
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
                rows.append((words, peer, what, f"{theirs.median:.3g} s", f"{ours.median:.3g} s", f"{theirs.median / ours.median:.2f}"))
                if variant == "hashes and pages" and peer == "pg_verifybackup":
                    gains.append(f"{words} {theirs.median / ours.median:.2f}")
    section.blocks.append(("table", "pg_verifybackup, its start-up taken off, and verify_backup_summary over the same backup",
                           ("backup", "by what", "ours", "pg_verifybackup", "ours", "times as fast"), rows, False))
    if table := cold_table(results, "A backup"):
        section.blocks.append(table)
    if gains:
        section.sentence = ("A base backup is verified with every page, which pg_verifybackup does not look at. Times as fast as that on one core: "
                            + "; ".join(gains) + ".")


# --- program ---------------------------------------------------------------

PROGRAM_PEERS = (("wal", "pg_waldump"), ("wal_gzip", "gzip -t"), ("wal_gzip", "gzip -dc and pg_waldump"), ("wal_zstd", "zstd -t"),
                 ("wal_zstd", "zstd -dc and pg_waldump"), ("backup", "pg_verifybackup"))


def part_program(results, section, folder, plots):
    rows, gains = [], []
    for case, peer in PROGRAM_PEERS:
        theirs, one, two = (results.get(case, v, "elapsed") for v in (peer, "crc32c_verify", "crc32c_verify -j2"))
        if theirs and one and two:
            rows.append((case, peer, f"{theirs.median:.3g} s", f"{one.median:.3g} s", f"{theirs.median / one.median:.2f}",
                         f"{two.median:.3g} s", f"{theirs.median / two.median:.2f}"))
            gains.append(f"{peer} {theirs.median / one.median:.2f}")
    section.blocks.append(("table", "The same files by other programs, and by crc32c_verify on one core and on two",
                           ("files", "by what", "that", "crc32c_verify", "times as fast", "-j2", "times as fast"), rows, False))
    again = results.get("state", "second run", "elapsed")
    section.sentence = "Times as fast on one core: " + "; ".join(gains) + "." if gains else ""
    if again:
        section.sentence += f" 10,000 segments that are known: {again.median:.2g} s."


# --- server ----------------------------------------------------------------

def backup_row(size, origin, off, on, gain, without=""):
    return (f"{size:g} GB", origin, f"{off:g} s", f"{on:g} s", gain, without)


def backup_rows(results, plain):
    """Published and measured backups in one list by size: none is put beside
    another of another size."""
    rows = [(gb, backup_row(gb, "published (talk)", off, on, f"{off / on:.2f} times as fast")) for gb, off, on in published.BACKUPS]
    for case in plain:
        gb = megabytes(case) / 1000
        off, on = (float(f"{results.get(case, v, 'elapsed').median:.3g}") for v in ("off", "on"))
        rows.append((gb, backup_row(gb, "here", off, on, change(results, case, "off", "on"),
                                    change(results, case + " without page verification", "off", "on"))))
    return [row for _, row in sorted(rows)]


WAL_BYTE = "CPU per WAL byte"


def wal_byte_rows(results):
    """Writers and recovery: what a byte of WAL costs, switched off and on."""
    for case in results.cases():
        off, on = (results.get(case, v, WAL_BYTE) for v in ("off", "on"))
        if off and on:
            yield case, f"{off.median:.2f} ns", f"{on.median:.2f} ns", change(results, case, "off", "on", "CPU")


def part_server(results, section, folder, plots):
    backups = sorted((c for c in results.cases("backup to blackhole") if megabytes(c) and results.get(c, "off", "elapsed")), key=megabytes)
    plain = [c for c in backups if "without" not in c]
    section.blocks.insert(0, ("table", "pg_basebackup by size of the database: published and measured",
                              ("size", "origin", "SSE4.2, or off", "AVX-512, or on", "gain", "gain without page verification"),
                              backup_rows(results, plain), False))
    rows = list(wal_byte_rows(results))
    if rows:
        section.blocks.append(("table", "CPU per byte of WAL: writers and recovery, accelerate_server off and on", ("case", "off", "on", "change"), rows, False))
    pairs = [(case, results.get(case, "off", metric), results.get(case, "on", metric))
             for case in results.cases() for metric in ("elapsed", "rate", "redo", "CPU") if results.get(case, "off", metric)]
    plot_ratios(section, folder, plots, "server-gain", "accelerate_server: how many times as fast", pairs, "times as fast with our kernel (above 1: faster)")
    if plain:
        largest = plain[-1]
        without = next((c for c in backups if "without" in c and megabytes(c) == megabytes(largest)), None)
        off, on = (results.get(largest, v, "elapsed").median for v in ("off", "on"))
        section.sentence = (f"A base backup of {megabytes(largest)} MB takes {off:.2g} s, with accelerate_server on {on:.2g} s: "
                            + change(results, largest, "off", "on"))
        section.sentence += f" (without page verification {change(results, without, 'off', 'on')})." if without else "."
        others = [c for c in results.cases() if c.startswith(("updates", "INSERT", "UPDATE", "COPY", "pgbench", "prepared", "crash"))]
        quiet = [c for c in others for metric in ("elapsed", "rate", "redo", "CPU")
                 if (a := results.get(c, "off", metric)) and (b := results.get(c, "on", metric)) and measure.is_noise_interleaved(a, b)]
        if quiet:
            section.sentence += f" Within noise: {', '.join(dict.fromkeys(quiet))}."


# --- recovery --------------------------------------------------------------

HOT = "recovery of a hot backup"


def saved(off, on):
    return f"{1 - on / off:.1%}" if off else "-"


def part_recovery(results, section, folder, plots):
    rows = [(f"pair {n}", *(f"{a} to {b} s" for a, b in zip(off, on))) for n, (off, on) in enumerate(published.PREPARE, 1)]
    section.blocks.append(("table", "Published (mdev): mariabackup --prepare, crc32c_3way to crc32_avx512", ("", "real", "user", "system"),
                           rows + [("in its words", published.PREPARE_WORDS, "", "")], False))
    metrics = ("elapsed", "user", "system", "CPU")
    both = {m: (results.get(HOT, "off", m), results.get(HOT, "on", m)) for m in metrics}
    if not all(both["CPU"]):
        return
    rows = [(f"pair {n + 1}", *(f"{off.values[n]:.2f} to {on.values[n]:.2f} s" for off, on in both.values()))
            for n in range(min(len(both["CPU"][0].values), len(both["CPU"][1].values)))]
    rows.append(("minima, saved", *(saved(min(off.values), min(on.values)) for off, on in both.values())))
    rows.append(("judged", *("noise" if measure.is_noise_interleaved(off, on) else change(results, HOT, "off", "on", m) for m, (off, on) in both.items())))
    section.blocks.append(("table", "Here: redo of a hot pg_basebackup, off to on", ("", *metrics), rows, False))
    share = [results.get(HOT, v, "share of CPU") for v in ("off", "on")]
    section.sentence = (f"Recovery of a hot backup, accelerate_server off and on: {change(results, HOT, 'off', 'on', 'CPU')} by CPU, "
                        f"{change(results, HOT, 'off', 'on')} by time"
                        + (f"; the CRC's share of CPU is {share[0].median:g} % and {share[1].median:g} %." if all(share) else "."))


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
    section.sentence = (f"One block, over {last}: {one.median:.1f} s and {disks[0].median / 1000:.1f} GB of disk; the whole restore takes "
                        f"{restore.median:.1f} s and {disks[1].median / 1000:.1f} GB.")


# --- dump ------------------------------------------------------------------

def dump_rows(results):
    """(case, method, rate, noise, size): relative to gzip:6 at the same jobs."""
    for case in results.cases("pg_dump "):
        gzip, gzip_size = (results.get(case, "gzip:6", m) for m in ("rate", "size"))
        for m in results.variants(case, "rate"):
            size = results.get(case, m.variant, "size")
            if gzip and size:
                yield case, m, m.median / gzip.median, m is not gzip and measure.is_noise_interleaved(gzip, m), size.median / gzip_size.median


def restore_words(results, method):
    m = results.get("pg_restore", method, "elapsed")
    return f"{m.median:.2f} s" if m else "-"


def part_dump(results, section, folder, plots):
    rows, best = [], (0, None, None)
    for case, m, gain, noise, size in dump_rows(results):
        rows.append((case, m.variant, f"{m.median:.1f}", f"{gain:.2f}" + (", noise" if noise else ""), f"{size:.2f}", restore_words(results, m.variant)))
        if size <= 1.25 and gain > best[0]:
            best = (gain, m.variant, size)
    section.blocks.append(("table", "Throughput and size beside gzip at level 6 with the same number of jobs",
                           ("case", "method", "MB/s", "times gzip:6", "size, times gzip:6", "pg_restore"), rows, False))
    section.blocks.append(("table", "Published (zlib-accel): hardware that is not here, at 4 jobs or at the number of jobs where it gains most",
                           ("compared with", "hardware", "throughput gain", "tradeoff in size"), published.DUMP, False))
    plot_metric(section, folder, plots, results, "dump-rate", "rate", "pg_dump -Fd: MB of database per second", ["gzip:6"], results.cases("pg_dump "))
    if best[1]:
        section.sentence = (f"A dump with {best[1]} is {best[0]:.1f} times as fast as with gzip at level 6, pg_dump's default, at {best[2]:.2f} times "
                            "the size; the CRC-32C of every dump file is kept in `dump-crc32c.csv`, so a changed dump shows later.")
