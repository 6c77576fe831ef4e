# What the visibility map knows of pages: zeros in place of one that it knows are a
# finding, and so is a page without the all-visible mark that the map says it has.
# Zeros that are legal are none.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => <<'CONF');
autovacuum = off
jit = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
shared_buffers = 8192	# blocks
shared_preload_libraries = ''
CONF
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };

# A statement for each situation, so that each table has its own file.
my $wide = 100 * $blcksz / 8192;
$q->($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE TABLE z AS SELECT g, repeat('z', $wide) AS b FROM generate_series(1, 60000) g
CREATE INDEX z_g ON z (g)
CREATE TABLE visible AS SELECT g, repeat('v', $wide) AS b FROM generate_series(1, 5000) g
CREATE MATERIALIZED VIEW mv AS SELECT * FROM z LIMIT 20000
CREATE TABLE toasted (t text)
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL
INSERT INTO toasted SELECT repeat('t', 100000) FROM generate_series(1, 10)
CREATE TABLE unvacuumed AS SELECT g, repeat('u', $wide) AS b FROM generate_series(1, 5000) g
CREATE TABLE tail AS SELECT g, repeat('e', $wide) AS b FROM generate_series(1, 5000) g
CREATE TABLE torn AS SELECT g, repeat('m', $wide) AS b FROM generate_series(1, 5000) g
CREATE UNLOGGED TABLE unlogged AS SELECT g, repeat('n', $wide) AS b FROM generate_series(1, 5000) g
CREATE TABLE cached AS SELECT g, repeat('c', $wide) AS b FROM generate_series(1, 5000) g
CREATE TABLE marked AS SELECT g, repeat('m', $wide) AS b FROM generate_series(1, 5000) g
CREATE INDEX marked_g ON marked (g)
CREATE UNLOGGED TABLE unasked AS SELECT g, repeat('u', $wide) AS b FROM generate_series(1, 5000) g
CHECKPOINT
SQL
my %path = map { $_ => $q->("SELECT pg_relation_filepath('$_')") }
  qw(z z_g visible mv unvacuumed tail torn unlogged cached marked unasked);
my $data = $node->data_dir;
sub block { return AccelWal::peek_block("$data/$_[0]", $_[1]); }
my %unmarked = map { $_ => block($path{$_}, 6) } qw(visible marked unasked);
$q->($_) foreach split /\n/, <<'SQL';
VACUUM marked
VACUUM unasked
VACUUM FREEZE z
VACUUM FREEZE mv
VACUUM FREEZE toasted
VACUUM visible
VACUUM FREEZE tail
VACUUM FREEZE torn
VACUUM FREEZE unlogged
VACUUM FREEZE cached
CHECKPOINT
SQL
$path{toast} = $q->("SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'toasted'");

sub zero	# overwrites blocks with zeros
{
	my ($data, $file, @blocks) = @_;
	AccelWal::poke_block("$data/$file", $_, 0, "\0" x $blcksz) foreach @blocks;
	return;
}

sub findings
{
	my ($table, $arguments) = @_;
	return "SELECT coalesce(string_agg(concat_ws(' ', blkno, status, buffer_state), ', ' ORDER BY fork, blkno), 'none')
		FROM verify_relation('$table'" . ($arguments // '') . ')';
}
is($q->(findings($_)), 'none', "intact: $_") foreach qw(z mv toasted visible tail unlogged marked);

# (bulk extension leaves new pages, some versions more than others)
my $new = "SELECT zero_blocks || ' ' || bad_blocks FROM verify_relation_summary('%s', 'main')";
my %new = map { $_ => (split / /, $q->(sprintf $new, $_))[0] } qw(z_g unvacuumed tail);

my $backup = 'standby';
$node->backup($backup);

$node->stop;
zero($data, $path{z}, 0, 10, 11, 12, 500);
zero($data, $path{z_g}, 5);
zero($data, $path{mv}, 7);
zero($data, $path{visible}, 3);
zero($data, $path{toast}, 30);
zero($data, $path{unlogged}, 2);
zero($data, $path{unvacuumed}, 4);
zero($data, $path{torn}, 6);
AccelWal::poke("$data/$path{torn}_vm", 100, 'damage');
Accel::resize("$data/$path{tail}", Accel::blocks("$data/$path{tail}") + 40);
$node->start;

my $u = 'zeroed_page uncached';
is($q->(findings('z')), "0 $u, 10 $u, 11 $u, 12 $u, 500 $u", 'a frozen table: each zeroed block');
is($q->("SELECT bad_blocks, verified_blocks + zero_blocks + bad_blocks = blocks, status, message ~ 'visibility map' FROM verify_relation_summary('z', 'main')"),
	'5|t|zeroed_page|t', '... the summary says so');
is($q->(findings('z', ", 'main', 11, 20")), "11 $u, 12 $u", '... a range of blocks');
is($q->("SELECT file_offset = 500 % $relseg_size * $blcksz AND stored_checksum = 0 AND computed_checksum IS NULL
	FROM verify_relation('z') WHERE blkno = 500"), 't', '... the place');
is($q->(findings('visible')), "3 $u", 'all-visible, not frozen');
is($q->(findings('mv')), "7 $u", 'a materialized view');
is($q->(findings('toasted', ", include_toast => true")), "30 $u", 'a TOAST table');
is($q->(findings('unlogged')), "2 $u", 'an unlogged table');
is($q->(sprintf $new, 'z_g'), $new{z_g} + 1 . ' 0', 'an index: may be new');
is($q->(sprintf $new, 'unvacuumed'), $new{unvacuumed} + 1 . ' 0', 'no bit in the map: may be new');
is($q->(sprintf $new, 'tail'), $new{tail} + 40 . ' 0', 'blocks of zeros after the end: new');
is($q->(findings('torn')), '0 checksum_mismatch uncached', 'a damaged map is no witness');
is($q->("SELECT count(*) FROM page_digests('z') WHERE crc32c IS NULL"), '5', 'no digest of a lost page');

# a dead disk fills no log
my @saved = map { [ $_, AccelWal::peek_block("$data/$path{z}", $_) ] } 100 .. 249;
zero($data, $path{z}, 100 .. 249);
my (undef, $digests, $warnings) = $node->psql('postgres', "SELECT count(*) FROM page_digests('z') WHERE crc32c IS NULL");
is($digests, '155', 'many lost pages: all have a row');
is(scalar(() = $warnings =~ /no digest of block/g), 100, '... a hundred of them a warning');
like($warnings, qr/WARNING:  no digest of 55 more blocks/, '... and the rest one');
AccelWal::poke_block("$data/$path{z}", $_->[0], 0, $_->[1]) foreach @saved;

# in shared buffers
$q->('SELECT count(b) FROM z');
is($q->(findings('z', ", 'main', 10, 10")), '10 zeroed_page clean', 'zeros in shared buffers, too');
$q->('SELECT count(*) FROM cached');
zero($data, $path{cached}, 8);
is($q->(findings('cached')), '8 bad_on_disk_cached_ok clean', 'a good page in shared buffers');
$q->("CREATE TABLE fresh AS SELECT g, repeat('f', $wide) AS b FROM generate_series(1, 5000) g");
$q->('VACUUM FREEZE fresh');
my $fresh = $q->("SELECT pg_relation_filepath('fresh')");
my $unwritten = $q->('SELECT count(DISTINCT (ctid::text::point)[0]) FROM fresh');
my $message = "SELECT message FROM verify_relation_summary('fresh', 'main')";
is($q->('SELECT count(*) FROM tail; ' . $message =~ s/fresh/tail/r), "5000\n", 'zeros in shared buffers, too: nothing is to come');
my $run = sub { my $err; $node->psql('postgres', "CALL verify_database(relations => '{fresh}')", stderr => \$err); return $err; };
is($q->($message), "$unwritten blocks are not on disk yet: shared buffers hold them", 'written to shared buffers only: the summary says so');
my ($told) = $run->() =~ /blocks \((\d+) not on disk yet\), /;
cmp_ok($told // 0, '>=', $unwritten, '... and the last message of a run, which has its maps, too');
zero($data, $fresh, 0 .. 20);
is($q->(findings('fresh')), 'none', 'dirty pages in shared buffers: their writes are to come');
is($q->("SELECT zero_blocks >= 21, bad_blocks FROM verify_relation_summary('fresh', 'main')"), 't|0', '... they count as new');
$q->('CHECKPOINT');
is($q->("SELECT zero_blocks < 21, bad_blocks FROM verify_relation_summary('fresh', 'main')"), 't|0', '... until they are written');
is($q->($message), '', '... and no word of it then');
like($run->(), qr/\d blocks, /, '... nor in the last message');

# after truncation and a crash
$q->('DELETE FROM fresh WHERE g > 1000');
$q->('VACUUM FREEZE fresh');
$q->("INSERT INTO fresh SELECT g, repeat('g', $wide) FROM generate_series(1, 5000) g");
$node->stop('immediate');
$node->start;
is($q->(findings('fresh')), 'none', 'truncated, extended, crashed');

# a whole database
my $stderr;
$node->psql('postgres', 'CALL verify_database(include_catalogs => false)', stderr => \$stderr);
is($q->("SELECT count(*) FROM verify_findings WHERE status = 'zeroed_page'"), '9', 'a whole database records them');

# the page, and not the map, lost the write of VACUUM
my $lose = sub { AccelWal::poke_block("$data/$path{$_[0]}", 6, 0, $unmarked{$_[0]}); };
my $restart = sub { $node->stop; $_[0]->(); $node->start; };
$q->('SELECT count(b) FROM marked');
$lose->('marked');
is($q->(findings('marked')), '6 bad_on_disk_cached_ok clean', 'a mark lost below a clean page that has it');
is($q->("SELECT status FROM heal_block('marked', 'main', 6, true)"), 'healed', '... which heals it');
is($q->(findings('marked')), 'none', '... for good');
$restart->(sub { $lose->($_) foreach qw(marked unasked); });
my $mark = 'map_mismatch';
is($q->(findings('marked')), "6 $mark uncached", 'a page without its mark');
is($q->("SELECT bad_blocks, verified_blocks + bad_blocks = blocks, status, message ~ 'visibility map' FROM verify_relation_summary('marked', 'main')"),
	"1|t|$mark|t", '... the summary says so');
is($q->(findings('unasked')), 'none', 'an unlogged table is not asked');
$q->("DELETE FROM marked WHERE ctid BETWEEN '(6,1)' AND '(6,999)'");
is($q->('SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_seqscan = off; SET enable_indexonlyscan = on; SELECT count(*) > 0 FROM marked WHERE g BETWEEN 300 AND 500') .
	$q->("SELECT count(*) FROM marked WHERE ctid BETWEEN '(6,1)' AND '(6,999)'"), 't0', 'rows that are deleted, and an index-only scan returns');
if (int($node->pg_version) < 19)
{
	is($q->(findings('marked')), "6 $mark dirty", '... the page in shared buffers');
	$q->('CHECKPOINT');
	$restart->(sub { system_or_bail('pg_checksums', '--disable', '-D', $data); });
	is($q->(findings('marked')), "6 $mark uncached", '... without checksums');
	my ($out, $err);
	$node->psql('postgres', 'VACUUM (DISABLE_PAGE_SKIPPING) marked', stderr => \$err);
	like($err, qr/WARNING/, 'VACUUM corrects the map');
}
else    # whose reads correct the map, too
{
	$q->('CHECKPOINT');
	$restart->(sub { system_or_bail('pg_checksums', '--disable', '-D', $data); });
}
is($q->(findings('marked')), 'none', '... and it is none any more');
$restart->(sub { system_or_bail('pg_checksums', '--enable', '-D', $data); });

# the map, and not the page
my $map = AccelWal::peek("$data/$path{marked}_vm", 0, $blcksz);
$q->("DELETE FROM marked WHERE ctid = '(9,1)'");
is($q->(findings('marked')), 'none', 'cleared on both');
$q->('CHECKPOINT');
$restart->(sub { AccelWal::poke("$data/$path{marked}_vm", 0, $map); });
is($q->(findings('marked')), "9 $mark uncached", 'a map that lost the write of a DELETE');
$q->('VACUUM (DISABLE_PAGE_SKIPPING) marked; VACUUM marked');
is($q->(findings('marked')), 'none', 'marked in memory, to be written');

# a standby that lost a page, which its primary has
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, $backup, has_streaming => 1);
Accel::configure($standby);
zero($standby->data_dir, $path{visible}, 9);
AccelWal::poke_block($standby->data_dir . "/$path{visible}", 6, 0, $unmarked{visible});
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', findings('visible')), "6 $mark uncached, 9 $u", 'a standby: the page that it lost, and the mark');
is($standby->safe_psql('postgres', findings($_)), 'none', "a standby: $_ is sound there") foreach qw(z tail mv fresh);
$standby->stop;
$node->stop;
done_testing();
