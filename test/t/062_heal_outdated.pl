# A page in memory that storage gave back after it had lost a write: its checksum
# is right, and WAL has a newer one.  heal_block() must not write it over the
# disk, nor by WAL over a standby's good one; verify_lost_writes() names it,
# damaged on disk or not.  Without the WAL nobody knows.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');

my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\njit = off\nbgwriter_lru_maxpages = 0\nshared_buffers = 64MB\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE TABLE t AS SELECT g AS id, 0 AS paid, repeat('t', 500) AS b FROM generate_series(1, @{[ BLCKSZ / 27 ]}) g
CREATE TABLE gone AS SELECT * FROM t
VACUUM FREEZE t, gone
CHECKPOINT
SQL
my %file = map { $_ => $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('$_')") } qw(t gone);

sub page { return AccelWal::peek_block($file{ $_[0] }, $_[1]); }
sub rot { AccelWal::poke_block($file{ $_[0] }, $_[1], 6000, page(@_) =~ /^.{6000}(.)/s && $1 ^ "\x10"); return; }
sub heal { my ($relation, $block, $trust) = @_; return $q->("SELECT status, copy, message FROM heal_block('$relation', 'main', $block, " . ($trust ? 'true' : 'false') . ')'); }
my $lost = q{SELECT concat_ws(' ', relation, blkno, status, disk_lsn IS NULL, message) FROM verify_lost_writes() ORDER BY relation, blkno};

# --- WAL is there, and knows of no newer page ------------------------------------------------

$node->restart;
$q->('SELECT count(b) FROM t');
rot('t', 1);
like(heal('t', 1), qr/^healed\|proven\|/, 'a page as it was read, and all WAL since');
is($q->($lost), '', 'no write was lost');

# --- a write is lost, the server starts again, a byte rots ------------------------------------

my $before = page('t', 3);
$q->("UPDATE t SET paid = 1, id = -id WHERE ctid = '(3,1)'");
$q->('CHECKPOINT');
$node->stop;
my $after = page('t', 3);
isnt($after, $before, 'the row changed its page');
AccelWal::poke_block($file{t}, 3, 0, $before);
$node->start;
is($q->("SELECT paid FROM t WHERE ctid = '(3,1)'"), '0', 'the payment is gone');
like($q->($lost), qr/^t 3 stale_page f a write was lost: the page on disk has LSN/, 'healthy by itself: a lost write');
rot('t', 3);
like($q->($lost), qr/^t 3 stale_page t a write was lost: the page on disk is damaged, and shared buffers hold an older one/, 'damaged on disk: still one');
my $damaged = page('t', 3);
my $lsn = $q->('SELECT pg_current_wal_insert_lsn()');
my $said = $q->("SELECT status || ' ' || message FROM verify_relation('t')");
like($said, qr/^bad_on_disk_cached_ok .*proven by its checksum: heal_block\(\) writes it if WAL has no newer one/, 'a checksum is no promise');
like(heal('t', 3), qr/^no_good_copy\|\|shared buffers hold an older page: it has LSN .* a write was lost$/, 'an older page is not written');
like(heal('t', 3, 1), qr/^no_good_copy\|\|shared buffers hold an older page/, '... nor if memory is trusted');
is(page('t', 3), $damaged, '... the disk is as it was');
is($q->("SELECT count(*) FROM wal_block_history('t', 'main', 3, start_lsn => '$lsn')"), '0', '... and the WAL');

# what builds upon the older page makes it no newer
$q->("SELECT count(*) FROM t WHERE ctid >= '(3,0)' AND ctid < '(4,0)'");
like(heal('t', 3, 1), qr/^no_good_copy\|\|/, 'read once more: the same');
$node->stop('immediate');
AccelWal::poke_block($file{t}, 3, 0, $after);
$node->start;
is($q->('SELECT count(*) FROM t WHERE paid = 1'), '1', 'the page as it was written: the payment is there');
is($q->($lost), '', '... and nothing is lost');

# --- WAL that is gone -----------------------------------------------------------------------------

$q->('ALTER SYSTEM SET wal_keep_size = 0');
$q->('SELECT pg_reload_conf()');
my $segment = $q->(q{SELECT pg_walfile_name((verify_page(read_disk_page('gone', 'main', 2), 2)).lsn)});
for (1 .. 200)
{
	last if !-e $node->data_dir . "/pg_wal/$segment";
	$q->(q{SELECT pg_logical_emit_message(false, 'x', repeat('x', 300000)); SELECT pg_switch_wal(); CHECKPOINT});
}
ok(!-e $node->data_dir . "/pg_wal/$segment", 'the WAL of a page is gone');
$q->('SELECT count(b) FROM gone');
rot('gone', 2);
like(heal('gone', 2), qr/^no_good_copy\|sane\|.*may not be the newest: pg_wal does not hold all WAL from its LSN .*allow_unproven => true writes it$/, 'its age is not known');
like(heal('gone', 2, 1), qr/^healed\|sane\|/, '... trusted, it is written');
is($q->("SELECT count(*) FROM verify_relation('gone')"), '0', '... and good');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees');
done_testing();
