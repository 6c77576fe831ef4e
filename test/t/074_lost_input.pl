# What verify_lost_writes says of each kind of damage, and of WAL that it cannot
# use: gaps, another server's, another history's; of relations without WAL, of a
# standby, of a cluster without checksums.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', checksums => 0, allows_streaming => 1,
	extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
checkpoint_timeout = 1h
wal_keep_size = 512MB
shared_buffers = 128	# blocks
CONF
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
my $named = sub {
	my ($of, $arguments) = @_;
	return $of->safe_psql('postgres',
		"SELECT relation, fork, blkno, status, disk_lsn IS NOT NULL, expected_lsn > coalesce(disk_lsn, '0/0'), segment ~ '^[0-9A-F]{24}\$' FROM verify_lost_writes("
		  . ($arguments // '') . ') ORDER BY relation::text, fork, blkno');
};

$q->(<<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t (i int PRIMARY KEY, b text) WITH (fillfactor = 50);
INSERT INTO t SELECT g, repeat('x', 500) FROM generate_series(1, 100) g;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
VACUUM t;
CHECKPOINT;
SQL
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
Accel::configure($standby);
$standby->start;

sub file
{
	my ($of, $relation) = @_;
	return $of->data_dir . '/' . $of->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

my %old;
foreach my $relation ('t', 't_pkey', 'pg_statistic')
{
	my $path = file($node, $relation);
	$old{$relation} = Accel::contents($path);
}
my $before = $q->('SELECT redo_lsn FROM pg_control_checkpoint()');
$q->("UPDATE t SET b = repeat('y', 500); REINDEX TABLE u; INSERT INTO t SELECT g, repeat('z', 500) FROM generate_series(101, 140) g");
$q->('ANALYZE t; CHECKPOINT');
is($named->($node), '', 'healthy');

# --- kinds of damage -----------------------------------------------------------

my $t = file($node, 't');
my $good = Accel::contents($t);
$node->stop('fast');
AccelWal::poke_block($t, 1, 0, substr($old{t}, $blcksz, $blcksz));
AccelWal::poke_block($t, 2, 0, "\0" x $blcksz);
my $last = Accel::blocks($t) - 1;
Accel::resize($t, $last);
$node->start;
is($named->($node), join("\n", 't|main|1|stale_page|t|t|t', 't|main|2|zeroed_page|f|t|t', "t|main|$last|missing_block|f|t|t"),
	'an older page, zeros, a file that ends early; without checksums');
like($q->('SELECT message FROM verify_lost_writes() WHERE blkno = 1'),
	qr{^a write was lost: the page on disk has LSN [0-9A-F]+/[0-9A-F]+, WAL wants [0-9A-F]+/[0-9A-F]+ or later$},
	'words of an older page');
is($q->("SELECT count(*) FROM verify_relation('t') WHERE blkno = 1"), 0, 'which is healthy by itself');
is($q->("SELECT lsn < expected_lsn FROM verify_lost_writes(), verify_page(read_disk_page('t', 'main', 1), 1) WHERE blkno = 1"),
	't', 'the LSN on disk is older');

# A user's range: what is before it is not asked, what is after it neither
my $redo = $q->('SELECT redo_lsn FROM pg_control_checkpoint()');
is($named->($node, "start_lsn => '$redo'"), '', 'a start after the writes: nothing to say');
is($named->($node, "end_lsn => '$before'"), 't|main|2|zeroed_page|f|t|t', 'an end before them: what was there then, and is no more');
my ($ret, $out, $err) = $node->psql('postgres', "SELECT count(*) FROM verify_lost_writes(end_lsn => pg_current_wal_lsn() + 1000)");
like("$out $err", qr{^3 .*NOTICE:  WAL from .* on is not judged: no checkpoint}s, 'an end after the last checkpoint: said');

# --- a copy in memory ------------------------------------------------------------

AccelWal::poke_block($t, 0, 0, $good);
is($named->($node), '', 'put right');
$q->('SELECT count(*) FROM t');	# which sets hint bits
$q->('CHECKPOINT');
AccelWal::poke_block($t, 1, 0, substr($old{t}, $blcksz, $blcksz));
like($q->('SELECT message FROM verify_lost_writes()'),
	qr{; shared buffers hold the page with LSN .*, which will not be written unless it changes$}, 'a clean buffer has the page');
$q->("UPDATE t SET b = 'n'");
like($q->('SELECT message FROM verify_lost_writes() WHERE blkno = 1'), qr{, which will be written$}, 'a dirty one');
$q->('CHECKPOINT');
is($named->($node), '', 'and heals the disk');

# --- indexes, catalogs; not what has no WAL ----------------------------------------

my %files = map { $_ => file($node, $_) } 't', 't_pkey', 'pg_statistic', 'u';
$node->stop('fast');
my %now = map { $_ => Accel::contents($files{$_}) } keys %files;
AccelWal::poke_block($files{t_pkey}, 1, 0, substr($old{t_pkey}, $blcksz, $blcksz));
AccelWal::poke_block($files{pg_statistic}, 0, 0, $old{pg_statistic});
AccelWal::poke($files{u}, 0, "\0" x $blcksz);
$node->start;
is($q->('SELECT string_agg(DISTINCT relation || \' \' || status, \', \') FROM verify_lost_writes()'),
	'pg_statistic stale_page, t_pkey stale_page', 'an index and a catalog; an unlogged table has no WAL that tells');

my $session = $node->background_psql('postgres');
my $temporary = $node->data_dir . '/' . $session->query_safe(<<'SQL');
SET temp_buffers = 100;
CREATE TEMPORARY TABLE temporary AS SELECT g, repeat('p', 500) AS b FROM generate_series(1, 10000) g;
SELECT pg_relation_filepath('temporary');
SQL
cmp_ok(-s $temporary, '>', $blcksz, 'a temporary table has a file');
AccelWal::poke($temporary, 0, "\0" x $blcksz);
is($session->query_safe("SELECT count(*) FROM verify_lost_writes() WHERE relation = 'temporary'::regclass"), 0, '... but no WAL');
$session->quit;

# SP-GiST leaves a recycled page like that, without WAL; here it is one of btree
my $bare = pack('Q v6 V', 0, 0, 0, 24, $blcksz - 16, $blcksz - 16, $blcksz | 4, 0) . "\0" x ($blcksz - 24);
$node->stop('fast');
AccelWal::poke_block($files{$_}, 0, 0, $now{$_}) foreach keys %files;
AccelWal::poke_block($files{t_pkey}, 1, 0, $bare);
AccelWal::poke($t, 0, $bare);
$node->start;
is($named->($node), 't|main|0|stale_page|f|t|t', 'an empty page without an LSN: of a table it is named, of an index not');

# --- the visibility map, of which truncation leaves what it still needs ------------

{
	$node->stop('fast');
	AccelWal::poke_block($files{$_}, 0, 0, $now{$_}) foreach keys %files;
	$node->start;
	$q->("CREATE TABLE cut (i int); INSERT INTO cut SELECT generate_series(1, 20000); VACUUM cut; DELETE FROM cut WHERE i > 300; VACUUM (TRUNCATE) cut; CHECKPOINT");
	my $map = file($node, 'cut') . '_vm';
	$node->stop('fast');
	AccelWal::poke($map, 0, "\0" x $blcksz);
	$node->start;
	is($named->($node), 'cut|vm|0|zeroed_page|f|t|t', 'a map of zeros, after truncation of its table');
	$q->('VACUUM (DISABLE_PAGE_SKIPPING) cut; CHECKPOINT');
	is($named->($node), '', 'VACUUM makes it anew');
	$node->stop('fast');
	AccelWal::poke($map, 0, pack('Q v6 V', 0, 0, 0, 24, $blcksz, $blcksz, $blcksz | 4, 0));
	$node->start;
	is($named->($node), '', 'a map that was made anew in recovery is not named');
	$q->('DELETE FROM cut; VACUUM (TRUNCATE) cut; CHECKPOINT');
	is($named->($node), '', 'nor one that is cut off whole');
	$q->('DROP TABLE cut');
}

# --- the map in records of rows: its zeros are named, an older one is not ----------

SKIP:
{
	my $version = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::int");
	skip 'such records do not name the map', 4 if $version < 170011 || $version >= 180000 && $version < 180006;
	$q->('CREATE TABLE mapped (i int); INSERT INTO mapped SELECT generate_series(1, 2000)');
	$q->('VACUUM mapped');
	$q->('CHECKPOINT');
	my $map = file($node, 'mapped') . '_vm';
	my $older = AccelWal::peek($map, 0, $blcksz);
	my $from = $q->('SELECT redo_lsn FROM pg_control_checkpoint()');
	$q->('DELETE FROM mapped WHERE i = 1; CHECKPOINT');
	my $found = sub {
		return $q->("SELECT string_agg(fork || ' ' || status, ', ') FROM verify_lost_writes(start_lsn => '$from') WHERE relation = 'mapped'::regclass");
	};
	my $put = sub {
		$node->stop('fast');
		AccelWal::poke($map, 0, $_[0]);
		$node->start;
	};

	is($found->(), '', 'healthy: no finding');
	$put->("\0" x $blcksz);
	is($found->(), 'vm zeroed_page', 'a map of zeros, of which a deletion has an image');
	$put->($older);
	is($found->(), '', 'an older map is not named: a standby may have left it its LSN');
	$put->('');
	truncate($map, 0) or die $!;
	is($found->(), 'vm missing_block', 'one that is cut off is');
	$q->('DROP TABLE mapped');
}

# --- who waits holds no lock ---------------------------------------------------

# Of two relations the first, by file, is decided while another session holds the
# second, which may want the first before it gives that up.
$node->stop('fast');
AccelWal::poke_block($files{t_pkey}, 0, 0, $now{t_pkey});
AccelWal::poke_block($files{pg_statistic}, 0, 0, $old{pg_statistic});
AccelWal::poke($t, 0, "\0" x $blcksz);
$node->start;
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
my $search = IPC::Run::start([ 'psql', '-XAtc', "SELECT string_agg(DISTINCT relation || ' ' || status, ', ') FROM verify_lost_writes()", $node->connstr('postgres') ],
	'<', \undef, '>', \my $found, '2>', \my $error);
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted});
is($q->(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE relation = 'pg_statistic'::regclass AND query LIKE '%string_agg%verify_lost_writes%' AND pid <> pg_backend_pid()}),
	0, 'while it waits for a lock it holds none');
$holder->query_safe('COMMIT');
$holder->quit;
$search->finish;
is("$found$error", "pg_statistic stale_page, t zeroed_page\n", 'and it names both');

$node->stop('fast');
AccelWal::poke_block($files{$_}, 0, 0, $now{$_}) foreach keys %files;
$node->start;
is($named->($node), '', 'put right');

# --- WAL that cannot be used -----------------------------------------------------

my $dir = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($node->data_dir . '/pg_wal', $dir);
is($named->($node, "'$dir'"), '', 'a copy of pg_wal');
my @segments = split /\n/, $q->("SELECT segment FROM verify_wal(start_lsn => '$before', end_lsn => (SELECT redo_lsn FROM pg_control_checkpoint()))");
if (@segments > 2)
{
	unlink "$dir/$segments[1]" or die $!;
	like($q->("SELECT status || ' ' || message FROM verify_lost_writes('$dir', '$before')"),
		qr{^not_verifiable WAL before \S+ cannot be judged: segment $segments[1]: the segment is not there$}, 'a gap is said');
}
my $empty = PostgreSQL::Test::Utils::tempdir();
like($q->("SELECT status || ' ' || message FROM verify_lost_writes('$empty')"),
	qr{^not_verifiable the directory has no segment in common with pg_wal}, 'an empty directory');

# Another server's has names like ours, and says whose it is
my $foreign = Accel::new_node('foreign', extra => ['--wal-segsize=1']);
$foreign->start;
$foreign->safe_psql('postgres', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 10000) g; SELECT pg_switch_wal()');
$foreign->stop('fast');
like($q->("SELECT string_agg(status || ' ' || message, ', ') FROM verify_lost_writes('" . $foreign->data_dir . "/pg_wal')"),
	qr{^not_verifiable [^,]*(another history|in common)[^,]*, so nothing tells whether its WAL is this server's$}, 'WAL of another server');

# A clone goes its own way: the same system identifier, timeline and names
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'base');
Accel::configure($clone);
$clone->start;
$clone->safe_psql('postgres', "UPDATE t SET b = repeat('c', 500); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT; UPDATE t SET b = repeat('c', 500); CHECKPOINT");
my $other = $clone->data_dir . '/pg_wal';
like($q->("SELECT status || ' ' || message FROM verify_lost_writes('$other')"),
	qr{^not_verifiable .*(another history|in common)}, 'a clone\'s WAL');

# --- a standby ---------------------------------------------------------------------

$q->('CHECKPOINT');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
is($named->($standby), '', 'standby: healthy');
$standby->stop('fast');
AccelWal::poke_block($standby->data_dir . '/' . $q->("SELECT pg_relation_filepath('t')"), 1, 0, substr($old{t}, $blcksz, $blcksz));
$standby->start;
is($named->($standby), 't|main|1|stale_page|t|t|t', 'standby: an older page');

# --- arguments -----------------------------------------------------------------------

foreach my $case (
	[ "'/nowhere'", '58P01' ],
	[ "'$dir/$segments[0]'", '42809' ],
	[ "start_lsn => '1/0', end_lsn => '0/1'", '22023' ])
{
	my ($rc, $o, $e) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT * FROM verify_lost_writes($case->[0])");
	like($e, qr/ERROR:  $case->[1]/, "verify_lost_writes($case->[0])");
}
$q->('CREATE ROLE reader; GRANT pg_stat_scan_tables TO reader; CREATE ROLE nobody');
is($q->('SET ROLE reader; SELECT count(*) FROM verify_lost_writes()'), 0, 'pg_stat_scan_tables may ask about pg_wal');
foreach my $case ([ 'reader', "'$dir'" ], [ 'nobody', '' ])
{
	my ($rc, $o, $e) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSET ROLE $case->[0]; SELECT * FROM verify_lost_writes($case->[1])");
	like($e, qr/ERROR:  42501/, "$case->[0] may not ask about another directory");
}
done_testing();
