# Lost writes of relations whose forks are made or truncated after their pages
# were logged: moves to another tablespace, CREATE DATABASE by WAL, a visibility
# map that is cut off.  Every second block is zeroed: each is named, no other.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\njit = off\nmax_wal_size = 4GB\n");
$node->start;
my $q = sub { return $node->safe_psql($_[1] // 'postgres', $_[0]) };
my $elsewhere = PostgreSQL::Test::Utils::tempdir_short();
my $reading_maps = int($node->pg_version) >= 19;    # reading a table makes its maps
my $has_visibility = !Accel::missing_modules('pg_visibility');

# a free space map (no_map: and no visibility map); an index with deleted pages
$q->($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE TABLESPACE elsewhere LOCATION '$elsewhere'
CREATE TABLE bare AS SELECT g AS id, repeat('b', 500) AS b FROM generate_series(1, 1000) g
CREATE TABLE no_map AS SELECT * FROM bare
CREATE TABLE two_maps AS SELECT * FROM bare
CREATE TABLE indexed AS SELECT g AS id FROM generate_series(1, 20000) g
CREATE INDEX indexed_id ON indexed (id)
CREATE TABLE plain AS SELECT * FROM bare
DELETE FROM no_map WHERE id % 10 = 0
INSERT INTO no_map SELECT * FROM bare WHERE id < 400
DELETE FROM two_maps WHERE id % 10 = 0
DELETE FROM indexed WHERE id BETWEEN 5000 AND 12000
VACUUM two_maps, indexed, plain
VACUUM indexed
SELECT txid_current()
VACUUM indexed
SQL
$q->('CREATE EXTENSION pg_visibility') if $has_visibility;

sub forks
{
	my ($relation, $db) = @_;
	return $q->("SELECT concat_ws(' ', CASE WHEN pg_relation_size('$relation', 'fsm') > 0 THEN 'fsm' END,
		CASE WHEN pg_relation_size('$relation', 'vm') > 0 THEN 'vm' END)", $db);
}

# Zeroes every second block of the relation while the server is stopped; returns
# the blocks zeroed and those named.
sub zeroed_and_named
{
	my ($relation, $db, $fork) = @_;
	my ($path, $blocks) = split /\|/, $q->("SELECT pg_relation_filepath('$relation'), pg_relation_size('$relation') / $blcksz", $db);
	my $file = $node->data_dir . "/$path";
	my %saved;

	$node->stop;
	foreach my $block (grep { $_ % 2 } 0 .. $blocks - 1)
	{
		$saved{$block} = AccelWal::peek_block($file, $block);
		next if $saved{$block} !~ /[^\0]/;
		AccelWal::poke_block($file, $block, 0, "\0" x $blcksz);
	}
	$node->start;
	my $named = $q->("SELECT string_agg(blkno::text, ' ' ORDER BY blkno) FROM verify_lost_writes()
		WHERE relation = '$relation'::regclass AND status = 'zeroed_page'", $db);
	my $others = $q->("SELECT count(*) FROM verify_lost_writes() WHERE relation <> '$relation'::regclass", $db);
	is($others, 0, "$relation: no other relation is named");
	$node->stop;
	AccelWal::poke_block($file, $_, 0, $saved{$_}) foreach keys %saved;
	$node->start;
	return (join(' ', sort { $a <=> $b } grep { $saved{$_} =~ /[^\0]/ } keys %saved), $named);
}

sub found
{
	my ($title, $relation, $forks, $db) = @_;
	is(forks($relation, $db), $forks, "$title: forks");
	my ($zeroed, $named) = zeroed_and_named($relation, $db // 'postgres');
	like($zeroed, qr/ \d+ \d+ \d+/, "$title: blocks were zeroed");
	is($named, $zeroed, "$title: each is named");
	return;
}

# --- CREATE DATABASE, from tables without a record of their own ------------------------

$q->('CHECKPOINT');
$q->('CREATE DATABASE copied TEMPLATE postgres STRATEGY wal_log');
$q->('CHECKPOINT');
found('a copied database, a table with both maps', 'two_maps', 'fsm vm', 'copied');
found('a copied database, an index', 'indexed_id', 'fsm', 'copied');
$q->('DROP DATABASE copied');

# --- SET TABLESPACE ------------------------------------------------------------------------

$q->("ALTER TABLE $_ SET TABLESPACE elsewhere") foreach qw(bare no_map two_maps);
$q->('ALTER INDEX indexed_id SET TABLESPACE elsewhere');
$q->('CHECKPOINT');
found('moved, a table without maps', 'bare', $reading_maps ? 'fsm vm' : '');
found('moved, a table with a free space map', 'no_map', $reading_maps ? 'fsm vm' : 'fsm');
found('moved, a table with both', 'two_maps', 'fsm vm');
found('moved, an index', 'indexed_id', 'fsm');

# the map itself
my $map = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('two_maps')") . '_vm';
$node->stop;
my $page = AccelWal::peek($map, 0, $blcksz);
AccelWal::poke($map, 0, "\0" x $blcksz);
$node->start;
is($q->("SELECT fork, blkno, status FROM verify_lost_writes() WHERE relation = 'two_maps'::regclass"), 'vm|0|zeroed_page', 'the map of a table that was moved');
$node->stop;
AccelWal::poke($map, 0, $page);
$node->start;

# --- a map that is cut off -----------------------------------------------------------------------

SKIP:
{
	skip 'this installation lacks pg_visibility', 4 if !$has_visibility;
	$q->('UPDATE plain SET id = id + 1; CHECKPOINT');
	$q->("SELECT pg_truncate_visibility_map('plain')");
	$q->('CHECKPOINT');
	found('a map that was cut off', 'plain', 'fsm');
}

# --- and what ends a fork still does -------------------------------------------------------------

$q->('CHECKPOINT');
$q->("UPDATE bare SET id = id + 1 WHERE id > 900");
$q->('TRUNCATE no_map');
$q->('DELETE FROM two_maps WHERE id > 500');
$q->('VACUUM two_maps');
$q->('ALTER TABLE indexed SET TABLESPACE elsewhere');
$q->('VACUUM FULL plain');
$q->('CHECKPOINT');
is($q->("SELECT count(*) FROM verify_lost_writes()"), 0, 'truncated, moved, written anew: nothing is named');

done_testing();
