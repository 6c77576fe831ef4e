# Backups in the repository of barman, by the folder that barman has for each:
# plain, in tar format, by rsync.  Then verify_backups over the repositories of
# barman and pgBackRest, with the WAL that each of them has.
#
# A program that is not installed, or does not know this server, is skipped.
use strict;
use warnings;
use Accel;
use AccelWal;
use AccelProgram;
use File::Copy;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

sub has_program { return system("command -v $_[0] >/dev/null") == 0; }
plan(skip_all => 'no program barman') unless has_program('barman');

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "archive_mode = on\nautovacuum = off\n");
my ($host, $port, $data, $user) = ($node->host, $node->port, $node->data_dir, scalar getpwuid($<));

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub run_of
{
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([@_], '<', \undef, '>', \$out, '2>', \$err);
	return ($ok, $out . $err);
}

# --- repositories ---------------------------------------------------------------------

# barman reaches the server's files by a shell that takes the place of ssh
AccelWal::put("$tmp/ssh", <<'END');
while [ $# -gt 0 ]; do
	case $1 in -o) shift 2 ;; -* | localhost) shift ;; *) break ;; esac
done
exec sh -c "$*"
END

# name => options of its configuration
my %servers = (
	plain => 'backup_method = postgres',
	tar => "backup_method = postgres\nbackup_compression = gzip",
	rsync => "backup_method = rsync\nssh_command = sh $tmp/ssh localhost");
delete $servers{rsync} unless has_program('rsync');
my @servers = sort keys %servers;

sub barman { my ($name, @command) = @_; return run_of('barman', '-q', '-c', "$tmp/$name.conf", @command); }

foreach my $name (@servers)
{
	AccelWal::put("$tmp/$name.conf", "[barman]\nbarman_user = $user\nbarman_home = $tmp/barman_$name\nlog_file = $tmp/barman.log\n"
		  . "[main]\ndescription = main\nconninfo = host=$host port=$port user=$user dbname=postgres\n"
		  . "streaming_conninfo = host=$host port=$port user=$user\nimmediate_checkpoint = true\narchiver = on\n"
		  . "compression = gzip\nincoming_wals_directory = $tmp/incoming_$name\ncloud_staging_directory = $tmp/staging_$name\n$servers{$name}\n");
	mkdir $_ foreach "$tmp/barman_$name", "$tmp/incoming_$name";
}
my @archive = map { "cp \"%p\" \"$tmp/new.%f\" && mv \"$tmp/new.%f\" \"$tmp/incoming_$_/%f\"" } @servers;

my @pgbackrest = ('pgbackrest', "--config=$tmp/pgbackrest.conf", '--stanza=main');
my $pgbackrest = has_program('pgbackrest');
AccelWal::put("$tmp/pgbackrest.conf", "[global]\nlog-level-file=off\nlog-level-console=warn\nlock-path=$tmp/lock\nspool-path=$tmp/spool\n"
	  . "repo1-path=$tmp/repo\nrepo1-retention-full=9\nstart-fast=y\narchive-timeout=600\ncompress-type=gz\n"
	  . "[main]\npg1-path=$data\npg1-port=$port\npg1-socket-path=$host\npg1-user=$user\n");
mkdir "$tmp/repo";

$node->start;
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 5000) g});
my $table = sql("SELECT pg_relation_filepath('t')");
if ($pgbackrest)
{
	my ($ok, $said) = run_of(@pgbackrest, 'stanza-create');
	$pgbackrest = 0 if !$ok && $said =~ /unexpected control version/;
	die "stanza-create: $said" if !$ok && $pgbackrest;
	push @archive, join(' ', @pgbackrest, 'archive-push', '"%p"') if $pgbackrest;
}
sql("ALTER SYSTEM SET archive_command = '" . join(' && ', @archive) . "'");
$node->reload;

# All WAL so far is in the archives.
sub archive
{
	my $last = sql('SELECT pg_walfile_name(pg_switch_wal())');
	$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die 'not archived';
	barman($_, 'archive-wal', 'main') foreach @servers;
	return;
}

barman($_, 'cron') foreach @servers;
archive();
my (%backup, %info);
foreach my $name (@servers)
{
	mkdir "$tmp/ts" if $name eq 'rsync';
	# pg_basebackup would want another place for it
	sql($_) foreach $name eq 'rsync' ? ("CREATE TABLESPACE ts LOCATION '$tmp/ts'", 'CREATE TABLE placed TABLESPACE ts AS SELECT * FROM t') : ();
	my ($ok, $said) = barman($name, 'backup', 'main');
	plan(skip_all => "barman makes no backup of this server: $said") if !$ok && !%backup;
	ok($ok, "barman makes a backup, $name") or diag $said;
	($backup{$name}) = glob("$tmp/barman_$name/main/base/*");
	# before 3.13.2 it is the second
	($info{$name}) = grep { -e } glob("$tmp/barman_$name/main/meta/*-backup.info"), "$backup{$name}/backup.info";
}
archive();

# --- barman ---------------------------------------------------------------------------

# What is found, a line each.
sub findings
{
	my ($backup, $more) = @_;
	return sql("SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('$backup'" . ($more // '') . ') ORDER BY 1');
}

sub change
{
	my ($path, $old, $new) = @_;
	my $text = slurp_file($path);
	$text =~ s/$old/$new/m or die "$path: no $old";
	AccelWal::put($path, $text);
	return;
}

foreach my $name (grep { $_ ne 'rsync' } @servers)
{
	is(findings($backup{$name}), '', "$name: intact");
	is(sql("SELECT format, status FROM verify_backup_summary('$backup{$name}')"), "$name|ok", "$name: what it is");
}
is(findings($backup{plain}, ', workers => 2'), '', 'by workers');
AccelWal::poke("$backup{plain}/data/$table", 8192 * 5 + 4000, 'damage');
my $damage = "$table 5 corrupt\n$table checksum_mismatch";
is(findings($backup{plain}), $damage, 'a page is damaged');
my $wals = "$tmp/barman_plain/main/wals";
rename $wals, "$wals.away";
like(findings($backup{plain}), qr/^$table 5 undecided$/m, 'without WAL it is not decided');
is(findings($backup{plain}, ", '$wals.away'"), $damage, 'the WAL is named');
rename "$wals.away", $wals;
my $info = $info{plain};
sub told_at { return $_[0] =~ m{(/meta/.*)} ? "../..$1" : 'backup.info'; }
my $at = told_at($info);
copy($info, "$tmp/info");
# [ what, old, new, findings ]
foreach (
	[ 'a backup that failed', qr/^status=DONE/m, 'status=FAILED', "$at not_verifiable" ],
	[ 'a backup at work', qr/^status=DONE/m, 'status=STARTED', "$at not_verifiable" ],
	[ 'no status at all', qr/^status=DONE/m, 'state=DONE', "$at not_verifiable" ],
	[ 'WAL is to come', qr/^status=DONE/m, 'status=WAITING_FOR_WALS', "$damage\n$at not_verifiable" ],
	[ 'an encrypted one', qr/\z/, "encryption=gpg\n", "$at not_verifiable" ],
	[ 'another cluster', qr/^systemid=\d/m, 'systemid=1', qr/^(?:global\/pg_control foreign_system|\Q$at\E bad_format)$/m ],
	[ 'a tablespace that is not there', qr/^tablespaces=.*/m, q{tablespaces=[("o'ne", 77, '/a'), ('two', 88, '/b')]}, "$damage\npg_tblspc/77 missing\npg_tblspc/88 missing" ])
{
	my ($what, $old, $new, $expected) = @$_;
	change($info, $old, $new);
	my $found = join "\n", sort split /\n/, findings($backup{plain});
	ref $expected ? like($found, $expected, $what) : is($found, join("\n", sort split /\n/, $expected), $what);
	copy("$tmp/info", $info);
}

# Where other releases of barman have it, and both, of which the newer place counts.
my %place = (old => "$backup{plain}/backup.info", new => "$tmp/barman_plain/main/meta/" . ($backup{plain} =~ s{.*/}{}r) . '-backup.info');
mkdir "$tmp/barman_plain/main/meta";
unlink $info;
foreach ([ 'old', 'FAILED', undef ], [ 'new', undef, 'FAILED' ], [ 'new', 'DONE', 'FAILED' ], [ undef, 'FAILED', 'DONE' ], [ undef, 'DONE', undef ], [ undef, undef, 'DONE' ])
{
	my ($told, %status);
	($told, @status{qw(old new)}) = @$_;
	foreach (grep { $status{$_} } keys %place)
	{
		copy("$tmp/info", $place{$_});
		change($place{$_}, qr/^status=DONE/m, "status=$status{$_}");
	}
	is(findings($backup{plain}), $told ? told_at($place{$told}) . ' not_verifiable' : $damage,
		'where it is: ' . join(', ', map { $_ . ' place ' . ($status{$_} // 'none') } sort keys %place));
	is(sql("SELECT status FROM verify_backup_summary('$backup{plain}/../../base/' || '" . ($backup{plain} =~ s{.*/}{}r) . "/.')"), 'undecided', 'by a path with dots') if $told && $told eq 'new';
	unlink values %place;
}
copy("$tmp/info", $info);

SKIP:
{
	skip 'no program rsync', 1 unless $backup{rsync};
	my $oid = sql("SELECT oid FROM pg_tablespace WHERE spcname = 'ts'");
	is(findings($backup{rsync}), "backup_manifest ok_no_manifest\npg_tblspc/$oid not_verifiable", 'rsync: a tablespace without its link is told');
	symlink "../../$oid", "$backup{rsync}/data/pg_tblspc/$oid";
	is(findings($backup{rsync}), 'backup_manifest ok_no_manifest', 'rsync: intact');
	my ($placed) = sql("SELECT pg_relation_filepath('placed')");
	AccelWal::poke("$backup{rsync}/data/$placed", 8192 + 4000, 'damage');
	is(findings($backup{rsync}), "backup_manifest ok_no_manifest\n$placed 1 corrupt", 'rsync: a page of it is damaged');
}

# --- all of a repository --------------------------------------------------------------

my ($full, $later);
if ($pgbackrest)
{
	foreach my $type ('full', 'incr')
	{
		my ($ok, $said) = run_of(@pgbackrest, "--type=$type", 'backup');
		ok($ok, "pgbackrest makes a backup, $type") or diag $said;
		sql('CREATE TABLE new AS SELECT 1 AS a') if $type eq 'full';
	}
	($full, $later) = sort grep { -d } glob("$tmp/repo/backup/main/2*");
	system_or_bail('find', "$tmp/repo/backup", '-type', 'f', '-exec', 'touch', '-d', '100 seconds ago', '{}', '+');
}

sub call
{
	my ($directory) = @_;
	my $err;
	$node->psql('postgres', "CALL verify_backups('$directory')", stderr => \$err);
	return $err =~ /INFO:  \w+: (\d+ backups?, \d+ read), .*; (\d+ bad, \d+ not verifiable, \d+ gone)$/m ? "$1; $2" : $err;
}
sub verdicts { return sql("SELECT string_agg(concat_ws(' ', regexp_replace(backup, '^.*/', ''), format, status), E'\\n' ORDER BY backup) FROM verify_backup_verdicts WHERE directory = '$_[0]'"); }
sub name_of { return $_[0] =~ m{([^/]+)$} ? $1 : ''; }

is(call("$tmp/barman_plain"), '1 backup, 1 read; 1 bad, 0 not verifiable, 0 gone', 'barman: all');
is(verdicts("$tmp/barman_plain"), name_of($backup{plain}) . ' plain damaged', 'barman: the folder of a backup is one backup');
AccelWal::poke("$backup{plain}/data/$table", 8192 * 5 + 4000, AccelWal::peek("$data/$table", 8192 * 5 + 4000, 6));
# files written in this moment would be read again
utime time - 100, time - 100, $_ foreach "$backup{plain}/data/$table", $info;
is(call("$tmp/barman_plain"), '1 backup, 1 read; 0 bad, 0 not verifiable, 0 gone', 'barman: it is mended');
is(call("$tmp/barman_plain"), '1 backup, 0 read; 0 bad, 0 not verifiable, 0 gone', 'barman: nothing is read again');
is(call("$tmp/barman_tar"), '1 backup, 1 read; 0 bad, 0 not verifiable, 0 gone', 'barman: archives');
sub windows { return scalar(() = (AccelProgram::verify('backups', '--settled-after=0s', '--windows', $_[0]))[1] =~ m{: recoverable: from [0-9A-F/]+ up to [0-9A-F/]+, timeline 1$}mg); }
is(windows("$tmp/barman_$_"), 1, "barman: recovery by its own WAL, $_") foreach 'plain', 'tar';

SKIP:
{
	skip 'no pgbackrest that knows this server', 1 unless $pgbackrest;
	is(call("$tmp/repo"), '2 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'pgbackrest: all');
	is(verdicts("$tmp/repo"), join("\n", map { name_of($_) . ' pgbackrest ok' } $full, $later), 'pgbackrest: they are sound');
	is(call("$tmp/repo"), '2 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'pgbackrest: nothing is read again');
	is(sql("SELECT bool_and(length(manifest_checksum) = 40) FROM verify_backup_verdicts WHERE directory = '$tmp/repo'"), 't', 'pgbackrest: the checksum of the manifest');
	rename "$full/pg_data/$table.gz", "$tmp/kept";
	is(call("$tmp/repo"), '2 backups, 2 read; 2 bad, 0 not verifiable, 0 gone', 'pgbackrest: a file that both need is gone');
	rename "$tmp/kept", "$full/pg_data/$table.gz";
	is(call("$tmp/repo"), '2 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'pgbackrest: it is back');
	is(windows("$tmp/repo"), 2, 'pgbackrest: recovery by its own WAL');
}
$node->stop;
done_testing();
