# A run goes on: the next night where the last one stopped, beside who wants its
# locks, within its time, without room for workers, and when one is cancelled.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
max_worker_processes = 12
max_parallel_workers = 4
dynamic_shared_memory_type = mmap
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE large WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 1200) i;
SELECT format('CREATE TABLE small%s AS SELECT 1 a', i) FROM generate_series(1, 5) i \gexec
CHECKPOINT;
SQL
my $all = Accel::relations($node, q{relname ~ '^(large|small.)$'}) . ', cluster_files => false';

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# A run's messages; undef: it did not end.
sub run
{
	my ($arguments, $before) = @_;
	my ($err, $late);
	$node->psql('postgres', ($before // '') . "CALL verify_database($arguments)",
		stderr => \$err, timeout => $PostgreSQL::Test::Utils::timeout_default, timed_out => \$late);
	return $late ? undef : $err;
}

# A run in the background; what is done when a query says yes; its messages.
sub watch
{
	my ($arguments, $until, $meanwhile) = @_;
	my ($out, $err, $run);

	# who looks too late on a machine at work looks at a slower one
	foreach my $slower (1, 4, 16)
	{
		my $call = 'CALL verify_database(' . $arguments =~ s{max_rate => \K(\d+)}{int($1 / $slower)}er . ')';
		($out, $err) = ('', '');
		$run = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), '-c', $call ],
			'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(3 * $PostgreSQL::Test::Utils::timeout_default));
		last if Accel::seen_in($node, $run, $until);
		eval { $run->finish };
		undef $run;
	}
	return fail("never: $until") if !$run;
	$meanwhile->();
	eval { $run->finish } or eval { $run->kill_kill };
	return $err;
}

# nights too short for the large table: it goes on, and the others have their turn
my $night;
for ($night = 1; $night <= 60; $night++)
{
	my $messages = run("$all, order_by => 'stalest', max_duration => '1 s', max_rate => 2400");
	like($messages, qr/stopped: .*HINT: .*goes on where this one stopped/s, 'the first night ends in the large table') if $night == 1;
	last if query("SELECT count(*) FROM verify_run_relations WHERE relid = 'large'::regclass") > 0;
}
cmp_ok($night, '>', 2, 'several nights');
is(query("SELECT count(*), min(blocks) = pg_relation_size('large') / $blcksz, bool_and(began_at < (SELECT started_at FROM verify_runs r WHERE r.run = v.run))
	FROM verify_run_relations v WHERE relid = 'large'::regclass"), '1|t|t', 'verified once, whole, over several runs');
is(query("SELECT count(DISTINCT relid) FROM verify_run_relations WHERE relation_name LIKE 'small%'
	AND verified_at < (SELECT verified_at FROM verify_run_relations WHERE relid = 'large'::regclass)"), '5', 'the others were before it was done');
my $done = query('SELECT max(run) FROM verify_runs');
like(run("$all, order_by => 'stalest'"), qr/completed: 8 relations/, 'a night that is long enough');
is(query("SELECT bool_and(blocks = pg_relation_size(relid) / $blcksz) FROM verify_run_relations WHERE run > $done"), 't', 'does all anew, from the first block');

# a lock that is not to be had, and the time is up
my $locker = $node->background_psql('postgres', on_error_stop => 1);
$locker->query_safe('BEGIN; LOCK TABLE small3; SELECT 1');
like(run("$all, max_duration => '1 s'") // 'waits for ever', qr/stopped: 5 relations/, 'max_duration bounds the wait for a lock');
$locker->query_safe('COMMIT; SELECT 1');

# who wants the table gets it from a run that is far from its end
my $reading = "SELECT count(*) = 1 FROM verify_progress WHERE relid = 'large'::regclass AND blocks_done > 0";
my $left;
my $messages = watch("relations => '{large}', max_rate => 800", $reading, sub {
	$locker->query_safe('BEGIN; LOCK TABLE large; SELECT 1');
	$left = query('SELECT count(*) FROM verify_progress');
	$locker->query_safe('COMMIT; SELECT 1');
});
is($left, '1', 'DDL does not wait for the end of a run');
like($messages, qr/completed: 3 relations, 12\d\d blocks/, 'which goes on after it');

# workers
my $there = "FROM pg_stat_activity WHERE backend_type = 'crc32c_accel worker'";
my $working = "SELECT count(*) = 2 FROM pg_locks WHERE relation = 'large'::regclass AND granted AND pid IN (SELECT pid $there)";
$messages = watch("relations => '{large}', workers => 2, max_rate => 1600", $working, sub { query("SELECT pg_cancel_backend(pid) $there") });
like($messages, qr/completed: 3 relations, 12\d\d blocks.*; 0 findings, 0 not/, 'who cancels workers does not cancel the run');
my @stopped;
$messages = watch("relations => '{large}', workers => 2, max_rate => 800, max_duration => '3 s'", $working, sub {
	@stopped = split /\n/, query("SELECT pid $there");
	kill 'STOP', @stopped;
});
like($messages, qr/INFO: .*stopped: /, 'max_duration bounds the wait for a worker');
kill 'CONT', @stopped;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $there"), 'which ends when it can');

# no room for shared memory
chmod 0500, $node->data_dir . '/pg_dynshmem' or die $!;
$messages = run("$all, workers => 2, max_rate => 1000000");
chmod 0700, $node->data_dir . '/pg_dynshmem' or die $!;
like($messages, qr/WARNING: .*could not start workers: .*completed: 8 relations/s, 'a run without room for workers goes on without them');

$locker->quit;
$node->stop;
done_testing();
