# packages.sh: which PostgreSQL of this machine the scripts work with, and the
# packages that they install.  Sourced by lib.sh.  POSIX sh.
#
# The machine's own PostgreSQL is preferred to that of the archive.  What is
# installed stays as it is: apt is asked first what it would do, and whatever
# would upgrade or remove a package ends the script, unless UPGRADE=1 permits
# it (Debian's PostgreSQL packages restart their servers when they are
# upgraded).  No cluster is made, stopped or started.
# shellcheck shell=sh disable=SC2034,SC2154	# installed, bindir: for those who source it

oldest_major=15 newest_major=19	# what the extension is for

#
# The PostgreSQL of this machine
#
major_of()	# pg_config
{
	"$1" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'
}

is_supported()	# major
{
	[ -n "$1" ] && [ "$1" -ge $oldest_major ] && [ "$1" -le $newest_major ]
}

# pg_config of a major version of Debian's packages.
pg_config_of()	# major
{
	printf '/usr/lib/postgresql/%s/bin/pg_config\n' "$1"
}

# The major versions whose servers are installed, newest first.
installed_majors()
{
	for server in /usr/lib/postgresql/*/bin/postgres; do
		[ ! -x "$server" ] || printf '%s\n' "$server"
	done | cut -d/ -f5 | sort -rn | while read -r installed_major; do
		! is_supported "$installed_major" || printf '%s\n' "$installed_major"
	done
}

# The major version that the package archive installs by default.
archive_major()
{
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -1
}

native_major()	# the machine's own, or what it would install
{
	own_major=$(installed_majors | head -1)
	[ -z "$own_major" ] || {
		printf '%s\n' "$own_major"
		return 0
	}
	archive_major
}

# Sets major to that; asks the archive where apt knows nothing yet.
need_native_major()
{
	major=$(native_major)
	if [ -z "$major" ]; then
		need_apt postgresql postgresql-server-dev-all gcc libc6-dev make
		say "apt-get update"
		apt_said=$(apt_get update 2>&1) || true
		major=$(archive_major)
		[ -n "$major" ] || {
			printf '%s\n' "$apt_said" | tail -10 >&2
			die "apt knows no package postgresql: what apt-get update said is above (no network? no Debian archive in /etc/apt?)"
		}
	fi
	is_supported "$major" ||
		die "the package archive has PostgreSQL $major; $oldest_major to $newest_major are supported (apt.postgresql.org has them)"
}

# What an installation lacks for a build and a throw-away server, in words:
# server, headers, compiler, make.
lacking()	# pg_config, or nothing
{
	lacking_bin=$("$1" --bindir 2>/dev/null) || lacking_bin=
	for program in postgres initdb pg_ctl psql pgbench; do
		[ -x "$lacking_bin/$program" ] || {
			echo server
			break
		}
	done
	[ -f "$("$1" --includedir-server 2>/dev/null)/postgres.h" ] &&
		[ -f "$("$1" --pgxs 2>/dev/null)" ] || echo headers
	lacking_cc=$("$1" --cc 2>/dev/null) || lacking_cc=
	# shellcheck disable=SC2086	# the compiler may be several words
	echo '#include <stdio.h>' | ${lacking_cc:-gcc} -x c -E - >/dev/null 2>&1 || echo compiler
	command -v make >/dev/null || echo make
}

# The pg_config that lacks nothing, else the first with a server: that of PATH
# before Debian's, the newest first.  postgresql-common's pg_config is that of
# the newest client programs, whose server may not be there.
best_pg_config()
{
	best=
	for candidate in "$(command -v pg_config)" $(for own in $(installed_majors); do pg_config_of "$own"; done); do
		is_supported "$(major_of "$candidate")" || continue
		case $(lacking "$candidate") in
			*server*) ;;
			*headers*) : "${best:=$candidate}" ;;
			*)
				best=$candidate
				break
				;;
		esac
	done
	printf '%s\n' "$best"
}

# Sets pg_config and bindir to an installation that the extension can be built
# for and servers run from, and installed to what was installed for that.  Of a
# private installation nothing is installed but the compiler and make.
need_postgresql()	# the pg_config that the user wants, or nothing
{
	installed=
	pg_config=${1:-$(best_pg_config)}
	if [ -n "$pg_config" ]; then
		major=$(major_of "$pg_config")
		[ -n "$major" ] || die "PG_CONFIG ($pg_config) is no pg_config"
		is_supported "$major" ||
			die "$pg_config is of PostgreSQL $major; $oldest_major to $newest_major are supported"
	fi
	lacks=$(lacking "$pg_config" | paste -sd ' ' -)
	if [ -n "$lacks" ]; then
		[ -z "$1" ] || refuse_private "$1"
		command -v apt-get >/dev/null || die_foreign
		[ -n "$pg_config" ] || need_native_major
		# shellcheck disable=SC2046	# package names hold no blanks
		set -- $(packages_for "$major" "$lacks")
		installed=$(missing_packages "$@" | paste -sd ' ' -)
		install_packages "$@"
		pg_config=${pg_config:-$(pg_config_of "$major")}
		lacks=$(lacking "$pg_config" | paste -sd ' ' -)
		[ -z "$lacks" ] ||
			die "$pg_config still lacks: $lacks (its compiler is $("$pg_config" --cc))"
	fi
	bindir=$("$pg_config" --bindir)
}

refuse_private()	# PG_CONFIG: servers and headers of Debian's paths come as packages
{
	case "$("$1" --bindir)/ $lacks" in
		/usr/lib/postgresql/*) return 0 ;;
		*server*) die "$1 has no server: $("$1" --bindir) lacks one of postgres, initdb, pg_ctl, psql, pgbench" ;;
		*headers*) die "$1 has no server headers: $("$1" --includedir-server)/postgres.h is not there; install those that belong to it" ;;
	esac
}

packages_for()	# major, what is lacking
{
	for lack in $2; do
		case $lack in
			server) echo "postgresql-$1" ;;
			headers) echo "postgresql-server-dev-$1" ;;
			compiler) echo gcc libc6-dev ;;
			make) echo make ;;
		esac
	done
}

die_foreign()
{
	die "this machine has no apt-get; install these first: $(for lack in $lacks; do
		case $lack in
			server) echo 'PostgreSQL with its client programs (postgresql-server, postgresql-contrib),' ;;
			headers) echo "its server headers (postgresql-server-devel, or postgresql${major:-NN}-devel),"  ;;
			compiler) echo "the C compiler $("$pg_config" --cc 2>/dev/null || echo gcc)," ;;
			make) echo 'GNU make,' ;;
		esac
	done | paste -sd ' ' - | sed 's/,$//')"
}

#
# Packages
#

# Names those of the given packages that are not installed.
missing_packages()
{
	for package in "$@"; do
		[ -n "$(installed_version "$package")" ] || printf '%s\n' "$package"
	done
}

installed_version()	# package
{
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
		sed -n 's/^installed //p' | head -1
}

apt_get()	# as root; on a machine that has just started apt may be at work already
{
	as_root apt-get -o DPkg::Lock::Timeout=300 "$@"
}

need_apt()	# package...: or says what to ask for
{
	command -v apt-get >/dev/null ||
		die "this machine has no apt-get; install what these packages of Debian hold first: $*"
	can_be_root "to install: $*" ||
		die "needs root or sudo; ask the administrator for: apt-get install --no-install-recommends $*"
}

# Installs those that are missing, and nothing that would change another.
install_packages()	# package...
{
	# shellcheck disable=SC2046	# package names hold no blanks
	set -- $(missing_packages "$@")
	[ $# -gt 0 ] || return 0
	# shellcheck disable=SC2046
	need_apt $(for package in "$@"; do exact "$package"; done)
	say "installing: $*"
	apt_said=$(apt_get update 2>&1) || printf '%s\n' "$apt_said" | tail -5 >&2
	settle_specs "$@"
	# shellcheck disable=SC2086	# package names hold no blanks
	run_apt $specs || die "the packages could not be installed: apt-get's last words are above"
}

# A server package would create and start a cluster of its own: a drop-in
# forbids that while we install.
run_apt()	# spec...
{
	(
		apt_log=$(mktemp)
		dropin=/etc/postgresql-common/createcluster.d/crc32c_accel_tests.conf
		trap 'status=$?; rm -f "$apt_log"
			[ ! -f "$dropin" ] || as_root sh -c "rm $dropin; rmdir -p ${dropin%/*} 2>/dev/null || :"
			exit $status' EXIT
		trap 'exit 130' INT TERM HUP
		export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
		case " $* " in
			*" postgresql"*)
				as_root mkdir -p "${dropin%/*}"
				as_root sh -c "echo 'create_main_cluster = false' >$dropin"
				;;
		esac
		apt_get install -y --no-install-recommends "$@" >"$apt_log" 2>&1 || {
			tail -20 "$apt_log" >&2
			exit 1
		}
	)
}

# A package that belongs to an installed PostgreSQL is wanted in its version.
exact()	# package
{
	case $1 in
		postgresql-server-dev-*) exact_major=${1##*-} ;;
		postgresql-*[!0-9]*) exact_major= ;;
		postgresql-*) exact_major=${1##*-} ;;
		*) exact_major= ;;
	esac
	exact_version=
	for mate in ${exact_major:+"postgresql-$exact_major" "postgresql-client-$exact_major"}; do
		exact_version=${exact_version:-$(installed_version "$mate")}
	done
	printf '%s\n' "$1${exact_version:+=$exact_version}"
}

# Sets specs to packages with versions, so that nothing installed changes; what
# depends on an installed package of the same version is taken in that version.
settle_specs()	# package...
{
	specs=$*
	[ -z "${UPGRADE:-}" ] || return 0
	specs=
	for package in "$@"; do
		specs="$specs $(exact "$package")"
	done
	for spec in $specs; do
		archive_has "$spec" || refuse_changes "$(lacking_archive "$spec")"
	done
	for _ in 1 2 3 4 5 6; do
		simulation=$(simulate) || exit 1
		changes=$(printf '%s\n' "$simulation" | awk '$1 == "change"')
		[ -n "$changes" ] || return 0
		more=$(printf '%s\n' "$simulation" | old_mates)
		[ -n "$more" ] || break
		for spec in $more; do	# apt takes one version of a package
			specs=$(printf '%s\n' $specs | grep -v "^${spec%%=*}\(=\|$\)" | paste -sd ' ' -)
			specs="$specs $spec"
		done
	done
	refuse_changes "$(printf '%s\n' "$changes" | sed 's/^change \([^ ]*\) \([^ ]*\) \(.*\)/  \1 \2 -> \3/')"
}

# What apt would do with specs: "new PACKAGE VERSION", "change PACKAGE OLD NEW".
simulate()
{
	# shellcheck disable=SC2086	# package names hold no blanks
	simulated=$(apt-get -s install --no-install-recommends $specs 2>&1) || {
		printf '%s\n' "$simulated" | tail -15 >&2
		die "apt cannot install $specs: its words are above"
	}
	printf '%s\n' "$simulated" | awk '
		function bare(s) {gsub(/[][()]/, "", s); return s}
		$1 == "Inst" && $3 ~ /^\[/ {print "change", $2, bare($3), bare($4)}
		$1 == "Inst" && $3 ~ /^\(/ {print "new", $2, bare($3)}
		$1 == "Remv" {print "change", $2, bare($3), "removed"}'
}

# Of a simulation, the new packages that share the version of one that would be
# changed, in its installed version, where the archive has that.
old_mates()
{
	awk '$1 == "change" {old[$4] = $3} $1 == "new" {version[$2] = $3}
		END {for (p in version) if (version[p] in old) print p "=" old[version[p]]}' |
		while read -r mate; do
			! archive_has "$mate" || printf '%s\n' "$mate"
		done
}

archive_has()	# package or package=version
{
	case $1 in
		*=*) apt-cache madison "${1%%=*}" | awk -v v="${1#*=}" '$3 == v {found = 1} END {exit !found}' ;;
		*) return 0 ;;
	esac
}

lacking_archive()	# package=version
{
	say "  no archive of this machine has ${1%%=*} ${1#*=}, the version of the PostgreSQL that is installed; they have:"
	apt-cache madison "${1%%=*}" | awk '{print "  " $3 " in " $5 " " $6}'
}

refuse_changes()	# why, in lines
{
	say "to install $specs would change what is installed:" >&2
	printf '%s\n' "$1" >&2
	die "nothing was changed; UPGRADE=1 permits it (servers restart when their packages are upgraded)"
}
