# Storage that loses writes: each one of a block with an image in the WAL is
# named, and no other block.
#
# A shim drops writes, sends them to another block, or writes zeros, while
# checkpoints and a load of all kinds of relations go on.  What was lost in the
# end is read off the disk.
use strict;
use warnings;
use Accel;
use Lost;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Lost::shim();
my @length = $ENV{LONG} ? (-T => 60) : (-t => 300);

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
jit = off
checkpoint_timeout = 1h
max_wal_size = 8GB
wal_keep_size = 8GB
shared_buffers = 16MB
max_prepared_transactions = 4
CONF
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };

my $wide = 100 * $blcksz / 8192;
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLE t (id int PRIMARY KEY, k int, b text, a int[], p point) WITH (fillfactor = 70);
CREATE INDEX ON t USING hash (k);
CREATE INDEX ON t USING gin (a);
CREATE INDEX ON t USING gist (p);
CREATE INDEX ON t USING spgist (p);
CREATE INDEX ON t USING brin (k) WITH (pages_per_range = 4);
CREATE SEQUENCE s;
CREATE TABLE large (x text);
ALTER TABLE large ALTER x SET STORAGE EXTERNAL;
INSERT INTO t SELECT g, g % 977, repeat('x', $wide), ARRAY[g, g % 10], point(g % 100, g % 37) FROM generate_series(1, 10000) g;
INSERT INTO large SELECT repeat('l', 9000) FROM generate_series(1, 50);
VACUUM;
CHECKPOINT;
SQL

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, <<"SQL");
\\set id random(1, 10000)
\\set new random(10001, 2000000000)
UPDATE t SET k = k + 1, p = point(:id, :new % 100) WHERE id = :id;
INSERT INTO t VALUES (:new, :new % 977, repeat('y', $wide), ARRAY[:id, :new % 100], point(:id % 100, :new % 37)) ON CONFLICT DO NOTHING;
DELETE FROM t WHERE id = :id + 1;
SELECT nextval('s');
SELECT count(*) FROM t WHERE k = :id % 977;
SQL

sub load
{
	system_or_bail('pgbench', '-n', '-c', '4', '-j', '2', @length, '-f', $script, $node->connstr('postgres'));
	return;
}

my $start = $q->('SELECT redo_lsn FROM pg_control_checkpoint()');
is($q->('SELECT count(*) FROM verify_lost_writes()'), 0, 'healthy: no finding');

# Everything but what writes what is missing again: after each kind of loss the
# pages are read from disk, and those that nobody changed again stay lost.
foreach my $order ('drop 3', 'redirect 9', 'zero 11')
{
	Lost::lose($node, $order);
	load();
	$q->('VACUUM t');
	$q->('CHECKPOINT');
	Lost::lose($node, undef);
}
$node->stop('fast');
Accel::start_under($shim, $node);

my $lost = Lost::lost($node);
my ($images, $pages) = Lost::images($node, $start);
my $named = Lost::named($node, "verify_lost_writes(start_lsn => '$start')");
# what a redirected page lies over now: checksums see that
my %damaged = map { $_ => 1 } split /\n/, $q->(<<'SQL');
SELECT DISTINCT regexp_replace(f.path, '\.\d+$', '') || ' ' || f.blkno
FROM pg_class c, verify_relation(c.oid) f WHERE c.relkind IN ('r', 'i', 't', 'm', 'S') AND f.status <> 'zeroed_page'
SQL
my @known = grep { !$damaged{$_} } grep {
	defined $images->{$_} && $lost->{$_} <= $images->{$_} || defined $pages->{$_} && $lost->{$_} == 0
} keys %$lost;

note(sprintf '%d blocks lost a write, %d of them with an image; %d named', scalar keys %$lost, scalar @known, scalar keys %$named);
cmp_ok(scalar @known, '>', 20, 'writes were lost');
is(join("\n", sort grep { !defined $named->{$_} } @known), '', 'each lost write of a block with an image is named');
is(join("\n", map { "$_ $named->{$_}" } sort grep { !defined $lost->{$_} } keys %$named), '', 'and no other');

done_testing();
