# A server starts from what is called sound, and does not start, or starts with
# less, from what is not: each kind of loss is made, verified, and started.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nfull_page_writes = on\nwal_keep_size = 1GB\n");
$node->start;
my $port = PostgreSQL::Test::Cluster::get_free_port();

sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
	CREATE INDEX ON t (g)});
my $table = sql(q{SELECT pg_relation_filepath('t')});

# What is found, a line each; the arguments after the directory as given.
sub findings
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('} . $backup . "'"
		  . ($more // '') . ') ORDER BY 1');
}

sub backup
{
	my ($name, @options) = @_;
	my $path = "$dir/$name";
	system_or_bail('pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '-l', "label of $name", @options);
	return $path;
}

# A copy of a folder that may be changed.
my $copies = 0;
sub copied
{
	my ($from) = @_;
	my $to = "$dir/copy" . ++$copies;
	system_or_bail('cp', '-a', '--reflink=auto', $from, $to);
	return $to;
}

# A server on a copy: "starts", with the rows that t has, or why it does not.
sub start_of
{
	my ($backup) = @_;
	my $copy = copied($backup);
	append_to_file("$copy/postgresql.conf",
		"port = $port\nlisten_addresses = ''\nunix_socket_directories = '$dir'\nlogging_collector = off\narchive_mode = off\nfsync = off\nlog_min_messages = warning\n");
	my $said = 'starts';
	if (system("pg_ctl -D '$copy' -l '$copy.log' -s -w start >'$dir/said' 2>&1"))
	{
		($said) = slurp_file("$copy.log") =~ /(?:FATAL|PANIC):\s+(.*)/;
		$said = 'no start: ' . ($said // 'and no reason');
	}
	else
	{
		chomp(my $rows = `psql -XAtq -h '$dir' -p $port -d postgres -c 'SELECT count(*) FROM t' 2>&1`);
		$said .= " $rows";
	}
	system("pg_ctl -D '$copy' -s -m immediate -w stop >'$dir/said' 2>&1");
	system('rm', '-rf', $copy, "$copy.log");
	return $said;
}

my $backup = backup('plain');
is(findings($backup), '', 'an intact backup');
is(start_of($backup), 'starts 20000', 'it starts');
my $tar = backup('tar', '--format=tar');

# --- folders ---------------------------------------------------------------------------

my @folders = qw(pg_commit_ts pg_logical/mappings pg_logical/snapshots pg_multixact/members pg_multixact/offsets
  pg_notify pg_replslot pg_subtrans pg_tblspc pg_twophase pg_xact);
foreach my $folder (@folders)
{
	my $less = copied($backup);
	system_or_bail('rm', '-rf', "$less/$folder");
	like(findings($less), qr{^\Q$folder\E missing$}m, "without $folder: found");
	like(start_of($less), qr{^no start: }, "without $folder: no start");
	append_to_file("$less/$folder", '');
	like(findings($less), qr{^\Q$folder\E missing$}m, "a file in the place of $folder: found");
	system('rm', '-rf', $less);
}

# what object stores, zip and rsync -m leave of it
my $less = copied($backup);
system_or_bail('find', $less, '-mindepth', '1', '-type', 'd', '-empty', '-delete');
my $found = findings($less);
like($found, qr{^$_ missing$}m, "no empty folders: $_") foreach qw(pg_notify pg_serial pg_snapshots);
unlike($found, qr{pg_(?:stat|dynshmem|stat_tmp|wal)\b}, 'no empty folders: those that the server makes, or does without');
mkdir "$less/$_" foreach map { /^(\S+) missing$/ ? $1 : () } split /\n/, $found;
is(findings($less), '', 'those that are needed made by hand');
is(start_of($less), 'starts 20000', 'it starts again');
system('rm', '-rf', $less);

# An archive without its members that are folders: files make those that they are in.
my $base = BackupTar::bytes_of("$tar/base.tar");
my $flat = "$dir/flat";
system_or_bail('cp', '-a', $tar, $flat);
my $bytes = $base;
$bytes = BackupTar::without($bytes, $_) foreach grep { m{/$} || !/\./ && /^(?:base|global|pg_\w+)$/ } map { $_->[0] } BackupTar::members($base);
BackupTar::put_bytes("$flat/base.tar", $bytes);
my $plain = BackupTar::extract($flat, "$dir/flat_plain");
is(findings($flat), findings($plain), 'an archive without folders: what is found is what is found in it extracted');
like(findings($flat), qr{^pg_notify missing$}m, 'an archive without folders: found');
unlike(findings($flat), qr{^(?:base|global|pg_xact) missing$}m, 'an archive without folders: those that files are in');
like(start_of($plain), qr{^no start: }, 'an archive without folders: no start');
is(findings($tar), '', 'an archive with folders');

$node->stop;
done_testing();
