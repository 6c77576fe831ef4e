# States of a cluster and of relations: standby, data checksums off,
# tablespaces, other sessions' temporary tables, indexes under construction;
# what a verification leaves behind, and how it ends when it is told to.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');
use constant SEGMENT => Accel::built_with('RELSEG_SIZE');	# blocks

my $buffercache = !Accel::missing_modules('pg_buffercache');

my $all = q{FROM pg_class c, verify_relation(c.oid) v
	WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')};

sub flip_bit
{
	my ($node, $path, $offset, $bit) = @_;
	open my $fh, '+<:raw', $node->data_dir . "/$path" or die "$path: $!";
	sysseek $fh, $offset, 0;
	sysread $fh, my $byte, 1;
	sysseek $fh, $offset, 0;
	syswrite $fh, chr(ord($byte) ^ (1 << $bit));
	close $fh;
	return;
}

sub main_path
{
	my ($node, $relation) = @_;
	return $node->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

my $primary = Accel::new_node('primary',
	allows_streaming => 1,
	conf => "shared_buffers = 8MB\nautovacuum = off\n");
my $space = PostgreSQL::Test::Utils::tempdir_short();
$primary->start;
$primary->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, repeat('x', 200) AS b FROM generate_series(1, 50000) g;
CREATE INDEX t_idx ON t (g);
CREATE UNLOGGED TABLE u (g) AS SELECT generate_series(1, 5000);
CREATE INDEX u_idx ON u (g);
SQL

# Standby.
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "SELECT count(*) $all AND status <> 'not_verifiable'"),
	'0', 'standby: no finding');
is( $standby->safe_psql(
		'postgres',
		"SELECT fork, status FROM verify_relation_summary('u_idx') ORDER BY fork"),
	"init|ok\nmain|not_verifiable",
	'standby: of unlogged relations only the init fork');
is( $primary->safe_psql(
		'postgres',
		"SELECT fork, status FROM verify_relation_summary('u_idx') ORDER BY fork"),
	"init|ok\nmain|ok",
	'primary: of unlogged relations both');
is( $standby->safe_psql('postgres', "SELECT count(*) FROM relation_files('u_idx') WHERE status <> 'ok'"),
	'0', 'standby: a fork without a file is no missing segment');
$primary->safe_psql('postgres', "UPDATE t SET b = repeat('y', 200) WHERE g % 7 = 0; CHECKPOINT");
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
is($standby->safe_psql('postgres', "SELECT count(*) $all AND status <> 'not_verifiable'"),
	'0', 'standby after replay: no finding');
flip_bit($standby, main_path($standby, 't'), 11 * BLCKSZ + 100, 3);
like($standby->safe_psql('postgres', "SELECT relation, fork, blkno, status $all AND status <> 'not_verifiable'"),
	qr/^t\|main\|11\|(checksum_mismatch|bad_on_disk_cached_ok)$/,
	'standby: damage is found at its place');
is($primary->safe_psql('postgres', "SELECT count(*) $all"),
	'0', 'the primary has none of it');
$standby->stop('immediate');

# Tablespace.
$primary->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$space'");
$primary->safe_psql('postgres', "CREATE TABLE far TABLESPACE elsewhere AS SELECT g FROM generate_series(1, 10000) g");
$primary->safe_psql('postgres', 'CHECKPOINT');
my $far = main_path($primary, 'far');
like($far, qr/^pg_tblspc/, 'a table in a tablespace');
is($primary->safe_psql('postgres', "SELECT status FROM verify_relation_summary('far', 'main')"),
	'ok', 'tablespace: healthy');
$primary->restart;
flip_bit($primary, $far, 3 * BLCKSZ + 5000, 0);
is( $primary->safe_psql('postgres',
		"SELECT path, file_offset, status FROM verify_relation('far')"),
	"$far|" . 3 * BLCKSZ . '|checksum_mismatch',
	'tablespace: damage is found at its place');
flip_bit($primary, $far, 3 * BLCKSZ + 5000, 0);

# A temporary table of another session.
my $session = $primary->background_psql('postgres');
$session->query_safe('CREATE TEMPORARY TABLE mine AS SELECT g FROM generate_series(1, 1000) g');
is( $primary->safe_psql(
		'postgres',
		"SELECT v.fork, v.status FROM pg_class c, verify_relation(c.oid) v WHERE c.relname = 'mine'"),
	'main|not_verifiable',
	"another session's temporary table");
$session->quit;

# An index whose concurrent build failed is in the state of one that is built.
$primary->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY t_bad ON t ((1))');
is( $primary->safe_psql('postgres', 'SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = \'t_bad\'::regclass'),
	'f|f', 'an index whose concurrent build failed');
like( $primary->safe_psql('postgres', "SELECT fork, blkno, status, message FROM verify_relation('t_bad')"),
	qr/^main\|\|not_verifiable\|the index is being built concurrently/,
	'such an index is not verifiable');
$primary->safe_psql('postgres', 'DROP INDEX t_bad');

# Nothing goes through shared buffers.
SKIP:
{
	skip 'this installation lacks pg_buffercache', 1 if !$buffercache;
	$primary->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache');
	$primary->restart;
	$primary->safe_psql('postgres', "SELECT verify_relation('t', include_indexes => true)");
	is( $primary->safe_psql('postgres', "SELECT count(*) FROM pg_buffercache
			WHERE relfilenode IN (pg_relation_filenode('t'), pg_relation_filenode('t_idx'))"),
		'0', 'a verification leaves nothing in shared buffers');
}

# Forks: main is the one where none is named.
$primary->safe_psql('postgres', 'VACUUM t; CHECKPOINT');
is($primary->safe_psql('postgres', q{SELECT count(*), crc32c_agg(p::text::bytea ORDER BY blkno) FROM page_digests('t', NULL) p}),
	$primary->safe_psql('postgres', q{SELECT count(*), crc32c_agg(p::text::bytea ORDER BY blkno) FROM page_digests('t', 'main') p}),
	'no fork named is the main one, of three');

# Relations that have no storage here, or only for a session.
$primary->safe_psql('postgres', <<'SQL');
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE TABLE parted (i int) PARTITION BY LIST (i);
CREATE TABLE part PARTITION OF parted FOR VALUES IN (1);
CREATE FOREIGN TABLE away PARTITION OF parted FOR VALUES IN (2) SERVER nowhere;
SQL
is($primary->safe_psql('postgres', q{SELECT relation, status, message FROM verify_relation('parted')}),
	'away|not_verifiable|a foreign table has no storage here', 'a foreign partition');
is($primary->safe_psql('postgres', q{SELECT count(*) FROM relation_files('parted')}), '1', 'a foreign partition has no files');
my (undef, undef, $undigested) = $primary->psql('postgres', q{CREATE TEMPORARY TABLE mine AS SELECT 1; SELECT * FROM page_digests('mine')});
like($undigested, qr/WARNING:  no digest of any block: not_verifiable/, 'a temporary table has no digests');

# Many partitions: no memory for each of them, once the server knows them.
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE many (i int) PARTITION BY LIST (i);
DO $$BEGIN
	FOR g IN 1 .. 1500 LOOP
		EXECUTE format('CREATE TABLE many%s PARTITION OF many FOR VALUES IN (%1$s)', g);
	END LOOP;
END$$;
SQL
my $peak = q{SELECT 'peak=' || (regexp_match(pg_read_file('/proc/self/status'), 'VmPeak:\s+(\d+) kB'))[1]};
my ($peak_before, $peak_after) = $primary->safe_psql('postgres',
	"SELECT count(pg_relation_size(inhrelid)) FROM pg_inherits; $peak;
	SELECT count(*) FROM verify_relation_summary('many'); $peak") =~ /^peak=(\d+)$/mg;
note('1500 partitions: grew by ' . ($peak_after - $peak_before) . ' kB');
cmp_ok($peak_after - $peak_before, '<=', 8 * 1024, '1500 partitions');

# An access method that only its own code understands.
$primary->safe_psql('postgres', 'CREATE ACCESS METHOD unknown TYPE TABLE HANDLER heap_tableam_handler;
	CREATE TABLE of_unknown USING unknown AS SELECT 1; CHECKPOINT');
is($primary->safe_psql('postgres', q{SELECT verified_blocks, bad_blocks FROM verify_relation_summary('of_unknown', 'main')}),
	'1|0', 'a table of another access method');
is( $primary->safe_psql('postgres', q{SELECT crc32c = public.crc32c(overlay(read_disk_page('of_unknown', 'main', 0) PLACING '\x00000000000000000000' FROM 1))
		FROM page_digests('of_unknown', masked => true)}),
	't', 'of which LSN and checksum are masked');
my (undef, undef, $told) = $primary->psql('postgres', 'CALL verify_database(' . Accel::relations($primary, q{relname = 'part' OR relname LIKE 'of\_%'}) . ', verbose => true)');
like($told, qr/INFO: .*INFO: /s, 'verbose: a line per relation');

# Cancel: a gigabyte of zeroes (one segment file) is enough to be told to stop.
my $path = $primary->data_dir . '/' . main_path($primary, 't');
my $size = -s $path;
truncate $path, SEGMENT * BLCKSZ;
my $error;
$primary->psql('postgres', "SET statement_timeout = 5;
	SELECT sum(v.blocks) FROM generate_series(1, 100) g, verify_relation_summary(CASE WHEN g > 0 THEN 't'::regclass END) v",
	stderr => \$error);
like($error, qr/canceling statement due to statement timeout/, 'statement_timeout ends a scan');
truncate $path, $size;

# Parity with pg_checksums: one flipped bit a time, all over a page.
$primary->stop;
my @disagree;
my $seed = $ENV{ACCEL_SEED} // 20261120;
srand $seed;
note "seed $seed";
my @bits = map { int rand(BLCKSZ * 8) } 1 .. 12;
my @blocks = map { 20 + $_ } 0 .. $#bits;
my $relative = substr($path, length($primary->data_dir) + 1);
foreach my $i (0 .. $#bits)
{
	my ($file, $offset) = Accel::place($relative, $blocks[$i]);
	flip_bit($primary, $file, $offset + int($bits[$i] / 8), $bits[$i] % 8);
}
my ($stdout, $stderr) = run_command([ 'pg_checksums', '--check', '-D', $primary->data_dir ]);
my @theirs;	# numbered within their segments
push @theirs, ($1 // 0) * SEGMENT + $2 while $stderr =~ /(?:\.(\d+))?", block (\d+)/g;
my $theirs = join ' ', sort { $a <=> $b } @theirs;
$primary->start;
my $ours = $primary->safe_psql('postgres',
	"SELECT string_agg(blkno::text, ' ' ORDER BY blkno) FROM verify_relation('t', 'main') WHERE status <> 'zero_header'");
is($ours, $theirs, 'the same blocks as pg_checksums');
is($ours, join(' ', @blocks), 'and all that were damaged');
$primary->stop('immediate');

# Data checksums off.
my $off = Accel::new_node('off', checksums => 0, conf => "autovacuum = off\n");
$off->start;
$off->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, repeat('x', 200) AS b FROM generate_series(1, 5000) g;
CHECKPOINT;
SQL
is( $off->safe_psql('postgres', "SELECT verified_blocks, unverifiable_blocks + zero_blocks = blocks, bad_blocks, status, message FROM verify_relation_summary('t', 'main')"),
	'0|t|0|not_verifiable|data checksums are disabled: only page headers and segments were verified',
	'checksums off: not verifiable, and why');
my ($rows, $warning);
$off->psql('postgres', "SELECT * FROM verify_relation('t')", stdout => \$rows, stderr => \$warning);
is($rows, '', 'checksums off: no finding in healthy headers');
like($warning, qr/WARNING:  data checksums are disabled.*\nDETAIL: .*\nHINT:  To enable them, stop the server and run "pg_checksums --enable"\./, 'checksums off: said so, and what to do');
$off->psql('postgres', 'CALL verify_database(include_catalogs => false)', stderr => \$warning);
is(scalar(() = $warning =~ /WARNING:  data checksums are disabled/g), 1, 'checksums off: a whole database, said once');
like($warning, qr/INFO:  completed: .*; 0 findings, 1 not verifiable\n.*DETAIL:  Data checksums are disabled in this cluster/, 'checksums off: and at the end');
is( $off->safe_psql('postgres', 'SELECT state, r.findings, num_nulls(relid, schema_name, tablespace, filenode), status, message FROM verify_runs r JOIN verify_findings USING (run)'),
	'completed|1|4|not_verifiable|data checksums are disabled: only page headers and segments were verified',
	'checksums off: recorded, no run without findings');
is($off->safe_psql('postgres', 'SELECT data_checksums, bad_blocks FROM verify_metrics'), 'f|0', 'checksums off: metrics say so');
$path = main_path($off, 't');
$off->restart;
flip_bit($off, $path, 4 * BLCKSZ + 13, 7);	# pd_lower
flip_bit($off, $path, 5 * BLCKSZ + 3, 6);	# LSN
flip_bit($off, $path, 6 * BLCKSZ + 5000, 6);	# data: nothing can tell
is( $off->safe_psql('postgres', "SELECT blkno, status, computed_checksum FROM verify_relation('t')"),
	"4|bad_header|\n5|lsn_in_future|",
	'checksums off: headers are judged all the same');
is( $off->safe_psql('postgres', "SELECT bad_blocks, status FROM verify_relation_summary('t', 'main')"),
	'2|bad_header', 'checksums off: the summary has the damage');
$off->stop('immediate');

done_testing();
