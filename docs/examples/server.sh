#!/bin/sh
# server.sh stop | start [OPTION]: stops or starts the server of the data directory
# PGDATA, by Debian's pg_ctlcluster where a cluster of it is there, else by pg_ctl.
# What start_alone.sh has started is started by that again.  OPTION is one of the
# server (-P).  It runs as who owns the data directory.
set -eu
usage="usage: server.sh stop | start [OPTION]"
action=${1:?$usage} option=${2:-}
data=$(readlink -f "${PGDATA:?is not set}")
version=$(cat "$data/PG_VERSION")
PATH=$PATH:/usr/lib/postgresql/$version/bin

cluster_of_debian()	# version and name
{
	command -v pg_lsclusters >/dev/null || return 0
	pg_lsclusters -h | while read -r major name _ _ _ folder _; do
		[ "$(readlink -f "$folder")" != "$data" ] || echo "$major $name"
	done
}

how=
[ -z "$(cluster_of_debian)" ] || how=" debian"
[ ! -f "$data/alone.conf" ] || how=" alone"
# shellcheck disable=SC2046	# version and name are two words
case $action$how in
	'stop debian') pg_ctlcluster $(cluster_of_debian) stop -m fast ;;
	'start debian') pg_ctlcluster $(cluster_of_debian) start ${option:+-o "$option"} ;;
	'start alone') sh "$(dirname "$0")/start_alone.sh" "$data" "$(sed -n 's/^port = //p' "$data/alone.conf")" $option ;;
	stop*) pg_ctl -s -w -D "$data" -m fast stop ;;
	start) pg_ctl -s -w -D "$data" -l "$data/server.log" ${option:+-o "$option"} start ;;
	*)
		echo "$usage" >&2
		exit 2
		;;
esac
