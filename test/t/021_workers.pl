# Workers share a relation: the same rows as without them, in the same order,
# whatever happens to them.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use constant BLCKSZ => Accel::built_with('BLCKSZ');

Accel::need_modules('pg_buffercache');
my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
restart_after_crash = on
max_worker_processes = 8
max_parallel_workers = 8
shared_buffers = 64MB
shared_preload_libraries = 'crc32c_accel'
CONF
$node->start;
my $filler = "repeat('x', @{[ BLCKSZ / 8 - 24 ]})";	# one row a page
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE EXTENSION pg_buffercache;
CREATE TABLE large WITH (fillfactor = 10) AS SELECT i, $filler t FROM generate_series(1, 50000) i;
CREATE TABLE small AS SELECT i FROM generate_series(1, 1000) i;
CHECKPOINT;
SQL

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# Damage in every chunk of 1024 blocks, many in one of them
my $blocks = query("SELECT pg_relation_size('large') / current_setting('block_size')::int");
my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('large')");
my @broken = sort { $a <=> $b } (0, 1023, 1024, 5000 .. 5400, 9000, $blocks - 1);
cmp_ok($blocks, '>', 3 * 16384, 'enough for three workers');
$node->stop;
AccelWal::poke_block($path, $_, 6000, 'damage') foreach @broken;
AccelWal::poke_block($path, $_, 0, "\0" x BLCKSZ) foreach 2040 .. 2050, 3000, 5401, $blocks - 3, $blocks - 2;	# new pages, over the end of a chunk
$node->start;

my $rows = "SELECT array_agg(v ORDER BY n) FROM verify_relation('large', workers => %d)
	WITH ORDINALITY AS v(relation, fork, blkno, path, file_offset, status, stored_checksum, computed_checksum,
	lsn, retries, buffer_state, message, n)";
my $summary = "SELECT fork, blocks, verified_blocks, zero_blocks, bad_blocks, unverifiable_blocks, retried_blocks, read_bytes, status, message
	FROM verify_relation_summary('large', workers => %d)";
my $expected = query(sprintf $rows, 0);
my $expected_summary = query(sprintf $summary, 0);
is(query("SELECT array_to_string(array_agg(blkno), ' ') FROM verify_relation('large')"),
	"@broken", 'without workers: the damage in block order');
for my $workers (1, 2, 4, 7, 100)
{
	is(query(sprintf $rows, $workers), $expected, "$workers workers: the same rows");
	is(query(sprintf $summary, $workers), $expected_summary, "$workers workers: the same totals");
}
is(query("SELECT array_to_string(array_agg(blkno), ' ') FROM verify_relation('large', 'main', 1023, 5001, workers => 2)"),
	'1023 1024 5000 5001', 'a range of blocks');
is(query("SELECT bad_blocks, blocks FROM verify_relation_summary('large', 'main', 1024, 2047, workers => 2)"),
	'1|1024', 'a range too short for a worker');

# digests: the same rows, the same words
sub digests	# ARGUMENTS
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT count(*), count(crc32c), md5(string_agg(p::text, ' ' ORDER BY n)) FROM page_digests('large', $_[0]) WITH ORDINALITY AS p(blkno, lsn, crc32c, n)");
	return "$out $err";
}
foreach my $case ([ 1, 'false' ], [ 1, 'true' ], [ 7, 'true' ], [ 1000, 'false' ], [ 5000, 'true' ], [ 2147483647, 'true' ])
{
	my $arguments = sprintf 'blocks_per_row => %d, masked => %s', @$case;
	my $alone = digests($arguments);
	is(digests("$arguments, workers => $_"), $alone, "digests by $_ workers: $arguments") foreach 2, 4;
}
foreach my $case ([ 1, 'true' ], [ 11, 'false' ], [ 3000, 'true' ])	# no damage in there: digests of all
{
	my $arguments = sprintf "'main', 1025, 4095, blocks_per_row => %d, masked => %s", @$case;
	my $alone = digests($arguments);
	like($alone, qr/^(\d+)\|\1\|/, "digests of all: $arguments");
	is(digests("$arguments, workers => $_, max_rate => 200000"), $alone, "... by $_ workers with a bound") foreach 0, 2, 4;
}

# relations that only this transaction knows
is(query("BEGIN; CREATE TABLE mine WITH (fillfactor = 10) AS SELECT i, $filler t FROM generate_series(1, 17000) i;
	SELECT status, blocks FROM verify_relation_summary('mine', 'main', workers => 2); ROLLBACK"),
	'ok|' . query("CREATE TABLE mine WITH (fillfactor = 10) AS SELECT i, $filler t FROM generate_series(1, 17000) i;
	SELECT pg_relation_size('mine') / current_setting('block_size')::int"), 'a relation created by this transaction');

# workers are really used
sub watch_workers	# a query in the background; waits for n workers, does something
{
	my ($statement, $n, $meanwhile) = @_;
	my ($stdout, $stderr) = ('', '');
	my $background = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), '-c', $statement ],
		'>', \$stdout, '2>', \$stderr);

	$node->poll_query_until('postgres', "SELECT count(*) = $n FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' AND query LIKE '%verifying relation%'")
	  or fail("never saw $n workers");
	$meanwhile->();
	eval { $background->finish };
	return ($stdout, $stderr);
}
# (390 MB: what comes meanwhile ends it)
my $slow = "SELECT fork, status FROM verify_relation_summary('large', 'main', workers => 3, max_rate => 2000)";
my $workers = "FROM pg_stat_activity WHERE backend_type = 'parallel worker'";
my $leader = "FROM pg_stat_activity WHERE query LIKE '%verify_relation_summary%' AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
my ($out, $err) = watch_workers($slow, 3, sub {
	ok($node->poll_query_until('postgres', "SELECT count(*) > 1 FROM pg_locks WHERE relation = 'large'::regclass
		AND mode = 'AccessShareLock' AND granted AND pid IN (SELECT pid $workers UNION SELECT pid $leader)"), 'workers hold their own lock');

	query("SELECT pg_cancel_backend(pid) $leader");
});
like($err, qr/ERROR:  57014/, 'a cancel ends the leader');
query('SELECT 1');
is(query("SELECT count(*) $workers"), '0', 'and its workers') or diag query("SELECT * $workers");

# ... with a lock queue: workers join in spite of it
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
my $queued = "FROM pg_locks WHERE relation = 'large'::regclass AND NOT granted";
($out, $err) = watch_workers("BEGIN; LOCK TABLE large IN ACCESS SHARE MODE;
	DO \$\$ BEGIN WHILE NOT EXISTS (SELECT $queued) LOOP PERFORM pg_sleep(0.05); END LOOP; END \$\$;
	SELECT fork, bad_blocks FROM verify_relation_summary('large', 'main', workers => 3, max_rate => 100000); COMMIT", 0, sub {
	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'large'::regclass AND granted)")
	  or fail('nobody has the lock');
	my $locker = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'),
		'-c', "SET lock_timeout = '300s'; LOCK TABLE large IN ACCESS EXCLUSIVE MODE" ], '>', \my $o, '2>', \my $e);
	$locker->finish;
	is($e, '', 'the other session gets the lock after us');
});
like($out, qr/main\|\d+/, 'no deadlock with an unrelated session that waits for an exclusive lock');
is($err, '', 'and no error');

# a worker that is terminated
($out, $err) = watch_workers($slow, 3,
	sub { query("SELECT pg_terminate_backend(pid) $workers LIMIT 1") });
like($err, qr/ERROR:  57P01.*parallel worker/s, 'a worker terminated: an error, no gap');
is($out, '', 'and no rows');
is(query(sprintf $summary, 2), $expected_summary, 'all is well afterwards');

# a worker that is killed takes the server through a restart
($out, $err) = watch_workers($slow, 3, sub {
	kill 9, query("SELECT pid $workers LIMIT 1");
});
is($out, '', 'a worker killed: no rows');
Accel::comes_back($node) or fail('the server never came back');
is(query(sprintf $summary, 2), $expected_summary, 'all is well afterwards');

# no free worker: the leader does the work itself
$node->append_conf('postgresql.conf', 'max_parallel_workers = 1');
$node->reload;
usleep(200_000);
is(query(sprintf $rows, 4), $expected, 'one worker for four');
$node->append_conf('postgresql.conf', 'max_parallel_workers = 0');
$node->reload;
usleep(200_000);
is(query(sprintf $rows, 4), $expected, 'no worker at all: the leader works');
$node->append_conf('postgresql.conf', 'max_parallel_workers = 8');
$node->reload;

# no pollution of shared buffers
$node->restart;
my $buffers = "SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('large')";
is(query($buffers), '0', 'nothing of the table is cached');
query(sprintf $rows, $_) for (0, 2);
is(query($buffers), '0', 'nor after verifying it');

# the rate: over any second, so the whole takes at least its share of seconds
for my $n (0, 2)
{
	my $start = time;
	query("SELECT count(*) FROM verify_relation('large', 'main', 0, 4095, workers => $n, max_rate => @{[ 2 * BLCKSZ ]})");
	cmp_ok(time - $start, '>=', 1.9, "max_rate with $n workers: 4096 blocks at 2048 a second take two seconds at least");
}

# bad input
for my $arguments ('workers => -1', 'workers => 5000', 'max_rate => -1')
{
	$node->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM verify_relation('small', $arguments)", stderr => \$err);
	like($err, qr/ERROR:  22023/, $arguments);
}

$node->stop;
done_testing();
