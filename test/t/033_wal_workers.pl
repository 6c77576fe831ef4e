# Workers share a folder of WAL: the same rows as without them, whatever happens
# to them, and nothing is left behind.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	conf => <<'CONF');
wal_keep_size = 512MB
autovacuum = off
restart_after_crash = on
max_worker_processes = 8
max_parallel_workers = 8
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# --- the same rows -------------------------------------------------------------

sql('CREATE TABLE t (id int, filler text)');
sql(q{INSERT INTO t SELECT g, repeat('x', 300) FROM generate_series(1, 60000) g; SELECT pg_switch_wal()});
AccelWal::copy_files($node->data_dir . '/pg_wal', $dir);
my @names = split /\n/, sql("SELECT segment FROM verify_wal('$dir') WHERE records > 0");
cmp_ok(scalar(@names), '>', 15, scalar(@names) . ' segments');
AccelWal::poke("$dir/$names[$_]", 500_000, 'damage') foreach 0, 3, 4, $#names - 1;
unlink "$dir/$names[7]";

my $rows = "SELECT array_agg(w::text ORDER BY n) FROM verify_wal('$dir', workers => %d)
	WITH ORDINALITY AS w(a, b, c, d, e, f, g, h, i, j, k, l, m, n1, o, p, q, n)";
my $expected = sql(sprintf $rows, 0);
my $order = sql("SELECT array_agg(segment) FROM verify_wal('$dir')");
is(sql("SELECT count(*) FROM verify_wal('$dir') WHERE status IN ('corrupt', 'missing')"), 5, 'damage and a gap');
foreach my $workers (1, 2, 7, 100)
{
	is(sql(sprintf $rows, $workers), $expected, "$workers workers: the same rows");
	is(sql("SELECT array_agg(segment) FROM verify_wal('$dir', workers => $workers)"),
		$order, "$workers workers: in the same order");
}
is(sql("SELECT array_agg(w::text) FROM verify_wal('$dir', '$names[1]', '$names[2]', workers => 2) w"),
	sql("SELECT array_agg(w::text) FROM verify_wal('$dir', '$names[1]', '$names[2]') w"),
	'more workers than segments');
is(sql("SELECT count(*) FROM verify_wal('$dir', '$names[1]', '$names[1]', workers => 2) w"), 1, 'one segment');

# no free worker: the leader does all of it
foreach my $free (1, 0)
{
	sql("ALTER SYSTEM SET max_parallel_workers = $free; SELECT pg_reload_conf()");
	$node->poll_query_until('postgres', "SELECT current_setting('max_parallel_workers') = '$free'");
	is(sql(sprintf $rows, 4), $expected, "$free free workers for four: the same rows");
}
sql('ALTER SYSTEM RESET max_parallel_workers; SELECT pg_reload_conf()');

# --- what can happen to them -----------------------------------------------------

# Work for some seconds: segments of 1 GB, all of them one file, which is a hole.
my $long = PostgreSQL::Test::Utils::tempdir();
my $files = 40;
sub long_name { return sprintf("$long/00000001%08X%08X", $_[0] / 4, $_[0] % 4) }
open(my $hole, '>', long_name(4)) or die $!;
truncate($hole, 1024 * 1024 * 1024) or die $!;
close $hole;
link long_name(4), long_name(4 + $_) or die $! foreach 1 .. $files - 1;
my $slow = "SELECT count(*) FROM verify_wal('$long', workers => 2) WHERE status <> 'missing'";

my $worker = "FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND query LIKE '%verifying WAL%'";
my $descriptors = "SELECT 'fds', count(*) FROM pg_ls_dir('/proc/self/fd') fd
	WHERE (pg_stat_file('/proc/self/fd/' || fd, true)).size = 1024 * 1024 * 1024";

# Runs the slow query in a session of its own and then looks at its descriptors;
# meanwhile, once both workers are there, something happens.
sub meanwhile
{
	my ($title, $what) = @_;
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
			'-v', 'ON_ERROR_STOP=0',
			map { ('-c', $_) } ("SELECT count(*) FROM verify_wal('$dir', workers => 2)", $slow, $descriptors) ],
		'>', \$out, '2>', \$err);
	# not those of the first query
	$node->poll_query_until('postgres', "SELECT count(*) = 2 $worker AND leader_pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE '%missing%')")
	  or fail("$title: never saw two workers");
	$what->();
	eval { $session->finish };
	return ($out, $err);
}

sub nothing_left
{
	my ($title, $out) = @_;
	is(sql("SELECT count(*) $worker"), 0, "$title: no worker is left");
	like($out, qr/^fds\|0$/m, "$title: the session lives on, no descriptor of a segment is left open");
	is(sql(sprintf $rows, 2), $expected, "$title: all is well afterwards");
	return;
}

my ($out, $err) = meanwhile('terminated', sub { sql("SELECT pg_terminate_backend(pid) $worker LIMIT 1") });
like($err, qr/ERROR:  57P01.*parallel worker/s, 'a worker terminated: an error');
unlike($out, qr/^$files$/m, 'terminated: no rows');
nothing_left('terminated', $out);

($out, $err) = meanwhile('cancelled', sub {
	sql("SELECT pg_cancel_backend(leader_pid) FROM (SELECT DISTINCT leader_pid $worker) w") });
like($err, qr/ERROR:  57014/, 'a cancel ends the leader');
nothing_left('cancelled', $out);

# the leader itself is terminated: its workers go too
($out, $err) = meanwhile('leader terminated', sub {
	sql("SELECT pg_terminate_backend(leader_pid) FROM (SELECT DISTINCT leader_pid $worker) w") });
like($err, qr/FATAL:  57P01/, 'the leader terminated');
$node->poll_query_until('postgres', "SELECT count(*) = 0 $worker") or fail('workers outlive their leader');
is(sql(sprintf $rows, 2), $expected, 'leader terminated: all is well afterwards');

# killed: the server goes through a crash restart
($out, $err) = meanwhile('killed', sub { kill 9, sql("SELECT pid $worker LIMIT 1") });
unlike($out, qr/^$files$/m, 'a worker killed: no rows');
Accel::comes_back($node) or fail('the server never came back');
is(sql("SELECT count(*) $worker"), 0, 'killed: no worker is left');
is(sql(sprintf $rows, 2), $expected, 'killed: all is well afterwards');
is(sql($slow), $files, 'and the whole folder');

# bad input
foreach my $workers (-1, 1025)
{
	$node->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM verify_wal('$dir', workers => $workers)", stderr => \$err);
	like($err, qr/ERROR:  22023/, "workers => $workers");
}

$node->stop;
done_testing();
