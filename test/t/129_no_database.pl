# Folders that belong to no database, as a crash in CREATE or DROP DATABASE leaves
# them: what they lack is no damage, in a data directory as in a backup.
use strict;
use warnings;
use Accel;
use AccelProgram;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql('CREATE EXTENSION crc32c_accel');

# Rows of pg_database whose transactions ended in each way, or not at all.  None of
# them has its hints set in what lies on disk.
my %oid = (none => 70000);
my $n = 70000;
sub row
{
	my ($name, $limit, $tablespace) = @_;
	$oid{$name} = ++$n;
	return sprintf q[INSERT INTO pg_database SELECT (jsonb_populate_record(d, '{"oid": %d, "datname": "%s", "datconnlimit": %d, "dattablespace": %d}')).* FROM pg_database d WHERE datname = 'template1'],
	  $n, $name, $limit // -1, $tablespace // 1663;
}
my $open = $node->background_psql('postgres');
$open->query_safe($_) foreach 'BEGIN', row('open');
sql($_) foreach row('there'), 'BEGIN; ' . row('aborted') . '; ROLLBACK', row('deleted'), row('half_dropped', -2), row('kept'), row('elsewhere', -1, 1664),
  'DELETE FROM pg_database WHERE oid = ' . $oid{deleted},
  'BEGIN; DELETE FROM pg_database WHERE oid = ' . $oid{kept} . '; ROLLBACK', 'CHECKPOINT';

my $backup = $node->backup_dir . '/b';
$node->command_ok([ 'pg_basebackup', '-h', $node->host, '-p', $node->port, '-D', $backup, '-c', 'fast', '--no-sync', '--no-manifest' ], 'a backup');
$open->query_safe('ROLLBACK');
$open->quit;

my ($map) = map { s{[^/]+$}{pg_filenode.map}r } sql("SELECT pg_relation_filepath('pg_proc')");
sub in_folders
{
	my ($file, $bytes) = @_;
	foreach my $oid (values %oid)
	{
		mkdir "$backup/base/$oid";
		AccelWal::put("$backup/base/$oid/$file", $bytes);
	}
	return;
}

# By name: the status of what is said of its folder in base
sub said
{
	my ($call) = @_;
	my %said = map { split /\|/ } split /\n/, sql("SELECT split_part(path, '/', 2), string_agg(DISTINCT status, ' ') FROM $call WHERE path ~ '^base/7' GROUP BY 1");
	return join ', ', map { "$_ " . ($said{ $oid{$_} } // 'nothing') } sort keys %oid;
}
sub all_as { return join ', ', map { "$_ " . (/^(?:there|kept)$/ ? $_[0] : $_[1]) } sort keys %oid; }

in_folders('PG_VERSION', slurp_file("$backup/PG_VERSION"));
is(said("verify_cluster_files('$backup')"), all_as('missing', 'not_verifiable'), 'without a map');
is(said("verify_backup('$backup')"), all_as('missing', 'not_verifiable'), '... in a backup');
in_folders('pg_filenode.map', slurp_file("$backup/$map"));
is(said("verify_cluster_files('$backup')"), all_as('bad_format', 'not_verifiable'), 'without the files of the map');
is(said("verify_backup('$backup')"), all_as('bad_format', 'not_verifiable'), '... in a backup');
unlink "$backup/base/$_/PG_VERSION" foreach values %oid;
is(said("verify_backup('$backup')"), all_as('bad_format missing', 'not_verifiable'), 'without its version: in a backup');
in_folders('PG_VERSION', "14\n");
is(said("verify_backup('$backup')"), all_as('bad_format', 'not_verifiable'), 'of another version: in a backup');

# An archive keeps pg_database, and nothing of pg_xact.
mkdir "$backup.tar";
system_or_bail('tar', '-cf', "$backup.tar/base.tar", '-C', $backup, '.');
my $of_tar = said("verify_backup('$backup.tar')");
like($of_tar, qr/\b$_ not_verifiable\b/, "in an archive: $_") foreach 'none', 'half_dropped';
like($of_tar, qr/\b$_ bad_format\b/, "in an archive: $_") foreach 'there', 'kept';
mkdir "$backup.bare";
system_or_bail('tar', '-cf', "$backup.bare/base.tar", '-C', $backup, '--exclude=./base/7*', '.');
like(said("verify_backup('$backup.bare')"), qr/aborted nothing, deleted nothing, elsewhere nothing, half_dropped nothing, kept nothing, none nothing, open nothing/,
	'in an archive without their folders: rows whose fate is in pg_xact are not certain');

# The program says the same.
my ($code, $out) = AccelProgram::verify('cluster', $backup);
like($out, qr{^base/$oid{none}/pg_filenode\.map: not_verifiable: not verified: pg_database has no row of database $oid{none} in this tablespace, as after a crash}m, 'the program');
like($out, qr{^base/$oid{there}/pg_filenode\.map: bad_format}m, '... of a database');

# What cannot be read excuses nothing.
my $rows = sql("SELECT pg_relation_filepath('pg_database')");
my $page = AccelWal::peek_block("$backup/$rows", 0);
foreach my $case ([ 'a page that is none', sub { AccelWal::poke_block("$backup/$rows", 0, 12, pack('S', $blcksz + 8)) } ],
	[ 'a line pointer beyond the page', sub { AccelWal::poke_block("$backup/$rows", 0, 24, pack('L', 0xFFFFFFFF & ~0x10000 | 0x8000)) } ],
	[ 'a file of half a page', sub { Accel::resize("$backup/$rows", 0); AccelWal::put("$backup/$rows", substr $page, 0, $blcksz / 2) } ],
	[ 'no file', sub { unlink "$backup/$rows" or die $! } ])
{
	my ($what, $break) = @$case;
	$break->();
	is(said("verify_cluster_files('$backup')") =~ /none (\w+)/ && $1, 'bad_format', $what);
	AccelWal::put("$backup/$rows", $page);
}
is(said("verify_cluster_files('$backup')"), all_as('bad_format', 'not_verifiable'), 'as before');

done_testing();
