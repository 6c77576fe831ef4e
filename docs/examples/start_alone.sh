#!/bin/sh
# start_alone.sh COPY PORT [OPTION]: starts a server in a copy of a cluster, by settings of
# its own that keep it from the world.  It listens on a socket only.  It runs no
# apply workers, which would take the slots of the real subscriber, and lose rows
# for it.  It follows no primary, archives nothing, and loads no library that has
# jobs.  The configuration of the original, in the copy or in /etc, is not read:
# its data_directory may be the original's.  ALONE_CONF names a file of settings to
# add, that of a library that the tables need, say.
set -eu
[ $# = 2 ] || [ $# = 3 ] || { echo "usage: start_alone.sh COPY PORT [OPTION]" >&2; exit 2; }
copy=$1 port=$2

die()
{
	echo "start_alone.sh: $*" >&2
	exit 1
}

[ -f "$copy/PG_VERSION" ] || die "$copy is no data directory"
[ ! -e "$copy/postmaster.pid" ] || die "a server runs in $copy, or crashed there: $copy/postmaster.pid"
for link in "$copy"/pg_wal "$copy"/pg_tblspc/*; do
	[ ! -L "$link" ] || case $(readlink -f "$link") in
		"$(readlink -f "$copy").tablespaces"/*) ;;
		*) die "$link leads out of the copy: copy it by copy_cluster.sh" ;;
	esac
done
version=$(cat "$copy/PG_VERSION")
PATH=$PATH:/usr/lib/postgresql/$version/bin

{
	echo "port = $port"
	echo "listen_addresses = ''"
	case ${PGHOST:-} in
		/*) echo "unix_socket_directories = '$PGHOST'" ;;
	esac
	echo "max_logical_replication_workers = 0"
	echo "primary_conninfo = ''"
	echo "shared_preload_libraries = ''"
	echo "archive_mode = off"
	# what recovery and the files of slots ask for
	echo "wal_level = logical"
	echo "max_replication_slots = 1000"
	[ "$version" -lt 18 ] || echo "max_active_replication_origins = 1000"
	control=$(LC_ALL=C pg_controldata -D "$copy") || die "cannot read pg_control of $copy"
	# as initdb sets them, by the size of a segment
	segment=$(echo "$control" | sed -n 's/^Bytes per WAL segment: *//p')
	echo "min_wal_size = $((segment / 1048576 * 5))MB"
	echo "max_wal_size = $((segment / 1048576 * 64))MB"
	echo "$control" | sed -n '
		s/^max_connections setting: */max_connections = /p
		s/^max_worker_processes setting: */max_worker_processes = /p
		s/^max_wal_senders setting: */max_wal_senders = /p
		s/^max_prepared_xacts setting: */max_prepared_transactions = /p
		s/^max_locks_per_xact setting: */max_locks_per_transaction = /p'
	[ -z "${ALONE_CONF:-}" ] || cat "$ALONE_CONF"
} >"$copy/alone.conf"
echo "local all all peer" >"$copy/alone_hba.conf"
: >"$copy/alone_ident.conf"
: >"$copy/postgresql.auto.conf"
rm -f "$copy/standby.signal" "$copy/recovery.signal"
pg_ctl -s -w -D "$copy" -l "$copy/alone.log" start -o "-c config_file='$copy/alone.conf' -c data_directory='$copy' \
	-c hba_file='$copy/alone_hba.conf' -c ident_file='$copy/alone_ident.conf' ${3:-}" || {
	tail -20 "$copy/alone.log" >&2
	die "no server starts in $copy"
}
