# max_rate holds over any second, wherever it starts: with and without workers,
# over a whole database, and with every block read twice because it is broken.
# The server's reads are logged by the shim of 050_faults.pl.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $shim = Accel::fault_shim();
my $log = PostgreSQL::Test::Utils::tempdir() . '/reads';

my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE large AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 18000) i;
CREATE TABLE broken AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 8000) i;
CREATE TABLE huge (i int);
CREATE TABLE parted (i int) PARTITION BY RANGE (i);
SELECT format('CREATE TABLE parted%s PARTITION OF parted FOR VALUES FROM (%1$s) TO (%1$s + 1)', g)
FROM generate_series(1, 300) g \gexec
INSERT INTO parted SELECT generate_series(1, 300);
CHECKPOINT;
SQL
my $broken = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('broken')");
my $huge = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('huge')");
$node->stop;
open my $fh, '+<:raw', $broken or die $!;
for (my $at = 5000; $at < -s $broken; $at += 8192)
{
	sysseek $fh, $at, 0;
	syswrite $fh, 'damage';
}
close $fh;
truncate $huge, 1 << 30 or die $!;	# a hole: new pages
{
	local $ENV{LD_PRELOAD} = $shim;
	local $ENV{FAULT_READ_LOG} = $log;
	$node->start;
}

# The most bytes that were read in a second, and the largest read.
sub busiest_second
{
	my (@reads) = @_;
	my ($first, $bytes, $most, $piece) = (0, 0, 0, 0);
	foreach my $i (0 .. $#reads)
	{
		$bytes += $reads[$i][2];
		$bytes -= $reads[ $first++ ][2] while $reads[$i][0] - $reads[$first][0] >= 1_000_000;
		$most = $bytes if $bytes > $most;
		$piece = $reads[$i][2] if $reads[$i][2] > $piece;
	}
	return ($most, $piece);
}

# [title, statement, max_rate, processes that read at least]
my $of = 'FROM verify_relation_summary';
foreach my $case (
	[ 'without workers', "SELECT sum(read_bytes) $of('large', max_rate => 8192)", 8192, 1 ],
	[ '2 workers', "SELECT sum(read_bytes) $of('large', max_rate => 8192, workers => 2)", 8192, 2 ],
	[ '4 workers', "SELECT sum(read_bytes) $of('large', max_rate => 10000, workers => 4)", 10000, 3 ],
	[ 'every block broken', "SELECT sum(read_bytes) $of('broken', max_rate => 8192)", 8192, 1 ],
	[ 'every block broken, 2 workers',
		"SELECT sum(read_bytes) $of('broken', max_rate => 8192, workers => 2)", 8192, 2 ],
	[ 'many partitions', "SELECT sum(read_bytes) $of('parted', max_rate => 1024)", 1024, 1 ],
	[ 'a block at a time', "SELECT sum(read_bytes) $of('large', last_block => 31, max_rate => 100)", 100, 1 ],
	[ 'less than a block a second', "SELECT sum(read_bytes) $of('large', last_block => 2, max_rate => 5)", 5, 1 ],
	[ 'fast', "SELECT sum(read_bytes) $of('huge', last_block => 60000, max_rate => 262144)", 262144, 1 ],
	[ 'fast, 2 workers', "SELECT sum(read_bytes) $of('huge', last_block => 120000, max_rate => 524288, workers => 2)", 524288, 2 ],
	[ 'a database', 'DROP TABLE IF EXISTS huge; CALL verify_database(max_rate => 16384, workers => 2, include_catalogs => false)',
		16384, 2 ])
{
	my ($title, $statement, $max_rate, $processes) = @$case;
	my ($out, $err, @reads, %readers);

	# on a machine at work a worker may come when all is done: once more
	for (1 .. 10)
	{
		open my $clean, '>', $log or die $!;
		close $clean;
		$node->psql('postgres', $_, stdout => \$out, stderr => \$err) foreach split /(?<=huge); /, $statement;
		@reads = sort { $a->[0] <=> $b->[0] } map { [ split / / ] }
		  grep { m{/base/\d+/(\d{5,})} } split /\n/, slurp_file($log);
		%readers = map { $_->[1] => 1 } @reads;
		last if keys %readers >= $processes;
	}
	cmp_ok(scalar(keys %readers), '>=', $processes, "$title: $processes processes read");

	my ($most, $piece) = busiest_second(@reads);
	my $limit = $max_rate * 1024;
	$limit = 8192 if $limit < 8192;
	my $total = 0;
	$total += $_->[2] foreach @reads;
	my $seconds = @reads ? ($reads[-1][0] - $reads[0][0]) / 1e6 : 0;
	cmp_ok($seconds, '>', 1, "$title: more than a second's reading");
	# the scheduler may stop each process between its turn and its read
	cmp_ok($most, '<=', $limit + $piece * keys %readers, "$title: no second with more than max_rate and a piece per process");
	note(sprintf '%-32s %7.0f kB/s at most, %7.1f kB in the second with most (%5.1f %%), %7.1f kB/s over all %.1f s, pieces of %d kB',
		$title, $max_rate, $most / 1024, $most * 100 / $limit, $seconds ? $total / 1024 / $seconds : 0,
		$seconds, $piece / 1024);
}

# those that read WAL: 12 MB at 4 MB/s
$node->safe_psql('postgres', "INSERT INTO large SELECT * FROM large LIMIT 20000; CHECKPOINT")
  while $node->safe_psql('postgres', "SELECT redo_lsn < pg_lsn('0/0') + 2 * 16777216 + 12000000::numeric FROM pg_control_checkpoint()") eq 't';
my $start = $node->safe_psql('postgres', 'SELECT redo_lsn - 12000000::numeric FROM pg_control_checkpoint()');
foreach my $function (qw(verify_lost_writes verify_wal_images))
{
	my $began = time;
	is($node->safe_psql('postgres', "SELECT count(*) FROM $function(start_lsn => '$start', max_rate => 4000)"), '0', "$function: a healthy server");
	cmp_ok(time - $began, '>', 2.5, '... as slow as max_rate says');
}
$node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT verify_lost_writes(max_rate => -1)", stderr => \my $refused);
like($refused, qr/ERROR:  22023/, 'a negative max_rate');

# One that ends in the middle of a segment, for its time is up, holds to it.
{
	open my $clean, '>', $log or die $!;
	close $clean;
	$node->psql('postgres', "CALL verify_cluster(max_rate => 4000, max_duration => '2s', cluster_files => false, include_catalogs => false)", stderr => \my $said);
	like($said, qr/was not read: time was up/, 'verify_cluster: lost writes are looked for until time is up');
	my @reads = sort { $a->[0] <=> $b->[0] } map { [ split / / ] } grep { m{/pg_wal/[0-9A-F]{24}} } split /\n/, slurp_file($log);
	my ($most, $piece) = busiest_second(@reads);
	cmp_ok($most, '>', 1000 * 1024, '... in WAL');
	cmp_ok($most, '<=', 4000 * 1024 + 4 * $piece, '... no second with more than max_rate');
	note(sprintf '%d kB of WAL in the second with most', $most / 1024);
}

$node->stop;
done_testing();
