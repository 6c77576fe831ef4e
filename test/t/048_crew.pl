# One set of workers for a whole run of a database: small relations whole, large
# ones in chunks.  What is said and recorded is what it is without them, whatever
# happens to them.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
max_worker_processes = 12
max_parallel_workers = 4
shared_buffers = 64MB
max_locks_per_transaction = 256
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE SCHEMA odd;
CREATE TABLE "odd"."name "" of one" (t text PRIMARY KEY);
CREATE TABLE first AS SELECT 1 a;
CREATE TABLE slow WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 250) i;
DO $$ BEGIN FOR i IN 1..1500 LOOP EXECUTE format('CREATE TABLE t%s AS SELECT 1 a', i); END LOOP; END $$;
CREATE TABLE large WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 5000) i;
DO $$ BEGIN FOR i IN 1501..2500 LOOP EXECUTE format('CREATE TABLE t%s AS SELECT 1 a', i); END LOOP; END $$;
CREATE UNLOGGED TABLE unlogged AS SELECT 1 a;
CREATE TABLE emptied ();
CREATE SEQUENCE s;
CREATE TABLE last AS SELECT 1 a;
CHECKPOINT;
SQL

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# Runs; returns its messages, times and rates aside.
sub run
{
	my ($arguments, %more) = @_;
	my ($out, $err);
	$node->psql('postgres', "$more{set}\\set VERBOSITY verbose\nCALL verify_database($arguments)",
		stdout => \$out, stderr => \$err);
	$err =~ s/ in [\d.]+ s \(.*?\)//g;
	$err =~ s/^LOCATION:.*\n//mg;
	$err =~ s/'2\d\d\d-.*?'/TIME/g;
	return $err;
}

# What the last run has recorded, order included, our own tables aside.
sub recorded
{
	return query(q{SELECT count(*), md5(string_agg(format('%s %s %s %s %s %s %s %s %s %s', relid, blocks, findings, zero_blocks,
			schema_name, relation_name, kind, owner_table, tablespace, filenode), ',' ORDER BY verified_at)),
			bool_and(began_at <= verified_at)
		FROM verify_run_relations WHERE run = (SELECT max(run) FROM verify_runs)})
	  . query(q{SELECT string_agg(concat_ws(' ', relid, fork, blkno, status, path, message), ',' ORDER BY ctid)
		FROM verify_findings WHERE run = (SELECT max(run) FROM verify_runs)})
	  . query('SELECT state, findings, not_verifiable FROM verify_runs ORDER BY run DESC LIMIT 1');
}

# damage: in a small one, in several chunks of a large one, in the last
my %path = map { $_ => $node->data_dir . '/' . query("SELECT pg_relation_filepath('$_')") } qw(t700 large last emptied);
my $blocks = query("SELECT pg_relation_size('large') / $blcksz");
cmp_ok($blocks, '>', 3 * 1024, 'a table of several chunks');
$node->stop;
for (['t700', 0], (map { ['large', $_] } 0, 1023, 1024, 2500, $blocks - 1), ['last', 0])
{
	my ($name, $block) = @$_;
	my ($segment, $offset) = Accel::place($path{$name}, $block);
	open my $file, '+<:raw', $segment or die $!;
	seek $file, $offset + $blcksz - 92, 0;
	print $file 'damage';
	close $file or die $!;
}
unlink $path{emptied} or die $!;
$node->start;
my $mine = Accel::relations($node, q{relname NOT LIKE 'verify\_%' AND relname NOT LIKE 'internal\_%'
	AND relkind = 'r' AND relnamespace <> 'pg_catalog'::regnamespace});

my $messages = run("workers => 0, verbose => true, $mine");
my $expected = recorded();
like($messages, qr/WARNING.*t700.*WARNING.*blocks 1023 to 1024 of relation public.large.*WARNING.*public.last/s, 'without workers: the findings in order');
for my $workers (1, 2, 4, 50)
{
	is(run("workers => $workers, verbose => true, $mine"), $messages, "$workers workers: the same messages in the same order");
	is(recorded(), $expected, "$workers workers: the same history");
}
is(run("workers => 2, verbose => true, $mine, max_rate => 1000000"), $messages, 'with a bound on the rate: the same');

# memory does not grow with the relations: a relcache entry takes 2 kB, and stays
# (malloc keeps some 1,348 kB of a call for a while, on 16, so its contexts are asked)
my $few = Accel::relations($node, q{relname LIKE 't1%'});
for my $workers (0, 2)
{
	my $used = q{SELECT 'used=' || sum(used_bytes)::bigint / 1024 FROM pg_backend_memory_contexts;};
	my ($before, @after) = query("SET client_min_messages = error; CALL verify_database($few, workers => $workers); $used" .
		" CALL verify_database($mine, workers => $workers); $used" x 3) =~ /used=(\d+)/g;
	cmp_ok((sort { $a <=> $b } @after)[0] - $before, '<', 256, "$workers workers: more relations take no more memory");
	note("from $before to @after kB");
}

# resuming, and stopping
is(query('SELECT count(*) FROM internal_positions'), '0', 'no position is left');
my $stopped = run("workers => 3, max_duration => '0.5 s', max_rate => 10000, $mine");
like($stopped, qr/INFO: .*stopped: \d+ relations.*reverify_after/s, 'max_duration stops it');
my $done = query('SELECT relations FROM verify_runs ORDER BY run DESC LIMIT 1');
is(query('SELECT count(*), count(*) = count(DISTINCT relid) FROM verify_run_relations WHERE run = (SELECT max(run) FROM verify_runs)'),
	"$done|t", 'with what it has recorded');
my $since = query('SELECT started_at FROM verify_runs ORDER BY run DESC LIMIT 1');
my $all = query('SELECT count(DISTINCT relid) FROM verify_run_relations WHERE run = 1');
run("workers => 3, reverify_after => now() - '$since', $mine");
is(query("SELECT count(DISTINCT relid) FROM verify_run_relations WHERE verified_at >= '$since'"), $all, 'and the next one does the rest');

# the rate holds over all processes
my $start = time;
run("workers => 3, max_rate => 16384, relations => '{large}'");
cmp_ok(time - $start, '>=', $blocks / 2048 - 0.2, 'max_rate bounds leader and workers together');

# watched: who is there, what they hold, what ends them
my $there = "FROM pg_stat_activity WHERE backend_type = 'crc32c_accel worker'";
my $leader = "FROM pg_stat_activity WHERE query LIKE 'CALL%' AND backend_type = 'client backend'";

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
			'>', \$out, '2>', \$err);
		last if Accel::seen_in($node, $run, $until);
		eval { $run->finish };
		undef $run;
	}
	return fail("never: $until") if !$run;
	$meanwhile->();
	eval { $run->finish };
	return $err;
}
# (40 MB: a run that is ended meanwhile, and one that is not)
my $slow = "workers => 3, max_rate => 1000, relations => '{large}'";
my $whole = $slow =~ s/1000/8000/r;
my $working = "SELECT count(*) = 3 FROM pg_locks WHERE relation = 'large'::regclass AND granted AND mode = 'AccessShareLock'
	AND pid IN (SELECT pid $there)";
my $error = watch($slow, $working, sub { query("SELECT pg_cancel_backend(pid) $leader") });
like($error, qr/INFO: .*cancelled:.*ERROR:  57014/s, 'a cancel ends the run');
$node->poll_query_until('postgres', "SELECT count(*) = 0 $there");
is(query("SELECT count(*) $there"), '0', 'and its workers');
my $log = -s $node->logfile;
$error = watch("workers => 0, max_rate => 1000, $mine", "SELECT count(*) = 1 FROM verify_progress WHERE relations_done > 2", sub {
	query("SELECT pg_log_backend_memory_contexts(pid) $leader");
	ok($node->wait_for_log(qr/Grand total/, $log), 'memory contexts are logged');
	query("SELECT pg_cancel_backend(pid) $leader");
});
my ($list) = slurp_file($node->logfile, $log) =~ /SPI Proc: (\d+) total/;
cmp_ok($list, '<', 200 * 1024, 'the list of 2500 relations takes 16 bytes for each, and room to grow');
$error = watch($slow, $working, sub { query("SELECT pg_terminate_backend(pid) $leader") });
$node->poll_query_until('postgres', "SELECT count(*) = 0 $there");
is(query("SELECT count(*) $there"), '0', 'so does the end of its session');
$error = watch($whole, $working, sub { query("SELECT pg_terminate_backend(pid) $there LIMIT 2") });
like($error, qr/completed: \d+ relations, 50\d\d blocks.*; 5 findings/, 'workers that are terminated: the batch is done again, and whole');
$error = watch($whole, $working, sub {
	my $locker = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'),
		'-c', "SET lock_timeout = '300s'; LOCK TABLE large IN ACCESS EXCLUSIVE MODE" ], '>', \my $o, '2>', \my $e);
	$locker->finish;
	is($e, '', 'who waits for the table gets it after the run');
});
like($error, qr/completed: \d+ relations, 50\d\d blocks.*; 5 findings/, 'and the run does not wait for who waits for it');

# a relation that is locked is the run's: as without workers
my $locker = $node->background_psql('postgres', on_error_stop => 1);
$locker->query_safe('BEGIN; LOCK TABLE t800; SELECT 1');
$error = run("workers => 3, $mine", set => "SET lock_timeout = '100ms';\n");
like($error, qr/WARNING.*could not verify relation public.t800/s, 'a lock that is not to be had in time: not verifiable');
is(scalar(() = $error =~ /could not verify/g), 1, 'that one alone');
$locker->query_safe('COMMIT; SELECT 1');
$locker->quit;

# who holds a lock that the run wants, and wants one that a worker has, gets it:
# the server takes the run and its workers for one
$locker = $node->background_psql('postgres', on_error_stop => 0);
$locker->query("SET deadlock_timeout = '100ms'");
# (it is read for two seconds: no time to start a session; who looks too late on a
# machine at work looks at a slower one)
my $got = 'never read';
foreach my $rate (1000, 250, 60)
{
	$error = '';
	$locker->query('BEGIN; LOCK TABLE first');
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
		"CALL verify_database(workers => 3, max_rate => $rate, relations => '{first,slow}')" ],
		'>', \my $out, '2>', \$error);
	$got = $locker->query("LOCK TABLE slow; SELECT 'locked'") if $locker->query(Accel::until_locked('slow')) eq 'yes';
	$locker->query('COMMIT');
	eval { $run->finish };
	last if $got ne 'never read';
}
is($got, 'locked', 'no deadlock is seen where none is');
like($error, qr/completed: \d+ relations, [23]\d\d blocks.*; 0 findings/, 'and the run takes what was locked later');

# a run that waits for its history: workers that are done wait without a lock, for room
# to tell or for more to do
$locker->query('BEGIN; LOCK TABLE verify_run_relations IN EXCLUSIVE MODE');
$error = watch("workers => 2, max_rate => 1000000, $mine, cluster_files => false",
	"SELECT count(*) = 2 $there AND wait_event IN ('MessageQueueSend', 'Extension') AND (SELECT wait_event = 'Extension' $leader)",
	sub {
		# (of two, one may have taken nearly all, and the other waits for more)
		ok($node->poll_query_until('postgres',
				"SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'relation' AND pid IN (SELECT pid $there)"),
			'what they have to tell holds no lock');
		query("SELECT pg_terminate_backend(pid) $there");
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $there"), 'and they may be ended');
		$locker->query('COMMIT');
	});
$locker->quit;
like($error, qr/completed: \d+ relations, .*; 8 findings/, 'the run does what they have not told');

# no room for workers
$node->append_conf('postgresql.conf', 'max_parallel_workers = 1');
$node->reload;
is(run("workers => 3, verbose => true, $mine"), $messages, 'one worker for three');
$node->append_conf('postgresql.conf', 'max_parallel_workers = 0');
$node->reload;
is(run("workers => 3, verbose => true, $mine"), $messages, 'no worker at all');

$node->stop;
done_testing();
