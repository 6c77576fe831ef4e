#!/usr/bin/env python3
"""report.py DIR: index.html and report.md from the results of bench/run.sh in DIR.

A section has a title, a sentence for the DBA, and blocks: ("text", words),
("table", title, headers, rows, folded) and ("plot", name, caption).  Both
forms of the report are made from the same sections.
"""
import html
import os
import re
import sys

import measure
import published
import report_me
import report_parts

try:
    import plots
    NO_PLOTS = None
except ImportError as error:
    plots = None
    NO_PLOTS = f"no plots: {error} (package python3-matplotlib)"

TITLE = "crc32c_accel: measured on this machine"
METHOD = ("What is compared ran interleaved in one go, after a warm-up and after its results were verified. Shown are "
          "the median of the runs and their range; kernels: the minimum of many short rounds, with the median as the other "
          "end of the band. A run far from the others is an outlier, shown beside the range; of five runs at most one may be. A ratio is "
          "the median of the ratios run by run, in brackets its 95 % interval (that of the sign test). It is called noise where that interval "
          "holds 1, and only there. Fewer than six pairs have no such interval: then the brackets hold the range of the pairs, and say too few "
          "pairs. Within two ticks of the CPU clock, or 1 MB of I/O, two runs are equal. Absolute figures belong to this machine: ratios are the result.")

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--accent:#bc4c00;--good:#1a7f37;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#3d444d;--card:#151b23;--accent:#ff9b50;--good:#3fb950;--bad:#f85149}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1140px;margin:0 auto;padding:1.5rem 1.25rem 4rem}h1{font-size:1.75rem;margin:.5rem 0}h2{font-size:1.35rem;margin:2.8rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.5rem 0 .4rem}nav{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line);padding:.55rem 1.25rem;z-index:2;overflow-x:auto;white-space:nowrap}
nav a{color:var(--accent);text-decoration:none;margin-right:1.1rem;font-size:.92rem}a{color:var(--accent)}.lead{font-size:1.06rem;border-left:4px solid var(--accent);padding:.35rem .9rem;background:var(--card);border-radius:0 6px 6px 0}
.scroll{overflow-x:auto;margin:.4rem 0 1rem}table{border-collapse:collapse;max-width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}th,td{padding:.28rem .7rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{font-weight:600;color:var(--soft)}td:first-child,th:first-child,td.t,th.t{text-align:left}td:first-child{min-width:9rem}th,td{overflow-wrap:normal}tr:hover td{background:var(--card)}td.met{color:var(--good);font-weight:600}td.missed{color:var(--bad);font-weight:600}
figure{margin:1rem 0 1.4rem}figure svg{width:100%;height:auto}figcaption{font-size:.85rem;color:var(--soft)}.soft{color:var(--soft);font-size:.88rem}code{font:.88em ui-monospace,Menlo,Consolas,monospace;background:var(--card);padding:.1em .35em;border-radius:4px}
details{margin:.7rem 0}summary{cursor:pointer;color:var(--accent);font-size:.95rem}
"""


def read_pairs(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [tuple(line.rstrip("\n").split("\t", 1)) for line in f if "\t" in line]


def load_part(folder, part):
    path = os.path.join(folder, part + ".csv")
    try:
        found, missing, notes = measure.read(path) if os.path.exists(path) else ({}, [], [])
    except ValueError as error:
        found, missing, notes = {}, [], [("failed", f"its results cannot be read: {error}")]
    return report_parts.Results(part, found, missing, notes)


def section_of(folder, results):
    if not results.notes and not results.found:
        return None
    section = report_parts.build(results, folder, plots)
    if NO_PLOTS:
        section.blocks.insert(0, ("text", NO_PLOTS))
    return section


def all_sections(folder, parts):
    sections = [section_of(folder, results) for results in parts.values()] + [report_parts.targets(parts["kernels"])]
    sections.append(report_parts.Section("sources", "Sources of the published figures", "Each figure called published stands in one of these texts.",
                                         [published.sources_table()]))
    return [s for s in sections if s]


# --- HTML ------------------------------------------------------------------

def inline(words):
    """Escapes, and turns `code` into code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(str(words)))


NUMBER = re.compile(r"[-+±<>≈]?[\d.,]+( ?[\w/%µ]{1,5})?( \([^)]*\))?|-|")
VERDICTS = {"met": "met", "missed": "missed", "yes": "met", "no": "missed", "noise": "soft"}


def cell(tag, value, is_text):
    words = str(value)
    verdict = VERDICTS.get(words) or ("missed" if words.startswith("missed, by") else "")
    classes = " ".join(filter(None, ("t" if is_text else "", verdict)))
    return f"<{tag}{f' class={chr(34)}{classes}{chr(34)}' if classes else ''}>{inline(words)}</{tag}>"


def html_table(headers, rows):
    """Columns of figures are set to the right, all others to the left."""
    texts = [i == 0 or any(not NUMBER.fullmatch(str(row[i])) for row in rows) for i in range(len(headers))]

    def line(tag, values):
        return "<tr>" + "".join(cell(tag, v, t) for v, t in zip(values, texts)) + "</tr>"
    body = "\n".join(line("td", row) for row in rows)
    return f'<div class="scroll"><table><thead>{line("th", headers)}</thead><tbody>\n{body}\n</tbody></table></div>'


def html_block(folder, block):
    if block[0] == "text":
        return f"<p>{inline(block[1])}</p>"
    if block[0] == "table":
        _, title, headers, rows, folded = block
        table = html_table(headers, rows)
        if folded:
            return f"<details><summary>{inline(title)}</summary>{table}</details>"
        return f"<h3>{inline(title)}</h3>{table}"
    _, name, caption = block
    with open(os.path.join(folder, name + ".svg"), encoding="utf-8") as f:
        svg = f.read()
    svg = re.sub(r"<style>svg\{color.*?</style>", "", svg[svg.index("<svg"):])
    # several figures in one page: their identifiers must differ
    svg = re.sub(r'(id="|url\(#|href="#)', lambda m: m.group(1) + name + "-", svg)
    return (f'<figure>{svg}<figcaption>{inline(caption)} '
            f'(<a href="{name}.svg">SVG</a>, <a href="plot-{name}.csv">CSV</a>)</figcaption></figure>')


def html_report(folder, head, first, sections):
    nav = " ".join(f'<a href="#{s.part}">{s.part}</a>' for s in sections)
    facts = html_table(("machine", ""), head)
    summary = html_table(("part", "what it means for a DBA"), [(s.part, s.sentence) for s in sections])
    parts = []
    for s in sections:
        blocks = "\n".join(html_block(folder, b) for b in s.blocks)
        parts.append(f'<section id="{s.part}"><h2>{inline(s.title)}</h2><p class="lead">{inline(s.sentence)}</p>\n{blocks}\n'
                     f'<p class="soft">{inline(s.footer)}</p></section>')
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{TITLE}</title><style>{STYLE}</style></head><body><nav>{nav}</nav><main><h1>{TITLE}</h1>"
            f"{first and html_block(folder, first) or ''}{summary}<p class='soft'>{html.escape(METHOD)}</p>{facts}\n" + "\n".join(parts) + "</main></body></html>\n")


# --- Markdown --------------------------------------------------------------

def md_table(headers, rows):
    def line(values):
        return "| " + " | ".join(str(v).replace("|", "\\|") for v in values) + " |"
    return "\n".join([line(headers), "|" + "---|" * len(headers)] + [line(r) for r in rows]) + "\n"


def md_block(block):
    if block[0] == "text":
        return block[1] + "\n"
    if block[0] == "table":
        return f"### {block[1]}\n\n" + md_table(block[2], block[3])
    return f"![{block[2]}]({block[1]}.svg)\n\n{block[2]} (data: [plot-{block[1]}.csv](plot-{block[1]}.csv))\n"


def md_report(head, first, sections):
    out = [f"# {TITLE}\n", first and md_block(first) or "", METHOD + "\n", md_table(("part", "what it means for a DBA"), [(s.part, s.sentence) for s in sections]),
           "## Machine\n", md_table(("", ""), head)]
    for s in sections:
        out += [f"## {s.title}\n", s.sentence + "\n"] + [md_block(b) for b in s.blocks] + [s.footer + "\n"]
    return "\n".join(out)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(argv):
    if len(argv) != 1 or not os.path.isdir(argv[0]):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    folder = argv[0]
    head = read_pairs(os.path.join(folder, "machine.txt"))
    parts = {part: load_part(folder, part) for part in report_parts.PARTS}
    sections, first = all_sections(folder, parts), report_me.how_fast(parts)
    write(os.path.join(folder, "index.html"), html_report(folder, head, first, sections))
    write(os.path.join(folder, "report.md"), md_report(head, first, sections))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
