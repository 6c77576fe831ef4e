# restore_block() over whole clusters: blocks of every access method and of every
# catalog, changed just now and long ago, in a tablespace, of a prepared
# transaction, on a server that was promoted.  What was kept aside is the truth,
# under the server's own masks.  Of thousands of forged pages none is written.
#
# Slow: runs with sh test/run.sh all.
#
#	ACCEL_SEED=n	of the blocks that are damaged
#	LONG=1			damages all blocks, not every third one
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

Accel::need_modules('pg_buffercache');
my $seed = $ENV{ACCEL_SEED} || time;
note "ACCEL_SEED=$seed";
srand $seed;

my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
jit = off
fsync = off
bgwriter_lru_maxpages = 0
max_wal_size = 4GB
shared_buffers = 128MB
max_prepared_transactions = 2
allow_in_place_tablespaces = on
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sub rows { return map { [ split /\|/ ] } split /\n/, sql($_[0]); }
sub literal { return q{'\x} . unpack('H*', $_[0]) . q{'::bytea}; }
sql($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE EXTENSION pg_buffercache
CREATE TABLESPACE elsewhere LOCATION ''
CREATE TABLE t (id int, a int[], p point, b text, big text) TABLESPACE elsewhere
ALTER TABLE t ALTER big SET STORAGE EXTERNAL
ALTER TABLE t SET (fillfactor = 80)
CREATE INDEX t_gist ON t USING gist (p)
CREATE INDEX t_gin ON t USING gin (a)
CREATE INDEX t_spgist ON t USING spgist (p)
CREATE INDEX t_hash ON t USING hash (id)
CREATE INDEX t_btree ON t (id, b) TABLESPACE elsewhere
CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 2)
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 50 = 0 THEN repeat('b', 9000) END FROM generate_series(1, 16000) g
CREATE SEQUENCE s
SELECT setval('s', 4711)
CREATE TABLE truth (r oid, b bigint, page bytea)
CREATE TABLE forged (r oid, b bigint, page bytea)
CREATE TABLE tried (r oid, b bigint, status text)
CREATE FUNCTION sealed(page bytea, b bigint) RETURNS bytea LANGUAGE sql AS 'SELECT set_byte(set_byte(page, 8, c & 255), 9, c >> 8) FROM (SELECT (public.verify_page(page, b)).computed_checksum AS c) AS sum'
CREATE MATERIALIZED VIEW m AS SELECT * FROM t WHERE id < 1000
VACUUM
CHECKPOINT
SQL

# Half of the data is changed after this, some of it more than once.
sql(q{DELETE FROM t WHERE id % 61 = 3 AND id < 8000; CHECKPOINT; DELETE FROM t WHERE id % 61 = 4 AND id < 3000;
	INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200) FROM generate_series(17000, 17400) g;
	SELECT nextval('s') FROM generate_series(1, 7);
	DO $$ BEGIN FOR i IN 1 .. 60 LOOP EXECUTE format('CREATE TABLE made%s (i int PRIMARY KEY)', i); END LOOP; END $$; CHECKPOINT;
	DELETE FROM t WHERE ctid IN (SELECT format('(%s,1)', b)::tid FROM generate_series(0, 40) b)});

# --- blocks ----------------------------------------------------------------------------------

# What the checks themselves read of the catalogs stays whole.
my $relations = q{SELECT oid::int, pg_relation_filepath(oid), relname FROM pg_class
	WHERE relkind IN ('r', 'i', 't', 'S', 'm') AND relpersistence = 'p' AND pg_relation_size(oid) > 0
	AND oid NOT IN (SELECT unnest(ARRAY[o, reltoastrelid, (SELECT indexrelid FROM pg_index WHERE indrelid = reltoastrelid)]) FROM pg_class c, unnest(ARRAY['truth'::regclass, 'forged', 'tried']) o WHERE c.oid = o)};
my $digest = "SELECT crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno) FROM page_digests(%s, masked => true)";
my $data = $node->data_dir;
my $aside = PostgreSQL::Test::Utils::tempdir();
my $truth = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $before = sql($truth);
$node->restart;
my %relation = map { $_->[0] => { path => $_->[1], name => $_->[2] } } rows($relations);
cmp_ok(scalar(keys %relation), '>', 250, keys(%relation) . ' relations, catalogs and their indexes among them');
$relation{$_}{digest} = sql(sprintf $digest, $_) foreach keys %relation;
$node->restart;

# the same statements as later, on good blocks
sub restore_script
{
	my ($more, @blocks) = @_;
	my $script = $node->basedir . '/restore.sql';
	unlink $script;
	append_to_file($script, join '', map { "SELECT $_->[0], $_->[1], status, message FROM restore_block($_->[0], 'main', $_->[1], pg_read_binary_file('$aside/$_->[0]', $_->[1] * 8192::bigint, 8192)$more);\n" } @blocks);
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ], '<', \undef, '>', \$out, '2>', \$err);
	is($err, '', '... no error');
	return map { [ split /\|/ ] } split /\n/, $out;
}
my %restored;					# block => how often

# Tries all forged pages, and returns what was said: status => count
sub try_forged
{
	my %count;
	%restored = ();
	sql("DELETE FROM tried; INSERT INTO tried SELECT r, b, status FROM forged, restore_block(r, 'main', b, page)");
	foreach my $row (rows('SELECT status, r, b FROM tried'))
	{
		$count{ $row->[0] }++;
		$restored{"$row->[1]/$row->[2]"}++ if $row->[0] eq 'restored';
	}
	return %count;
}
my ($t) = grep { $relation{$_}{name} eq 't' } keys %relation;
AccelWal::put("$aside/$t", AccelWal::peek("$data/$relation{$t}{path}", 0, 8192));
restore_script('', [ $t, 0 ]);
sql("INSERT INTO forged VALUES ($t, 0, '')");
try_forged();
sql('DELETE FROM forged');
sql("SELECT count(*) FROM ($relations) r, relation_files(r.oid)");
my $buffered = q{SELECT c.oid::int, relblocknumber FROM pg_buffercache b, pg_class c
	WHERE b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0
		AND (b.reldatabase = 0 OR b.reldatabase = (SELECT oid FROM pg_database WHERE datname = 'postgres'))};
my @needed = rows($buffered);
my %needed = map { ("$_->[0]/$_->[1]" => 1) } @needed;

# Forged pages for blocks of all relations: bytes of another value, pages of other
# blocks, other LSNs, each with its right checksum.
my @places = grep { !$needed{"$_->[0]/$_->[1]"} } map { my $oid = $_; map { [ $oid, $_ ] } 0 .. (-s "$data/$relation{$oid}{path}") / 8192 - 1 } sort { $a <=> $b } keys %relation;
my %some = map { ("$_->[0]/$_->[1]" => $_) } map { $places[ rand @places ] } 1 .. 60;
sql(join '', map { "INSERT INTO truth SELECT $_->[0], $_->[1], page FROM read_disk_page($_->[0], 'main', $_->[1]) AS page WHERE page <> decode(repeat('00', 8192), 'hex');" } values %some);
sql(<<'SQL');
INSERT INTO forged
SELECT r, b, sealed(set_byte(page, at, (get_byte(page, at) + 1 + n % 255) % 256), b) AS page
FROM truth, generate_series(1, 50) n, LATERAL (SELECT 24 + (n * 163 + b::int * 11) % 8168 AS at) AS a
UNION ALL
SELECT t.r, t.b, sealed(o.page, t.b) FROM truth t, truth o WHERE (t.r, t.b) <> (o.r, o.b)
UNION ALL
SELECT t.r, t.b, sealed(substr(t.page, 1, 8) || substr(o.page, 9), t.b) FROM truth t, truth o WHERE (t.r, t.b) <> (o.r, o.b)
UNION ALL
SELECT r, b, sealed(set_byte(page, 4, (get_byte(page, 4) + 8 * n) % 256), b) FROM truth, generate_series(1, 30) n;
SQL
my $forged = sql('SELECT count(*) FROM forged');	# which reads catalogs that nothing else here needs
my %count = try_forged();
# The plan for thousands of them may need more of the catalogs.
$needed{$_} = 1 foreach grep { !$some{$_} } map { "$_->[0]/$_->[1]" } rows($buffered);
is($count{restored} // 0, 0, 'forged pages over good ones: ' . join ' ', map { "$count{$_} $_" } sort keys %count);
$node->stop;

my %damage = (
	bit => sub { return (5000, chr(ord(substr($_[0], 5000, 1)) ^ 4)); },
	header => sub { return (10, "\xff" x 10); },
	half => sub { return (4096, 'x' x 4096); },
	zero => sub { return (0, "\0" x 8192); });
my @kinds = sort keys %damage;
my %lost;

# Keeps all files aside, damages blocks of them.  Returns those.
sub damage
{
	my ($wanted) = @_;
	my @blocks;
	%lost = ();
	foreach my $oid (sort { $a <=> $b } keys %relation)
	{
		my $path = "$data/$relation{$oid}{path}";
		my $bytes = AccelWal::peek($path, 0, -s $path);
		AccelWal::put("$aside/$oid", $bytes);
		foreach my $block (0 .. length($bytes) / 8192 - 1)
		{
			my $page = substr($bytes, $block * 8192, 8192);
			next if $page eq "\0" x 8192 || $needed{"$oid/$block"} || !(exists $some{"$oid/$block"} || $wanted->($oid, $block));
			my ($offset, $new) = $damage{ $kinds[ rand @kinds ] }->($page);
			AccelWal::poke($path, $block * 8192 + $offset, $new);
			$lost{"$oid/$block"} = AccelWal::peek($path, $block * 8192, 8192);
			push @blocks, [ $oid, $block ];
		}
	}
	return @blocks;
}

my $all = $ENV{LONG} || 0;
my @blocks = damage(sub { return $all || rand(5) < 2; });
cmp_ok(scalar(@blocks), '>', 1000, @blocks . ' blocks are damaged');
$node->start;

# --- forged pages ----------------------------------------------------------------------------------


%count = try_forged();
cmp_ok($forged, '>', 5000, "$forged forged pages: " . join ' ', map { "$count{$_} $_" } sort keys %count);

# Where only what the masks pass over was forged, the WAL's own page is written.
my %written;
foreach my $place (grep { exists $lost{$_} } keys %some)
{
	my ($oid, $block) = split m{/}, $place;
	my $page = AccelWal::peek("$data/$relation{$oid}{path}", $block * 8192, 8192);
	$written{$place} = $page if $page ne $lost{$place};
}
is_deeply({ map { $_ => 1 } keys %written }, \%restored, '... all other blocks are as they were lost');

# --- the truth ----------------------------------------------------------------------------------------

my @answers = restore_script('', @blocks);
my %first;
$first{ $_->[2] }++ foreach @answers;
note 'proven by WAL: ' . join ' ', map { "$first{$_} $_" } sort keys %first;
is(scalar(grep { $_->[2] !~ /^(restored|not_proven|healthy)$/ } @answers), 0, 'the truth is written or not proven');
cmp_ok($first{restored}, '>', 50, "$first{restored} of " . @blocks . ' blocks are proven');
@answers = restore_script(', allow_unproven => true', @blocks);
my @not = grep { $_->[2] !~ /^(restored|healthy)$/ } @answers;
is(join("\n", map { "$relation{ $_->[0] }{name} $_->[1] $_->[2] $_->[3]" } @not), '', '... vouched for, all are back');
my @differ = grep { sql(sprintf $digest, $_) ne $relation{$_}{digest} } keys %relation;
is(join(' ', map { $relation{$_}{name} } @differ), '', 'equal to what was lost, under the masks');
is(sql("SELECT count(*) FROM pg_class c, LATERAL verify_relation(c.oid, 'main') WHERE relkind IN ('r', 'i', 't', 'S', 'm') AND relpersistence = 'p'"),
	'0', 'every relation is verified');
is(join(' ', grep { my ($block) = m{/(\d+)}; sql('SELECT status FROM verify_page(' . literal($written{$_}) . ", $block)") ne 'ok' } keys %written),
	'', '... and was, where a forged page was proven');
is(sql($truth), $before, 'the rows are what they were');
SKIP:
{
	skip 'no amcheck', 2 if Accel::missing_modules('amcheck');
	sql('CREATE EXTENSION amcheck');
	is(sql("SELECT count(bt_index_check(c.oid, true)) > 100 FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE relam = 403 AND indisvalid AND relpersistence = 'p'"),
		't', 'amcheck: the indexes agree');
	is(sql("SELECT count(*) FROM pg_class c, LATERAL verify_heapam(c.oid) WHERE relkind IN ('r', 't', 'm')"), '0', 'amcheck: the tables');
}

# --- catalogs that a connection needs, one by one ---------------------------------------------

my @known = grep { $relation{ $_->[0] } } @needed;		# the tables of this test are needed, too
my @alone = map { $known[ rand @known ] } 1 .. ($all ? 200 : 12);
my ($alone, $locked_out) = (0, 0);
foreach my $place (@alone)
{
	my ($oid, $block) = @$place;
	my $path = "$data/$relation{$oid}{path}";
	$node->stop;
	my $page = AccelWal::peek($path, $block * 8192, 8192);
	AccelWal::put("$aside/$oid", AccelWal::peek($path, 0, -s $path));
	AccelWal::poke($path, $block * 8192 + 6000, 'damage');
	$node->start;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT status FROM restore_block($oid, 'main', $block, pg_read_binary_file('$aside/$oid', $block * 8192::bigint, 8192), allow_unproven => true)");
	if ($out eq 'restored')
	{
		$alone++;
		next;
	}
	like($err, qr/invalid page in block/, "$relation{$oid}{name}, block $block: nobody gets in");
	$locked_out++;
	$node->stop;
	AccelWal::poke($path, $block * 8192, $page);
	$node->start;
}
is($alone + $locked_out, scalar(@alone), "blocks that a connection reads: $alone restored, $locked_out keep it out");
is(sql($truth), $before, 'the rows are what they were');

# --- a prepared transaction ---------------------------------------------------------------------------

my $path = "$data/$relation{$t}{path}";
sub t_page { return AccelWal::peek($path, $_[0] * 8192, 8192); }
sub restore_t
{
	my ($where, $block, $page, %more) = @_;
	my $arguments = join '', map { ", $_ => $more{$_}" } sort keys %more;
	return $where->safe_psql('postgres', "SELECT status, message FROM restore_block('t', 'main', $block, " . literal($page) . "$arguments)");
}

sql('CHECKPOINT');
sql("BEGIN; DELETE FROM t WHERE ctid IN ('(50,2)', '(51,2)'); PREPARE TRANSACTION 'p'");
$node->stop;
my %prepared = map { $_ => t_page($_) } 50, 51;
AccelWal::poke($path, $_ * 8192 + 5000, 'damage') foreach 50, 51;
$node->start;
like(restore_t($node, 50, $prepared{50}), qr/^restored\|.*: WAL has the page/, 'a page of a prepared transaction');
sql("COMMIT PREPARED 'p'");
like(restore_t($node, 51, $prepared{51}), qr/^restored\|.*: WAL has the page/, '... and after its commit');
is(sql("SELECT count(*) FROM t WHERE ctid IN ('(50,2)', '(51,2)')"), '0', '... its rows are gone');

# --- a server that was promoted --------------------------------------------------------------------------


# Each of both changes a block of its own and one that both change.
sql('CHECKPOINT');
$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
Accel::configure($standby);
$standby->start;
sub change { my ($where, $row, @blocks) = @_; $where->safe_psql('postgres', "DELETE FROM t WHERE ctid IN (" . join(', ', map { "'($_,$row)'" } @blocks) . ')'); return; }
change($node, 2, 60, 61, 62);
sql('SELECT pg_switch_wal()');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->promote;
$standby->safe_psql('postgres', 'CHECKPOINT');
sql('CHECKPOINT');
change($standby, 3, 63, 70);
change($node, 5, 61, 70);
$node->stop;
my %abandoned = map { $_ => t_page($_) } 61, 70;
$standby->safe_psql('postgres', q{SELECT pg_switch_wal(); CREATE TABLE more AS SELECT 1 AS i; CHECKPOINT});
is($standby->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()'), '2', 'a server is promoted');
$standby->stop;
$path = $standby->data_dir . "/$relation{$t}{path}";
my @moved = (60 .. 63, 70);
my %moved = map { $_ => t_page($_) } @moved;
my %bad = map { $_ => substr($moved{$_}, 0, 5000) . 'damage' . substr($moved{$_}, 5006) } @moved;
AccelWal::poke($path, $_ * 8192, $bad{$_}) foreach @moved;
$standby->start;
foreach my $case ([ 61, 'outdated|invalid_page|not_proven' ], [ 70, 'outdated|invalid_page' ])
{
	my ($block, $status) = @$case;
	like(restore_t($standby, $block, $abandoned{$block}, directory => "'$archive'"), qr/^($status)\|/, "block $block, a page of the abandoned timeline");
	ok(t_page($block) eq $bad{$block}, '... nothing was written');
}
foreach my $block (@moved)
{
	like(restore_t($standby, $block, $moved{$block}, directory => "'$archive'"), qr/^restored\|.*: WAL has the page/, "block $block, of the timeline " . ($block < 63 ? 'before' : 'now'));
}
is($standby->safe_psql('postgres', "SELECT count(*) FROM verify_relation('t')"), '0', '... verified');

$standby->stop;
done_testing();
