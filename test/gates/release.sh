#!/bin/sh
# release.sh [--release]: versions agree, scripts are as the rules want them, released
# scripts are frozen, addresses are those of ADDRESSES, nothing is left to do.
# --release: no address is unset, either.
set -eu
option=
[ "${1:-}" != --release ] || option=--release
cd "$(dirname "$0")/../.."
failed=0
wrong()
{
	echo "release: $*"
	failed=1
}

control=$(sed -n "s/^default_version = '\(.*\)'/\1/p" crc32c_accel.control)
meta=$(python3 -c "import json; m = json.load(open('META.json'))
p = m['provides']['crc32c_accel']
print(m['version'], p['version'], p['file'])") || wrong "META.json cannot be read"
changelog=$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -1)
[ "$meta" = "$control.0 $control.0 sql/crc32c_accel--$control.sql" ] ||
	wrong "META.json says \"$meta\", the control file $control"
[ "$changelog" = "$control" ] || wrong "CHANGELOG.md begins with $changelog, the control file with $control"
[ -f "sql/crc32c_accel--$control.sql" ] || wrong "no install script for $control"

# no object may be taken over from someone who made it before us
for script in sql/*--*.sql; do
	if sed 's/--.*//' "$script" | grep -niE 'OR REPLACE|IF NOT EXISTS|SECURITY DEFINER'; then
		wrong "$script uses what an extension script must not"
	fi
done

# released scripts are frozen: test/gates/released holds "sha256  file" lines,
# added at a release
if [ -s test/gates/released ]; then
	sha256sum --quiet -c test/gates/released || wrong "a released script was changed"
else
	echo "not run: upgrade path and frozen scripts: no released version before $control"
fi

# shellcheck disable=SC2086	# one word or none
python3 test/gates/addresses.py $option && python3 test/gates/addresses.py --try ||
	wrong "addresses"

if grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' src sql bench test --exclude-dir=build --include='*.[ch]' --include='*.sql' \
	--include='*.sh' --include='*.pl' --include='*.py' | grep -vE 'mktemp|X{4}|release\.sh'; then
	wrong "something is left to do"
fi
[ "$failed" = 0 ] && echo "release: ok"
