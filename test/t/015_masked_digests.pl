# Masked digests are the same on a primary and its standby at the same LSN, for
# every access method, through rounds of updates, deletes, aborts and vacuum
# with hint bits set on one side only; without the mask they are not.
#
#	ACCEL_SEED			of the random load
#	ACCEL_ROUNDS		how many (default 6, 40 in the long form)
use strict;
use warnings;
use Accel;
use Test::More;

Accel::need_modules('bloom', 'pg_buffercache');
my $rounds = $ENV{ACCEL_ROUNDS} || ($ENV{LONG} ? 40 : 6);
my $seed = $ENV{ACCEL_SEED} || time;
note "ACCEL_SEED=$seed";
srand $seed;

my $primary = Accel::new_node('primary', allows_streaming => 1, conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 16MB
hot_standby_feedback = on
wal_receiver_status_interval = 1s
max_standby_streaming_delay = -1
CONF
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE EXTENSION bloom;
CREATE EXTENSION pg_buffercache;
CREATE SEQUENCE seq;
CREATE TABLE heap (id int, k int, word text, p point, tags int[], filler text) WITH (fillfactor = 80);
ALTER TABLE heap ALTER filler SET STORAGE EXTERNAL;
INSERT INTO heap SELECT nextval('seq'), g % 100, 'word' || g % 500, point(g % 300, g % 77), ARRAY[g % 7, g % 50],
	CASE WHEN g % 50 = 0 THEN repeat('x', 5000) ELSE repeat('y', 50) END FROM generate_series(1, 6000) g;
CREATE INDEX heap_btree ON heap (id);
CREATE INDEX heap_btree_duplicates ON heap (word);
CREATE UNIQUE INDEX heap_unique ON heap (id) WHERE id > 0;
CREATE INDEX heap_hash ON heap USING hash (k);
CREATE INDEX heap_gin ON heap USING gin (tags) WITH (fastupdate = on, gin_pending_list_limit = 64);
CREATE INDEX heap_gin_direct ON heap USING gin (tags) WITH (fastupdate = off);
CREATE INDEX heap_gist ON heap USING gist (p);
CREATE INDEX heap_spgist ON heap USING spgist (p);
CREATE INDEX heap_spgist_text ON heap USING spgist (word);
CREATE INDEX heap_brin ON heap USING brin (id) WITH (pages_per_range = 4);
CREATE INDEX heap_bloom ON heap USING bloom (id, k);
CREATE MATERIALIZED VIEW mv AS SELECT id, word FROM heap;
CREATE UNLOGGED TABLE u (id int PRIMARY KEY);
SQL
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $toast = $primary->safe_psql('postgres',
	"SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'heap'");

# [relation, fork]
my @relations = (
	(map { [ $_, 'main' ] } qw(heap heap_btree heap_btree_duplicates heap_unique heap_hash heap_gin
		heap_gin_direct heap_gist heap_spgist heap_spgist_text heap_brin heap_bloom mv seq
		pg_class pg_class_oid_index pg_statistic pg_depend), $toast, "${toast}_index"),
	[ 'heap', 'vm' ], [ 'u', 'init' ], [ 'u_pkey', 'init' ]);

# Everything that a primary may do to a page
my @load = (
	sub { 'UPDATE heap SET k = k + 1 WHERE id % ? = 0' },
	sub { 'UPDATE heap SET word = word || id % 3, p = point(id % ?, 5) WHERE id % 11 = ?' },
	sub { "UPDATE heap SET filler = repeat('z', 9000) WHERE id % 97 = ?" },
	sub { 'UPDATE heap SET tags = ARRAY[id % 60, ?] WHERE id % 17 = ?' },
	sub { 'DELETE FROM heap WHERE id % 13 = ?' },
	sub { 'BEGIN; UPDATE heap SET k = 0 WHERE id % 5 = ?; ROLLBACK' },
	sub { 'BEGIN; DELETE FROM heap WHERE id % 19 = ?; SAVEPOINT s; UPDATE heap SET k = 1 WHERE id % 7 = 0; ROLLBACK TO s; COMMIT' },
	sub { 'BEGIN; SELECT count(*) FROM (SELECT FROM heap WHERE id % 9 = ? FOR SHARE) s; COMMIT' },
	sub { 'INSERT INTO heap SELECT nextval(\'seq\'), g % 100, \'word\' || g % ?, point(g, ?), ARRAY[g % 7], repeat(\'n\', 50)
		FROM generate_series(1, 800) g ON CONFLICT DO NOTHING' },
	sub { 'VACUUM heap' }, sub { 'VACUUM (FREEZE) heap' },
	sub { 'VACUUM (INDEX_CLEANUP off, TRUNCATE off) heap' },
	sub { 'REINDEX INDEX heap_gist' }, sub { 'REFRESH MATERIALIZED VIEW mv' }, sub { 'ANALYZE heap' },
	sub { "SELECT gin_clean_pending_list('heap_gin')" }, sub { 'CHECKPOINT' },
	sub { "SELECT setval('seq', nextval('seq') + ?)" });

# Queries that set hint bits and kill index tuples where they run
my $hints = join ';', 'SET enable_seqscan = on; SELECT count(*) FROM heap', 'SELECT count(*) FROM mv',
  'SELECT count(*) FROM pg_class', 'SET enable_seqscan = off',
  (map { "SELECT count(*) FROM heap WHERE $_" } 'id > 0', "word >= 'a'", 'k = 5', 'k = 6',
	"p <@ box '(0,0),(100,100)'", 'tags @> ARRAY[3]'),
  # bitmap scans kill no entries
  'SET enable_bitmapscan = off', (map { "SELECT count(*) FROM heap WHERE $_" } 'id > -1', map { 'k = ' . 5 * $_ } 0 .. 19);

sub load
{
	my $n = 4 + int rand 5;
	my @statements = map { $load[ rand @load ]->() } 1 .. $n;
	s/\?/1 + int rand 9/eg foreach @statements;
	note join "; ", map { s/\s+/ /gr } @statements;
	$primary->safe_psql('postgres', $_) foreach @statements;
	return;
}

# Leaves what the primary's hints change on pages whose image is in the log already:
# hints on others are logged with the page, and reach the standby.  Index entries
# are killed only when no snapshot of the standby may want them.
sub load_for_hints
{
	$primary->safe_psql('postgres', "CHECKPOINT; UPDATE heap SET word = word || 'h' WHERE id % 5 = 0");
	my $xid = $primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
	$primary->poll_query_until('postgres', "SELECT backend_xmin::text::bigint >= $xid FROM pg_stat_replication")
	  or die 'no feedback from the standby';
	return;
}

# Brings both to the same position, all pages on disk.
sub meet
{
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$standby->safe_psql('postgres', 'CHECKPOINT');
	return;
}

sub digests
{
	my ($node, $masked) = @_;
	my $out = $node->safe_psql('postgres', join ' UNION ALL ', map {
		"SELECT '$_->[0].$_->[1]', count(*), crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno),
			(SELECT crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno)
				FROM page_digests('$_->[0]', '$_->[1]', masked => $masked, blocks_per_row => 7))
		FROM page_digests('$_->[0]', '$_->[1]', masked => $masked)"
	} @relations);
	return { map { /^(.*)\.(\w+)\|(.*)$/ ? ("$1, $2" => $3) : () } split /\n/, $out };
}

# Blocks that differ, each with its LSN and digest here and there.  Who reads a
# catalog may prune a page of it after both have met.  That shows by another LSN,
# and they meet once more.
sub differing
{
	my ($relation, $fork) = split /, /, $_[0];
	my $blocks = "SELECT blkno, lsn, crc32c FROM page_digests('$relation', '$fork', masked => true)";
	my @differ;
	foreach my $try (1 .. 3)
	{
		my ($here, $there) = map { { map { /^(\d+)\|(.*)/ } split /\n/, $_->safe_psql('postgres', $blocks) } } $primary, $standby;
		my %all = (%$here, %$there);
		@differ = map { [ $_, $here->{$_} // 'none', $there->{$_} // 'none' ] }
		  grep { ($here->{$_} // '') ne ($there->{$_} // '') } sort { $a <=> $b } keys %all;
		last if !@differ || grep { $_->[1] =~ s/\|.*//r eq $_->[2] =~ s/\|.*//r } @differ;
		note "$relation, $fork: pages of different LSNs";
		meet();
	}
	return map { "block $_->[0]: $_->[1] here, $_->[2] there" } @differ;
}

my %equal;
my %unmasked;
foreach my $round (1 .. $rounds)
{
	# the standby's hints reach its disk with pages that replay has dirtied
	my ($here, $there) = ($round % 3 != 0, $round % 3 != 1);

	$round == 1 ? load_for_hints() : load();
	$primary->safe_psql('postgres', "SELECT nextval('seq') FROM generate_series(1, 5)");
	$primary->safe_psql('postgres', $hints) if $here;
	if ($there)
	{
		$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
		$standby->safe_psql('postgres', $hints);
	}
	meet();
	my ($ours, $theirs) = (digests($primary, 'true'), digests($standby, 'true'));
	my ($our_pages, $their_pages) = (digests($primary, 'false'), digests($standby, 'false'));
	foreach my $name (sort keys %$ours)
	{
		$unmasked{$name}++ if $our_pages->{$name} eq $their_pages->{$name};
		my @differ = $ours->{$name} eq $theirs->{$name} ? () : differing($name);
		$equal{$name}++ if !@differ;
		diag("round $round, $name: @differ") if @differ;
	}
}
is($equal{$_} // 0, $rounds, "$_: the same in every round") foreach map { "$_->[0], $_->[1]" } @relations;
my @differ = grep { ($unmasked{$_} // 0) < $rounds } sort keys %equal;
note 'unmasked digests differed of: ', join '; ', @differ;
foreach my $name ('heap, main', 'heap_btree, main', 'heap_hash, main', 'seq, main')
{
	ok((grep { $_ eq $name } @differ), "$name: not the same without the mask");
}

# One write that a standby lost: its page is as it was before.
$primary->safe_psql('postgres', "UPDATE heap SET k = -1 WHERE ctid = (SELECT min(ctid) FROM heap)");
meet();
my $path = $primary->safe_psql('postgres', "SELECT pg_relation_filepath('heap')");
my $block = $primary->safe_psql('postgres', "SELECT (ctid::text::point)[0]::int FROM heap WHERE k = -1");
my $digest = "SELECT blkno, crc32c FROM page_digests('heap', 'main', $block, $block, masked => true)";
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'a page that is the same');
open my $fh, '<:raw', $standby->data_dir . "/$path" or die $!;
sysseek $fh, $block * 8192, 0;
sysread $fh, my $old, 8192;
close $fh;
$primary->safe_psql('postgres', "UPDATE heap SET k = -2 WHERE k = -1");
meet();
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'and still is');
$standby->stop;
open $fh, '+<:raw', $standby->data_dir . "/$path" or die $!;
sysseek $fh, $block * 8192, 0;
syswrite $fh, $old;
close $fh;
$standby->start;
is($standby->safe_psql('postgres', "SELECT count(*) FROM verify_relation('heap', 'main')"),
	'0', 'a write that was lost passes its checksum');
isnt($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'but not the masked digests');

$standby->stop;
$primary->stop;
done_testing();
