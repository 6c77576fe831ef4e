"""report_kernels.py: the report's part on kernels: plots, tables, targets."""
import math
import os
import re

import published

HERE = os.path.dirname(os.path.abspath(__file__))
LEVEL = 0.95  # "level with" another: not more than 5 % behind
CHAINED = "random 20..300 chained"
WORST_CASE = "worst case of branch prediction"
POSTGRESQL_18 = ("PostgreSQL 18 avx512", "PostgreSQL 18 sse42")
# contenders that need no AVX-512
LESSER = ("ISA-L pclmul", "google crc32c", "PostgreSQL 15 sse42", "PostgreSQL 18 sse42", "abseil", "fast-crc32 sse v1s4x2",
          "fast-crc32 sse v7s3x3")
VERSION = "contender "  # a note's key, before the contender's name
NAMES = {"crc32c": "CRC-32C", "crc32": "CRC-32 (zlib, gzip)", "page": "page checksum"}


def own_kernels(algorithm):
    """The rows of kernels.def, best first."""
    with open(os.path.join(HERE, "..", "src", "kernel", "kernels.def"), encoding="utf-8") as f:
        return re.findall(rf"^KERNEL\({algorithm}, *\w+, *(\w+)", f.read(), re.M)


class Kernels:
    """Look-ups in the results of one algorithm."""

    def __init__(self, results, algorithm):
        self.results, self.algorithm = results, algorithm
        measured = {m.variant for m in results.found.values() if m.case.startswith(algorithm + "/")}
        self.own = [k for k in own_kernels(algorithm) if k in measured]
        # the row that automatic selection took on the measured machine
        self.best = results.note(f"selected {algorithm}") or (self.own[0] if self.own else None)
        self.contenders = sorted(v for v in measured if v not in self.own and "combine" not in v)

    def others(self):
        """Our other kernels."""
        return [k for k in self.own if k != self.best]

    def m(self, pattern, size, variant):
        return self.results.get(f"{self.algorithm}/{pattern}/{size}", variant)

    def ns(self, pattern, size, variant):
        m = self.m(pattern, size, variant)
        return m.best if m else None

    def sizes(self, pattern):
        found = re.compile(rf"{self.algorithm}/{re.escape(pattern)}/(\d+)$")
        return sorted({int(x.group(1)) for x in map(found.match, self.results.cases()) if x})

    def best_contender(self, pattern, size):
        """(name, ns) of the fastest other implementation."""
        times = [(self.ns(pattern, size, c), c) for c in self.contenders]
        times = [t for t in times if t[0] is not None]
        return (min(times)[1], min(times)[0]) if times else (None, None)

    def lead(self, pattern, size, variant=None):
        """How many times faster than the fastest contender."""
        name, ns = self.best_contender(pattern, size)
        own = self.ns(pattern, size, variant or self.best)
        return ns / own if name and own else None

    def ratio(self, pattern, size, slower, faster=None):
        a, b = self.ns(pattern, size, slower), self.ns(pattern, size, faster or self.best)
        return a / b if a and b else None


def least(pairs):
    """The smallest (value, label) of those that have a value."""
    return min(((v, label) for v, label in pairs if v is not None), default=(None, None))


def geometric_lead(k, sizes):
    """Against the single contender that comes nearest over all the lengths."""
    leads = []
    for c in k.contenders:
        ratios = [k.ratio("independent", n, c) for n in sizes]
        ratios = [r for r in ratios if r]
        if len(ratios) == len(sizes):
            leads.append((math.exp(sum(map(math.log, ratios)) / len(ratios)), c))
    return min(leads, default=(None, None))


def target(what, wanted, value, met, remark=""):
    if value is None:
        return (what, wanted, "-", "not measured", remark)
    shown = f"{value:.2f}"
    if met:
        return (what, wanted, shown, "met", remark)
    return (what, wanted, shown, f"missed, by {abs(wanted - value) / wanted:.0%}" if wanted else "missed", remark)


def at_least(what, wanted, value, remark=""):
    return target(what, wanted, value, value is not None and round(value, 2) >= wanted, remark)


def limit(results, what, size=0):
    m = results.get(f"limit/{what}/{size}", "limit", "limit")
    return m.median if m else None


def trace_names(k):
    """The traces of real WAL that were timed: "trace 18 reader insert", say."""
    found = re.compile(rf"{k.algorithm}/(trace .*)/0$")
    return [x.group(1) for x in map(found.match, k.results.cases()) if x]


def trace_lead(k, trace, rivals):
    """How many times faster than the fastest of the rivals, and which that is."""
    times = [(k.ns(trace, 0, r), r) for r in rivals]
    times = [t for t in times if t[0]]
    own = k.ns(trace, 0, k.best)
    return (min(times)[0] / own, min(times)[1]) if times and own else (None, None)


def median(values):
    values = sorted(v for v in values if v is not None)
    return values[len(values) // 2] if values else None


def trace_targets(k):
    rows = []
    names = trace_names(k)
    for words, rivals in (("PostgreSQL 18's best function", POSTGRESQL_18), ("every library", k.contenders)):
        leads = [trace_lead(k, t, rivals)[0] for t in names]
        rows.append(at_least(f"traces of real WAL, the median one: times {words}", 1.5, median(leads)))
    worst, where = least((trace_lead(k, t, k.contenders)[0], t) for t in names)
    rows.append(at_least("each trace of real WAL: times the best contender, worst trace", 0.97, worst, where or ""))
    worst, where = least((trace_lead(k, t, k.others())[0], t) for t in names)
    rows.append(at_least("each trace of real WAL: times our best other kernel, worst trace", 0.97, worst, where or ""))
    return rows


def crc32c_targets(k):
    rows = trace_targets(k)
    sizes = [n for n in k.sizes("independent") if n <= 65536]
    worst, where = least((k.lead("independent", n), n) for n in sizes)
    behind = [n for n in sizes if (k.lead("independent", n) or 1) < LEVEL]
    rows.append(at_least("each length 1 B to 64 KiB, independent: times the best contender, worst length", LEVEL, worst,
                         f"worst at {where} B; {len(behind)} of {len(sizes)} lengths are below {LEVEL}"
                         + (f": {', '.join(map(str, behind))}" if behind else "")))
    mean, name = geometric_lead(k, sizes)
    rows.append(at_least("the same, geometric mean, against the best single contender", 1.2, mean, name or ""))
    for pattern in ("random 20..300", CHAINED):
        name, _ = k.best_contender(pattern, 0)
        rows.append(at_least(f"{pattern} ({WORST_CASE}): times the best contender", 1.0, k.lead(pattern, 0), name or ""))
        rows.append(at_least(f"{pattern} ({WORST_CASE}): times PostgreSQL 18's", 2, k.ratio(pattern, 0, "PostgreSQL 18 avx512")))
    worst, where = least((k.lead("chained", n), n) for n in k.sizes("chained") if 64 <= n <= 300)
    rows.append(at_least("chained, each length 64..300: times the best contender, worst length", 1.5, worst, f"worst at {where} B"))
    rows.append(at_least("8 KiB hot: times SSE4.2 (one chain)", 10, k.ratio("independent", 8192, "sse42"), roof_remark(k)))
    rows.append(at_least("8 KiB hot: times PostgreSQL 18's", 1.9, k.ratio("independent", 8192, "PostgreSQL 18 avx512"), roof_remark(k)))
    name, _ = k.best_contender("independent", 8192)
    rows.append(at_least("8 KiB hot: level with the best contender", LEVEL, k.lead("independent", 8192), name or ""))
    name, _ = k.best_contender("independent", 67108864)
    rows.append(at_least("64 MiB: times the best contender", 1.2, k.lead("independent", 67108864), name or ""))
    return rows


def roof_remark(k):
    roof = limit(k.results, "clmul 512")
    ns = k.ns("independent", 8192, k.best)
    if not roof or not ns:
        return ""
    return f"{8192 / ns:.1f} GB/s; the clmul port of this CPU allows {roof:.1f} for folding alone"


def combine_target(results):
    worst = None
    for case in results.cases("crc32c/combine/"):
        for m in results.variants(case, "ns"):
            if m.variant != "zlib crc32_combine":
                worst = max(worst or 0, m.low)
    if worst is None or worst <= 5:
        return target("combine: ns, the slowest length", 5, worst, True)
    return ("combine: ns, the slowest length", 5, f"{worst:.2f}", f"missed, by {worst - 5:.1f} ns", "")


def crc32_targets(k):
    worst, where = least((k.lead("independent", n), n) for n in k.sizes("independent") if 1024 <= n <= 65536)
    name, _ = k.best_contender("random 20..300", 0)
    return [at_least("CRC-32: level with the best contender from 1 KiB to 64 KiB, worst length", LEVEL, worst, f"worst at {where} B"),
            at_least("CRC-32, random 20..300: times the best contender", 1.5, k.lead("random 20..300", 0), name or "")]


def lesser_targets(k):
    """Kernels for CPUs without AVX-512, among contenders of their class."""
    rows = []
    group = [c for c in k.contenders if c in LESSER]
    for kernel in ("pclmul", "avx2"):
        if kernel not in k.own:
            continue
        lead = {n: least((k.ratio("independent", n, c, kernel), c) for c in group) for n in k.sizes("independent") if n <= 8192}
        value, name = lead.get(8192, (None, None))
        rows.append(at_least(f"{kernel}: 8 KiB, level with the best contender without AVX-512", LEVEL, value, name or ""))
        worst, where = least((v[0], n) for n, v in lead.items() if n < 1024)
        rows.append(at_least(f"{kernel}: each length below 1 KiB, ahead of them, worst length", 1.0, worst, f"worst at {where} B"))
    return rows


def page_targets(k):
    server, avx2 = "PostgreSQL as built", "PostgreSQL avx2"
    return [at_least("page checksum, four pages: times the server's build", 7, k.ratio("hot pages", 4, server)),
            at_least("page checksum, four pages: times its code with AVX2", 2.5, k.ratio("hot pages", 4, avx2)),
            at_least("page checksum, one page: times its code with AVX2", 1.35, k.ratio("hot pages", 1, avx2))]


def target_rows(results, crc32c, crc32, page):
    arm = ("arm64 (CRC + PMULL, EOR3): instruction counts beside the portable kernel", "-", "-", "not measured",
           "no arm64 machine here: counts under emulation are in `arm_instructions.txt` (`bench/arm_instructions.sh`)")
    return (crc32c_targets(crc32c) + [combine_target(results)] + crc32_targets(crc32) + lesser_targets(crc32c) + [arm]
            + page_targets(page))


# --- tables ----------------------------------------------------------------

COLUMNS = [("independent", n) for n in (8, 20, 64, 100, 128, 200, 256, 300, 512, 1024, 8192)] + [
    ("random 20..300", 0), (CHAINED, 0), ("random 1..64", 0)]


def number(ns):
    """Three digits, never an exponent."""
    return "-" if not ns else f"{ns:.3g}" if ns < 1000 else f"{ns:.0f}"


def who_table(k):
    headers = ["ns a call"] + [str(n) if n else p for p, n in COLUMNS] + ["GB/s at 8 KiB"]
    rows = []
    for v in k.own + k.contenders:
        cells = [k.ns(p, n, v) for p, n in COLUMNS]
        at_8k = k.ns("independent", 8192, v)
        name = f"{v} (ours)" if v in k.own else v
        rows.append([name] + [number(c) for c in cells] + [f"{8192 / at_8k:.1f}" if at_8k else "-"])
    return ("table", f"{NAMES[k.algorithm]}: who stands where (minimum, ns a call)", headers, rows, False)


def cold_table(k):
    """Data straight from memory, where the prefetcher decides: times of the selected kernel's time."""
    cells = [(p, n) for p in ("cold", "8 kB in a set of") for n in k.sizes(p) if p == "cold" or n >= 16 << 20]
    headers = ["cold data"] + [f"{n} B at random places of 1 GiB" if p == "cold" else f"8 KiB in {n >> 20} MiB" for p, n in cells]
    rows = []
    for v in k.own + unlike(k.contenders):
        times = [(k.ns(p, n, v), k.ns(p, n, k.best)) for p, n in cells]
        shown = [number(a) if v == k.best else f"{a / b:.2f}" if a and b else "-" for a, b in times]
        rows.append([f"{v} (ours)" if v in k.own else v] + shown)
    return ("table", f"{NAMES[k.algorithm]}: cold data, median ns of {k.best}, the others as time of theirs over its time (below 1: faster)",
            headers, rows, False)


def version_table(results):
    """Which contenders ran, where the run has noted it."""
    rows = [(key[len(VERSION):], value) for key, value in results.notes if key.startswith(VERSION)]
    if not rows:
        return ("text", "This run is older than the note of its contenders' versions: system libraries are those of the operating system named above.")
    return ("table", "The contenders of this run", ("contender", "version"), sorted(rows), False)


def page_table(k):
    sizes = k.sizes("hot pages")
    rows = []
    for v in k.own + k.contenders:
        cells = [k.ns("hot pages", n, v) for n in sizes]
        rows.append([f"{v} (ours)" if v in k.own else v]
                    + [f"{c:.0f} ({8192 / c:.0f})" if c else "-" for c in cells])
    return ("table", "Page checksum, 8 KiB pages, hot: ns a page (GB/s) by pages checked together",
            ["kernel"] + [str(n) for n in sizes], rows, False)


def combine_table(results):
    cases = results.cases("crc32c/combine/")
    variants = list(dict.fromkeys(m.variant for c in cases for m in results.variants(c, "ns")))
    rows = [[v] + [number(results.get(c, v).low if results.get(c, v) else 0) for c in cases] for v in variants]
    return ("table", "Combining two CRCs: ns by length of the second part (bytes)",
            ["function"] + [c.rsplit("/", 1)[1] for c in cases], rows, False)


def sql_table(results, kernels):
    """In the server and stand-alone: the same within 10 %?"""
    rows = []
    for k, patterns in kernels:
        for pattern in patterns:
            for size in (k.sizes(pattern) if pattern != "hot pages" else (1, 4)):
                inside = results.get(f"sql/{pattern}/{size}", k.best)
                alone = k.m(pattern, size, k.best)
                if inside and alone:
                    ratio = inside.low / alone.low
                    rows.append((f"{k.best}, {pattern}, {size}" if size else f"{k.best}, {pattern}", f"{alone.low:.2f}",
                                 f"{inside.low:.2f}", f"{ratio:.2f}", "yes" if 0.9 <= ratio <= 1.1 else "no"))
    agree = sum(r[4] == "yes" for r in rows)
    return ("table", f"checksum_bench in the server: {agree} of {len(rows)} figures within 10 % of the stand-alone ones",
            ("kernel and case", "stand-alone, ns", "from SQL, ns", "ratio", "within 10 %"), rows, True)


def published_table(k):
    """MDEV-33817's figures beside what stands nearest to them here."""
    rows = []
    for words, kernel, ms in published.UNTOUCHED:
        user = k.results.get("crc32c/untouched/1073741824", kernel, "user")
        wall = k.ns("independent", 1 << 30, kernel)
        rows.append((f"CRC-32C of 1 GiB in one call, {words}", f"{ms} ms", f"{user.low * 1000:.0f} ms ({kernel})" if user else "-",
                     f"{wall / 1e6:.0f} ms ({kernel})" if wall else "-"))
    return ("table", "MDEV-33817: published and measured",
            ("what", "published: user CPU, untouched memory", "here: the same", "here: elapsed, written memory"), rows, False)


def commit_table(k):
    """What the server's commit says of itself: no source, so no "published"."""
    def shown(value, words):
        return "-" if value is None else f"{value:.2f} {words}"
    pg, best = ("PostgreSQL 18 sse42", "PostgreSQL 18 avx512"), "PostgreSQL 18 sse42"
    lengths, worst = (64, 100, 112), "times as fast (worst of 64, 100, 112)"
    faster = least((k.ratio("independent", n, *pg), n) for n in lengths)
    ours = least((k.ratio("independent", n, best), n) for n in lengths)
    return ("table", f"What {published.ELSEWHERE} says",
            ("test_crc32c: AVX-512 against SSE4.2", "the commit message", "here", "our best kernel against the same"), [
        ("64 to 112 bytes", "50 % faster", shown(faster[0], worst), shown(ours[0], worst)),
        ("256 bytes", "3 times as fast", shown(k.ratio("independent", 256, *pg), "times as fast"), shown(k.ratio("independent", 256, best), "times as fast"))], False)


# --- plots -----------------------------------------------------------------

def rate_series(k, pattern, wanted):
    series = {}
    for v in wanted:
        points = [(n, n / k.m(pattern, n, v).low, n / k.m(pattern, n, v).median) for n in k.sizes(pattern) if k.m(pattern, n, v)]
        if points:
            series[v] = points
    return series


def time_series(k, pattern, wanted, sizes):
    series = {}
    for v in wanted:
        points = [(n, k.m(pattern, n, v).low, k.m(pattern, n, v).median) for n in sizes if k.m(pattern, n, v)]
        if points:
            series[v] = points
    return series


def roofs(results):
    words = (("clmul 512", "limit of 512-bit folding"), ("clmul 256", "limit of 256-bit folding"), ("crc32 instruction", "limit of the crc32 instruction"))
    return [(text, limit(results, what)) for what, text in words if limit(results, what)]


def read_curve(results):
    points = [(int(c.rsplit("/", 1)[1]), limit(results, "read", int(c.rsplit("/", 1)[1]))) for c in results.cases("limit/read/")]
    return ("reading, no checksum", sorted(set(points))) if points else None


def unlike(contenders):
    """Leaves out what shows the same as another line."""
    return [c for c in contenders if c not in ("PostgreSQL 17 sse42", "PostgreSQL 15 slicing-by-8", "PostgreSQL 18 sse42")]


def bar_groups(k, patterns):
    groups = {}
    for pattern, words in patterns:
        values = {v: (m.low, m.low, m.median) for v in k.own + unlike(k.contenders) if (m := k.m(pattern, 0, v))}
        if values:
            groups[words] = values
    return groups


def draw(results, plots, folder, crc32c, crc32, page):
    blocks = []

    def add(name, caption):
        blocks.append(("plot", name, caption))
    shown = crc32c.own + unlike(crc32c.contenders)
    plots.lines(folder, "crc32c-rate", "CRC-32C by length, hot: log axes", rate_series(crc32c, "independent", shown),
                crc32c.own, "bytes a call", "GB/s", roofs(results), read_curve(results))
    add("crc32c-rate", "CRC-32C, independent calls of one length, 1 B to 1 GiB. Dotted: what the ports of this CPU allow; dashed: what memory allows; bands: minimum to median.")
    short = [n for n in crc32c.sizes("independent") if 1 <= n <= 1024]
    plots.lines(folder, "crc32c-short", "CRC-32C, short inputs: ns a call", time_series(crc32c, "independent", [v for v in shown if v != "slicing8"], short),
                crc32c.own, "bytes a call", "ns a call")
    add("crc32c-short", "Short inputs, independent calls: lower is better.")
    plots.bars(folder, "crc32c-random", "CRC-32C, lengths that no branch predictor knows",
               bar_groups(crc32c, (("random 20..300", f"random 20..300 B ({WORST_CASE})"), (CHAINED, "the same, chained"), ("random 1..64", "random 1..64 B"))),
               crc32c.own, "ns a call")
    add("crc32c-random", "Random lengths: the worst case of branch prediction, not what servers do. Whiskers: minimum to median.")
    sets = "8 kB in a set of"
    plots.lines(folder, "crc32c-working-set", "CRC-32C of 8 kB pieces, by working set",
                {v: [(n, 8192 / p.median, 8192 / p.median) for n in crc32c.sizes(sets) if (p := crc32c.m(sets, n, v))] for v in shown
                 if crc32c.sizes(sets)}, crc32c.own, "working set, bytes", "GB/s", roofs(results)[:1], read_curve(results))
    add("crc32c-working-set", "8 kB pieces at random places of a working set, from the first-level cache to memory: median.")
    plots.lines(folder, "crc32-rate", "CRC-32 (zlib, gzip) by length, hot: log axes", rate_series(crc32, "independent", crc32.own + crc32.contenders),
                crc32.own, "bytes a call", "GB/s", roofs(results)[:2], read_curve(results))
    add("crc32-rate", "CRC-32/ISO-HDLC, independent calls of one length.")
    groups = {f"{n} page{'s' if n > 1 else ''} together": {v: (m.low, m.low, m.median) for v in page.own + page.contenders
                                                            if (m := page.m("hot pages", n, v))} for n in (1, 4, 16)}
    plots.bars(folder, "pages-hot", "Page checksum, 8 kB pages in cache", groups, page.own, "ns a page")
    add("pages-hot", "Page checksum by kernel: lower is better.")
    return blocks


def trace_table(k):
    """Real WAL: ns per record, and how many times as long the others take."""
    rivals = [r for r in k.others() + k.contenders if r not in ("PostgreSQL 17 sse42", "slicing8", "PostgreSQL 15 slicing-by-8")]
    rows = []
    for trace in trace_names(k):
        ratios = [k.ratio(trace, 0, r) for r in rivals]
        rows.append([trace[len("trace "):], number(k.ns(trace, 0, k.best))] + [f"{x:.2f}" if x else "-" for x in ratios])
    if rows:
        rows.append(["median", "-"] + [f"{m:.2f}" if (m := median([k.ratio(t, 0, r) for t in trace_names(k)])) else "-" for r in rivals])
    return ("table", f"CRC-32C of real WAL (bench/traces): ns per record of {k.best}; the others as time of theirs over its time",
            ["server, role, workload", f"{k.best}, ns"] + [f"{r} (ours)" if r in k.own else r for r in rivals], rows, True)


def record_words(k):
    """What a record of real WAL costs: pgbench's, by who and with what in it."""
    for version in (18, 15):
        reads, reads_images, writes, writes_images = (k.ns(f"trace {version} {role} {work}", 0, k.best)
                                                      for role in ("reader", "writer") for work in ("tpcb-nofpi", "tpcb"))
        if reads and reads_images and writes and writes_images:
            return (f"A WAL record of pgbench on {version} costs its reader {reads:.1f} ns of CRC without full-page images and {reads_images:.1f} with them, "
                    f"its writer {writes:.1f} and {writes_images:.1f}; over {len(trace_names(k))} traces of real WAL the median is "
                    f"{median([trace_lead(k, t, POSTGRESQL_18)[0] for t in trace_names(k)]) or 0:.2f} times PostgreSQL 18's best")
    return f"A record of random length costs {k.ns('random 20..300', 0, k.best):.1f} ns of CRC here"


def sentence(k, page):
    at_8k = k.ns("independent", 8192, k.best)
    pages = page.ratio("hot pages", 4, "PostgreSQL as built")
    words = record_words(k)
    words += f"; an 8 kB block takes {at_8k / 1000:.2g} µs ({8192 / at_8k:.0f} GB/s)"
    if pages:
        words += f", and its page checksum is computed {pages:.1f} times as fast as the server does"
    return words + "."


def part_kernels(results, section, folder, plots):
    crc32c, crc32, page = (Kernels(results, a) for a in ("crc32c", "crc32", "page"))
    needed = [(crc32c, "random 20..300", 0), (crc32c, "independent", 8192), (crc32, "independent", 8192), (page, "hot pages", 4)]
    if not all(k.best and k.ns(pattern, size, k.best) for k, pattern, size in needed):
        section.sentence = "Only some of the cases were measured."
        section.blocks.append(("text", "Only some of the cases were measured: see `kernels.csv`."))
        return
    section.sentence = sentence(crc32c, page)
    section.blocks += [published_table(crc32c), commit_table(crc32c)]
    clock = limit(results, "clock")
    if clock:
        section.blocks.append(("text", f"Measured in this run: clock {clock:.2f} GHz; "
                               + "; ".join(f"{words} {value:.1f} GB/s" for words, value in roofs(results)) + "."))
    if plots:
        section.blocks += draw(results, plots, folder, crc32c, crc32, page)
    section.blocks += [version_table(results), trace_table(crc32c), who_table(crc32c), who_table(crc32), cold_table(crc32c), page_table(page), combine_table(results),
                       sql_table(results, ((crc32c, ("independent", "random 20..300", CHAINED)), (page, ("hot pages",))))]


def targets(results):
    """What the project wants of itself: the report's last table."""
    crc32c, crc32, page = (Kernels(results, a) for a in ("crc32c", "crc32", "page"))
    if not all(k.best for k in (crc32c, crc32, page)):
        return None
    rows = target_rows(results, crc32c, crc32, page)
    met = sum(r[3] == "met" for r in rows)
    return ("table", f"{met} of {sum(r[3] != 'not measured' for r in rows)} are met on this machine",
            ("target (ratios in this run)", "wanted", "measured", "verdict", "remark"), rows, False)
