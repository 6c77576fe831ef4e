"""Opens the documents' site in chromium, headless, and reads its search index.

usage: site.py TREE      in which make site has run
"""
import glob
import json
import os
import sys

import browser

# What somebody would look for, and the page that must be among the results.
SEARCHES = {"restore_block": "docs/corruption.html", "direct_io": "docs/concepts.html", "verify_wal_archive": "docs/wal.html",
            "verify_cluster": "docs/operations.html"}
NOTHING = "xyzzyplugh"


def found(site, words):
    """The pages whose text the site's search knows with these words."""
    with open(os.path.join(site, "search", "search_index.json"), encoding="utf-8") as file:
        entries = json.load(file)["docs"]
    return {entry["location"].split("#")[0] for entry in entries if words in entry["title"] + entry["text"]}


def main():
    """Looks at all pages, and for some words in the index."""
    tree = os.path.abspath(sys.argv[1])
    site = os.path.join(tree, "site")
    wrong = []
    documents = [os.path.relpath(path, tree) for path in glob.glob(f"{tree}/*.md") + glob.glob(f"{tree}/docs/*.md")]
    with open(os.path.join(tree, "mkdocs.yml"), encoding="utf-8") as file:
        navigation = file.read()
    for document in documents:
        page = "index.html" if document == "README.md" else document[:-2] + "html"
        if not os.path.isfile(os.path.join(site, page)):
            wrong.append(f"{document} has no page")
        elif f": {document}\n" not in navigation:
            wrong.append(f"{document} has no place in the navigation")
        else:
            with open(os.path.join(site, page), encoding="utf-8") as file:
                text = file.read()
            browser.write_page(os.path.join(site, os.path.dirname(page)), "looked_at.html", text)
            for width in browser.WIDTHS:
                seen = browser.look(site, os.path.join(os.path.dirname(page), "looked_at.html"), width)
                if seen["width"] != width or seen["faults"] or seen["blank"] or seen["sideways"] > 0:
                    wrong.append(f"{page} at {width}: {seen}")
    for words, page in SEARCHES.items():
        pages = found(site, words)
        if page not in pages:
            wrong.append(f"a search for {words} finds {sorted(pages)}, not {page}")
    if pages := found(site, NOTHING):
        wrong.append(f"a search for {NOTHING} finds {sorted(pages)}")
    print("\n".join(wrong) or f"the documents as a site: ok, {len(documents)} pages, {len(SEARCHES)} searches")
    sys.exit(bool(wrong))


main()
