#!/bin/sh
# words.sh: the documents are short of breath, in the manual's words, and their
# links lead somewhere (words.py has the bounds).  Comments of src/ are sentences,
# folder by folder (comments.py).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
python3 test/gates/comments.py
exec python3 test/gates/words.py README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md test/README.md
