# A storage manager that is not the server's own (an encrypting one, say): blocks
# are read through it, one by one, and found healthy or broken all the same.
#
# The library is built once more so that it takes the server's manager for a
# stranger's (-DACCEL_THROUGH_SMGR).
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => 8192;

my $dir = PostgreSQL::Test::Utils::tempdir();
system_or_bail('cp', '-r', 'Makefile', 'README.md', 'crc32c_accel.control', 'src', 'sql', $dir);
system_or_bail('sh', '-c', "cd $dir && rm -f src/*.o src/*/*.o && make -s -j2 with_llvm=no"
	  . " PG_CFLAGS=-DACCEL_THROUGH_SMGR PG_CONFIG=pg_config crc32c_accel.so >make.log 2>&1 || { cat make.log; exit 1; }");

my $node = Accel::new_node('main', conf => "autovacuum = off\nshared_buffers = 4MB\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, 50000) g;
CREATE INDEX t_idx ON t (g);
CREATE SEQUENCE s;
VACUUM t;
CHECKPOINT;
SQL
sub query { return $node->safe_psql('postgres', $_[0]) }
query("UPDATE pg_proc SET probin = '$dir/crc32c_accel' WHERE probin LIKE '%crc32c_accel'");

is(query("SELECT count(*) FROM relation_segments('t')"), '0', 'of its files nothing is known: the variant is in use');
is(query("SELECT count(*) FROM pg_class c, verify_relation_checksums(c.oid) v WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')"),
	'0', 'the whole database: no finding');
is(query("SELECT fork, status, verified + new = blocks AND blocks * 8192 = pg_relation_size('t', fork)
		FROM verify_relation_summary('t')"),
	"main|ok|t\nfsm|ok|t\nvm|ok|t", 'every block of every fork');
is(query("SELECT count(*) FROM relation_page_crcs('t') r
		WHERE r.crc32c <> crc32c_accel(read_disk_page('t', 'main', r.blkno))"),
	'0', 'digests and pages');

my $file = $node->data_dir . '/' . query("SELECT pg_relation_filepath('t')");
$node->stop;
open my $fh, '+<:raw', $file or die $!;
my %damage = (
	3 => [ 5000, 'damage', 'checksum_mismatch' ],
	4 => [ 0, "\0" x 24, 'zero_header' ],
	7 => [ 0, "\xff" x BLCKSZ, 'lsn_in_future' ],
	2000 => [ 0, "\0" x BLCKSZ, undef ],
	2001 => [ 4096, "\0" x 4096, 'checksum_mismatch' ]);
foreach my $block (keys %damage)
{
	sysseek $fh, $block * BLCKSZ + $damage{$block}[0], 0;
	syswrite $fh, $damage{$block}[1];
}
close $fh;
$node->start;
my $want = join "\n", map { "$_|$damage{$_}[2]" } grep { $damage{$_}[2] } sort { $a <=> $b } keys %damage;
foreach my $workers (0, 2)
{
	is(query("SELECT blkno, status FROM verify_relation_checksums('t', 'main', workers => $workers)"),
		$want, "damage is found, $workers workers");
}
is(query("SET zero_damaged_pages = on; SELECT blkno, status FROM verify_relation_checksums('t', 'main')"),
	$want, 'zero_damaged_pages changes nothing');
my ($out, $err) = ('', '');
$node->psql('postgres', "SET statement_timeout = 3; SELECT count(*) FROM generate_series(1, 1000) g,
	verify_relation_summary(CASE WHEN g > 0 THEN 't'::regclass END)", stderr => \$err);
like($err, qr/canceling statement due to statement timeout/, 'a cancel is no read error');

# a file that cannot be read in full: the blocks behind its end are gone
truncate $file, 10 * BLCKSZ + 100 or die $!;
is(query("SELECT count(*) FILTER (WHERE status = 'io_error'), count(*) FILTER (WHERE blkno > 10)
		FROM verify_relation_checksums('t', 'main')"),
	'0|0', 'a truncated file');
$node->stop('immediate');
done_testing();
