# A lost write that the server has built upon: nothing on disk tells of it, the
# WAL does, whatever its compression, in archives and with little memory.  What
# only looks like one is not named.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\njit = off\nbgwriter_lru_maxpages = 0\nshared_buffers = 64MB\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE TABLE t (id int, b text) WITH (fillfactor = 50)
INSERT INTO t SELECT g, repeat('t', 200) FROM generate_series(1, 2000) g
CREATE INDEX t_id ON t (id)
CREATE TABLE many (id int, b text) WITH (fillfactor = 10)
INSERT INTO many SELECT g, repeat('m', 1900) FROM generate_series(1, 24000) g
CREATE TABLE other AS SELECT * FROM t
VACUUM t, other
CHECKPOINT
SQL
my $found = q{SELECT string_agg(concat_ws(' ', pg_filenode_relation(tablespace, relfilenode), fork, blkno, status, page_lsn < expected_lsn, expected_lsn <= lsn), ', ' ORDER BY lsn)
	FROM verify_wal_images(%s)};
sub found { return $q->(sprintf $found, $_[0] // ''); }

sub file { return $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('$_[0]')"); }

# Changes a block, lets storage lose that, and changes the block again.
sub lose
{
	my ($relation, $block, $first, $second) = @_;
	my $file = file($relation);
	my $old = AccelWal::peek_block($file, $block);

	$q->("$first; CHECKPOINT");
	$node->stop;
	AccelWal::poke_block($file, $block, 0, $old);
	$node->start;
	$q->("$second; CHECKPOINT");
	return;
}

is(found(), '', 'healthy: nothing');
my @expected;
foreach my $method ('off', 'pglz', 'lz4', 'zstd')
{
	next if $node->psql('postgres', "ALTER SYSTEM SET wal_compression = '$method'") != 0;
	$q->('SELECT pg_reload_conf()');
	my $block = 2 + @expected;
	lose('t', $block, "UPDATE t SET b = 'first' WHERE ctid = '($block,1)'", "UPDATE t SET b = 'second' WHERE ctid = '($block,2)'");
	push @expected, "t main $block stale_page t t";
	is(found(), join(', ', @expected), "wal_compression = $method: the image tells");
}
is($q->('SELECT count(*) FROM verify_lost_writes()'), '0', 'the disk does not');
is($q->("SELECT count(*) FROM t WHERE b = 'first'"), '0', '... and the rows are gone');
$q->('ALTER SYSTEM RESET wal_compression');
$q->('SELECT pg_reload_conf()');
my $all = join ', ', @expected;

# --- an archive, and little memory -----------------------------------------------------------

my $archive = PostgreSQL::Test::Utils::tempdir();
$q->('SELECT pg_switch_wal()');
AccelWal::copy_files($node->data_dir . '/pg_wal', $archive);
unlink "$archive/" . $q->('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');	# which may hold nothing yet
is($q->(sprintf $found, "'$archive'"), $all, 'an archive');
cmp_ok($q->("SELECT pg_relation_size('many') / $blcksz"), '>=', 24000, 'many blocks before those that are lost');
is($q->('SET maintenance_work_mem = \'1MB\'; ' . sprintf $found, ''), $all, 'more blocks than memory has room for: each once');

# --- what ends a page's history ----------------------------------------------------------------

my $start = $q->('SELECT pg_current_wal_insert_lsn()');
$q->($_) foreach split /\n/, <<'SQL';
UPDATE other SET id = id + 1
CHECKPOINT
DELETE FROM other WHERE id > 500
VACUUM other
INSERT INTO other SELECT g, repeat('n', 200) FROM generate_series(1, 3000) g
CHECKPOINT
UPDATE other SET id = id + 1
SELECT count(*) FROM other
CHECKPOINT
TRUNCATE other
INSERT INTO other SELECT g, repeat('n', 200) FROM generate_series(1, 3000) g
CHECKPOINT
UPDATE other SET id = id + 1
VACUUM (FREEZE) other
CHECKPOINT
UPDATE other SET id = id + 1
SQL
is(found("start_lsn => '$start'"), '', 'truncated, hinted, frozen, updated: nothing');
$node->stop('immediate');
$node->start;
$q->('UPDATE other SET id = id + 1; CHECKPOINT; UPDATE other SET id = id + 1');
is(found("start_lsn => '$start'"), '', 'after a crash: nothing');

# --- a gap may have held the end of the storage ------------------------------------------------

my $first = $q->("SELECT min(segment) FROM verify_wal_images('$archive') WHERE status = 'stale_page'");
AccelWal::poke("$archive/$first", 9000, AccelWal::peek("$archive/$first", 9000, 4000) ^ ("\x55" x 4000));
like($q->("SELECT string_agg(DISTINCT status, ' ') FROM verify_wal_images('$archive')"), qr/not_verifiable/, 'damaged WAL: a row says so');

done_testing();
