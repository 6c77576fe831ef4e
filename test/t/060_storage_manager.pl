# Relations read through the storage manager's own functions, as those of a
# manager other than the server's must be: the same verdicts as from files.
#
# No packaged server has such a manager.  A library built with
# BUILD=COPT=-DACCEL_THROUGH_SMGR takes the server's own for one; this script
# runs with either.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $through = ($ENV{BUILD} // '') =~ /ACCEL_THROUGH_SMGR/;
my $shim = Accel::fault_shim();
my $wide = 500 * $blcksz / 8192;

my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\n");
Accel::start_under($shim, $node);
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C;
	CREATE TABLE t AS SELECT g, repeat('x', $wide) AS b FROM generate_series(1, 3000) g;
	CREATE INDEX t_g ON t (g);
	CREATE UNLOGGED TABLE u AS SELECT g FROM generate_series(1, 1000) g;
	CREATE TABLE empty (i int);
	VACUUM t;
	CHECKPOINT;
});
my ($blocks, $path) = split /\|/,
  sql(qq{SELECT pg_relation_size('t') / $blcksz, pg_relation_filepath('t')});
is(sql(q{SELECT count(*) > 0 FROM relation_files('t')}), $through ? 'f' : 't',
	$through ? 'through the storage manager: no files are known' : 'from files');

# --- healthy ----------------------------------------------------------------

is(sql(q{SELECT count(*), sum(bad_blocks), bool_and(status = 'ok') FROM verify_relation_summary('t', include_indexes => true)}),
	'4|0|t', 'healthy: main, fsm and vm of the table, main of the index');
is(sql(q{SELECT verified_blocks + zero_blocks, read_bytes FROM verify_relation_summary('t', 'main', workers => 2)}),
	"$blocks|" . $blocks * $blcksz, 'healthy: by workers');
is(sql(q{SELECT string_agg(fork, ' ') FROM verify_relation_summary('u')}), 'main init', 'healthy: unlogged');
is(sql(q{SELECT blocks, bad_blocks FROM verify_relation_summary('empty')}), '0|0', 'healthy: empty');
is(sql(q{SELECT count(*), bool_and(crc32c = public.crc32c(read_disk_page('t', 'main', blkno))) FROM page_digests('t', first_block => 5, last_block => 30)}),
	'26|t', 'digests are those of the blocks');
foreach my $case ([ 'main', $blocks ], [ 'init', 0 ])
{
	my ($fork, $block) = @$case;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT read_disk_page('t', '$fork', $block)");
	like($err, qr/22023/, "block $block of fork $fork is refused");
}

is(sql(q{SELECT count(*) FROM verify_lost_writes()}), '0', 'healthy: no lost writes');

# --- reads that fail ---------------------------------------------------------

my $summary = "SELECT verified_blocks + zero_blocks, bad_blocks, status FROM verify_relation_summary('t', 'main')";
foreach my $case (
	[ 'every read fails', 'eio', 1, 't', $summary, "0|$blocks|io_error" ],
	[ 'every read fails', 'eio', 1, 't',
		"SELECT count(DISTINCT blkno), string_agg(DISTINCT status, ','), bool_and(message <> '') FROM verify_relation('t', 'main')",
		"$blocks|io_error|t" ],
	[ 'one read fails once', 'eio', 7, 'f', $summary, "$blocks|0|ok" ],
	[ 'one read fails once, below a rate', 'eio', 7, 'f', $summary =~ s/'main'/'main', max_rate => 1000/r, "$blocks|0|ok" ],
	[ 'one read is short', 'short', 7, 'f', $summary, "$blocks|0|ok" ])
{
	my ($title, $fault, $nth, $for_good, $query, $want) = @$case;
	my $got = sql("SELECT fault_arm('read', '$fault', $nth, '$for_good', '$path'); SET client_min_messages = error; $query; SELECT fault_fired() > 0");
	$got =~ s/^\n//;
	is($got, "$want\nt", $title);
}

# --- damage ------------------------------------------------------------------

my $file = $node->data_dir . '/' . $path;
sub damage
{
	my ($block, $offset, $bytes) = @_;
	my ($segment, $start) = Accel::place($file, $block);
	open(my $handle, '+<', $segment) or die "$segment: $!";
	seek($handle, $start + $offset, 0);
	print $handle $bytes;
	close $handle;
	return;
}
my $found = q{SELECT blkno, status, stored_checksum <> computed_checksum, buffer_state FROM verify_relation('t')};
sql('SELECT count(*) FROM t');
damage(17, 3000, 'damage');
is(sql($found), '17|bad_on_disk_cached_ok|t|clean', 'damaged below a good copy in shared buffers');
$node->restart;
damage(33, 0, "\1" x $blcksz);
is(sql("$found WHERE blkno = 17"), '17|checksum_mismatch|t|uncached', 'damaged, not in shared buffers');
is(sql(q{SELECT string_agg(blkno::text, ' ' ORDER BY blkno) FROM verify_relation('t', workers => 2)}),
	'17 33', 'damaged: by workers');
sql(q{CALL verify_database(include_catalogs => false)});
is(sql(q{SELECT string_agg(blkno::text, ' ' ORDER BY blkno) FROM verify_findings}),
	'17 33', 'damaged: the whole database');
is(sql(q{SET zero_damaged_pages = on; SELECT count(*) FROM verify_relation('t')}),
	'2', 'zero_damaged_pages changes nothing');
my $cancelled;
$node->psql('postgres', q{SET statement_timeout = 5; SELECT count(*) FROM generate_series(1, 10000) g,
	verify_relation_summary(CASE WHEN g > 0 THEN 't'::regclass END)}, stderr => \$cancelled);
like($cancelled, qr/canceling statement due to statement timeout/, 'a cancel is no read error');
sql(q{DELETE FROM t WHERE ctid = '(40,1)'; CHECKPOINT});	# WAL that proves a write
$node->restart;
damage(40, 0, "\0" x $blcksz);
is(sql(q{SELECT relation, blkno, status FROM verify_lost_writes()}), 't|40|zeroed_page', 'a lost write');

$node->stop;
done_testing();
