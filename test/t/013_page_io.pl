# Reads that fail are findings at their blocks, and the scan goes on.  Uses the
# shim of 050_faults.pl.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');
use constant SEGMENT => Accel::built_with('RELSEG_SIZE');	# blocks

my $shim = Accel::fault_shim();

my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\nshared_buffers = 1MB\n");
Accel::start_under($shim, $node);
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C;
CREATE TABLE t AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, @{[ BLCKSZ / 13 ]}) g;
CHECKPOINT;
SQL
my $path = $node->safe_psql('postgres', "SELECT pg_relation_filepath('t')");
my $blocks = $node->safe_psql('postgres', "SELECT sum(blocks) FROM relation_files('t') WHERE fork = 'main'");
cmp_ok($blocks, '>', 32, 'more than two pieces');

# [title, fault, n-th read, for good, query, expected]
my $summary = "SELECT verified_blocks + zero_blocks, bad_blocks, read_bytes, status FROM verify_relation_summary('t', 'main')";
my $all = "$blocks|0|" . $blocks * BLCKSZ . '|ok';
foreach my $case (
	[ 'every read fails', 'eio', 1, 't', $summary, "0|$blocks|0|io_error" ],
	[ 'every read fails from the second piece on', 'eio', 2, 't',
		"SELECT count(*), min(blkno), max(blkno), count(DISTINCT blkno), string_agg(DISTINCT status, ','),
			bool_and(path = '$path' || coalesce('.' || nullif(blkno / @{[ SEGMENT ]}, 0), '') AND file_offset = blkno % @{[ SEGMENT ]} * @{[ BLCKSZ ]} AND message ~ 'Input/output error')
		FROM verify_relation('t')",
		$blocks - 16 . '|16|' . ($blocks - 1) . '|' . ($blocks - 16) . '|io_error|t' ],
	[ 'one read fails once', 'eio', 2, 'f', $summary, qr/^\Q$blocks\E\|0\|\d+\|ok$/ ],
	[ 'one read is interrupted', 'eintr', 2, 'f', $summary, $all ],
	[ 'one read comes back short', 'short', 2, 'f', $summary, $all ],
	[ 'every read comes back short', 'short', 1, 't', $summary, $all ])
{
	my ($title, $fault, $nth, $for_good, $query, $want) = @$case;
	my $got = $node->safe_psql('postgres',
		"SELECT fault_arm('read', '$fault', $nth, '$for_good', '$path'); $query; SELECT fault_fired() > 0");
	$got =~ s/^\n//;
	my @lines = split /\n/, $got;
	is($lines[-1], 't', "$title: it did");
	ref $want ? like($lines[0], $want, $title) : is($lines[0], $want, $title);
}
is($node->safe_psql('postgres', "SELECT count(*) FROM verify_relation('t')"),
	'0', 'all is well again');

# Digests: a row with a block that cannot be read has none, and a file that
# cannot be opened gives the same words as one block a row does.
my $first_blocks = join '', map { "$_|t\n" } grep { $_ % SEGMENT == 0 } 0 .. 31;	# of each file
foreach my $case (
	[ 'a block of a row cannot be read', 'read', 2, 16, "16|t\n", qr/no digest of block 16: io_error/ ],
	[ 'a file cannot be opened, a block a row', 'open', 1, 1, $first_blocks, qr/no digest of block 0: io_error/ ],
	[ 'a file cannot be opened, many', 'open', 1, 8, $first_blocks, qr/no digest of block 0: io_error/ ])
{
	my ($title, $call, $nth, $n, $want, $words) = @$case;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT fault_arm('$call', 'eio', $nth, true, '$path');
		SELECT blkno, crc32c IS NULL FROM page_digests('t', 'main', 0, 31, blocks_per_row => $n) WHERE crc32c IS NULL");
	is("$out\n" =~ s/^\n//r, $want, $title);
	like($err, $words, '... and is not silent');
}

# A slow read holds up nobody else.  Nothing of the table is in the page cache,
# and the read that fetches the damaged block stops: meanwhile another session
# loads blocks of all partitions of the buffer mapping.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE other AS SELECT g, repeat('o', 1000) AS b FROM generate_series(1, 20000) g;
CREATE TABLE slow AS SELECT g, repeat('s', 500) AS b FROM generate_series(1, @{[ BLCKSZ / 13 ]}) g;
CHECKPOINT;
SQL
my $slow = $node->safe_psql('postgres', "SELECT pg_relation_filepath('slow')");
$node->stop;
AccelWal::poke_block($node->data_dir . "/$slow", 20, 3000, 'damage');
Accel::start_under($shim, $node);
my ($others, $others_error);
my ($out, $err) = Accel::stopped_at($node, 'coldread', 3, $slow,
	"SELECT blkno, status, buffer_state, retries FROM verify_relation('slow', 'main')", sub {
	$node->psql('postgres', "SET statement_timeout = '300s'; SELECT count(*) FROM other",
		stdout => \$others, stderr => \$others_error);
});
is("$others$others_error", '20000', 'a read that waits for the disk: others load their blocks meanwhile');
is("$out$err", '20|checksum_mismatch|uncached|3', '... and the block is decided afterwards');

$node->safe_psql('postgres', 'DROP TABLE slow');

# A disk that is gone: a finding a block, and no more memory than for a few.
# The files are holes.
$node->safe_psql('postgres', 'CREATE TABLE large (i int); INSERT INTO large VALUES (1); CHECKPOINT');
$path = $node->safe_psql('postgres', "SELECT pg_relation_filepath('large')");
for (my $first = 0; $first < 131072; $first += SEGMENT)
{
	my ($hole) = Accel::place($node->data_dir . "/$path", $first);
	append_to_file($hole, '');
	truncate $hole, (SEGMENT < 131072 ? SEGMENT : 131072) * BLCKSZ;
}
my $peak = q{SELECT 'peak=' || (regexp_match(pg_read_file('/proc/self/status'), 'VmPeak:\s+(\d+) kB'))[1]};
foreach my $query ("SELECT 'n=' || count(*) FROM verify_relation('large')",
	"CALL verify_database(include_catalogs => false);
		SELECT 'n=' || findings FROM verify_runs")
{
	my ($function) = $query =~ /(verify\w+)/;
	my $got = $node->safe_psql('postgres',
		"SET log_min_messages = error; SET client_min_messages = error;
		SELECT fault_arm('read', 'eio', 1, true, '$path'); $peak; $query; $peak");
	my ($before, $after) = $got =~ /^peak=(\d+)$/mg;
	my ($found) = $got =~ /^n=(\d+)$/m;
	is($found, 131072, "$function: a finding a block");
	note("$function: grew by " . ($after - $before) . ' kB');
	cmp_ok($after - $before, '<=', 16 * 1024, "$function: at most 16 MiB more memory");
}
$node->stop;
done_testing();
