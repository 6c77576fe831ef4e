# A database that is copied as files, or moved, while a backup is made, and whose source
# is removed then.  Recovery copies what the backup has of the source, which matters
# where the copy stays.  A server that recovers says whether a verdict was right.
use strict;
use warnings;
use Accel;
use AccelProgram;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

my $dir = PostgreSQL::Test::Utils::tempdir_short();
mkdir "$dir/there";
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE there LOCATION '$dir/there'";

sub findings { return sql("SELECT concat_ws(' ', path, status) FROM verify_backup('$_[0]') WHERE status <> 'ok_no_manifest' ORDER BY 1"); }

# A server on a copy: what a table of a database has.
sub rows_of
{
	my ($backup, $database) = @_;
	my ($copy, $port) = ("$backup.started", PostgreSQL::Test::Cluster::get_free_port());
	my ($out, $error) = ('', '');
	system_or_bail('cp', '-a', $backup, $copy);
	unlink "$copy/backup_manifest";
	append_to_file("$copy/postgresql.conf", "port = $port\nallow_in_place_tablespaces = on\n");
	system("pg_ctl -D '$copy' -l '$copy.log' -s -w start >'$dir/said' 2>&1") == 0 or return 'no start';
	IPC::Run::run([ 'psql', '-XAtq', '-h', $node->host, '-p', $port, '-d', $database, '-c', 'SELECT count(*) FROM t' ], '>', \$out, '2>', \$error);
	system_or_bail('pg_ctl', '-D', $copy, '-s', '-m', 'immediate', 'stop');
	system_or_bail('rm', '-rf', $copy);
	return $out =~ s/\n$//r . ($error =~ /((?:FATAL|ERROR): .*)/ ? $1 : '');
}

# What is done while the backup is made, what undoes it, and the copy
my %done = (
	'is moved' => [ ['ALTER DATABASE original SET TABLESPACE there'], ['DROP DATABASE original'], 'original' ],
	'is copied' => [ [ 'CREATE DATABASE copy TEMPLATE original STRATEGY file_copy', 'DROP DATABASE original' ], ['DROP DATABASE copy'], 'copy' ],
	'is copied twice' => [ [ 'CREATE DATABASE first TEMPLATE original STRATEGY file_copy', 'CREATE DATABASE copy TEMPLATE first STRATEGY file_copy', 'DROP DATABASE first', 'DROP DATABASE original' ],
		['DROP DATABASE copy'], 'copy' ],
	'is moved there and back' => [ [ 'ALTER DATABASE original SET TABLESPACE there', 'ALTER DATABASE original SET TABLESPACE pg_default' ], ['DROP DATABASE original'], 'original' ]);
foreach my $what (sort keys %done)
{
	my ($do, $undo, $name) = @{ $done{$what} };
	foreach my $undone (0, 1)
	{
		sql('CREATE DATABASE original');
		sql('CREATE TABLE t AS SELECT 1', 'original');
		sql('CHECKPOINT');
		my $oid = sql(q{SELECT oid FROM pg_database WHERE datname = 'original'});
		my $table = sql(q{SELECT pg_relation_filepath('t')}, 'original');
		my ($backup, $end) = Accel::copy_by_hand($node, "$dir/backup", [], sub { sql($_) foreach @$do, $undone ? @$undo : () });
		sql($_) foreach $undone ? () : @$undo;
		my $case = $what . ($undone ? ', and the copy is dropped' : '');
		foreach my $manifest (0, 1)
		{
			my $judge = sub {
				Accel::make_manifest($backup, $end) if $manifest;
				my $said = findings($backup);
				unlink "$backup/backup_manifest";
				return $said;
			};
			my %lost = ("base/$oid/PG_VERSION" => 'missing', $table => 'missing', "base/$oid" => 'missing');
			is($judge->(), '', "$case: all of it is there" . ($manifest ? ', with a manifest' : ''));
			foreach my $path (sort keys %lost)
			{
				my $expected = $undone ? '' : "$path missing";
				# pg_database, as it was at first, names it
				$expected .= "\n$path/PG_VERSION undecided" if $expected && $path eq "base/$oid" && !$manifest;
				is(Accel::without($backup, $path, $judge), $expected, "... without $path");
			}
		}
		if (!$undone && $what =~ /moved$|twice/)
		{
			is(rows_of($backup, $name), '1', '... a server has it');
			like(Accel::without($backup, $table, sub { rows_of($backup, $name) }), qr/^ERROR: .*could not open file/, '... and without its file has lost it');
			like(Accel::without($backup, "base/$oid", sub { rows_of($backup, $name) }), qr/^FATAL: .*is not a valid data directory/, '... and without its folder, too');
			is(Accel::without($backup, "base/$oid", sub { Accel::make_manifest($backup, $end); system("pg_verifybackup -n '$backup' >'$dir/said' 2>&1") }), 0, '... which pg_verifybackup passes');
			unlink "$backup/backup_manifest";
		}
		system_or_bail('rm', '-rf', $backup);
	}
}

# One that records make may be copied; what the backup has of it does not matter.
my ($made, $end) = Accel::copy_by_hand($node, "$dir/made", [], sub {
	sql($_) foreach 'CREATE DATABASE original STRATEGY wal_log';
	sql('CREATE TABLE t AS SELECT 1', 'original');
	sql($_) foreach 'CREATE DATABASE copy TEMPLATE original STRATEGY file_copy', 'DROP DATABASE original';
});
is(findings($made), '', 'one that was made while the backup was');
Accel::make_manifest($made, $end);
is(findings($made), '', '... with a manifest');
is(rows_of($made, 'copy'), '1', '... a server has it');

# The program, in one line that says what happens
my ($backup) = Accel::copy_by_hand($node, "$dir/backup", ['base'], sub { sql('ALTER DATABASE copy SET TABLESPACE there') });
my ($code, $out) = AccelProgram::verify('backup', $backup);
is($code, 2, 'the program: exit status');
like($out, qr{^base/\d+: missing: a database is copied from this folder, of which nothing is there; recovery reads it for the record at }m, '... and what it says');

$node->stop;
done_testing();
