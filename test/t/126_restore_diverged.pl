# restore_block() where the WAL tells of a part of the page only, and where the
# server's page has the LSN of the one that is given with other contents: an image
# in the WAL or else the page ledger tells which of them is right.
use strict;
use warnings;
use Accel;
use AccelWal;
use Ledger;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
wal_level = replica
enable_indexscan = off
CONF
$node->start;

sub query { return $node->safe_psql('postgres', shift); }

# Each page of t is last changed by records without an image, each of w by one image.
# A scan of the index would hint at its dead entries, which logs an image.
my $wide = 200 * $blcksz / 8192;
query(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLE t (id int, v int, b text) WITH (fillfactor = 30);
INSERT INTO t SELECT g, 0, repeat('x', $wide) FROM generate_series(1, 80) g;
CREATE INDEX t_btree ON t (id);
CREATE TABLE w (LIKE t) WITH (fillfactor = 30);
INSERT INTO w TABLE t;
SELECT count(*) FROM w;
CHECKPOINT;
UPDATE t SET v = v + 1;
UPDATE t SET v = v + 1, id = id + 1000;
UPDATE w SET v = v + 1 WHERE ctid::text LIKE '(%,1)';
SELECT count(*) FROM t;
CHECKPOINT;
SQL
my %path = map { $_ => Ledger::path($node, $_) } qw(t w t_btree);
my $sum = query('SELECT md5(array_agg(t ORDER BY id)::text) FROM t');

sub on_disk { return Ledger::page($node, $path{ $_[0] }, $_[1]); }

# Puts a page below the server while its buffers are empty.
sub put
{
	my ($relation, $block, $page) = @_;

	Ledger::while_stopped($node, sub { Ledger::put($node, $path{$relation}, $block, $page) });
	return;
}

# The same page with another byte in its last row, or in its free space.
sub forged
{
	my ($relation, $block, $in_hole) = @_;
	my $page = on_disk($relation, $block);

	substr($page, $in_hole ? unpack('S', substr $page, 12, 2) + 20 : $blcksz - 92, 1) ^= "\x01";
	return Ledger::sealed($node, $page, $block);
}

sub restore
{
	my ($relation, $block, $page, $more) = @_;

	return query("SELECT status || ': ' || message FROM restore_block('$relation', 'main', $block, '\\x"
		  . unpack('H*', $page) . "'" . ($more // '') . ')');
}

my $zeros = "\0" x $blcksz;
my %good = map { $_ => on_disk('t', $_) } 0 .. 7;
my $index = on_disk('t_btree', 1);
my %wrong = map { $_ => forged('t', $_) } 0 .. 7;

put('t', 0, $zeros);
like(restore('t', 0, $good{0}), qr/^not_proven: WAL has no later change, but no image of the page/, 'a part of a page proves nothing');
put('t', 0, $good{0});

Ledger::record($node);
put('t', 0, $zeros);
like(restore('t', 0, $wrong{0}), qr/^not_proven: the page ledger has another page at LSN .*: allow_unproven/, 'the page ledger has another page');
query('UPDATE internal_page_digests SET system_identifier = system_identifier + 1');
like(restore('t', 0, $good{0}), qr/^not_proven: WAL has no later change/, 'a row of another system is no evidence');
query('UPDATE internal_page_digests SET system_identifier = system_identifier - 1');
like(restore('t', 0, $good{0}), qr/^restored: the page was written and read back: the page ledger has the page at LSN/, 'the page ledger has the page');
put('t_btree', 1, $zeros);
like(restore('t_btree', 1, $index), qr/^restored: .*: the page ledger has the page/, 'the page of an index');

# the same LSN, other contents
put('t', 1, $wrong{1});
is(Ledger::findings($node, "'t'"), 't|1|diverged', 'a diverged page');
like(restore('t', 1, $good{1}), qr/^restored: .*: the page ledger has the page/, 'the one that was recorded is right');
is(Ledger::findings($node, "'t'"), '', 'and no finding is left');
query('SELECT count(*) FROM t');
Ledger::put($node, $path{t}, 2, $wrong{2});
is(Ledger::findings($node, "'t'"), 't|2|diverged', 'a diverged page below a good buffer');
like(restore('t', 2, $good{2}), qr/^restored: .*: the page ledger has the page/, 'the page in the buffer is right');
like(restore('t', 3, $wrong{3}), qr/^not_proven: the page ledger has another page at LSN .* not written over a page that is sound/, 'a diverged page is given');
like(restore('t', 3, $wrong{3}, ', allow_unproven => true'), qr/^not_proven: .* not written over a page that is sound/, 'nor if somebody vouches for it');
like(restore('t', 3, $good{3}), qr/^healthy: /, 'the page that is there');
like(restore('t', 3, forged('t', 3, 'in the hole')), qr/^healthy: /, 'a page that differs where the mask hides it');
like(restore('t', 0, $good{0}), qr/^healthy: /, 'a page that is older');
is(query('SELECT md5(array_agg(t ORDER BY id)::text) FROM t'), $sum, 'all rows are as they were');

# an image in the WAL decides, whatever the ledger knows
my ($right, $other) = (on_disk('w', 0), forged('w', 1));
put('w', 0, forged('w', 0));
is(Ledger::findings($node, "'w'"), 'w|0|diverged', 'a diverged page whose image is in the WAL');
query('DELETE FROM internal_page_digests');
like(restore('w', 0, $right), qr/^restored: .*: WAL has the page at LSN/, 'the WAL has the one that is given');
like(restore('w', 1, $other), qr/^invalid_page: the page that WAL has of the block at LSN .* is another one/, 'the WAL has the one that is there');
put('t', 4, $wrong{4});
like(restore('t', 4, $good{4}), qr/^not_proven: .* no image .* not written over a page that is sound/, 'without a ledger nobody tells which is right');
put('t', 4, $good{4});

# a ledger that is damaged itself
Ledger::record($node);
$path{ledger} = Ledger::path($node, 'internal_page_digests');
my $row = query("SELECT (ctid::text::point)[0] FROM internal_page_digests WHERE relid = 't'::regclass");
my $ours;
Ledger::while_stopped($node, sub {
	$ours = my $damaged = on_disk('ledger', $row);
	substr($damaged, 4000, 1) ^= "\x01";
	Ledger::put($node, $path{ledger}, $row, $damaged);
	Ledger::put($node, $path{t}, 5, $zeros);
});
my ($status, $out, $err) = $node->psql('postgres', "SELECT status FROM restore_block('t', 'main', 5, '\\x" . unpack('H*', $good{5}) . "')");
is($out, 'not_proven', 'a damaged ledger proves nothing');
like($err, qr/WARNING: .*could not read the page ledger: invalid page in block $row/, 'and that is said');
like(restore('internal_page_digests', $row, $ours, ', allow_unproven => true'), qr/^restored: /, 'its own page is restored');
like(restore('t', 5, $good{5}), qr/^restored: .*: the page ledger has the page/, 'and then it proves the other');
is(query('SELECT md5(array_agg(t ORDER BY id)::text) FROM t'), $sum, 'all rows are as they were');
is(query("SELECT count(*) FROM verify_relation('t', include_indexes => true)"), 0, 'and nothing is found');

done_testing();
