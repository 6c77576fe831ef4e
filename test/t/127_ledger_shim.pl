# The page ledger beside storage that lies.  A shim below a standby drops writes,
# sends them to the block before, swaps both, writes zeros, and cuts files.  The
# primary, which is sound, records each block after its last change.  So each block
# that differs is named on the standby, and no other one.
use strict;
use warnings;
use Accel;
use Ledger;
use Lost;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Lost::shim();
my $conf = <<'CONF';
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
checkpoint_timeout = 1h
max_wal_size = 4GB
CONF

my $primary = Accel::new_node('primary', allows_streaming => 1, conf => $conf);
$primary->start;
# (15 builds a GiST index without LSNs, if it sorts, and what has none is no evidence)
$primary->safe_psql('postgres', "CREATE EXTENSION crc32c_accel; $Ledger::relations CREATE SEQUENCE s; SELECT nextval('s');
	DROP INDEX t_gist; CREATE INDEX t_gist ON t USING gist (p) WITH (buffering = on)");
Ledger::record($primary);
$primary->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'standby', has_streaming => 1);
Accel::start_under($shim, $standby);

# All changes are on the disk of the standby, and the next of each page has an image,
# so replay trusts no page that the shim has spoiled.
sub meet
{
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$standby->safe_psql('postgres', 'CHECKPOINT');
	return;
}

my $relations = "SELECT oid::regclass, relkind FROM pg_class WHERE relkind IN ('r', 'i', 't', 'S') AND relpersistence = 'p'
	AND relfilenode >= 16384 ORDER BY 1";

# Blocks of the user's relations: "relation block" => digest.  An LSN that lags behind
# the same page is nothing, but a sequence's, whose older page has the same digest.
sub contents
{
	my ($node) = @_;

	return { map { my ($relation, $block, $is) = split /\|/; ("$relation $block" => $is) } split /\n/, $node->safe_psql('postgres',
		"SELECT c.relation, blkno, concat(CASE kind WHEN 'S' THEN lsn END, ' ', crc32c)
		 FROM ($relations) AS c(relation, kind), page_digests(c.relation, masked => true)") };
}

sub lines
{
	return map { s/\|/ /r => 1 } split /\n/, $standby->safe_psql('postgres', shift);
}

my ($sent, $gone) = (0, 0);
sub play
{
	my ($order, $round) = @_;

	meet();
	Lost::lose($standby, $order);
	$primary->safe_psql('postgres', <<"SQL");
UPDATE t SET k = k + 1, filler = repeat('z', 60) WHERE id % 17 = $round;
UPDATE t SET p = point(id % 77, $round), tags = ARRAY[$round, id % 9] WHERE id BETWEEN $round * 400 AND $round * 400 + 200;
INSERT INTO t SELECT g, g % 100, 'word' || g % 500, point(g, $round), ARRAY[g % 50], repeat('x', 5000) FROM generate_series(1, 150) g;
DELETE FROM t WHERE id % 29 = $round;
SELECT nextval('s') FROM generate_series(1, 50);
VACUUM t;
SQL
	meet();
	Lost::lose($standby);
	Ledger::record($primary);
	meet();
	$standby->stop;	# its buffers are better than its disk
	Accel::start_under($shim, $standby);

	my ($good, $bad) = map { contents($_) } $primary, $standby;
	my @differ = grep { ($bad->{$_} // '') ne $good->{$_} } sort keys %$good;
	is_deeply([ grep { !exists $good->{$_} } keys %$bad ], [], "$order: both have the same blocks, but for those lost");
	cmp_ok(scalar @differ, '>=', 3, "$order: " . @differ . ' blocks differ');

	# What a checksum tells is told by verify_relation, and not judged by the ledger.
	my %found = lines("SELECT relation, blkno FROM verify_page_digests() WHERE status <> 'not_verifiable'");
	my %damaged = lines("SELECT c.relation, v.blkno FROM ($relations) AS c(relation, kind), verify_relation(c.relation, 'main') AS v");
	my %differs = map { $_ => 1 } @differ;
	is(join(',', grep { !$differs{$_} } sort keys %found), '', "$order: nothing else is named");
	my @unnamed = grep { !$found{$_} && !$damaged{$_} } @differ;
	# Of a table without its map, VACUUM may have cut off what is absent or empty.  Of an
	# index with no sound page left, as small ones are, nothing shows which file it was.
	my %sound = map { /^(\S+) / => 1 } grep { !$damaged{$_} } keys %$bad;
	my @empty = grep { !exists $bad->{$_} && /^(\S+) / && ($1 =~ /^(?:t|pg_toast\.pg_toast_\d+)$/ || !$sound{$1}) } @unnamed;
	# Some of these are told by verify_relation as well.
	my %nothing = lines("SELECT c.relation, v.blkno FROM ($relations) AS c(relation, kind), verify_relation(c.relation, 'main') AS v
		WHERE v.status IN ('zeroed_page', 'size_mismatch', 'missing')");
	my @both = grep { $nothing{$_} && !$found{$_} } @differ;
	my $known = 0;
	$known += $_ =~ /^(\d+)/ ? $1 : 0 foreach split /\n/, $standby->safe_psql('postgres',
		"SELECT message FROM verify_page_digests() WHERE message ~ 'not in the file'");
	is($known, @empty + @both, "$order: " . @empty . ' absent blocks are counted alone') or diag("@empty, @both");
	is(join(',', grep { my $name = $_; !grep { $_ eq $name } @empty } @unnamed), '', "$order: every other one is named")
	  or diag(join "\n", map { "$_: $good->{$_} / " . ($bad->{$_} // 'absent') } @unnamed);
	note "$order: " . keys(%found) . ' by the ledger, ' . keys(%damaged) . ' by checksums';
	$sent += @differ;
	$gone += @empty;
	return;
}

my $round = 0;
play($_, ++$round) foreach 'drop 3', 'redirect 5', 'swap 5', 'zero 4', 'cut 1';
cmp_ok($gone, '<', $sent / 2, 'few blocks are counted alone');
is(Ledger::findings($primary), '', 'the primary, which is sound, has no finding');

done_testing();
