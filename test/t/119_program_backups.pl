# crc32c_verify backups: every backup below a directory, beside verify_backups().
# What is unchanged is not read again, whoever remembers it.
use strict;
use warnings;
use Accel;
use AccelWal;
use AccelProgram;
use Fcntl qw(:flock);
use File::Path qw(remove_tree);
use PostgreSQL::Test::Utils;
use Test::More;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $root = "$tmp/all";
my $state = "$tmp/state";
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => "autovacuum = off\n");
my $incremental = Accel::summarize_wal($node);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g AS id, repeat('x', 500) AS filler FROM generate_series(1, 200) g});
my $table = sql(q{SELECT pg_relation_filepath('t')});

sub backup
{
	my ($name, @options) = @_;
	Accel::base_backup($node, "$root/$name", '-l', "label of $name", @options);
	return;
}

my @remembering = ("--state=$state", '--settled-after=0s', '--segment-size=1');

# The program's exit status and last line, then whether its rows are those of SQL.
sub same
{
	my ($what, $expected, $more, $sql) = @_;
	my ($status, $out, $err) = AccelProgram::verify('backups', @remembering, @$more, $root);
	my ($last) = $out =~ /: (\d+ backups, \d+ read), .*: (\d+ with findings, \d+ not verifiable)$/m ? "$1; $2" : $out . $err;
	is("$status: $last", $expected, $what) or diag $out . $err;

	$node->psql('postgres', "CALL verify_backups('$root', settled_after => '0'" . ($sql // '') . ')', stderr => \my $said);
	my $by_sql = sql("SELECT row_to_json(v) FROM (SELECT backup, system_identifier, label, format, start_lsn, end_lsn, to_char(taken_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS taken_at,
		status, is_finding, unfinished, findings, files, read_bytes, prior_backups, message, manifest_checksum
		FROM verify_backup_verdicts WHERE directory = '$root' AND gone_at IS NULL ORDER BY backup COLLATE \"C\") v");
	$by_sql =~ s{(lsn":"[0-9A-F]+/)0+(?=[0-9A-F])}{$1}g;
	my (undef, $rows) = AccelProgram::verify('backups', @remembering, @$more, '-v', '--format=json', $root);
	$rows =~ s/"verified_at":"[^"]+",//g;
	$rows =~ s/,"gone":false//g;
	is(join("\n", sort split /\n/, $rows), join("\n", sort split /\n/, $by_sql), "$what: the rows are those of SQL");
	return;
}

# The program's exit status and words are as expected.
sub ends
{
	my ($what, $expected, $words, @arguments) = @_;
	my ($status, $out, $err) = AccelProgram::verify('backups', @arguments);
	is($status, $expected, $what) or diag $out . $err;
	like($out . $err, $words, "$what: what is said");
	return;
}

# --- backups of all kinds -------------------------------------------------------------

mkdir $root;
ends('an empty directory', 3, qr/there is no backup below directory/, $root);
ends('no directory', 1, qr/could not open directory/, "$root/none");
backup('plain');
backup('deep/er/tgz', '-Ft', '-z');
backup("an odd%name - \n", '-X', 'none');
sql('UPDATE t SET id = id + 1');
backup('later', "--incremental=$root/plain/backup_manifest") if $incremental;
my $n = $incremental ? 4 : 3;
symlink '/', "$root/outside";
ends('a link', 2, qr/symbolic link "outside" is not followed/, $root);
same('all are read', "2: $n backups, $n read; 1 with findings, 0 not verifiable", []);
same('what is unchanged is not', "2: $n backups, 0 read; 1 with findings, 0 not verifiable", []);
my $full = slurp_file($state);
cmp_ok(length $full, '>', 512, 'a state of more than a block');
is(system("trap '' XFSZ; ulimit -f 1; exec " . AccelProgram::path() . " backups -q @remembering $root 2>$tmp/err") >> 8, 2, 'no room for it: findings count more');
like(slurp_file("$tmp/err"), qr/could not write "\Q$state\E": File too large/, 'no room: told');
is(slurp_file($state), $full, 'no room: the old one stays');
is_deeply([ glob("$state.*") ], [], 'no room: nothing is left beside it');
remove_tree("$root/an odd%name - \n");
$n--;
ends('one is gone', 0, qr/^an odd%name - \?: damaged: gone; it was: .*\n.*: $n backups, 0 read, .*: 0 with findings/m, @remembering, $root);
same('it is forgotten', "0: $n backups, 0 read; 0 with findings, 0 not verifiable", []);

# --- what has changed -----------------------------------------------------------------

my $damaged = "$root/plain/$table";
my $good = AccelWal::peek($damaged, 4000, 6);
my $written = (stat $damaged)[9];
AccelWal::poke($damaged, 4000, 'damage');
same('rot leaves the times as they are', "0: $n backups, 0 read; 0 with findings, 0 not verifiable", [])
  if utime time - 100, $written, $damaged;
utime time - 50, time - 50, $damaged;
my $read = $incremental ? 2 : 1;
my $bad = $incremental ? 2 : 1;
same('a file has changed', "2: $n backups, $read read; $bad with findings, 0 not verifiable", []);
ends('nagios', 2, qr/^BACKUPS CRITICAL - $bad of $n backups with findings, 0 not verifiable: .*\| backups=$n read=0 /, @remembering, '--format=nagios', "--metrics=$tmp/metrics", $root);
like(slurp_file("$tmp/metrics"), qr/^crc32c_verify_findings\{command="backups",subject="\Q$root\E"\} $bad$/m, 'metrics');
AccelWal::poke($damaged, 4000, $good);
utime time - 40, time - 40, $damaged;
same('it is mended', "0: $n backups, $read read; 0 with findings, 0 not verifiable", []);
ends('all are read again', 0, qr/: $n backups, $n read/, @remembering, '--reverify-after=0s', $root);
ends('by other rules', 0, qr/: $n backups, $n read/, @remembering, '--no-pages', $root);
ends('by those again', 0, qr/: $n backups, 0 read/, @remembering, '--no-pages', '-j', 2, $root);
if ($incremental)
{
	rename "$root/plain", "$tmp/plain";
	ends('the one before is gone', 2, qr/^later: undecided: a backup that it is incremental to is not below/m, @remembering, '--no-pages', $root);
	rename "$tmp/plain", "$root/plain";
	remove_tree("$root/later");
	$n--;
}
unlink "$root/plain/backup_manifest";
ends('one that may be copied', 3, qr/^plain: not_verifiable: unfinished: it has no manifest, and was changed a short time ago$/m, "--state=$tmp/new", $root);
ends('it is settled', 0, qr/: $n backups, 1 read/, "--state=$tmp/new", '--settled-after=0s', $root);

# --- the state ------------------------------------------------------------------------

my $kept = slurp_file($state);
ends('another directory', 1, qr/is of another directory, "\Q$root\E"/, @remembering, $tmp);
my (undef, undef, $err) = AccelProgram::verify('wal', "--state=$state", "$node->{_basedir}");
like($err, qr/is of another command or version/, 'the state is of another command');
is(slurp_file($state), $kept, 'it stays as it is');
open my $lock, '<', $state or die $!;
flock $lock, LOCK_EX or die $!;
ends('another run has it', 1, qr/another run has state file/, @remembering, $root);
close $lock;
AccelWal::put($state, $kept =~ s/tgz/tgy/r);
ends('it is damaged', 0, qr/: $n backups, $n read.*is damaged: every backup is read/s, @remembering, $root);
ends('that is mended', 0, qr/: $n backups, 0 read/, @remembering, $root);
ends('an option of another command', 1, qr/not an option of this command/, '--prior=/tmp', $root);
$node->stop;
done_testing();
