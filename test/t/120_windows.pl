# crc32c_verify backups --windows and verify_backup_windows(): up to where an
# archive lets recovery from each backup go, beside servers that recover.
use strict;
use warnings;
use Accel;
use AccelWal;
use AccelProgram;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $archive = "$tmp/archive";
mkdir $archive;
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1,
	conf => "autovacuum = off\narchive_mode = on\narchive_command = 'cp \"%p\" \"$archive/%f\"'\n");
my $root = $node->backup_dir;
$node->start;

# Writes a row, and returns the LSN after it.  The WAL is archived then.
my $written = 0;
sub advance
{
	my ($where) = @_;
	$written++;
	$where->safe_psql('postgres', "INSERT INTO t VALUES ($written)");
	my $lsn = $where->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
	my $segment = $where->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	$where->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver") or die "$segment is not archived";
	return ($lsn, $segment);
}

sub by_sql
{
	my ($wal) = @_;
	return $node->safe_psql('postgres', "SELECT format('{\"backup\":\"%s\",\"status\":\"%s\",\"is_finding\":%s,\"from_lsn\":%s,\"to_lsn\":%s,\"timeline_id\":%s,\"message\":%s}', backup,
		CASE WHEN to_lsn IS NULL THEN 'not_recoverable' ELSE 'recoverable' END, is_finding::text, coalesce(to_json(from_lsn)::text, 'null'),
		coalesce(to_json(to_lsn)::text, 'null'), coalesce(timeline_id::text, 'null'), coalesce(to_json(message)::text, 'null'))
		FROM verify_backup_windows('$root', $wal)");
}

# {backup => [from, to, timeline, message]}, and in $main::status the exit status.
# SQL says the same.
our $status;
sub windows
{
	my ($archive) = @_;
	my ($out, $err);
	($status, $out, $err) = AccelProgram::verify('backups', "--state=$tmp/state", '--settled-after=0s', '--format=json', '--windows', $archive ? "--wal=$archive" : (), $root);
	my %windows;
	my @rows;
	while ($out =~ /^(\{"backup":"(\w+)","status":"(?:not_)?recoverable","is_finding":(?:true|false),"from_lsn":(\S+),"to_lsn":(\S+),"timeline_id":(\S+),"message":(.*)\})$/mg)
	{
		push @rows, $1;
		$windows{$2} = [ map { s/^"|"$//gr } $3, $4, $5, $6 ];
	}
	diag $out . $err if !%windows;
	my $wal = $archive ? "'$archive'" : 'NULL';
	$node->psql('postgres', "CALL verify_backups('$root', $wal, settled_after => '0')", stderr => \my $said);
	is(by_sql($wal) =~ s{/0+(?=[0-9A-F])}{/}gr, join("\n", @rows), 'SQL says the same') or diag $said;
	return \%windows;
}

sub end_of
{
	my ($backup) = @_;
	my ($lsn) = slurp_file("$root/$backup/backup_manifest") =~ m{"End-LSN": "([^"]+)"};
	return $lsn =~ s{/0+(?=.)}{/}r;
}

# A server that, once started, recovers from a backup up to a target, and promotes
# itself there.
my $servers = 0;
sub recovers
{
	my ($backup, $target) = @_;
	my $server = PostgreSQL::Test::Cluster->new('restored' . ++$servers);
	$server->init_from_backup($node, $backup);
	$server->append_conf('postgresql.conf', "restore_command = 'cp \"$archive/%f\" \"%p\"'\nrecovery_target_lsn = '$target'\nrecovery_target_action = promote\nhot_standby = off\n");
	$server->set_recovery_mode;
	return $server;
}

sub is_window
{
	my ($window, $expected, $what) = @_;
	is_deeply([ @{$window}[ 0 .. 2 ] ], $expected, $what) or diag explain $window;
	return;
}

# Where WAL ends for pg_waldump, after an LSN.
sub end_of_wal
{
	my ($timeline, $from) = @_;
	my $end = AccelWal::waldump_end($node, $archive, $from, $timeline, 1024 * 1024);
	return sprintf('%X/%X', $end >> 32, $end & 0xffffffff);
}

$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CREATE TABLE t (id int)');
$node->backup('a');
my ($inside, undef) = advance($node);
my $before = end_of_wal(1, end_of('a'));
my (undef, $lost) = advance($node);
my ($after, undef) = advance($node);
$node->backup('b');
advance($node);
my $newest = end_of_wal(1, end_of('b'));

# --- an archive without a gap -----------------------------------------------------------

my $found = windows($archive);
is($status, 0, 'all is there');
is($node->safe_psql('postgres', "SELECT from_lsn FROM verify_backup_windows('$root', '$archive', workers => 2, max_rate => 1000000, direct_io => true) WHERE backup = 'a'") =~ s{/0+(?=.)}{/}r, end_of('a'), 'by workers, from the device');
system_or_bail('touch', '-r', "$root/a/PG_VERSION", "$tmp/times");
utime 1, 1, "$root/a/PG_VERSION";
is($node->safe_psql('postgres', "SELECT backup, to_lsn, is_finding, message FROM verify_backup_windows('$root', '$archive') WHERE backup = 'a'"),
	'a||f|it has not been verified as it is now', 'one that has changed since it was verified');
# (to the nanosecond: one of a whole second is not settled for two seconds)
system_or_bail('touch', '-r', "$tmp/times", "$root/a/PG_VERSION");
is($node->safe_psql('postgres', "SELECT backup, to_lsn FROM verify_backup_windows('$root', '$archive', false) WHERE backup = 'a'"), 'a|', 'one that was verified in another way');
is_window($found->{$_}, [ end_of($_), $newest, 1 ], "$_: up to the newest WAL") foreach 'a', 'b';
is($found->{a}[3], 'null', 'nothing ends it but the archive');
$found = windows();
is($status, 3, 'without an archive nothing is known');
is($found->{a}[3], 'no archive of its WAL is known', 'which is said');
my (undef, $out) = AccelProgram::verify('backups', '--windows', "--wal=$archive", $root);
like($out, qr{^a: recoverable: from \Q@{[end_of('a')]}\E up to \Q$newest\E, timeline 1$}m, 'in words');

# --- what ends a window, and what a server makes of it ----------------------------------

my $good = "$archive/$lost";
move($good, "$archive.aside");
$found = windows($archive);
is($status, 2, 'a gap is a finding');
is_window($found->{a}, [ end_of('a'), $before, 1 ], 'it ends the window of the backup before it');
like($found->{a}[3], qr/^$lost: missing/, 'by its name');
is_window($found->{b}, [ end_of('b'), $newest, 1 ], 'not that of the one after it');
my $server = recovers('a', $after);
# (a start would look for a server that may have ended by then)
system('timeout 120 postgres -D "' . $server->data_dir . '" >"' . $server->logfile . '" 2>&1');
like(slurp_file($server->logfile), qr/FATAL:.*recovery ended before configured recovery target was reached/, 'a server does not recover to what is after the window');
$server = recovers('a', $inside);
$server->start;
ok($server->wait_for_log(qr/database system is ready to accept connections/), 'it does to the last row in the window');
is($server->safe_psql('postgres', 'SELECT max(id) FROM t'), '1', 'which is there');

move("$archive.aside", "$good.partial");
$found = windows($archive);
is_window($found->{a}, [ end_of('a'), $before, 1 ], 'a server takes no partial file');
move("$good.partial", $good);
AccelWal::poke($good, 60, "\xff" x 40);
$found = windows($archive);
is($status, 2, 'a damaged segment is a finding');
is_window($found->{a}, [ end_of('a'), $before, 1 ], 'it ends the window as well');
like($found->{a}[3], qr/^$lost: corrupt/, 'by its name, too');
is_window($found->{b}, [ end_of('b'), $newest, 1 ], 'not the later one');
copy($node->data_dir . "/pg_wal/$lost", $good);

# --- a second timeline -------------------------------------------------------------------

my (undef, $first) = advance($server);
my $second = end_of_wal(2, sprintf('0/%X', hex(substr($first, 16)) * 1024 * 1024));
$found = windows($archive);
is($status, 0, 'two timelines');
is_window($found->{a}, [ end_of('a'), $second, 2 ], 'the one before goes along the newest');
is_window($found->{b}, [ end_of('b'), $newest, 1 ], 'the one of the abandoned timeline along that');
move("$archive/00000002.history", "$archive.aside");
$found = windows($archive);
is_window($found->{a}, [ end_of('a'), $newest, 1 ], 'without its history a timeline is nobody\'s');
move("$archive.aside", "$archive/00000002.history");

# --- a backup that is damaged, or begins before the archive ---------------------------------

unlink "$root/b/PG_VERSION";
unlink glob "$archive/00000001*";
$found = windows($archive);
is($status, 2, 'findings');
is_window($found->{$_}, [ ('null') x 3 ], "$_: no window") foreach 'a', 'b';
is($found->{b}[3], 'the backup is not sound', 'one that is damaged');

$server->stop;
$node->stop;
done_testing();
