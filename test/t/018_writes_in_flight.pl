# A block is decided while nobody can be writing it: the locks that this takes,
# seen from those who wait for them, and a write that is half done.  What the
# storm (011) meets by chance happens here each time.
#
# The shim of 050_faults.pl stops a process before its read, holding what it
# holds then, or in the middle of its write.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Accel::fault_shim();

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
jit = off
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
shared_buffers = 16MB
CONF
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE t WITH (fillfactor = 40) AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, 50) g;
CREATE TABLE other AS SELECT * FROM t;
CREATE TABLE large AS SELECT g, repeat('l', 1000) AS b FROM generate_series(1, 10000) g;
CREATE INDEX ON large (g);
VACUUM t, other, large;
CHECKPOINT;
SQL
my $path = $q->("SELECT pg_relation_filepath('t')");
my $file = "$path\$";	# not that of its visibility map
my $verify = "SELECT blocks = verified_blocks, bad_blocks, retried_blocks, status FROM verify_relation_summary('t', 'main')";
my $findings = "SELECT blkno, status, buffer_state FROM verify_relation('t', 'main')";

# A statement in another session; what it says when it is over.
sub background
{
	my ($statement) = @_;
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $statement ],
		'<', \undef, '>', \$out, '2>', \$err);
	return sub { $session->finish; chomp $out; return "$out$err"; };
}

# The events of content locks have other names from 19 on.
sub waits_for
{
	my ($event, $who, $title) = @_;
	ok($node->poll_query_until('postgres',
			"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event ~ '^($event)\$' AND $who"), $title);
	return;
}

is($q->($verify), 't|0|0|ok', 'healthy');

# Below a buffer: who flushes it waits until the block has been read.
$q->("UPDATE t SET b = repeat('y', 500)");
AccelWal::poke($node->data_dir . "/$path", 8192 + 3000, 'damage');
my ($checkpoint, $flushed);
my ($out, $err) = Accel::stopped_at($node, 'read', '2+', $file, $findings, sub {
	if ($checkpoint)
	{
		$flushed //= $checkpoint->();	# before the device is asked
		return;
	}
	$checkpoint = background('CHECKPOINT');
	waits_for('BufferContent|BufferShareExclusive', "backend_type = 'checkpointer'", 'a flush waits while the block below its buffer is read');
});
is("$out$err", '1|bad_on_disk_cached_ok|dirty', 'what was read was the disk before the flush');
is($flushed // $checkpoint->(), '', 'then the flush goes on');
is($q->($verify), 't|0|0|ok', 'and heals the block');

# Not in shared buffers: who loads the block, as one must before it can be
# written, waits.  (What the sessions here need besides is loaded by now.)
$node->stop;
Accel::start_under($shim, $node);
$q->($_) foreach 'SELECT count(*) FROM other', "SELECT count(*) FROM verify_relation_summary('other', 'main')",
  "SELECT count(*) FROM pg_stat_activity WHERE wait_event = ''";
my $healthy = AccelWal::peek($node->data_dir . "/$path", 8192 + 3000, 6);
AccelWal::poke($node->data_dir . "/$path", 8192 + 3000, 'damage');
my $load;
($out, $err) = Accel::stopped_at($node, 'read', 2, $file, $verify, sub {
	AccelWal::poke($node->data_dir . "/$path", 8192 + 3000, $healthy);
	$load = background('SELECT count(*) FROM t');
	waits_for('BufferMapping', "backend_type = 'client backend'", 'a load waits while the block is read that nobody has');
});
is("$out$err", 't|0|1|ok', 'what was read last is what counts');
is($load->(), '50', 'then the load goes on');

# A write that is half done: a suspicion that waits for its end.
$node->append_conf('postgresql.conf', 'shared_buffers = 1MB');
$node->stop;
Accel::start_under($shim, $node);
$q->("UPDATE t SET b = repeat('z', 500)");
my $scan;
($out, $err) = Accel::stopped_at($node, 'write', 1, $file,
	'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(b) FROM large WHERE g > 0', sub {
	$scan = background($verify);
	waits_for('BufferContent|BufferExclusive', "query ~ '^SELECT blocks'", 'a block that is half written: the verifier waits');
});
is("$out$err", '10000', 'the write ends');
is($scan->(), 't|0|1|ok', 'and is no finding');

$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees');
done_testing();
