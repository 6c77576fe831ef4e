#!/bin/sh
# layers.sh SRC OBJECTS POSTGRES ROOM...: fails when a folder of SRC knows what it
# must not.  layers.py has the order of the folders; rooms.awk compares headers
# with their .c.  Started by make check-layers, which knows the arguments.
set -u
here=$(dirname "$0")
src=${1:?usage: layers.sh SRC OBJECTS POSTGRES ROOM...}
failed=0
python3 "$here/layers.py" "$@" || failed=1
if find "$src" -name '*.[ch]' ! -name compat.h -exec grep -n 'PG_VERSION_NUM' {} + >&2; then
	echo "check-layers: server versions are tested in compat.h only" >&2
	failed=1
fi
# shellcheck disable=SC2046	# no blanks in our file names
awk -f "$here/rooms.awk" $(find "$src" -name '*.[ch]') >&2 || {
	echo "check-layers: headers are kept by their own .c" >&2
	failed=1
}
[ "$failed" != 0 ] || echo "check-layers: ok"
exit "$failed"
