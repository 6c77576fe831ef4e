# Files of relations that pg_class names, and that are not there: found in a data
# directory that was shut down, and in a backup without a manifest.  What commands do
# while a backup is made is no finding.
use strict;
use warnings;
use Accel;
use AccelProgram;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

my $dir = PostgreSQL::Test::Utils::tempdir_short();
mkdir "$dir/$_" foreach qw(there mapped);
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE there LOCATION '$dir/there'", 'CREATE DATABASE other',
  'CREATE DATABASE placed TABLESPACE there';
sub make
{
	my ($database) = @_;
	sql($_, $database) foreach 'CREATE TABLE plain (a int PRIMARY KEY, b text)', 'INSERT INTO plain SELECT g, g FROM generate_series(1, 500) g',
	  'CREATE MATERIALIZED VIEW seen AS SELECT * FROM plain', 'CREATE SEQUENCE counted', 'CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS a',
	  'CREATE INDEX ON unlogged (a)', 'CREATE TABLE parts (a int) PARTITION BY RANGE (a)', 'CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)',
	  'CREATE INDEX ON parts (a)', 'CREATE TABLE moved AS SELECT 1 AS a', 'ALTER TABLE moved SET TABLESPACE there';
	return;
}
make($_) foreach 'postgres', 'other', 'placed';

# An access method of an extension may keep its data elsewhere.
sql($_) foreach 'CREATE ACCESS METHOD own TYPE TABLE HANDLER heap_tableam_handler', 'CREATE TABLE of_own (a int) USING own';
my $of_own = sql(q{SELECT pg_relation_filepath('of_own')});

# Its files by name, in each database
my %file;
foreach my $database (qw(postgres other placed))
{
	$file{"$database.$_"} = sql("SELECT pg_relation_filepath('$_')", $database) foreach qw(plain plain_pkey seen counted part part_a_idx moved pg_proc);
	$file{"$database.unlogged"} = sql("SELECT pg_relation_filepath('unlogged') || '_init'", $database);
	$file{"$database.toast"} = sql("SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE oid = 'plain'::regclass", $database);
	# a map has this one, and says so
	delete $file{"$database.pg_proc"};
	$file{"$database.pg_index"} = sql("SELECT pg_relation_filepath('pg_index')", $database);
}

sub findings { return sql("SELECT concat_ws(' ', path, status) FROM verify_backup('$_[0]') WHERE status <> 'ok_no_manifest' ORDER BY 1"); }

# --- a backup ----------------------------------------------------------------------------

my $backup = "$dir/backup";
$node->command_ok([ 'pg_basebackup', '-h', $node->host, '-p', $node->port, '-D', $backup, '-T', "$dir/there=$dir/mapped", '-c', 'fast', '--no-sync', '--no-manifest' ], 'a backup');
is(findings($backup), '', 'it is in order');
is(scalar(Accel::without($backup, $file{$_}, \&findings)), "$file{$_} missing", "a backup without $_") foreach sort keys %file;
is(scalar(Accel::without($backup, $of_own, \&findings)), '', 'of another access method');
my $oid = sql(q{SELECT 'plain'::regclass::oid});
my ($code, $out) = Accel::without($backup, $file{'postgres.plain'}, sub { AccelProgram::verify('backup', $backup) });
is($code, 2, 'the program: exit status');
like($out, qr{^$file{'postgres.plain'}: missing: relation $oid has this file, by pg_class of its database, but it is not there: all of it is lost; no WAL}m, 'the program');

# a segment is missing, which is one finding
append_to_file("$backup/$file{'postgres.plain'}.1", '');
is(scalar(Accel::without($backup, $file{'postgres.plain'}, \&findings)), "$file{'postgres.plain'} missing", 'a file whose next segment is there');
unlink "$backup/$file{'postgres.plain'}.1" or die $!;

# where pg_class is damaged, its rows say nothing, and that it is damaged is said
my $class = sql(q{SELECT pg_relation_filepath('pg_class')});
AccelWal::poke("$backup/$class", $_ * 8192 + 4000, "\xAA" x 100) foreach 0 .. (-s "$backup/$class") / 8192 - 1;
unlike(scalar(Accel::without($backup, $file{'postgres.plain'}, \&findings)), qr/^$file{'postgres.plain'} /m, 'a pg_class that is damaged');

# --- one that is made by hand beside commands --------------------------------------------

# The catalogs are from before and the files from after, or the reverse.
sub beside
{
	my ($what, @commands) = @_;
	my @catalogs = map { sql("SELECT pg_relation_filepath('$_')") } qw(pg_class pg_index);
	my $copy = "$dir/beside";
	my $do = sub {
		system_or_bail('cp', "$copy/$catalogs[0]", "$dir/class");
		sql($_) foreach @commands, 'CHECKPOINT';
	};
	foreach my $files_later (0, 1)
	{
		Accel::copy_by_hand($node, $copy, $files_later ? [ 'base', 'pg_tblspc' ] : \@catalogs, $do);
		is(findings($copy), '', $files_later ? "$what, all files later" : "$what, catalogs later");
		system_or_bail('cp', "$dir/class", "$copy/$catalogs[0]") if $files_later;
		is(findings($copy), '', "$what, all files but pg_class later") if $files_later;
		system_or_bail('rm', '-rf', $copy);
	}
	return;
}

beside('CREATE TABLE', 'DROP TABLE IF EXISTS new', 'CREATE TABLE new (a serial PRIMARY KEY, b text)', 'CREATE UNLOGGED TABLE IF NOT EXISTS unlogged_new (a serial)');
beside('DROP TABLE', 'DROP TABLE IF EXISTS new, unlogged_new', 'CREATE TABLE new (a serial PRIMARY KEY, b text)');
beside('what gives files', 'TRUNCATE plain', 'VACUUM FULL seen', 'REINDEX TABLE plain', 'ALTER TABLE part SET TABLESPACE there', 'ALTER TABLE part SET TABLESPACE pg_default',
	'ALTER TABLE unlogged SET LOGGED', 'ALTER TABLE unlogged SET UNLOGGED', 'REFRESH MATERIALIZED VIEW seen', 'REINDEX INDEX CONCURRENTLY part_a_idx');
beside('what is not committed', 'BEGIN; DROP TABLE plain CASCADE; CREATE TABLE aborted (a int); ROLLBACK', 'CREATE TEMP TABLE t (a int); SELECT 1');

# --- a data directory ---------------------------------------------------------------------

%file = map { my ($database, $name) = split /\./; $_ => sql("SELECT pg_relation_filepath('$name')", $database) } grep { !/toast|unlogged/ } keys %file;
sub program
{
	my ($code, $out) = AccelProgram::verify('cluster', $node->data_dir);
	return join ' ', $code, $out =~ /^(\S+): (missing|not_verifiable): /mg;
}

my $data = $node->data_dir;
sql('CREATE UNLOGGED TABLE last AS SELECT 1 AS a');
my $last = sql(q{SELECT pg_relation_filepath('last')});
$node->stop;
is(program(), '0', 'a server that was shut down');
is(scalar(Accel::without($data, $file{$_}, \&program)), "2 $file{$_} missing", "without $_") foreach sort keys %file;
is(scalar(Accel::without($data, "${last}_init", \&program)), "2 ${last}_init missing", 'without an init fork');
($code, $out) = Accel::without($data, $file{'other.seen'}, sub { AccelProgram::verify('cluster', '--format=json', $data) });
like($out, qr/"path":"$file{'other.seen'}","kind":"relation","status":"missing"/, 'as JSON');

$node->start;
is(sql("SELECT count(*) FROM verify_cluster_files() WHERE kind = 'relation'"), 0, 'a server that runs is asked by other functions');
my $copy = "$dir/stopped";
is(scalar(Accel::without($data, $file{'other.seen'}, \&program)), '0', 'while it runs');
$node->stop;
system_or_bail('cp', '-a', $data, $copy);
$node->start;
unlink "$copy/$file{'other.seen'}" or die $!;
is(sql("SELECT concat_ws(' ', path, kind, status, message) FROM verify_cluster_files('$copy') WHERE is_finding"),
	"$file{'other.seen'} relation missing relation " . sql(q{SELECT 'seen'::regclass::oid}, 'other') . ' of database ' . sql(q{SELECT oid FROM pg_database WHERE datname = 'other'}) .
	  ' has this file, by its pg_class, but it is not there: all of it is lost', 'by SQL');

# After a crash WAL may say more.
Accel::kill_all($node);
is(scalar(Accel::without($data, $file{'other.seen'}, \&program)), '0', 'after a crash');

done_testing();
