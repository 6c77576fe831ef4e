# A block that is read again for a verdict, from storage that takes seconds a
# read: pgbench on another table goes on meanwhile.  Nothing of the damaged
# table is in the page cache, and the read that fetches the block lasts as long
# as pgbench runs (the shim of 050_faults.pl).  pgbench's own table does not fit
# into shared buffers, so each transaction needs partitions of the buffer
# mapping for itself.
#
# Then each read of the block stops, also where the file system cannot say what is
# in the page cache: others load all their blocks meanwhile, and read the page in
# shared buffers below which the block is damaged.
#
#	ACCEL_SLOW_SECONDS=n	how long the read takes (default 3, in the long form 8)
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_SLOW_SECONDS} || ($ENV{LONG} ? 8 : 3);
my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\nfsync = off\nshared_buffers = 128\n");
Accel::start_under($shim, $node);
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE slow AS SELECT g, repeat('s', 500) AS b FROM generate_series(1, @{[ Accel::built_with('BLCKSZ') / 80 ]}) g;
CREATE TABLE other AS SELECT g, repeat('o', 1000) AS b FROM generate_series(1, 20000) g;
CREATE INDEX other_g ON other (g);
VACUUM slow, other;
CHECKPOINT;
SQL
my $path = $node->safe_psql('postgres', "SELECT pg_relation_filepath('slow')");
$node->stop;
my $healthy = AccelWal::peek_block($node->data_dir . "/$path", 4, 3000, 6);
sub put { AccelWal::poke_block($node->data_dir . "/$path", 4, 3000, $_[0]); return; }
put('damage');
Accel::start_under($shim, $node);

my $script = $node->basedir . '/select.sql';
append_to_file($script, "\\set g random(1, 20000)\nSELECT b FROM other WHERE g = :g;\n");

# The transactions per second of a run.
sub tps
{
	my ($out, $err);
	IPC::Run::run([ 'pgbench', '-n', '-c', '2', '-T', $seconds, '-f', $script, $node->connstr('postgres') ],
		'>', \$out, '2>', \$err);
	return $out =~ /^tps = ([\d.]+)/m ? $1 : 0;
}

# A machine with other work has seconds without a transaction: what the read
# does to pgbench shows in every round, what the machine does in some.
my $share = 0;
for my $round (1 .. 5)
{
	my $before = tps();
	my $during;
	my ($out, $err) = Accel::stopped_at($node, 'coldread', 2, "$path\$",
		"SELECT blkno, status, buffer_state, retries FROM verify_relation('slow', 'main')",
		sub { $during = tps(); });
	my $after = tps();
	is("$out$err", '4|checksum_mismatch|uncached|3', "a read of $seconds s, and the block is decided");
	$share = 200 * $during / ($before + $after || 1);
	diag(sprintf 'tps %.0f before, %.0f during, %.0f after: %.0f %%', $before, $during, $after, $share);
	last if $share >= 50;
}
cmp_ok($share, '>=', 50, 'pgbench on another table keeps at least half of its rate');

# Each case: how storage answers, what others do at each read but the scan's, and
# what is found.
my $failed = 0;
sub stops_at_each_read
{
	my ($title, $call, $others, $found) = @_;
	my ($out, $err) = Accel::stopped_at($node, $call, '2+', "$path\$",
		"SELECT blkno, status, buffer_state, retries FROM verify_relation('slow', 'main')", sub {
			return if $failed;	# who waits for such a lock cannot be cancelled
			$node->psql('postgres', "SELECT count(b) FROM $others", stdout => \my $count, timeout => 60, timed_out => \$failed);
		});
	is($failed, 0, "$title: others go on at each read");
	is("$out$err", $found, "$title: the block is decided");
	return;
}
my $bad = '4|checksum_mismatch|uncached';
stops_at_each_read('not in the page cache', 'coldread', 'other', "$bad|3");
stops_at_each_read('no word of the page cache', 'farread', 'other', "$bad|8");

# Without a lock a single read may meet a write.  Here it is the fourth.
my $stop = 0;
my ($out, $err) = Accel::stopped_at($node, 'farread', '2+', "$path\$",
	"SELECT verified_blocks = blocks, bad_blocks, retried_blocks FROM verify_relation_summary('slow', 'main')", sub {
		$stop++;
		put($stop == 4 ? 'damage' : $healthy);
	});
is("$out$err", 't|0|1', 'reads without a lock that differ decide nothing');

$node->stop;
Accel::start_under($shim, $node);
$node->safe_psql('postgres', join ';', ('SELECT count(*) FROM slow') x 5);
put('damage');
my $cached = '4|bad_on_disk_cached_ok|clean';
stops_at_each_read('below a buffer, not in the page cache', 'coldread', 'slow', "$cached|3");
stops_at_each_read('below a buffer, no word of the page cache', 'farread', 'slow', "$cached|8");
$node->stop;
done_testing();
