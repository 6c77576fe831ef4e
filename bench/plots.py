"""plots.py: the report's plots, by matplotlib.

A plot is an SVG file whose text and axes take the colour of the text around it,
so that it reads well on light and dark pages, and a CSV of what it shows.
"""
import csv
import io
import os
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

INK = "#010203"  # stands for currentColor until the file is written
OWN = ["#e8590c", "#d6336c", "#ae3ec9", "#f08c00", "#a9702f", "#a05a5a"]
OTHERS = ["#1c7ed6", "#0ca678", "#7048e8", "#868e96", "#1098ad", "#66a80f", "#5f7fbf", "#4f9d8f", "#9c88d0"]
STANDALONE = ("<style>svg{color:#1f2328;background:#fff}"
              "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>")

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "crc32c_accel", "font.family": "sans-serif", "font.size": 10,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "grid.color": INK, "grid.alpha": 0.13, "grid.linewidth": 0.7,
    "legend.frameon": False, "legend.fontsize": 9,
})


def short_bytes(n, _position=None):
    for unit, size in (("G", 2**30), ("M", 2**20), ("k", 2**10)):
        if n >= size:
            return f"{n / size:g}{unit}"
    return f"{n:g}"


def plain(value, _position=None):
    return f"{value:g}"


def save(figure, folder, name, header, rows):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg"):].replace(INK, "currentColor")
    # text without a fill of its own is black: take the colour around it
    text = re.sub(r'<text style="(?![^"]*fill)', '<text style="fill: currentColor; ', text)
    text = re.sub(r"(<svg[^>]*>)", r"\1" + STANDALONE, text, count=1)
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as f:
        f.write('<?xml version="1.0" encoding="utf-8"?>\n' + text)
    with open(os.path.join(folder, f"plot-{name}.csv"), "w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def style(label, own, position):
    if label in own:
        n = own.index(label)
        return {"color": OWN[n % len(OWN)], "linewidth": 2.6 if n == 0 else 1.5, "zorder": 10 - n,
                "linestyle": "-" if n == 0 else (0, (5, 1.5))}
    return {"color": OTHERS[position % len(OTHERS)], "linewidth": 1.3, "zorder": 2}


def merged(roofs):
    """Roofs within 3 % of each other share a line and its words."""
    result = []
    for words, y in sorted(roofs, key=lambda roof: roof[1]):
        if result and y < result[-1][1] * 1.03:
            result[-1] = (f"{result[-1][0]}, {words}", result[-1][1])
        else:
            result.append((words, y))
    return result


def lines(folder, name, title, series, own, xlabel, ylabel, roofs=(), curve=None, log_y=True, bytes_x=True):
    """series: {label: [(x, best, other end of the noise band)]}; roofs: [(words,
    y)]; curve: (words, [(x, y)])."""
    figure, axes = plt.subplots(figsize=(9.2, 4.6))
    rows, position = [], 0
    ordered = [s for s in own if s in series] + [s for s in series if s not in own]
    for label in ordered:
        points = sorted(series[label])
        x, best, other = zip(*points)
        look = style(label, own, position)
        position += label not in own
        axes.plot(x, best, label=label, marker="o", markersize=3.2, **look)
        axes.fill_between(x, best, other, color=look["color"], alpha=0.16, linewidth=0)
        rows += [(label, *point) for point in points]
    for words, y in merged(roofs):
        axes.axhline(y, color=INK, linewidth=1, linestyle=":", alpha=0.75)
        axes.text(0.005, y, words, fontsize=8, va="bottom", transform=axes.get_yaxis_transform(), alpha=0.9)
        rows.append((words, "", y, y))
    axes.set_xscale("log", base=2)
    if curve:
        words, points = curve
        xs, ys = zip(*points)
        axes.plot(xs, ys, color=INK, linewidth=1, linestyle="--", alpha=0.75, label=words)
        rows += [(words, x, y, y) for x, y in points]
    if log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if bytes_x:
        axes.xaxis.set_major_formatter(FuncFormatter(short_bytes))
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.grid(True, which="major")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, folder, name, ("series", xlabel, ylabel, "noise band to"), rows)


def bars(folder, name, title, groups, own, xlabel):
    """groups: {group: {label: (best, low, high)}}: horizontal, less at the left."""
    count = sum(len(g) for g in groups.values()) + len(groups)
    figure, axes = plt.subplots(figsize=(9.2, 0.6 + 0.235 * count))
    rows, y, ticks = [], 0.2, []
    others = [v for g in groups.values() for v in g if v not in own]
    others = list(dict.fromkeys(others))
    for group, values in groups.items():
        axes.text(0, y, group, fontweight="bold", va="center", fontsize=9)
        y += 1
        for label, (best, low, high) in sorted(values.items(), key=lambda v: v[1][0]):
            look = style(label, own, others.index(label) if label in others else 0)
            axes.barh(y, best, height=0.72, color=look["color"], alpha=0.95 if label in own[:1] else 0.65)
            axes.plot([low, high], [y, y], color=INK, linewidth=1.1, alpha=0.8)
            axes.text(max(best, high), y, f"  {best:.3g}", va="center", fontsize=8)
            ticks.append((y, label))
            rows.append((group, label, best, low, high))
            y += 1
    axes.set_yticks([t[0] for t in ticks], [t[1] for t in ticks])
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_title(title, pad=14)
    axes.set_xlabel(xlabel)
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    save(figure, folder, name, ("group", "series", xlabel, "low", "high"), rows)
