#!/bin/sh
# archive.sh PG_CONFIG: the archive of a release is made from git, holds what it
# should, its META.json keeps PGXN's rules, and it builds and passes its own
# installcheck where it was unpacked.
set -eu
pg_config=${1:?usage: archive.sh PG_CONFIG}
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
scratch_folder

# this tree as it stands, committed
commit_tree "$top" "$scratch/tree"
make -s -C "$scratch/tree" PG_CONFIG="$pg_config" dist
archive=$(find "$scratch/tree" -name '*.zip')

# Elsewhere, at another hour, the same bytes; its checksum and its signature fit.
git clone -q "$scratch/tree" "$scratch/elsewhere/of another length"
(
	cd "$scratch/elsewhere/of another length"
	umask 077
	TZ=Asia/Tokyo make -s PG_CONFIG="$pg_config" dist
)
cmp "$archive" "$scratch/elsewhere/of another length/$(basename "$archive")" ||
	die "the archive differs where it is made elsewhere"
(cd "$scratch/tree" && sha256sum --quiet -c "$archive.sha256") || die "the checksum is not the archive's"
if command -v gpg >/dev/null; then
	GNUPGHOME=$scratch/keys
	export GNUPGHOME
	mkdir -m 700 "$GNUPGHOME"
	gpg -q --batch --passphrase '' --quick-generate-key releases@localhost 2>"$scratch/log" || die "$(cat "$scratch/log")"
	make -s -C "$scratch/tree" PG_CONFIG="$pg_config" KEY=releases@localhost sign
	gpg -q --verify "$archive.asc" "$archive" 2>"$scratch/log" || die "$(cat "$scratch/log")"
	gpgconf --kill gpg-agent
else
	say "not run: the archive's signature: no gpg"
fi
python3 -m zipfile -e "$archive" "$scratch"
unpacked=$scratch/$(basename "$archive" .zip)
[ -d "$unpacked" ] || die "the archive unpacks to another folder than its name"

for file in Makefile META.json README.md LICENSE CHANGELOG.md crc32c_accel.control debian/rules; do
	[ -f "$unpacked/$file" ] || die "the archive lacks $file"
done
surplus=$(cd "$unpacked" && find . -path ./.ci -o -name '.git*' -o -path './bench/report/*.csv' \
	-o -path './bench/report/*.txt' -o -name '*.o' -o -name '*.so')
[ -z "$surplus" ] || die "the archive holds: $surplus"
say "archive: $(wc -c <"$archive" | awk '{printf "%.1f", $1 / 1e6}') MB, $(find "$unpacked" -type f | wc -l) files"

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q jsonschema >"$scratch/log" 2>&1 || {
	tail -5 "$scratch/log"
	die "jsonschema cannot be installed"
}
"$scratch/venv/bin/python" "$top/test/packages/check_meta.py" "$unpacked"

sh "$unpacked/test/server.sh" "$pg_config" regress
