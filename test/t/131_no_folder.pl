# Databases that pg_database names, and of whose folder nothing is there: found in a
# data directory that was shut down, and in a backup without a manifest.  What CREATE,
# DROP and ALTER DATABASE do while a backup is made is no finding.
use strict;
use warnings;
use Accel;
use AccelProgram;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

my $dir = PostgreSQL::Test::Utils::tempdir_short();
mkdir "$dir/$_" foreach qw(there elsewhere mapped);
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE there LOCATION '$dir/there'",
  'CREATE TABLE beside TABLESPACE there AS SELECT 1 AS i', 'CREATE DATABASE plain', 'CREATE DATABASE placed TABLESPACE there', 'CHECKPOINT';
my %oid = map { split /\|/ } split /\n/, sql('SELECT datname, oid FROM pg_database');
my $tablespace = 'pg_tblspc/' . sql(q{SELECT oid FROM pg_tablespace WHERE spcname = 'there'});
my ($of_release) = grep { /^PG_/ } slurp_dir("$dir/there");
my $beside = sql(q{SELECT pg_relation_filepath('beside')});
my %folder = (plain => "base/$oid{plain}", placed => "$tablespace/$of_release/$oid{placed}");

sub findings { return sql("SELECT concat_ws(' ', path, status) FROM verify_backup('$_[0]') WHERE status <> 'ok_no_manifest' ORDER BY 1"); }

# --- a backup ----------------------------------------------------------------------------

my $backup = "$dir/backup";
$node->command_ok([ 'pg_basebackup', '-h', $node->host, '-p', $node->port, '-D', $backup, '-T', "$dir/there=$dir/mapped", '-c', 'fast', '--no-sync', '--no-manifest' ], 'a backup');
is(findings($backup), '', 'it is in order');
foreach my $name (sort keys %folder)
{
	my $path = $folder{$name};
	is(Accel::without($backup, $path, sub { findings($backup) }), "$path/PG_VERSION undecided", "a backup without the folder of $name");
	is( Accel::without($backup, $path, sub { mkdir "$backup/$path"; my $said = findings($backup); rmdir "$backup/$path"; $said }),
		"$path/PG_VERSION undecided", '... with an empty one');
}
my ($code, $out) = Accel::without($backup, $folder{plain}, sub { [ AccelProgram::verify('backup', $backup) ] })->@*;
is($code, 3, 'the program: exit status');
like($out, qr{^$folder{plain}/PG_VERSION: undecided: pg_database names this database, of whose folder nothing is there: all of it is lost, unless}m, 'the program');
is(Accel::without($backup, $tablespace, sub { findings($backup) }), '', 'a copy without the tablespace says nothing of its databases');

# --- one that is made by hand beside DDL ----------------------------------------------------

sub copied
{
	my ($name, $later, @between) = @_;
	return Accel::copy_by_hand($node, "$dir/$name", $later, sub { sql($_) foreach @between });
}

# The rows are from after, the folders from before.
my @rows = qw(global pg_xact);
foreach my $strategy (qw(wal_log file_copy))
{
	is(findings(copied("made_$strategy", \@rows, "CREATE DATABASE new STRATEGY $strategy", 'CHECKPOINT')), '', "CREATE DATABASE, $strategy");
	sql('DROP DATABASE new');
}
sql('CREATE DATABASE moved');
is(findings(copied('moved', \@rows, 'ALTER DATABASE moved SET TABLESPACE there', 'CHECKPOINT')), '', 'ALTER DATABASE SET TABLESPACE');

# The reverse
sql('CHECKPOINT');
is(findings(copied('dropped', [$tablespace], 'DROP DATABASE moved')), '', 'DROP DATABASE');

# --- a data directory ---------------------------------------------------------------------

my $data = $node->data_dir;
sub program
{
	my ($code, $out) = AccelProgram::verify('cluster', $data);
	return join ' ', $code, $out =~ /^(\S+): (missing|not_verifiable): /mg;
}

$node->stop;
is(program(), '0', 'a server that was shut down');
foreach my $name (sort keys %folder)
{
	my $path = $folder{$name};
	is(Accel::without($data, $path, \&program), "2 $path/PG_VERSION missing", "without the folder of $name");
	is(Accel::without($data, "$path/PG_VERSION", \&program), "2 $path/PG_VERSION missing", '... without its PG_VERSION');
}
($code, $out) = AccelProgram::verify('backup', $data);
like($out, qr/^\Q$data\E: \d+ files, .* verified/m, 'as a backup');
unlike($out, qr/pg_database names/, '... no database lacks its folder');
($code, $out) = Accel::without($data, $folder{plain}, sub { [ AccelProgram::verify('backup', $data) ] })->@*;
like($out, qr{^$folder{plain}/PG_VERSION: missing: pg_database names this database, of whose folder nothing is there: all of it is lost; no WAL}m, '... without a folder');
my $of_tablespace = "$tablespace/$of_release";
is(Accel::without($data, $tablespace, \&program), "2 $of_tablespace missing", 'without the link of a tablespace');
is(Accel::without($data, $tablespace, sub { mkdir "$data/$tablespace"; my $said = program(); rmdir "$data/$tablespace"; $said }),
	"2 $of_tablespace missing", 'an empty folder in its place, as of a file system that is not mounted');
is(Accel::without($dir, 'there', \&program), "2 $tablespace missing", 'with a link that leads nowhere');

# a role that may not see is no loss
SKIP:
{
	skip 'root sees all', 1 if $> == 0;
	chmod 0, "$data/$folder{plain}";
	unlike(program(), qr/missing/, 'a folder that cannot be read');
	chmod 0700, "$data/$folder{plain}";
}

$node->start;
sql('CHECKPOINT');
is(Accel::without($data, $folder{plain}, \&program), '0', 'while the server runs');
Accel::kill_all($node);
is(Accel::without($data, $folder{plain}, \&program), "3 $folder{plain}/PG_VERSION not_verifiable", 'after a crash');
is(Accel::without($data, $tablespace, \&program), "3 $of_tablespace not_verifiable", '... without the link of a tablespace');
$node->start;
sql("CREATE DATABASE last");
sql("DROP DATABASE plain");
Accel::kill_all($node);
is(program(), '0', 'after a crash that followed CREATE and DROP DATABASE');

done_testing();
