"""plots.py: the report's plots, by matplotlib.

A plot is an SVG file whose text and axes take the colour of the text around it,
so that it reads well on light and dark pages, and a CSV of what it shows.
"""
import csv
import io
import math
import os
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

INK = "#010203"  # stands for currentColor until the file is written
# Okabe and Ito's colours, distinct to colour-blind eyes, then darker ones; each
# series of a plot gets its own, and a line style besides when they run out.
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#7048E8", "#5C7A00", "#868E96",
           "#B3173A", "#2F4B7C", "#C9B400", "#4D4D4D", "#00A5A8"]
STYLES = ["-", (0, (5, 1.5)), (0, (1.5, 1.5))]
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


def looks(labels, own):
    """A look for each label: ours thick, no two alike."""
    return {label: {"color": COLOURS[n % len(COLOURS)], "linestyle": STYLES[n // len(COLOURS) % len(STYLES)],
                    "linewidth": 2.4 if label in own[:1] else 1.4, "zorder": 10 if label in own[:1] else 2}
            for n, label in enumerate(labels)}


def limits(axes, roofs):
    """Dotted lines, their words at the right, above one another where close."""
    low, high = axes.get_ylim()
    log = axes.get_yscale() == "log"
    share = lambda y: (math.log(y / low) / math.log(high / low)) if log else (y - low) / (high - low)  # noqa: E731
    at, texts = -1.0, []
    for words, y in sorted(roofs, key=lambda roof: roof[1]):
        axes.axhline(y, color=INK, linewidth=1, linestyle=":", alpha=0.75)
        at = max(share(y), at + 0.045)
        texts.append((words, at))
    for words, height in texts:
        axes.text(0.99, height + 0.008, words, fontsize=8, va="bottom", ha="right", transform=axes.transAxes, alpha=0.9)


def lines(folder, name, title, series, own, xlabel, ylabel, roofs=(), curve=None, log_y=True, bytes_x=True):
    """series: {label: [(x, best, other end of the noise band)]}; roofs: [(words,
    y)]; curve: (words, [(x, y)])."""
    figure, axes = plt.subplots(figsize=(9.2, 4.6))
    rows = []
    ordered = [s for s in own if s in series] + [s for s in series if s not in own]
    for label, look in looks(ordered, own).items():
        points = sorted(series[label])
        x, best, other = zip(*points)
        axes.plot(x, best, label=label, marker="o", markersize=3.2, **look)
        axes.fill_between(x, best, other, color=look["color"], alpha=0.16, linewidth=0)
        rows += [(label, *point) for point in points]
    rows += [(words, "", y, y) for words, y in roofs]
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
    limits(axes, roofs)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, folder, name, ("series", xlabel, ylabel, "noise band to"), rows)


def bars(folder, name, title, groups, own, xlabel):
    """groups: {group: {label: (best, low, high)}}, horizontal, in the order given;
    the values in a column at the right."""
    count = sum(len(g) for g in groups.values()) + 1.4 * len(groups)
    figure, axes = plt.subplots(figsize=(9.2, 0.8 + 0.235 * count))
    labels = list(dict.fromkeys(label for g in groups.values() for label in g))
    look = looks([v for v in own if v in labels] + [v for v in labels if v not in own], own)
    rows, y, ticks = [], 1.0, []
    for group, values in groups.items():
        axes.text(0, y, group, fontweight="bold", va="center", fontsize=9)
        y += 1
        for label, (best, low, high) in values.items():
            axes.barh(y, best, height=0.72, color=look[label]["color"], alpha=0.85)
            axes.plot([low, high], [y, y], color=INK, linewidth=1.1, alpha=0.8)
            axes.text(1.01, y, f"{best:.3g}", va="center", fontsize=8, transform=axes.get_yaxis_transform())
            ticks.append((y, label))
            rows.append((group, label, best, low, high))
            y += 1
        y += 0.4
    axes.set_yticks([t[0] for t in ticks], [t[1] for t in ticks])
    axes.set_ylim(y, 0)
    axes.set_title(title, pad=16)
    axes.set_xlabel(xlabel)
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    save(figure, folder, name, ("group", "series", xlabel, "low", "high"), rows)


def ratios(folder, name, title, rows, xlabel, good_above):
    """rows: (words, ratio, low, high, verdict): points around a line at 1, blue on
    the good side of it; grey where the verdict is noise, hollow where it is another."""
    figure, axes = plt.subplots(figsize=(9.2, 0.9 + 0.27 * len(rows)))
    for y, (_, ratio, low, high, verdict) in enumerate(rows):
        colour = "#868E96" if verdict == "noise" else COLOURS[1] if (ratio > 1) == good_above else COLOURS[0]
        axes.plot([low, high], [y, y], color=colour, linewidth=2)
        axes.plot([ratio], [y], marker="o", markersize=6, color=colour,
                  markerfacecolor="none" if verdict not in ("", "noise") else colour)
        axes.text(high, y, f"  {ratio:.2f}" + (f" ({verdict})" if verdict else ""), va="center", fontsize=8)
    axes.axvline(1, color=INK, linewidth=1, alpha=0.75)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_title(title, pad=10)
    axes.set_xlabel(xlabel)
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    save(figure, folder, name, ("case", xlabel, "low", "high", "verdict"), rows)
