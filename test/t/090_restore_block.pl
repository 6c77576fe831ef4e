# restore_block() writes a page that is given where the WAL proves it: every kind
# of relation, pages of a backup and images in the WAL, equal afterwards to what
# was lost, on the standby too.  Whatever is not proven, older, of a clone or
# forged is refused in words, and nothing is written.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
jit = off
fsync = off
bgwriter_lru_maxpages = 0
max_wal_size = 4GB
shared_buffers = 64MB
wal_writer_delay = 10s
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE TABLE t (id int, a int[], p point, b text, big text)
ALTER TABLE t ALTER big SET STORAGE EXTERNAL
ALTER TABLE t SET (fillfactor = 70)
CREATE INDEX t_gist ON t USING gist (p)
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 200 = 0 THEN repeat('b', 9000) END FROM generate_series(1, 2000) g
CREATE INDEX t_btree ON t (id)
CREATE INDEX t_hash ON t USING hash (id)
CREATE INDEX t_gin ON t USING gin (a)
CREATE INDEX t_sorted ON t USING gist (p)
CREATE INDEX t_spgist ON t USING spgist (p)
CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 16)
CREATE SEQUENCE s
SELECT nextval('s') FROM generate_series(1, 40)
DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('COMMENT ON OPERATOR +(int, int) IS %L', repeat('c', i)); END LOOP; END $$
VACUUM t
CREATE UNLOGGED TABLE u AS SELECT 1 AS i
CHECKPOINT
SQL
my $toast = sql("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");
my @relations = ('t', $toast, qw(t_btree t_hash t_gin t_gist t_spgist t_brin s pg_description));
my %file;

sub learn_files
{
	$file{$_} = sql("SELECT pg_relation_filepath('$_')") foreach @relations, @_;
	return;
}
learn_files('u');
sub path { return $node->data_dir . "/$file{ $_[0] }"; }
sub page { return AccelWal::peek(path($_[0]), $_[1] * 8192, 8192); }
sub put_page { AccelWal::poke(path($_[0]), $_[1] * 8192, $_[2]); return; }
sub lsn_of { return sprintf('%X/%X', unpack 'LL', $_[0]); }
sub literal { return q{'\x} . unpack('H*', $_[0]) . q{'}; }

sub restore
{
	my ($relation, $block, $page, %more) = @_;
	my $arguments = join '', map { ", $_ => $more{$_}" } sort keys %more;
	return sql("SELECT status, message FROM restore_block('$relation', 'main', $block, " . literal($page) . "$arguments)");
}

# --- every block of every relation ------------------------------------------------------------

# Pages that were put aside after a stop are the truth.
my $aside = PostgreSQL::Test::Utils::tempdir();
my %mutilate = (
	bit => sub { return (5000, chr(ord(substr($_[0], 5000, 1)) ^ 4)); },
	header => sub { return (10, "\xff" x 10); },
	lsn => sub { return (0, "\xff" x 8); },
	half => sub { return (4096, 'x' x 4096); },
	zero => sub { return (0, "\0" x 8192); });
my @kinds = sort keys %mutilate;
my $digest = "SELECT crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno) FROM page_digests('%s', masked => true)";

$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
Accel::configure($standby);
$standby->start;

# Some of the changes are the first ones after a checkpoint, so images.
sql("DELETE FROM t WHERE id % 97 = 3; INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200) FROM generate_series(5000, 5300) g");
sql("SELECT setval('s', 4711), brin_summarize_new_values('t_brin')");
sql('CHECKPOINT');
sql("DELETE FROM t WHERE ctid IN (SELECT format('(%s,1)', b)::tid FROM generate_series(0, 30) b)");
sql("INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), repeat('b', 1990) FROM generate_series(6000, 6000) g");
sql("COMMENT ON TABLE t IS 'a table'");
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $truth = sql($rows);
$node->stop;
my %blocks = map { $_ => (-s path($_)) / 8192 } @relations;
my %digest;
foreach my $relation (@relations)
{
	AccelWal::put("$aside/$relation", AccelWal::peek(path($relation), 0, $blocks{$relation} * 8192));
}
$node->start;
$digest{$_} = sql(sprintf $digest, $_) foreach @relations;
$node->stop;

# Damages every block that is not new, which a hash index has.
sub damage_all
{
	my $damaged = 0;
	foreach my $relation (@relations)
	{
		foreach my $block (0 .. $blocks{$relation} - 1)
		{
			my $page = page($relation, $block);
			next if $page eq "\0" x 8192;
			my ($offset, $bytes) = $mutilate{ $kinds[ $block % @kinds ] }->($page);
			AccelWal::poke(path($relation), $block * 8192 + $offset, $bytes);
			$damaged++;
		}
	}
	return $damaged;
}

# Restores all blocks of a relation, returns how many have which status.
sub restore_all
{
	my ($relation, $page, $more) = @_;
	my %count = map { split /\|/ } split /\n/, sql("SELECT status, count(*) FROM generate_series(0, $blocks{$relation} - 1) b,
		LATERAL (SELECT $page AS page OFFSET 0) p, restore_block('$relation', 'main', b, p.page$more) WHERE p.page IS NOT NULL GROUP BY 1");
	return \%count;
}

my $damaged = damage_all();
cmp_ok($damaged, '>', 200, "$damaged blocks are damaged");
$node->start;
my $proven = 0;

# A hash index makes a page anew without reading it.
foreach my $index (qw(t_hash t_btree))
{
	my $page = literal(AccelWal::peek("$aside/$index", 0, 8192));
	is(sql("BEGIN; SELECT count(*) FROM restore_block('$index', 'main', 0, $page);
		SELECT count(*) FROM pg_locks WHERE relation = '$index'::regclass AND mode = 'ExclusiveLock' AND locktype = 'relation'; COMMIT"),
		$index eq 't_hash' ? "1\n1" : "1\n0", "$index: are its writers kept out of a damaged block?");
}
foreach my $relation (@relations)
{
	my $zeros = qq{decode(repeat('00', 8192), 'hex')};
	my $page = "nullif(pg_read_binary_file('$aside/$relation', b * 8192::bigint, 8192), $zeros)";
	my $first = restore_all($relation, $page, '');
	my $second = restore_all($relation, $page, ', allow_unproven => true');
	my $of_wal = $first->{restored} // 0;
	$of_wal += delete $first->{healthy} // 0 if $relation =~ /^t_(hash|btree)$/;    # block 0, above
	$proven += $of_wal;
	cmp_ok($of_wal, '>', 0, "$relation: $of_wal of $blocks{$relation} blocks are proven by an image");
	is(join(' ', grep { $_ ne 'restored' && $_ ne 'not_proven' } sort keys %$first), '', '... the others are not proven');
	is(join(' ', grep { $_ ne 'restored' && $_ !~ /^(healthy|bad_on_disk_cached_ok)$/ } sort keys %$second), '', '... and are written all the same, vouched for');
	is(sql("SELECT count(*) FROM verify_relation('$relation', 'main')"), '0', '... verified');
	is(sql(sprintf $digest, $relation), $digest{$relation}, '... and equal to what was lost, masked');
}
cmp_ok($proven, '>', 30, "$proven blocks were proven");
is(sql($rows), $truth, 'the rows are what they were');
is(sql("SELECT nextval('s')"), '4712', 'the sequence goes on');
SKIP:
{
	skip 'no amcheck', 2 if Accel::missing_modules('amcheck');
	sql('CREATE EXTENSION amcheck');
	is(sql("SELECT bt_index_parent_check('t_btree', true)"), '', 'amcheck: the index agrees');
	is(sql("SELECT count(*) FROM verify_heapam('t')"), '0', 'amcheck: the table');
}
sql('CHECKPOINT');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');
foreach my $relation (@relations)
{
	is($standby->safe_psql('postgres', sprintf $digest, $relation), sql(sprintf $digest, $relation), "$relation: the standby has the same pages");
}
$standby->stop;

# --- images out of the WAL, and an archive -------------------------------------------------------

# each relation's blocks whose last record is an image
my $archive = PostgreSQL::Test::Utils::tempdir();
sql("CHECKPOINT; DELETE FROM t WHERE ctid IN (SELECT format('(%s,2)', b)::tid FROM generate_series(0, 30) b); SELECT pg_switch_wal(); CHECKPOINT");
AccelWal::copy_files($node->data_dir . '/pg_wal', $archive);
$digest{t} = sql(sprintf $digest, 't');
$node->stop;
my %saved = map { $_ => page('t', $_) } 0 .. 20;
put_page('t', $_, substr($saved{$_}, 0, 4096) . 'x' x 4096) foreach 0 .. 20;
$node->start;
foreach my $where ([ 'pg_wal', 'NULL', 0, 9 ], [ 'an archive', "'$archive'", 10, 20 ])
{
	my ($title, $directory, $first, $last) = @$where;
	is(sql("SELECT r.status, count(*) FROM generate_series($first, $last) b, wal_block_history('t', 'main', b, $directory) h,
		restore_block('t', 'main', b, wal_page_image('t', 'main', b, $directory, h.lsn), directory => $directory) r WHERE h.is_page GROUP BY 1"),
		'restored|' . ($last - $first + 1), "images out of $title");
}
is(sql(sprintf $digest, 't'), $digest{t}, '... are the pages');

# a sorted build writes pages before they have an LSN; WAL has them
my $sorted = sql(q{SELECT b FROM generate_series(1, 9) b, wal_block_history('t_sorted', 'main', b) h
	WHERE is_page AND (verify_page(read_disk_page('t_sorted', 'main', b), b)).lsn = '0/1' LIMIT 1});
learn_files('t_sorted');
SKIP:
{
	skip 'no such page', 4 if $sorted eq '';
	my $page = page('t_sorted', $sorted);
	$node->stop;
	put_page('t_sorted', $sorted, substr($page, 0, 5000) . 'damage' . substr($page, 5006));
	$node->start;
	like(restore('t_sorted', $sorted, $page), qr/^outdated\|/, 'a page of a sorted build has no LSN');
	my $image = "SELECT r.status, r.message FROM wal_block_history('t_sorted', 'main', $sorted) h,
		restore_block('t_sorted', 'main', $sorted, wal_page_image('t_sorted', 'main', $sorted, NULL, h.lsn)) r WHERE is_page";
	like(sql($image), qr/^restored\|/, '... the image in WAL has one');
	$node->stop;
	put_page('t_sorted', $sorted, $page);
	$node->start;
	like(sql($image), qr/^healthy\|the page on disk is the proven one, but for its LSN$/, '... which is not written over the sound page');
	ok(page('t_sorted', $sorted) eq $page, '... nothing was written');
}

# --- what is refused ---------------------------------------------------------------------------------

sub refused
{
	my ($title, $want, $got, $words, $relation, $block, $before) = @_;
	my ($status, $message) = split /\|/, $got, 2;
	is($status, $want, $title);
	like($message, $words, '... in words');
	ok(page($relation, $block) eq $before, '... nothing was written') if defined $before;
	return;
}

sub sealed
{
	my ($page, $block) = @_;
	my $sum = sql('SELECT (verify_page(' . literal($page) . ", $block)).computed_checksum");
	substr($page, 8, 2) = pack 'S', $sum;
	return $page;
}

sub restart_with
{
	my ($relation, $block, $page) = @_;
	$node->stop;
	put_page($relation, $block, $page);
	$node->start;
	return $page;
}

my $good = page('t', 3);
refused('a good page', 'healthy', restore('t', 3, $good), qr/as new as the one that is given/, 't', 3, $good);
sql('CREATE TABLE unwritten (i int); INSERT INTO unwritten VALUES (1)');
learn_files('unwritten');
refused('a page that is yet to be written', 'healthy', restore('unwritten', 0, $good = page('t', 0)), qr/has a good page/, 'unwritten', 0, "\0" x 8192);
$good = page('t', 3);
sql('SELECT count(b) FROM t');
my $bad = substr($good, 0, 5000) . 'damage' . substr($good, 5006);
put_page('t', 3, $bad);
refused('a good page in memory', 'bad_on_disk_cached_ok', restore('t', 3, $good, allow_unproven => 'true'), qr/heal_block\(\) writes it/, 't', 3, $bad);
is(sql("SELECT status FROM heal_block('t', 'main', 3, true)"), 'healed', '... which it does');

# an older page: WAL has a later record
$good = page('t', 4);
sql("CHECKPOINT; DELETE FROM t WHERE ctid = '(4,3)'; CHECKPOINT");
my $newer = page('t', 4);
isnt(lsn_of($newer), lsn_of($good), 'a page is changed');
$bad = restart_with('t', 4, $bad);
my $old = lsn_of($good);
my $new = lsn_of($newer);
refused('an older page', 'outdated', restore('t', 4, $good), qr/^the page has LSN $old, and WAL changed the block up to $new$/, 't', 4, $bad);
refused('an older page, vouched for', 'outdated', restore('t', 4, $good, allow_unproven => 'true'), qr/up to $new/, 't', 4, $bad);
like(restore('t', 4, $newer), qr/^restored\|the page was written and read back: WAL has the page at LSN $new/, 'the newer one');

# hint bits of the page that is given are passed over, and do not come in
$newer = page('t', 4);
$bad = restart_with('t', 4, $bad);
my $hinted = sealed(substr($newer, 0, 20) . pack('L', 4711) . substr($newer, 24), 4);
like(restore('t', 4, $hinted), qr/^restored\|/, 'a page with another hint');
ok(substr(page('t', 4), 10) eq substr($newer, 10), '... what WAL has is written');

# a write that was lost: the page on disk is sound
sql("CREATE TABLE l AS SELECT g AS id, repeat('x', 500) AS b FROM generate_series(1, 100) g; VACUUM FREEZE l; CHECKPOINT");
learn_files('l');
$good = page('l', 4);
sql("DELETE FROM l WHERE ctid = '(4,3)'; CHECKPOINT");
$newer = page('l', 4);
restart_with('l', 4, $good);
like(restore('l', 4, $newer), qr/^restored\|/, 'a proven page over an older one on disk');
refused('the page as it was before it was restored', 'healthy', restore('l', 4, $newer), qr/as new as/);
$newer = page('l', 4);
restart_with('l', 4, $good);
is(sql("SELECT count(*) FROM l WHERE ctid = '(4,3)'"), '1', 'an older page is read');
my $cursor = $node->background_psql('postgres');
$cursor->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT * FROM l WHERE ctid >= '(4,0)'; FETCH 1 FROM c");
my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '300ms'; SELECT restore_block('l', 'main', 4, " . literal($newer) . ')');
like($err, qr/statement timeout/, '... and in use: waits');
ok(page('l', 4) eq $good, '... nothing was written');
$cursor->query_safe('COMMIT');
$cursor->quit;
like(restore('l', 4, $newer), qr/^restored\|/, 'a proven page over an older one in memory');
is(sql("SELECT count(*) FROM l WHERE ctid = '(4,3)'"), '0', '... is what is read then');

# the last record is a change of a part
sql("DELETE FROM t WHERE ctid = '(4,4)'; CHECKPOINT");
$newer = page('t', 4);
sql("DELETE FROM t WHERE ctid = '(6,5)'; DELETE FROM t WHERE ctid = '(6,6)'; CHECKPOINT");
my $partly = page('t', 6);
my $partly_lsn = lsn_of($partly);
$bad = restart_with('t', 6, $bad);
refused('a page that WAL has no image of', 'not_proven', restore('t', 6, $partly), qr/no image of the page at its LSN $partly_lsn: allow_unproven => true writes it, if you know that it is a page of this server and not of a clone/, 't', 6, $bad);
like(restore('t', 6, $partly, allow_unproven => 'true'), qr/^restored\|the page was written and read back, not proven: WAL has no later change/, '... vouched for');
$good = $partly;
sql("SELECT count(b) FROM t WHERE ctid >= '(6,0)' AND ctid < '(7,0)'; DELETE FROM t WHERE ctid = '(6,7)'; DELETE FROM t WHERE ctid = '(6,8)'; CHECKPOINT");
$partly = page('t', 6);
restart_with('t', 6, $good);
refused('the same over an older page', 'not_proven', restore('t', 6, $partly, allow_unproven => 'true'), qr/not written over a page that is sound, in the file/, 't', 6, $good);
restart_with('t', 6, $partly);

# no page of this block at all
$newer = page('t', 4);
sql("DELETE FROM l WHERE ctid = '(4,9)'; CHECKPOINT");
$bad = restart_with('t', 4, $bad);
foreach my $case (
	[ 'a page of another block', page('t', 5), 'invalid_page', qr/no sound page of block 4: checksum_mismatch/ ],
	[ 'a damaged page', $bad, 'invalid_page', qr/checksum_mismatch/ ],
	[ 'zeros', "\0" x 8192, 'invalid_page', qr/all zeros/ ],
	[ 'half a page', substr($newer, 0, 4096), 'invalid_page', qr/has 4096 bytes, not 8192/ ],
	[ 'a page and more', "${newer}x", 'invalid_page', qr/has 8193 bytes/ ],
	[ 'nothing', '', 'invalid_page', qr/has 0 bytes/ ],
	[ 'a page of an index', page('t_btree', 4), 'invalid_page', qr/wrong_page_kind/ ],
	[ 'a page of another table', page('l', 4), 'invalid_page', qr/no record that ends at LSN \S+ names the block: the page is of another block or server/ ],
	[ 'a page of the future', sealed(pack('LL', 1000, 0) . substr($newer, 8), 4), 'invalid_page', qr/lsn_in_future/ ],
	[ 'a page with another LSN', sealed(pack('LL', unpack('L', $newer), unpack('x4L', $newer) + 8) . substr($newer, 8), 4), 'invalid_page', qr/names the block/ ],
	[ 'a page without an LSN', sealed("\0" x 8 . substr($newer, 8), 4), 'outdated', qr/has LSN 0\/0, and WAL changed/ ])
{
	my ($title, $page, $want, $words) = @$case;
	refused($title, $want, restore('t', 4, $page, allow_unproven => 'true'), $words, 't', 4, $bad);
}

# WAL that is missing
my $segment = sql("SELECT pg_walfile_name('" . lsn_of($newer) . "')");
sql("SELECT pg_logical_emit_message(true, 'x', 'x'); SELECT pg_switch_wal()") for 1 .. 3;
unlink glob("$archive/*");
AccelWal::copy_files($node->data_dir . '/pg_wal', $archive);
my @segments = sort map { s{.*/}{}r } glob("$archive/0000000*");
my ($next) = grep { $_ gt $segment } @segments;
unlink "$archive/$next" or die;
my $is_image = sql("SELECT kind FROM wal_block_history('t', 'main', 4) WHERE is_last");
refused('a gap in the archive', 'not_proven', restore('t', 4, $newer, directory => "'$archive'"), qr/^WAL is missing from \S+ to \S+ \(the segment is not there\): allow_unproven => true writes it, if you know that it is the newest page/, 't', 4, $bad);
unlink "$archive/$segment" or die;
refused('the page\'s own segment is missing', 'not_proven', restore('t', 4, $newer, directory => "'$archive'"), qr/^WAL is missing from /, 't', 4, $bad);
$old = $saved{4};
refused('an older page beyond a gap', 'outdated', restore('t', 4, $old), qr/WAL changed/, 't', 4, $bad);
like(restore('t', 4, $newer, directory => "'$archive'", allow_unproven => 'true'), qr/^restored\|the page was written and read back, not proven: WAL is missing/, '... vouched for');
my $empty = PostgreSQL::Test::Utils::tempdir();
$newer = page('t', 4);
$bad = restart_with('t', 4, $bad);
refused('an archive that is empty', 'not_proven', restore('t', 4, $newer, directory => "'$empty'"), qr/^nothing tells whose WAL the directory holds/, 't', 4, $bad);
like(restore('t', 4, $newer, allow_unproven => 'true'), qr/^restored\|/, 'with pg_wal');

# storage that was cut off, made anew, moved
sql("CREATE TABLE cut AS SELECT g, repeat('x', 900) AS b FROM generate_series(1, 80) g; VACUUM cut; CHECKPOINT; DELETE FROM cut WHERE ctid = '(5,1)'; CHECKPOINT");
learn_files('cut');
my $cut = page('cut', 5);
sql("DELETE FROM cut WHERE ctid >= '(3,0)'; VACUUM cut");
is(sql("SELECT pg_relation_size('cut') / 8192"), '3', 'a table is cut');
($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT restore_block('cut', 'main', 5, " . literal($cut) . ')');
like($err, qr/ERROR:  22023/, 'a block past the end');
$node->stop;
append_to_file(path('cut'), "\0" x (8192 * 5));
$node->start;
refused('a page from before the cut', 'outdated', restore('cut', 5, $cut, allow_unproven => 'true'), qr/cut the block off|changed the block/, 'cut', 5, "\0" x 8192);
sql('CHECKPOINT; TRUNCATE cut; INSERT INTO cut SELECT g, repeat(\'x\', 900) AS b FROM generate_series(1, 80) g; CHECKPOINT');
learn_files('cut');
$bad = restart_with('cut', 5, $bad);
refused('a page of the storage before TRUNCATE', 'outdated', restore('cut', 5, $cut, allow_unproven => 'true'), qr/WAL changed the block/, 'cut', 5, $bad);

# a database made by copies of files: its pages have the LSNs of the original
sql("CREATE DATABASE original");
$node->safe_psql('original', "CREATE EXTENSION crc32c_accel; CREATE TABLE c AS SELECT g, repeat('x', 900) AS b FROM generate_series(1, 80) g; VACUUM c; CHECKPOINT");
sql("CREATE DATABASE copied TEMPLATE original STRATEGY file_copy");
$file{c} = $node->safe_psql('copied', "SELECT pg_relation_filepath('c')");
my $copied = page('c', 2);
$bad = restart_with('c', 2, $bad);
my $restore_c = sub { return $node->safe_psql('copied', "SELECT status, message FROM restore_block('c', 'main', 2, " . literal($copied) . ", allow_unproven => $_[0])"); };
refused('a page of a copied database', 'not_proven', $restore_c->('false'), qr/the files of its database were copied, up to/, 'c', 2, $bad);
like($restore_c->('true'), qr/^restored\|/, '... vouched for');

# a left child of a GiST page that was split: redo goes beyond its image
sql("CREATE TABLE g (p point); CREATE INDEX g_p ON g USING gist (p)");
sql("SET wal_consistency_checking = 'gist'; INSERT INTO g SELECT point(x, 0) FROM generate_series(1, 3000) x; CHECKPOINT");
my ($left, $wrong) = (0, '');
foreach my $row (split /\n/, sql(q{SELECT b, encode(read_disk_page('g_p', 'main', b), 'hex'), encode(wal_page_image('g_p', 'main', b, NULL, lsn), 'hex')
	FROM generate_series(0, pg_relation_size('g_p') / 8192 - 1) b, wal_block_history('g_p', 'main', b) WHERE is_page}))
{
	# the special space: NSN, right link, flags
	my ($block, $disk, $image) = split /\|/, $row;
	$left++ if substr($disk, -32, 16) eq substr($disk, 0, 16);
	$wrong .= " $block" if substr($disk, -32) ne substr($image, -32);
}
cmp_ok($left, '>', 0, "GiST: $left pages whose NSN is their LSN");
is($wrong, '', '... images are what is on disk');

# --- what has no WAL --------------------------------------------------------------------------------

foreach my $case (
	[ 't', 'fsm', qr/VACUUM makes them anew/ ], [ 't', 'vm', qr/VACUUM makes them anew/ ],
	[ 'u', 'main', qr/no WAL is written of unlogged relations/ ])
{
	my ($relation, $fork, $words) = @$case;
	like(sql("SELECT status, message FROM restore_block('$relation', '$fork', 0, read_disk_page('$relation', '$fork', 0))"),
		qr/^not_verifiable\|.*$words/, "$relation, $fork: not verifiable");
}
like(sql("CREATE TEMP TABLE temporary AS SELECT 1 AS i; SELECT status, message FROM restore_block('temporary', 'main', 0, '')"),
	qr/^not_verifiable\|temporary relations live/, 'a temporary table');

# --- a clone that does the same work at the same LSNs -------------------------------------------------

sql('CREATE TABLE twin (id int, b text); CREATE TABLE victim (id int, b text)');
sql("INSERT INTO twin SELECT g, repeat('t', 300) FROM generate_series(1, 400) g; VACUUM FREEZE twin; CHECKPOINT");
learn_files('twin');
$node->backup('clone', backup_options => ['--no-verify-checksums']);
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'clone');
Accel::configure($clone);
$clone->start;
# brings both to the same place in WAL, as clones at rest are
for (1 .. 20)
{
	my ($ours, $theirs) = map { int(AccelWal::number($_->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()')) / (1 << 20)) } $node, $clone;
	last if $ours == $theirs;
	($ours < $theirs ? $node : $clone)->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'x', 'x'); SELECT pg_switch_wal()");
}
$_->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'x', 'x'); SELECT pg_switch_wal(); CHECKPOINT; SELECT pg_switch_wal()") foreach $node, $clone;
my $work = "UPDATE twin SET b = repeat('%s', 300) WHERE ctid IN (SELECT format('(%%s,%%s)', b, 1)::tid FROM generate_series(0, 12) b);
	DELETE FROM twin WHERE id %% 23 = 1; CHECKPOINT";
$node->safe_psql('postgres', sprintf $work, 'o');
$clone->safe_psql('postgres', sprintf $work, 'c');
my $twin_blocks = sql("SELECT pg_relation_size('twin') / 8192");
my @theirs = split /\n/, $clone->safe_psql('postgres', "SELECT encode(read_disk_page('twin', 'main', b), 'hex') FROM generate_series(0, $twin_blocks - 1) b");
my @ours = split /\n/, sql("SELECT encode(read_disk_page('twin', 'main', b), 'hex') FROM generate_series(0, $twin_blocks - 1) b");
my @same_lsn = grep { substr($ours[$_], 0, 16) eq substr($theirs[$_], 0, 16) && $ours[$_] ne $theirs[$_] } 0 .. $#ours;
note('the same LSN, another page: ' . @same_lsn . ' of ' . @ours);
$clone->stop;

# --- forged pages by the thousand ----------------------------------------------------------------------

my $before_restart = sql(sprintf $digest, 'twin');
$node->stop;
my @kept = map { page('twin', $_) } 0 .. $#ours;
put_page('twin', $_, substr($kept[$_], 0, 5000) . 'damage' . substr($kept[$_], 5006)) foreach 0 .. $#ours;
my @lost = map { page('twin', $_) } 0 .. $#ours;
$node->start;
my $of_clone = join ',', map { "($_, '\\x$theirs[$_]'::bytea)" } grep { $ours[$_] ne $theirs[$_] } 0 .. $#theirs;
my %of_clone = map { split /\|/ } split /\n/, sql("SELECT status, count(*) FROM (VALUES $of_clone) AS v (b, page), restore_block('twin', 'main', b, page) GROUP BY 1");
is($of_clone{restored} // 0, 0, 'pages of a clone: ' . join ' ', map { "$of_clone{$_} $_" } sort keys %of_clone);
SKIP:
{
	skip 'the clone is elsewhere', 1 if !@same_lsn;
	my $same = join ',', map { "($_, '\\x$theirs[$_]'::bytea)" } @same_lsn;
	is(sql("SELECT count(*) FROM (VALUES $same) AS v (b, page), restore_block('twin', 'main', b, page) WHERE status NOT IN ('invalid_page', 'not_proven', 'outdated')"),
		'0', '... ' . @same_lsn . ' with the LSN of ours');
}
my $truths = join ',', map { "($_, '\\x$ours[$_]'::bytea)" } 0 .. $#ours;
sql(<<"SQL");
CREATE TABLE truth AS SELECT * FROM (VALUES $truths) AS v (b, page);
CREATE FUNCTION sealed(page bytea, b bigint) RETURNS bytea LANGUAGE sql AS
	'SELECT set_byte(set_byte(page, 8, c & 255), 9, c >> 8) FROM (SELECT (public.verify_page(page, b)).computed_checksum AS c) AS sum';
CREATE TABLE forged AS
SELECT t.b, 'byte ' || n AS how, sealed(set_byte(t.page, at, (get_byte(t.page, at) + 1 + n % 255) % 256), t.b) AS page
FROM truth t, generate_series(1, 60) n, LATERAL (SELECT 8192 - 300 + (n * 37 + t.b::int * 11) % 290 AS at) AS a
UNION ALL
SELECT t.b, 'of block ' || o.b, sealed(o.page, t.b) FROM truth t, truth o WHERE t.b <> o.b
UNION ALL
SELECT t.b, 'of block ' || o.b || ' with this LSN', sealed(substr(t.page, 1, 8) || substr(o.page, 9), t.b) FROM truth t, truth o WHERE t.b <> o.b
UNION ALL
SELECT t.b, 'LSN ' || n, sealed(set_byte(t.page, 4, (get_byte(t.page, 4) + 8 * n) % 256), t.b) FROM truth t, generate_series(1, 30) n;
SQL
my %forged = map { split /\|/ } split /\n/, sql("SELECT status, count(*) FROM forged, restore_block('twin', 'main', b, page) GROUP BY 1");
my $forged = 0;
$forged += $_ foreach values %forged;
cmp_ok($forged, '>', 2000, "$forged forged pages: " . join ' ', map { "$forged{$_} $_" } sort keys %forged);
is($forged{restored} // 0, 0, '... none is written');
is(join(' ', grep { page('twin', $_) ne $lost[$_] } 0 .. $#ours), '', '... the disk is as it was');
is(sql("SELECT count(*) FROM truth, restore_block('twin', 'main', b, page, allow_unproven => true) WHERE status <> 'restored'"), '0', 'the truth is');
is(sql(sprintf $digest, 'twin'), $before_restart, '... and equal to what was lost');

# --- arguments -------------------------------------------------------------------------------------------

$clone->start;
$_->safe_psql('postgres', 'INSERT INTO victim SELECT pg_backend_pid(); SELECT pg_switch_wal(); INSERT INTO victim VALUES (2)') foreach $node, $clone;
restart_with('twin', 0, $lost[0]);
my $theirs_wal = $clone->data_dir . '/pg_wal';
($rc, $out, $err) = $node->psql('postgres', "SELECT restore_block('twin', 'main', 0, " . literal($kept[0]) . ", directory => '$theirs_wal')");
like($err, qr/directory ".*" holds WAL of another history/, 'WAL of a clone');
ok(page('twin', 0) eq $lost[0], '... nothing was written');
$clone->stop;
sql('CREATE ROLE somebody; GRANT EXECUTE ON FUNCTION restore_block TO somebody');
foreach my $case (
	[ 'not a superuser', "SET ROLE somebody; SELECT restore_block('t', 'main', 0, '')", '42501' ],
	[ 'a read-only transaction', "BEGIN READ ONLY; SELECT restore_block('t', 'main', 0, '')", '25006' ],
	[ 'no page', "SELECT restore_block('t', 'main', 0, NULL)", '22004' ],
	[ 'no fork', "SELECT restore_block('t', 'mains', 0, '')", '22023' ],
	[ 'a negative block', "SELECT restore_block('t', 'main', -1, '')", '22023' ],
	[ 'no relation', "SELECT restore_block(4294967295::oid, 'main', 0, '')", '42P01' ])
{
	my ($title, $query, $state) = @$case;
	($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");
	like($err, qr/ERROR:  $state$/m, "$title: $state");
}
$standby->start;
($rc, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT restore_block('t', 'main', 0, '')");
like($err, qr/25006/, 'a standby writes nothing itself');
$standby->stop;
$node->stop;

my $off = Accel::new_node('off', checksums => 0, conf => "autovacuum = off\nfsync = off\n");
$off->start;
is($off->safe_psql('postgres', q{CREATE EXTENSION crc32c_accel; CREATE TABLE t AS SELECT 1 AS i; CHECKPOINT;
	SELECT status FROM restore_block('t', 'main', 0, read_disk_page('t', 'main', 0), allow_unproven => true)}), 'not_verifiable', 'checksums off');
$off->stop;
done_testing();
