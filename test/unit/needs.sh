# needs.sh: what a stand-alone program of the tests is compiled with.  Sourced
# by unit/run.sh and fuzz/run.sh, which set root and pg_config.
#
# The first line of the program's source says it, in these words:
#
#   /* needs: kernel verify server native lib:z */
#   kernel    src/kernel/*.c (always)
#   wal       judges of WAL, and what it proves of blocks: no header of a server
#   cluster   judges of the files of a cluster
#   ledger    judges of the page ledger
#   tar       readers of archives of backups
#   find      what backups there are; also decode
#   verify    these three, and judges of pages and backups, as front-end code
#   recover   the filter of WAL for some blocks
#   runs      how processes share a list of WAL segments
#   list      which segments a directory of WAL has
#   sha1      src/program/sha1.c
#   sha2      src/program/sha2.c
#   decompress  src/program/decompress.c, without other libraries
#   decode    src/decode/*.c, with the libraries whose headers are installed
#   server    the headers of a PostgreSQL server (PG_CONFIG), else skipped
#   pgport    libpgcommon and libpgport of that server (and its headers)
#   native    not under emulators
#   liars     the program defines __wrap_NAME in the place of every kernel that
#             needs a feature of the CPU, and of crc32c_combine_pclmul
#   export    the program exports its symbols, as a server does
#   lib:NAME  links -lNAME
# shellcheck shell=sh disable=SC2154

server_headers=$("$pg_config" --includedir-server 2>/dev/null) || server_headers=

# decode_libraries: the compiler's arguments for the libraries of src/decode
# that can be had here, asked once.
decode_libraries() {
	for library in $(sed -n 's/^libraries := .*foreach library,\([^,]*\),.*/\1/p' "$root/Makefile"); do
		link=-l${library##*:}
		header=${library#*:*:}
		printf '#include <%s>\nint main(void) { return 0; }\n' "${header%:*}" |
			${CC:-cc} -xc - "$link" -o /dev/null 2>/dev/null &&
			echo "-DDECODE_HAVE_${library%%:*} $link"
	done
}

needs() { # SOURCE WORD
	sed -n 1p "$1" | grep -q "needs:.*[ ]$2[ ]"
}

needs_server() { # SOURCE
	needs "$1" server || needs "$1" verify || needs "$1" pgport
}

# needs_met SOURCE: whether it can be compiled here; if not, says why.
needs_met() {
	needs_server "$1" || return 0
	[ -f "$server_headers/postgres_fe.h" ] && return 0
	echo "SKIP $(basename "$1"): no server headers, set PG_CONFIG"
	return 1
}

# needed SOURCE: the compiler's arguments but those for src/kernel.
needed() {
	needed_sources "$1"
	needed_options "$1"
}

# Judges need no program around them but what they are called by.
rooms_wal="decode/format page/status wal/block_history wal/block_image wal/blocks wal/identity wal/name wal/page
	wal/reason wal/record wal/storage wal/version wal/walk lost/book lost/event lost/witness repair/judge"
rooms_cluster="page/status wal/blocks cluster/control cluster/judge cluster/map cluster/past
	cluster/slru cluster/state cluster/verdict"
rooms_tar="decode/format manifest/archive_names manifest/names manifest/tar"
rooms_find="$rooms_cluster manifest/archive_names manifest/barman manifest/find manifest/json manifest/label manifest/list
	manifest/listing manifest/manifest manifest/names manifest/origin manifest/pgbackrest manifest/parse manifest/tar manifest/walk host/direct host/file_scan host/print"
rooms_verify="$rooms_wal $rooms_cluster $rooms_tar page/judge page/kind backup/end backup/fate
	backup/increment manifest/label manifest/manifest manifest/parse"

# needed_sources SOURCE: files of src/ but those of src/kernel
needed_sources() {
	if needs "$1" verify; then
		rooms=$rooms_verify
	elif needs "$1" wal; then
		rooms=$rooms_wal
	elif needs "$1" find; then
		rooms=$rooms_find
	elif needs "$1" tar; then
		rooms=$rooms_tar
	elif needs "$1" ledger; then
		rooms="page/status page/ledger"
	elif needs "$1" cluster; then
		rooms=$rooms_cluster
	else
		rooms=
	fi
	for room in $rooms; do echo "$root/src/$room.c"; done | sort -u
	if needs "$1" recover; then echo "$root/src/recover/filter.c"; echo "$root/src/recover/set.c"; fi
	if needs "$1" list; then echo "$root/src/wal/list.c"; echo "$root/src/wal/directory.c"; fi
	if needs "$1" runs; then echo "$root/src/wal/runs.c"; fi
	if needs "$1" sha1; then echo "$root/src/program/sha1.c"; fi
	if needs "$1" sha2; then echo "$root/src/program/sha2.c"; fi
	if needs "$1" decompress; then echo "$root/src/program/decompress.c"; fi
	if needs "$1" decode; then echo "$root"/src/decode/*.c; fi
}

# needed_options SOURCE: for compiling, then for linking
needed_options() {
	if needs_server "$1"; then echo "-DFRONTEND -isystem $server_headers"; fi
	if needs "$1" decode; then
		: "${decoders:=$(decode_libraries | tr '\n' ' ')}"
		echo "$decoders"
	fi
	if needs "$1" pgport; then
		echo "-L$("$pg_config" --pkglibdir) -L$("$pg_config" --libdir)"
		echo "-lpgcommon -lpgport -lm"
	fi
	if needs "$1" liars; then
		sed -n 's/^KERNEL(\([a-z0-9]*\), \(x86_64\|aarch64\), \([a-z0-9_]*\),.*/-Wl,--wrap=\1_\3/p' \
			"$root/src/kernel/kernels.def"
		echo -Wl,--wrap=crc32c_combine_pclmul
	fi
	if needs "$1" export; then echo -rdynamic; fi
	sed -n 1p "$1" | grep -o 'lib:[a-z0-9_]*' | sed 's/lib:/-l/'
}

# compiling OPTION...: those that do not speak to the linker
compiling() {
	for option; do
		case $option in
			-[lL]* | -Wl,* | -rdynamic) ;;
			*) echo "$option" ;;
		esac
	done
}
