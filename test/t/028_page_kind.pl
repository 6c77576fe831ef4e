# A page of another relation at the same block number has the right checksum.
# If it is of another kind it is a finding; healthy pages of all kinds are none.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\nfsync = off\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };

# all access methods, two of them under names that we do not know; enough of
# everything that pages split, are deleted and reused
$q->($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE ACCESS METHOD unknown_index TYPE INDEX HANDLER hashhandler
CREATE ACCESS METHOD unknown_table TYPE TABLE HANDLER heap_tableam_handler
CREATE OPERATOR CLASS int4_unknown DEFAULT FOR TYPE int4 USING unknown_index AS OPERATOR 1 =, FUNCTION 1 hashint4(int4)
CREATE SEQUENCE sequence
CREATE TABLE heap AS SELECT nextval('sequence')::int AS id, g % 500 AS k, 'word' || g % 900 AS word, point(g % 300, g % 77) AS p, ARRAY[g % 7, g % 50] AS tags FROM generate_series(1, 20000) g
CREATE TABLE heap_unknown USING unknown_table AS SELECT * FROM heap
CREATE INDEX btree ON heap (id)
CREATE INDEX hash ON heap USING hash (k)
CREATE INDEX gist ON heap USING gist (p)
CREATE INDEX gin ON heap USING gin (tags)
CREATE INDEX spgist ON heap USING spgist (word)
CREATE INDEX brin ON heap USING brin (id) WITH (pages_per_range = 1)
CREATE INDEX index_unknown ON heap USING unknown_index (k)
CREATE TABLE toasted (t text)
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL
INSERT INTO toasted SELECT repeat('t', 100000) FROM generate_series(1, 10)
CREATE MATERIALIZED VIEW mv AS SELECT * FROM heap
CREATE UNLOGGED TABLE unlogged (i int PRIMARY KEY, t text)
CREATE INDEX unlogged_gin ON unlogged USING gin (string_to_array(t, ' '))
INSERT INTO unlogged SELECT g, 'a b ' || g FROM generate_series(1, 3000) g
DELETE FROM heap WHERE id % 3 = 0 OR id BETWEEN 5000 AND 12000
VACUUM heap
INSERT INTO heap SELECT nextval('sequence'), g % 500, 'more' || g % 5000, point(g, g % 77), ARRAY[g % 900] FROM generate_series(1, 9000) g
UPDATE heap SET word = 'x' || word, tags = tags || id WHERE id % 5 = 0
VACUUM
CREATE TABLE emptied WITH (vacuum_truncate = off) AS SELECT * FROM heap
DELETE FROM emptied
VACUUM emptied
REINDEX INDEX spgist
CHECKPOINT
SQL
my $all = q{SELECT coalesce(string_agg(concat_ws(' ', v.relation, v.fork, v.blkno, v.status), ', '), 'none')
	FROM pg_class c, verify_relation(c.oid) v WHERE c.relkind IN ('r', 'i', 't', 'm', 'S')};
is($q->($all), 'none', 'healthy pages of every kind, all catalogs');
my $toast = $q->("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toasted'");
my %path = map { $_ => $q->("SELECT pg_relation_filepath('$_')") }
  qw(heap heap_unknown sequence btree hash gist gin spgist brin index_unknown mv), $toast;
my $pkey = $q->("SELECT pg_relation_filepath('unlogged_pkey')");
my $unlogged_gin = $q->("SELECT pg_relation_filepath('unlogged_gin')");
$path{'heap.vm'} = "$path{heap}_vm";
$path{'heap.fsm'} = "$path{heap}_fsm";
$node->restart;
my $data = $node->data_dir;

my %pages = map { my $name = $_; map { ("$name $_" => AccelWal::peek_block("$data/$path{$name}", $_)) } 0, 3, 5 } keys %path;
sub block { return $pages{"$_[0] $_[1]"}; }
sub put { AccelWal::poke_block("$data/$path{$_[0]}", $_[1], 0, $_[2]); return; }

# What cannot be told apart: pages of tables, a free space map in the place of a
# visibility map, and a sequence in the place of a page of GIN but the first.
my @tables = ('heap', 'mv', $toast);
my %table = map { $_ => 1 } @tables, 'heap_unknown';
my %map = map { $_ => 1 } qw(heap.vm heap.fsm);

sub alike
{
	my ($from, $to, $block) = @_;
	return 1 if $to =~ /unknown/ || $from eq $to;
	return 1 if $table{$to} && $table{$from} || $to eq 'heap.vm' && $from eq 'heap.fsm';
	return 1 if $to eq 'gin' && $from eq 'sequence' && $block > 0 || $to eq 'hash' && $from eq 'index_unknown';
	return 0;
}

my ($found, $alike) = (0, 0);
my @wrong;
foreach my $to (sort keys %path)
{
	my ($relation, $fork) = ($to =~ /^(.*)\.(vm|fsm)$/) ? ($1, $2) : ($to, 'main');
	foreach my $block ($to =~ /^(sequence|heap\.)/ ? 0 : (0, 3))
	{
		my $saved = block($to, $block);
		next if length $saved < $blcksz;
		foreach my $from (sort keys %path)
		{
			my $page = block($from, $block);
			next if length $page < $blcksz || $page =~ /^\0*$/;
			put($to, $block, $page);
			my $got = $q->("SELECT coalesce(string_agg(blkno || ' ' || status, ','), 'none') FROM verify_relation('$relation', '$fork')");
			my $want = alike($from, $to, $block) ? 'none' : "$block wrong_page_kind";
			$want eq 'none' ? $alike++ : $found++;
			push @wrong, "$from, block $block, in $to: $got" if $got ne $want;
		}
		put($to, $block, $saved);
	}
}
is(join("\n", @wrong), '', "pages of one relation in another: $found found, $alike cannot be told apart");
cmp_ok($found, '>', 150, 'which is many');

# a metapage elsewhere, and another page in its place
foreach my $index (qw(btree hash gin spgist brin))
{
	foreach my $case ([ 0, 3 ], [ 3, 0 ])
	{
		my ($to, $from) = @$case;
		my $saved = block($index, $to);
		my $page = block($index, $from);
		next if length $saved < $blcksz || length $page < $blcksz;
		my $hex = unpack 'H*', $page;
		substr($page, 8, 2) = pack 'v', $q->("SELECT computed_checksum FROM verify_page('\\x$hex', $to)");
		put($index, $to, $page);
		is($q->("SELECT blkno || ' ' || status || ' ' || (message ~ 'metapage') FROM verify_relation('$index')"),
			"$to wrong_page_kind true", "$index: page $from in the place of page $to");
		put($index, $to, $saved);
	}
}

# One of them in all its columns
my $saved = block('btree', 3);
put('btree', 3, block('heap', 3));
is($q->("SELECT status, stored_checksum = computed_checksum, buffer_state, message FROM verify_relation('btree')"),
	'wrong_page_kind|t|uncached|page is not one of a B-tree index: its special area has 0 bytes instead of 16', 'what is said');
put('btree', 3, block('hash', 3));
is($q->("SELECT message FROM verify_relation('btree', workers => 2)"),
	'page is not one of a B-tree index: it ends with 0xFF80, outside the range 0x0000 to 0xFF7F', '... of an end');
is($q->("SELECT bad_blocks, verified_blocks = blocks - 1, status FROM verify_relation_summary('btree', 'main')"), '1|t|wrong_page_kind', '... in the summary');
my ($rc, $out, $err) = $node->psql('postgres', "SELECT count(*) FROM page_digests('btree') WHERE crc32c IS NULL");
like("$out $err", qr/^1 .*no digest of block 3: wrong_page_kind/, '... and no digest');
put('btree', 3, $saved);
$q->('SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM heap WHERE id > 0');
put('btree', 3, block('hash', 3));
is($q->("SELECT v.status, h.status FROM verify_relation('btree') v, heal_block(v.relation, v.fork, v.blkno, true) h"),
	'bad_on_disk_cached_ok|healed', 'below a good buffer: healed');

# init forks, and a map that is none
$saved = AccelWal::peek("$data/${pkey}_init", 0, $blcksz);
AccelWal::poke("$data/${pkey}_init", 0, AccelWal::peek("$data/${unlogged_gin}_init", 0, $blcksz));
is($q->("SELECT fork, blkno, status FROM verify_relation('unlogged_pkey')"), 'init|0|wrong_page_kind', 'an init fork');
AccelWal::poke("$data/${pkey}_init", 0, $saved);
$node->restart;
put('heap.vm', 0, block('mv', 0));
put('heap', 5, "\0" x $blcksz);
is($q->("SELECT string_agg(concat_ws(' ', fork, blkno, status), ', ') FROM verify_relation('heap')"),
	'vm 0 wrong_page_kind', 'a visibility map that is none is no witness of zeros');
$node->psql('postgres', 'CALL verify_database(include_catalogs => false)', stderr => \$err);
is($q->("SELECT relation_name, fork, blkno FROM verify_findings WHERE status = 'wrong_page_kind'"), 'heap|vm|0', 'a database run records it');
$node->stop;
done_testing();
