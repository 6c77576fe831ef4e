#!/bin/sh
# verify_member.sh: a night's verification of a member of a replicated cluster, the same
# on each of them.  It prints a verdict: good, bad or unknown.
#
# A primary has its history in tables, and the verdict is theirs.  A standby can write
# none: what it has found, and where it stopped, is in files of STATE.  They belong to
# one data directory.  One that was made anew begins anew, and a promoted one too.
# good: all was verified in the last MAX_AGE days, the last time without a finding.
#
#	STATE			folder of the files (default /var/lib/crc32c_accel)
#	DATABASE		that has the extension (default postgres)
#	MAX_DURATION	of a night (default 4 hours); the next night goes on there
#	MAX_RATE		kB/s at most (default 100000)
#	MAX_AGE			days (default 14)
#	TAGS			a file in the folder of Patroni's configuration: it gets the tags
#	RELOAD			a command that has Patroni read it, run when the tags have changed
#
# Runs beside the server, as its operating system's user.  libpq's variables say which.
# Exit status 0: good; 1: bad; 3: unknown; else it could not be done.
set -eu
export PGDATABASE="${DATABASE:-postgres}" PGOPTIONS="${PGOPTIONS:-} -c search_path=pg_catalog"
STATE=${STATE:-/var/lib/crc32c_accel} MAX_AGE=${MAX_AGE:-14}
mkdir -p "$STATE"
said=$(mktemp "$STATE/said.XXXXXX")
trap 'rm -f "$said"' EXIT
trap 'exit 130' INT TERM HUP

ask()	# SQL
{
	psql -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

# Runs what is given for the arguments of verify_cluster(), and leaves its messages.
verify()	# argument...
{
	psql -Xq -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -c "CALL $schema.verify_cluster(max_duration => '${MAX_DURATION:-4 hours}', max_rate => ${MAX_RATE:-100000}$1)" >"$said" 2>&1 || {
		cat "$said" >&2
		exit 2
	}
}

# What is remembered of a standby.
forget()
{
	rm -f "$STATE/place" "$STATE/began" "$STATE/good" "$STATE/found" "$STATE/findings"
}

# The verdict of the history.
primary()
{
	forget
	verify ", order_by => 'stalest'"
	verdict=$(ask "SELECT CASE WHEN bad_blocks + bad_files > 0 THEN 'bad'
		WHEN oldest_good_seconds <= $MAX_AGE * 86400 AND unverified_relations = 0 THEN 'good' ELSE 'unknown' END FROM $schema.verify_metrics")
}

# A standby goes round, as many nights as it takes.  What a round has found counts at
# once, and holds until a later one has ended without it.
standby()
{
	place=$(cat "$STATE/place" 2>/dev/null) || place=
	[ -n "$place" ] || date +%s >"$STATE/began"
	[ -n "$place" ] || : >"$STATE/found"
	verify "${place:+, resume_at => '$place'}"
	sed -n '/^WARNING:  XX001: /,/^HINT: /p' "$said" >>"$STATE/found"
	if grep -q '^INFO:  [0-9A-Z]*: completed: ' "$said"; then
		mv "$STATE/found" "$STATE/findings"
		rm -f "$STATE/place"
		[ -s "$STATE/findings" ] || ! grep -q '^INFO: .* completed: .* 0 not verifiable' "$said" || cp "$STATE/began" "$STATE/good"
	else
		next=$(sed -n "s/^HINT:  To go on, pass resume_at => '\([0-9a-z/]*\)'.*/\1/p" "$said" | tail -1)
		[ -z "$next" ] || echo "$next" >"$STATE/place"
	fi
	good=$(cat "$STATE/good" 2>/dev/null) || good=0
	verdict=unknown
	[ $(($(date +%s) - good)) -gt $((MAX_AGE * 86400)) ] || verdict=good
	[ ! -s "$STATE/findings" ] && [ ! -s "$STATE/found" ] || verdict=bad
}

# A bad standby is not promoted, and only a good one is copied.  On a primary the first
# would do nothing but keep it from being promoted later.
write_tags()
{
	nofailover=false clonefrom=false
	[ "$verdict" != bad ] || [ "$in_recovery" = f ] || nofailover=true
	[ "$verdict" != good ] || clonefrom=true
	printf 'tags:\n  nofailover: %s\n  clonefrom: %s\n' $nofailover $clonefrom >"$TAGS.new"
	if cmp -s "$TAGS.new" "$TAGS"; then
		rm -f "$TAGS.new"
	else
		mv "$TAGS.new" "$TAGS"
		sh -c "${RELOAD:-true}"
	fi
}

schema=$(ask "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'crc32c_accel'")
[ -n "$schema" ] || { echo "database \"$PGDATABASE\" has no extension crc32c_accel" >&2; exit 2; }
in_recovery=$(ask 'SELECT pg_is_in_recovery()')
folder=$(ask 'SHOW data_directory')
of=$(ask 'SELECT system_identifier FROM pg_control_system()')/$(stat -c %d:%i "$folder")
[ "$(cat "$STATE/of" 2>/dev/null)" = "$of" ] || forget
echo "$of" >"$STATE/of"
if [ "$in_recovery" = t ]; then standby; else primary; fi
echo "$verdict" >"$STATE/verdict"
[ -z "${TAGS:-}" ] || write_tags
cat "$STATE/verdict"
[ ! -s "$STATE/findings" ] || cat "$STATE/findings" >&2
[ ! -s "$STATE/found" ] || cat "$STATE/found" >&2
case $verdict in good) ;; bad) exit 1 ;; *) exit 3 ;; esac
