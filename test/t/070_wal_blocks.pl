# The block references of WAL: all of them, of every resource manager, one by one
# as pg_waldump has them; the history of blocks from them, and its gaps.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $bloom = !Accel::missing_modules('bloom');
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\nwal_level = logical\nwal_keep_size = 1GB\nmax_wal_size = 1GB\n"
	  . "checkpoint_timeout = 1h\ntrack_commit_timestamp = on\nallow_in_place_tablespaces = on\n"
	  . "max_prepared_transactions = 2\n");
my $pg_wal = $node->data_dir . '/pg_wal';

# The next page of pg_xact is near, so that it is written about.
system_or_bail('pg_resetwal', '-x', 32768 + 32000, $node->data_dir);
mkdir $node->data_dir . '/pg_xact';
AccelWal::put($node->data_dir . '/pg_xact/0000', AccelWal::peek($node->data_dir . '/pg_xact/0000', 0, 8192) . "\0" x 8192);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

# --- WAL of every kind ---------------------------------------------------------------

sql(q{CREATE EXTENSION crc32c_accel});
sql(q{CREATE EXTENSION bloom}) if $bloom;
my $start = sql(q{SELECT pg_current_wal_lsn()});
sql(q{
	CREATE TABLE t (id int PRIMARY KEY, a int, b text, p point, r int4range, w tsvector);
	INSERT INTO t SELECT g, g % 100, repeat(md5(g::text), 1 + g % 5), point(g, g), int4range(g, g + 3), to_tsvector('simple', 'a' || g)
		FROM generate_series(1, 1500) g;
	CREATE INDEX t_hash ON t USING hash (a);
	CREATE INDEX t_gist ON t USING gist (p);
	CREATE INDEX t_gin ON t USING gin (w);
	CREATE INDEX t_spgist ON t USING spgist (b);
	CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 1);
	CREATE SEQUENCE s});
sql(q{CREATE INDEX t_bloom ON t USING bloom (a)}) if $bloom;
foreach my $compression ('off', 'pglz', 'lz4', 'zstd')
{
	next if $node->psql('postgres', "ALTER SYSTEM SET wal_compression = '$compression'") != 0;
	sql(q{SELECT pg_reload_conf()});
	sql(q{CHECKPOINT});
	sql(q{INSERT INTO t SELECT g, g % 100, repeat(md5(g::text), 1 + g % 5), point(g, g), int4range(g, g + 3), to_tsvector('simple', 'b' || g)
		FROM generate_series((SELECT max(id) + 1 FROM t), (SELECT max(id) + 700 FROM t)) g;
		UPDATE t SET a = a + 1 WHERE id % 3 = 0; DELETE FROM t WHERE id % 5 = 0});
}
# what a CHECKPOINT before and the verification of replay make of records
sql(q{SET wal_consistency_checking = 'all'; UPDATE t SET a = a - 1 WHERE id % 50 = 1; INSERT INTO t SELECT g, g FROM generate_series(90001, 90050) g;
	SELECT nextval('s')});
sql(q{VACUUM (FREEZE) t; SELECT lo_create(0); VACUUM FULL pg_class});
sql(q{SELECT pg_replication_origin_create('o'); SELECT pg_replication_origin_session_setup('o');
	INSERT INTO t VALUES (100001, 1); SELECT pg_logical_emit_message(true, 'p', repeat('m', 100000));
	SELECT pg_replication_origin_session_reset(); SELECT pg_replication_origin_advance('o', '0/1')});
sql(q{BEGIN; SAVEPOINT a; INSERT INTO t VALUES (100002, 1); SAVEPOINT b; UPDATE t SET a = 2 WHERE id = 100002; COMMIT;
	BEGIN; SELECT FROM t WHERE id = 1 FOR KEY SHARE; SAVEPOINT a; UPDATE t SET a = 7 WHERE id = 1; COMMIT});
sql(q{CREATE TABLESPACE x LOCATION ''});
sql("CREATE DATABASE $_") foreach 'd1 STRATEGY wal_log', 'd2 STRATEGY file_copy';
sql(q{DROP DATABASE d1});
sql(q{DO $$ BEGIN FOR i IN 1 .. 1500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$});
sql(q{BEGIN; LOCK TABLE t; INSERT INTO t VALUES (100003, 3); PREPARE TRANSACTION 'p'});
sql(q{COMMIT PREPARED 'p'; CREATE TABLE cut AS SELECT * FROM t; TRUNCATE cut; DROP TABLE cut; SELECT pg_create_restore_point('r')});
sql(q{CHECKPOINT; SELECT pg_switch_wal()});
my $end = sql(q{SELECT pg_current_wal_flush_lsn()});
sql(q{INSERT INTO t VALUES (100004, 4); SELECT pg_switch_wal()});

# --- every reference -------------------------------------------------------------------

my ($out, $err);
my @segments = split /\n/, sql(qq{SELECT segment FROM verify_wal(start_lsn => '$start', end_lsn => '$end') WHERE status LIKE 'ok%'});
my $tool = PostgreSQL::Test::Utils::tempdir() . '/dump_blocks';
system_or_bail('cc', '-O1', '-Isrc', 'test/dump_blocks.c', glob('src/kernel/*.c'),
	(map { "src/$_.c" } split ' ', `pg_config=false sh -c '. test/unit/needs.sh; echo \$rooms_wal'`), '-o', $tool);
IPC::Run::run([ $tool, map { "$pg_wal/$_" } @segments ], '>', \$out, '2>', \$err) or die $err;
my @lines = split /\n/, $out;
my @ours = grep { /blkref/ && AccelWal::number((split / /)[0]) < AccelWal::number($end) } @lines;
is(join("\n", grep { !/blkref|origin/ } @lines), '', 'no record is refused');
cmp_ok(scalar(grep { /origin 1/ } @lines), '>', 1, 'records of a replication origin');
cmp_ok(scalar(grep { /top 1/ } @lines), '>', 1, 'records that name a top-level transaction');

my $dumped_from = sql(qq{SELECT start_lsn FROM verify_wal(NULL, '$segments[0]', '$segments[0]')});
IPC::Run::run([ $node->installed_command('pg_waldump'), '-b', '-p', $pg_wal, '-s', $dumped_from, '-e', $end, '-t', '1', @segments[ 0, -1 ] ], '>', \$out, '2>', \$err);
my ($lsn, $rmgr, %managers, @theirs, %of_block);
foreach my $line (split /\n/, $out)
{
	if ($line =~ /^rmgr: (\S+).* lsn: ([0-9A-F]+)\/([0-9A-F]+), prev/)
	{
		($rmgr, $lsn) = ($1, sprintf('%s/%08X', $2, hex $3));
		$managers{$rmgr}++;
	}
	next unless $line =~ /(blkref #\d+: rel (\S+)(?: fork (\S+))? blk (\d+).*)/;
	my ($text, $rel, $fork, $block) = ($1, $2, $3 // 'main', $4);
	$text =~ s/ (blk \d+)/ fork main $1/ if $text !~ / fork /;
	$text =~ s/\s+$//;
	push @theirs, "$lsn $text";
	push @{ $of_block{"$rel $fork $block"} }, $lsn . ' ' . ($text =~ /for WAL verif/ ? 'check' : $text =~ /FPW/ ? 'image' : 'change');
}
cmp_ok(scalar(@theirs), '>', 10000, scalar(@theirs) . ' references of ' . keys(%managers) . ' resource managers');
my @wanted = qw(XLOG Transaction Storage CLOG Database Tablespace MultiXact RelMap Standby Heap2 Heap Btree Hash Gin Gist
  Sequence SPGist BRIN CommitTs ReplicationOrigin LogicalMessage);
push @wanted, 'Generic' if $bloom;
is(join(' ', grep { !$managers{$_} } @wanted), '', 'of every resource manager');
foreach my $method ('pglz', 'lz4', 'zstd', 'WAL verification')
{
	note("$method: " . grep { /$method/ } @theirs);
}
my %theirs = map { $_ => 1 } @theirs;
my %ours = map { $_ => 1 } @ours;
is(scalar(@ours), scalar(@theirs), 'as many references as pg_waldump -b');
my @only_ours = grep { !$theirs{$_} } @ours;
my @only_theirs = grep { !$ours{$_} } @theirs;
is(join("\n", grep { defined } @only_ours[ 0 .. 4 ]), '', 'none that pg_waldump has not');
is(join("\n", grep { defined } @only_theirs[ 0 .. 4 ]), '', 'none that we have not');

# --- the history of blocks --------------------------------------------------------------

my $checked = 0;
my $different = '';
foreach my $relation ('t', 't_pkey', 't_hash', 't_gist', 't_gin', 't_spgist', 't_brin', 's', 'pg_class', 'pg_largeobject')
{
	my $locator = sql(qq{SELECT CASE reltablespace WHEN 0 THEN 1663 ELSE reltablespace END || '/' || d.oid || '/' ||
		pg_relation_filenode('$relation') FROM pg_class c, pg_database d WHERE c.oid = '$relation'::regclass AND datname = current_database()});
	foreach my $block ($relation eq 't' ? ('main 0', 'main 3', 'vm 0', 'fsm 0') : ('main 0', 'main 1'))
	{
		my ($fork, $blkno) = split / /, $block;
		my $want = join ' ', @{ $of_block{"$locator $block"} // [] };
		my $got = sql(qq{SELECT string_agg(regexp_replace(lsn::text, '/(.*)', '/') || lpad(split_part(lsn::text, '/', 2), 8, '0') || ' ' ||
			replace(kind, 'init', 'change'), ' ' ORDER BY lsn) FROM wal_block_history('$relation', '$fork', $blkno, start_lsn => '$dumped_from', end_lsn => '$end')
			WHERE kind IN ('image', 'check', 'init', 'change')});
		$checked += $want ne '';
		$different .= "$relation $block: $got, expected $want\n" if $got ne $want;
	}
}
is($different, '', 'histories as pg_waldump has them');
cmp_ok($checked, '>=', 12, "$checked blocks with a history");
is(sql(q{SELECT count(*) > 50, count(*) FILTER (WHERE is_last) FROM wal_block_history('t', 'main', 0)}), 't|1', 'one row is the last');

done_testing();
