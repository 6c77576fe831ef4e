# Beside logical replication: the history is written, and never decoded, so a
# subscriber that has no such tables goes on.
use strict;
use warnings;
use Accel;
use File::Temp qw(tempdir);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $publisher = Accel::new_node('publisher',
	conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nautovacuum = off\n");
my $subscriber = Accel::new_node('subscriber');
$_->start for $publisher, $subscriber;

sub query
{
	return $publisher->safe_psql('postgres', shift);
}

# Of all tables, and of a schema, to a database each.
my %publications = (everything => 'FOR ALL TABLES');
$publications{of_schema} = 'FOR TABLES IN SCHEMA public';
query('CREATE TABLE t (i int PRIMARY KEY)');
my $connection = $publisher->connstr('postgres') =~ s/'/''/gr;
for my $name (sort keys %publications)
{
	query("CREATE PUBLICATION $name $publications{$name}");
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	$subscriber->safe_psql($name, 'CREATE TABLE t (i int PRIMARY KEY)');
	$subscriber->safe_psql($name,
		"CREATE SUBSCRIPTION s_$name CONNECTION '$connection' PUBLICATION $name");
}

# A row arrives in both, or a subscriber has said why not.
my $sent = 0;
sub arrives
{
	my ($what) = @_;
	my $complaint = qr/logical replication target relation .* does not exist/;
	my $deadline = time + 2 * $PostgreSQL::Test::Utils::timeout_default;

	query('INSERT INTO t VALUES (' . ++$sent . ')');
	for my $name (sort keys %publications)
	{
		my $there = '';
		while (time < $deadline)
		{
			$there = $subscriber->safe_psql($name, "SELECT count(*) FROM t WHERE i = $sent");
			last if $there eq '1' || slurp_file($subscriber->logfile) =~ $complaint;
			usleep(100_000);
		}
		is($there, '1', "$what: $name goes on");
	}
	unlike(slurp_file($subscriber->logfile), $complaint, "$what: no table is asked for");
	return;
}
arrives('before');

my (undef, undef, $said) = $publisher->psql('postgres', 'CREATE EXTENSION crc32c_accel');
like($said, qr/INFO:  publication "everything" has the tables of the history/, 'an INFO says what remains');
like($said, qr/INFO:  publication "of_schema" has/, 'of each publication');
arrives('CREATE EXTENSION');

# Runs, one of them with findings and one that stops in a large table.
$subscriber->safe_psql($_, 'CREATE TABLE bad (i int)') for sort keys %publications;
query('CREATE TABLE bad AS SELECT generate_series(1, 1000) AS i; CHECKPOINT');
my $file = $publisher->data_dir . '/' . query("SELECT pg_relation_filepath('bad')");
$publisher->stop;
open my $handle, '+<:raw', $file or die "$file: $!";
seek $handle, 4000, 0;
print {$handle} 'rot' x 10;
close $handle;
$publisher->start;
arrives('a restart');
query('CALL verify_database()') for 1 .. 3;
query("CALL verify_database(max_duration => '1 ms')");
is( query("SELECT count(*), count(DISTINCT run), bool_and(finished_at IS NOT NULL) FROM verify_runs"),
	'4|4|t', 'every run is recorded');
is(query("SELECT count(*) FROM verify_findings WHERE relid = 'bad'::regclass"), '3', 'and its findings');
arrives('runs');

# What rows and indexes say is the same.
for my $table ([ 'verify_runs', 'run > 0' ], [ 'verify_run_relations', 'run > 0' ],
	[ 'verify_findings', 'run > 0' ])
{
	my ($name, $where) = @$table;
	is( query("SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM $name WHERE $where"),
		query("SELECT count(*) FROM $name"),
		"$name: its index has every row");
}

# Archives: a key, whose rows are replaced.
my $archive = tempdir(CLEANUP => 1);
chmod 0755, $archive;
query('SELECT pg_switch_wal()');
system("cp " . $publisher->data_dir . "/pg_wal/00000001????????00000001 $archive/") == 0 or die;
for my $turn (1, 2)
{
	query("CALL verify_wal_archive('$archive')");
	utime time, time + 10 * $turn, glob("$archive/*");
}
is(query('SELECT count(*) FROM verify_wal_files WHERE segment ~ \'01$\''), '1', 'an archive is recorded');
arrives('archives');

# Backups: rows that are replaced, and noted as gone.
mkdir "$archive/backup";
append_to_file("$archive/backup/backup_manifest", '{}');
query("CALL verify_backups('$archive')") for 1, 2;
unlink "$archive/backup/backup_manifest";
query("CALL verify_backups('$archive')");
is(query('SELECT count(*), count(gone_at) FROM verify_backup_verdicts'), '1|1', 'a backup is recorded');
arrives('backups');

# Dumps have the history.
my ($dump) = run_command([ 'pg_dump', '--exclude-table-data=bad', '-d', $publisher->connstr('postgres') ]);
like($dump, qr/COPY public\.verify_runs .*\n1\t/, 'a dump has the runs');
like($dump, qr/COPY public\.verify_findings .*\n1\t/, 'and their findings');

cmp_ok(query("SELECT prune_history('0')"), '>', 100, 'old rows go');
arrives('prune');
my ($rc) = $publisher->psql('postgres', "SET default_transaction_read_only = on; SELECT prune_history('0')");
isnt($rc, 0, 'a read-only transaction prunes nothing');
query('DROP EXTENSION crc32c_accel');
arrives('DROP EXTENSION');

$_->stop for $subscriber, $publisher;
done_testing();
