# Who locks, alters, empties or drops the tables of the history while a run is at
# work: neither the run nor the other session fails for it.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
max_worker_processes = 12
max_parallel_workers = 4
deadlock_timeout = 100ms
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE f1 AS SELECT 1 a;
CREATE TABLE slow WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 100) i;
DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE t%s AS SELECT 1 a', i); END LOOP; END $$;
CHECKPOINT;
SQL

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# It is read for less than a second: no time to start a session.
my $reading = Accel::until_locked('slow');
my $tables = Accel::relations($node, q{relname ~ '^(f.|slow|t.)$'});

# A run in the background, something else once it reads the slow table; before
# that, or even before the run, another session begins something.
sub beside
{
	my ($workers, $before, $meanwhile, $early) = @_;
	my ($out, $err, $run, $seen);
	my $other = $node->background_psql('postgres', on_error_stop => 0);

	# who looks too late on a machine at work looks at a slower one
	foreach my $rate (1000, 250, 60)
	{
		($out, $err) = ('', '');
		$other->query("BEGIN; $before") if $early;
		$run = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), '-c',
			"CALL verify_database(workers => $workers, max_rate => $rate, $tables, cluster_files => false)" ],
			'>', \$out, '2>', \$err);
		$seen = $other->query($reading);
		last if $seen eq 'yes';
		$other->query('ROLLBACK');
		eval { $run->finish };
	}
	is($seen, 'yes', 'somebody reads the table');
	$other->query("BEGIN; $before") if $before && !$early;
	my $got = join ' ', map { scalar $other->query("$_; SELECT 'done'") } ref $meanwhile ? @$meanwhile : $meanwhile;
	$other->query('COMMIT') if $before;
	eval { $run->finish };
	$other->quit;
	return ($got, $err);
}

my $recorded = "SELECT count(*) FROM verify_run_relations WHERE run = (SELECT max(run) FROM verify_runs)";
my $state = "SELECT string_agg(state || ' ' || relations, ',') FROM verify_runs WHERE run = (SELECT max(run) FROM verify_runs)";
for my $workers (0, 3)
{
	my $with = "$workers workers";
	my ($got, $err);

	for my $table (qw(verify_run_relations verify_runs))
	{
		# a worker reads it while the run waits to record the one before
		($got, $err) = beside($workers, "LOCK TABLE $table", 'LOCK TABLE slow', $workers > 0 && $table eq 'verify_run_relations');
		is($got, 'done', "$with: who holds $table gets a table that the run reads");
		unlike($err, qr/could not record|ERROR/, '... and the run its history');
		is(query($state), 'completed 13', '... to its end');
	}
	($got, $err) = beside($workers, '', [ 'ALTER TABLE verify_run_relations ADD added text', 'ALTER TABLE verify_run_relations DROP added',
		'CREATE INDEX added ON verify_run_relations (findings)', 'DROP INDEX added', 'VACUUM FULL verify_run_relations', 'REINDEX TABLE verify_runs' ]);
	is($got, 'done done done done done done', "$with: tables and indexes of the history are altered");
	unlike($err, qr/could not record|ERROR/, '... and the run goes on');
	is(query($recorded), '13', '... with all of its history');
	($got, $err) = beside($workers, '', 'TRUNCATE verify_runs, verify_run_relations, verify_findings, internal_positions');
	is($got, 'done', "$with: the history is emptied");
	like($err, qr/INFO: .*completed: 13 relations/, '... and the run goes on');
	($got, $err) = beside($workers, '', 'DROP EXTENSION crc32c_accel');
	is($got, 'done', "$with: the extension is dropped");
	like($err, qr/WARNING.*could not record.*INFO: .*completed: 13 relations/s, '... and the run goes on');
	unlike($err, qr/ERROR/, '... without an error');
	query('CREATE EXTENSION crc32c_accel');
}

# a time limit holds, whoever has the history
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; LOCK TABLE verify_run_relations; SELECT 1');
my $err = '';
foreach my $seconds (2, 8, 32)	# time may be up before there is something to record
{
	(undef, undef, $err) = $node->psql('postgres', "CALL verify_database(relations => '{slow}', max_duration => '$seconds s')");
	last if $err =~ /could not record/;
}
like($err, qr/WARNING:  could not record.*could not obtain lock.*INFO:  stopped: [01] relations?/s, 'max_duration bounds the wait for the history');
(undef, undef, $err) = $node->psql('postgres', "SET lock_timeout = '100 ms'; CALL verify_database(relations => '{slow}')");
like($err, qr/WARNING:  could not record.*lock timeout.*INFO:  completed: \d relations?/s, 'so does lock_timeout, and the run goes on');
$other->quit;

$node->stop;
done_testing();
