"""Opens the benchmark report's index.html in chromium, headless.

usage: browser.py FOLDER      with the index.html

At 1280 and at 400 pixels: no script error, every picture loaded, no sideways
scroll.  Then pages with a fault of each kind, which must be found.
"""
import html
import json
import os
import re
import subprocess
import sys

WIDTHS = (1280, 400)
# first in the page: collects what goes wrong, failed loads too
LISTEN = """<script>window.faults = [];
addEventListener("error", e => faults.push(e.message || "not loaded: " + (e.target.src || e.target.href)), true);
addEventListener("unhandledrejection", e => faults.push(String(e.reason)));</script>"""
# around it: a frame is exactly as wide as it should be, a window is not
FRAME = """<!doctype html><meta charset="utf-8"><pre id="result"></pre>
<iframe id="page" style="border:0;width:%dpx;height:900px" src="%s"></iframe><script>
document.getElementById("page").addEventListener("load", e => {
	const frame = e.target.contentWindow, page = frame.document, root = page.documentElement;
	const drawn = p => p.getBoundingClientRect().width > 0 && (p.tagName != "IMG" || p.naturalWidth > 0);
	const pictures = [...page.querySelectorAll("figure svg, img")];
	page.querySelectorAll("details").forEach(d => d.open = true);
	document.getElementById("result").textContent = JSON.stringify({
		faults: frame.faults, pictures: pictures.length, width: frame.innerWidth,
		blank: pictures.filter(p => !drawn(p)).length,
		sideways: Math.max(root.scrollWidth, page.body.scrollWidth) - root.clientWidth});
});</script>"""
BROKEN = {"a script error": "<script>nothing.there()</script>",
          "a picture that is not there": '<figure><img src="gone.png"></figure>',
          "a line that is too long": '<div style="width:3000px">wide</div>'}


def look(folder, page, width):
    """What the browser says of a page of the folder."""
    frame = os.path.join(folder, "frame.html")
    with open(frame, "w", encoding="utf-8") as f:
        f.write(FRAME % (width, page))
    dom = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--allow-file-access-from-files", "--window-size=1400,1000", "--virtual-time-budget=20000",
         f"--user-data-dir={folder}/profile", "--dump-dom", f"file://{frame}"],
        capture_output=True, text=True, timeout=900, check=True).stdout
    result = re.search(r'<pre id="result">(.+?)</pre>', dom, re.S)
    if not result:
        sys.exit(f"chromium did not finish {page}: {dom[:500]}")
    return json.loads(html.unescape(result.group(1)))


def write_page(folder, name, page, extra=""):
    """The page with our listeners, and with something more at its end."""
    page = re.sub(r"(<head[^>]*>|<!doctype html>)", lambda m: m.group(0) + LISTEN, page, count=1, flags=re.I)
    assert LISTEN in page
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(page + extra)


def main():
    folder = os.path.abspath(sys.argv[1])
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as f:
        page = f.read()
    wrong = []
    write_page(folder, "page.html", page)
    for width in WIDTHS:
        seen = look(folder, "page.html", width)
        print(f"{width} pixels: {seen['pictures']} pictures, faults {seen['faults']}")
        if seen["width"] != width or seen["pictures"] < 5:
            wrong.append(f"{width}: the browser shows another page: {seen}")
        if seen["faults"] or seen["blank"] or seen["sideways"] > 0:
            wrong.append(f"{width}: {seen}")
    for title, extra in BROKEN.items():
        write_page(folder, "broken.html", page, extra)
        seen = look(folder, "broken.html", WIDTHS[-1])
        if not (seen["faults"] or seen["blank"] or seen["sideways"] > 0):
            wrong.append(f"not found: {title}")
    print("\n".join(wrong) or f"the report in the browser: ok, and {len(BROKEN)} faults found")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
