# restore_block() with a base backup: pages that WAL has no image of any more are
# proven by the backup they are of, if its WAL is this server's, its manifest
# holds, and WAL since its start names none of them.  A backup of a clone, a file
# that was exchanged and missing WAL prove nothing, and nothing is written.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
jit = off
fsync = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
wal_keep_size = 4MB
min_wal_size = 2MB
max_wal_size = 4MB
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE TABLE t (id int, a int[], p point, b text, big text)
ALTER TABLE t ALTER big SET STORAGE EXTERNAL
CREATE INDEX t_gist ON t USING gist (p)
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 200 = 0 THEN repeat('b', 9000) END FROM generate_series(1, 3000) g
CREATE INDEX t_btree ON t (id)
CREATE INDEX t_hash ON t USING hash (id)
CREATE INDEX t_gin ON t USING gin (a)
CREATE INDEX t_sorted ON t USING gist (p)
CREATE INDEX t_spgist ON t USING spgist (p)
CREATE INDEX t_brin ON t USING brin (id)
CREATE SEQUENCE s
SELECT nextval('s') FROM generate_series(1, 5)
DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('COMMENT ON OPERATOR +(int, int) IS %L', repeat('c', i)); END LOOP; END $$
UPDATE t SET b = repeat('y', 200) WHERE id % 7 = 0
VACUUM FREEZE t
VACUUM FREEZE pg_description
SELECT count(*) FROM t
CHECKPOINT
SQL
my $toast = sql("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");
my @relations = ('t', $toast, qw(t_btree t_hash t_gin t_gist t_sorted t_spgist t_brin s pg_description));
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } @relations;
sub path { return $node->data_dir . "/$file{ $_[0] }"; }
sub page { return AccelWal::peek(path($_[0]), $_[1] * 8192, 8192); }
my $digest = "SELECT crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno) FROM page_digests('%s', masked => true)";

# Segments that begin with many small records
sub pass_wal
{
	my ($where, $times) = @_;
	$where->safe_psql('postgres', "SELECT count(pg_logical_emit_message(false, 'x', 'x')) FROM generate_series(1, 50); SELECT pg_switch_wal()") for 1 .. $times;
	return;
}

# WAL of before the backup is not kept
pass_wal($node, 3);
sql('CHECKPOINT');
unlink glob("$archive/*");
$node->backup('base');
my $base = $node->backup_dir . '/base';
pass_wal($node, 3);

# Some blocks are changed after it.
sql("DELETE FROM t WHERE ctid IN ('(3,1)', '(9,1)'); CHECKPOINT");
pass_wal($node, 12);
sql('CHECKPOINT');
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $truth = sql($rows);
$node->stop;
my %truth = map { $_ => AccelWal::peek(path($_), 0, -s path($_)) } @relations;
$node->start;
my %digest = map { $_ => sql(sprintf $digest, $_) } @relations;
$node->stop;

my (%lost, $damaged);
sub damage
{
	%lost = ();
	foreach my $relation (@relations)
	{
		my @blocks = grep { substr($truth{$relation}, $_ * 8192, 8192) ne "\0" x 8192 } 0 .. length($truth{$relation}) / 8192 - 1;
		foreach my $block (@blocks)
		{
			$block % 3 ? AccelWal::poke(path($relation), $block * 8192 + 8000, 'damage') : AccelWal::poke(path($relation), $block * 8192, "\0" x 8192);
			$lost{"$relation/$block"} = page($relation, $block);
		}
	}
	return scalar keys %lost;
}
sub written { return join ' ', sort grep { my ($relation, $block) = split m{/}; page($relation, $block) ne $lost{$_} } keys %lost; }

# Restores all blocks, returns how many of which status, and the first words.
sub restore_all
{
	my ($backup, $directory, $relation) = @_;
	my (%count, %words);
	foreach my $one ($relation // @relations)
	{
		my $blocks = length($truth{$one}) / 8192;
		foreach my $row (split /\n/, sql("SELECT status, b, message FROM generate_series(0, $blocks - 1) b, restore_block('$one', 'main', b, backup => '$backup', directory => $directory)"))
		{
			my ($status, $block, $message) = split /\|/, $row;
			next if !exists $lost{"$one/$block"};
			$count{$status}++;
			$words{$status} = $message;
			$words{"$one/$block"} = $status;
		}
	}
	return (\%count, \%words);
}

$damaged = damage();
cmp_ok($damaged, '>', 200, "$damaged blocks are damaged");
$node->start;

# --- what proves nothing -----------------------------------------------------------------------

sub copy_of_base
{
	my ($name) = @_;
	my $copy = PostgreSQL::Test::Utils::tempdir() . "/$name";
	system_or_bail('cp', '-a', $base, $copy);
	return $copy;
}

sub proves_nothing
{
	my ($title, $backup, $directory, $status, $words) = @_;
	my ($count, $message) = restore_all($backup, $directory, 't');
	is(join(' ', grep { $_ ne 'outdated' } sort keys %$count), $status, $title);
	like($message->{$status}, $words, '... in words');
	is(written(), '', '... nothing was written');
	return;
}

my $other = copy_of_base('exchanged');
system_or_bail('cp', "$other/$file{t_btree}", "$other/$file{t}");
proves_nothing('another file', $other, "'$archive'", 'not_proven', qr/is not the one that its manifest lists/);
$other = copy_of_base('changed');
AccelWal::poke("$other/$file{t}", 8192 * 5 + 6000, 'forged');
proves_nothing('a changed file', $other, "'$archive'", 'not_proven', qr/is not the one that its manifest lists/);
$other = copy_of_base('unlisted');
unlink "$other/backup_manifest" or die;
proves_nothing('no manifest', $other, "'$archive'", 'not_proven', qr/backup_manifest: /);
$other = copy_of_base('manifest');
my $manifest = slurp_file("$other/backup_manifest");
$manifest =~ s/("Start-LSN": "\d+\/)/${1}F/ or die;
AccelWal::put("$other/backup_manifest", $manifest);
proves_nothing('a changed manifest', $other, "'$archive'", 'not_proven', qr/backup_manifest: /);
$other = copy_of_base('without');
unlink glob("$other/pg_wal/0*");
proves_nothing('a backup without WAL', $other, "'$archive'", 'not_proven', qr/nothing tells whose it is/);
$other = copy_of_base('away');
unlink "$other/$file{t}" or die;
proves_nothing('a backup without the file', $other, "'$archive'", 'not_proven', qr/could not open file/);
proves_nothing('no backup', '/nowhere', "'$archive'", 'not_proven', qr/backup_manifest: /);
proves_nothing('WAL since the backup is not there', $base, 'NULL', 'not_proven', qr/^WAL is missing from /);
my $gap = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($archive, $gap);
my @segments = sort grep { /\/[0-9A-F]{24}$/ } glob("$gap/*");
unlink $segments[5] or die;
proves_nothing('a gap since the backup', $base, "'$gap'", 'not_proven', qr/^WAL is missing from /);

# a clone of before the backup, that has its own since
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'base');
Accel::configure($clone);
$clone->append_conf('postgresql.conf', "archive_mode = off");
$clone->start;
pass_wal($clone, 7);
$clone->backup('theirs');
my $theirs = $clone->backup_dir . '/theirs';
$clone->stop;
is(AccelWal::peek("$theirs/$file{t}", 8192 * 5, 8192), substr($truth{t}, 8192 * 5, 8192), 'a clone has the same page');
proves_nothing('its backup', $theirs, "'$archive'", 'invalid_page', qr/the WAL in the backup differs from this server's/);

# --- what is proven -------------------------------------------------------------------------------

my ($count, $message) = restore_all($base, "'$archive'");
is(join(' ', sort keys %$count), 'outdated restored', "$count->{restored} blocks are restored out of the backup");
is(join(' ', sort grep { /\/\d/ && $message->{$_} eq 'outdated' } keys %$message), 't/3 t/9', '... but those that were changed since');
like($message->{restored}, qr/^the page was written and read back: the backup is of this server, and WAL has no change of the block since its start at /, '... in words');
my $n = sql("SELECT count(*) FROM generate_series(0, 9) b, restore_block('t', 'main', b, backup => '$base', directory => '$archive') WHERE status = 'healthy' OR b IN (3, 9)");
is($n, '10', '... and then they are good');
is(sql("SELECT status FROM wal_block_history('t', 'main', 3, '$archive') h, restore_block('t', 'main', 3, wal_page_image('t', 'main', 3, '$archive', h.lsn), directory => '$archive') WHERE is_page"),
	'restored', 'the others are in WAL');
is(sql("SELECT status FROM wal_block_history('t', 'main', 9, '$archive') h, restore_block('t', 'main', 9, wal_page_image('t', 'main', 9, '$archive', h.lsn), directory => '$archive') WHERE is_page"),
	'restored', '...');
is(sql(sprintf $digest, $_), $digest{$_}, "$_: equal to what was lost, masked") foreach @relations;
is(sql($rows), $truth, 'the rows are what they were');
is(sql("SELECT nextval('s')"), '6', 'the sequence goes on');
is(sql("SELECT count(*) FROM unnest(ARRAY['t', 't_btree', 't_gin', 'pg_description']) r, LATERAL verify_relation(r::regclass)"), '0', 'verified');

# --- a relation that is newer, a write that was lost before --------------------------------------------

sql("CREATE TABLE newer AS SELECT 1 AS i; CHECKPOINT");
like(sql("SELECT status, message FROM restore_block('newer', 'main', 0, backup => '$base', directory => '$archive')"),
	qr/^not_proven\|.*the manifest lists no file/, 'a relation that is newer than the backup');
sql("CREATE TABLE l AS SELECT g, repeat('l', 500) AS b FROM generate_series(1, 100) g; VACUUM FREEZE l; CHECKPOINT");
$file{l} = sql("SELECT pg_relation_filepath('l')");
my $older = page('l', 2);
sql("DELETE FROM l WHERE ctid = '(2,1)'; CHECKPOINT");
$node->stop;
AccelWal::poke(path('l'), 2 * 8192, $older);
$node->start;
$node->backup('stale');
sql('SELECT pg_switch_wal()');
$node->stop;
AccelWal::poke(path('l'), 2 * 8192 + 8000, 'damage');
$node->start;
like(sql("SELECT status, message FROM restore_block('l', 'main', 2, backup => '" . $node->backup_dir . "/stale', directory => '$archive')"),
	qr/^outdated\|.*WAL changed the block up to/, 'a write that was lost before the backup');

# --- tar ---------------------------------------------------------------------------------------------------

$node->backup('tar', backup_options => [ '-F', 't', '--no-verify-checksums' ]);
sql('SELECT pg_switch_wal()');
like(sql("SELECT status, message FROM restore_block('l', 'main', 2, backup => '" . $node->backup_dir . "/tar', directory => '$archive')"),
	qr/^not_proven\|.*archives must be extracted first/, 'a backup in archives');
$node->stop;
done_testing();
