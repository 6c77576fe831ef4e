# No false finding: storage is dropped, truncated, rewritten, moved, copied and
# made anew, with full and with minimal WAL, on primary and standby, before and
# after a promotion, while the search for lost writes runs again and again.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{LONG} ? 600 : 4;
my $tablespace = PostgreSQL::Test::Utils::tempdir();
my $archive = PostgreSQL::Test::Utils::tempdir();

my $primary = Accel::new_node('primary', allows_streaming => 1,
	extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum_naptime = 1
checkpoint_timeout = 1h
max_wal_size = 8GB
wal_keep_size = 8GB
shared_buffers = 4MB
allow_in_place_tablespaces = on
max_prepared_transactions = 4
archive_mode = on
archive_command = 'test ! -f "$archive/%f" && cp "%p" "$archive.%f" && mv "$archive.%f" "$archive/%f"'
CONF
$primary->start;
my $q = sub { return $primary->safe_psql('postgres', $_[0]) };

$q->(<<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLESPACE elsewhere LOCATION '';
CREATE TABLE t (id int PRIMARY KEY, k int, b text, a int[], p point, r int4range) WITH (fillfactor = 70);
CREATE INDEX ON t USING hash (k);
CREATE INDEX ON t USING gin (a);
CREATE INDEX ON t USING gist (p);
CREATE INDEX ON t USING gist (r);
CREATE INDEX ON t USING spgist (p);
CREATE INDEX ON t USING brin (k) WITH (pages_per_range = 4, autosummarize = on);
CREATE SEQUENCE s;
CREATE UNLOGGED TABLE u (i int PRIMARY KEY);
CREATE TABLE shrinks (i int, b text);
CREATE TABLE swings (i int PRIMARY KEY, b text);
CREATE MATERIALIZED VIEW m AS SELECT g FROM generate_series(1, 2000) g;
INSERT INTO t SELECT g, g % 977, repeat('x', 100), ARRAY[g, g % 10], point(g % 100, g % 37), int4range(g, g + 5) FROM generate_series(1, 5000) g;
VACUUM;
CHECKPOINT;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
Accel::configure($standby);
$standby->start;

sub nothing
{
	my ($node, $title, $arguments) = @_;
	my $call = 'verify_lost_writes(' . ($arguments // '') . ')';
	is($node->safe_psql('postgres',
			"SELECT string_agg(l::text, E'\\n') FROM $call l"), '', $title);
	$call =~ s/verify_lost_writes/verify_wal_images/;
	return is($node->safe_psql('postgres',
			"SELECT string_agg(l::text, E'\\n') FROM $call l WHERE status = 'stale_page'"), '', "$title: images");
}

nothing($primary, 'before the load');

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/load.sql", <<'SQL');
\set id random(1, 5000)
\set new random(5001, 2000000000)
UPDATE t SET k = k + 1, p = point(:id, :new % 100) WHERE id = :id;
INSERT INTO t VALUES (:new, :new % 977, repeat('y', 100), ARRAY[:id, :new % 100], point(:id % 100, :new % 37), int4range(:id, :id + 9)) ON CONFLICT DO NOTHING;
DELETE FROM t WHERE id = :id + 1;
SELECT nextval('s');
SELECT id FROM t WHERE k = :id % 977 LIMIT 3 FOR UPDATE SKIP LOCKED;
SQL
append_to_file("$dir/storage.sql", <<'SQL');
\set n random(1, 13)
\if :n = 1
TRUNCATE swings;
\elif :n = 2
INSERT INTO shrinks SELECT g, repeat('s', 300) FROM generate_series(1, 500) g;
DELETE FROM shrinks WHERE i > 50;
VACUUM (TRUNCATE) shrinks;
\elif :n = 3
ALTER TABLE swings SET TABLESPACE elsewhere;
ALTER TABLE swings SET TABLESPACE pg_default;
\elif :n = 4
CREATE TABLE brief AS SELECT g, repeat('b', 200) AS b FROM generate_series(1, 400) g;
CREATE INDEX ON brief (g);
DROP TABLE brief;
\elif :n = 5
VACUUM FULL swings;
\elif :n = 6
BEGIN;
CREATE TABLE never AS SELECT g FROM generate_series(1, 2000) g;
ROLLBACK;
\elif :n = 7
ALTER SEQUENCE s RESTART;
ALTER SEQUENCE s MAXVALUE 1000000000000;
\elif :n = 8
REFRESH MATERIALIZED VIEW m;
VACUUM FULL pg_class;
\elif :n = 9
BEGIN;
TRUNCATE swings;
INSERT INTO swings SELECT g, 'n' FROM generate_series(1, 1000) g;
COMMIT;
\elif :n = 10
REINDEX INDEX CONCURRENTLY swings_pkey;
\elif :n = 11
ALTER TABLE u SET LOGGED;
INSERT INTO u SELECT g FROM generate_series(1, 100) g ON CONFLICT DO NOTHING;
ALTER TABLE u SET UNLOGGED;
\elif :n = 12
ALTER SYSTEM SET full_page_writes = off;
SELECT pg_reload_conf();
CHECKPOINT;
UPDATE swings SET b = 'f' WHERE i % 10 = 0;
CHECKPOINT;
ALTER SYSTEM RESET full_page_writes;
SELECT pg_reload_conf();
\else
INSERT INTO swings SELECT g, repeat('w', 100) FROM generate_series(1, 1000) g ON CONFLICT DO NOTHING;
CHECKPOINT;
\endif
SQL

# Runs loads for a while, and the search as often as it can meanwhile.
sub storm
{
	my ($title, $for) = @_;
	my @loads = map {
		my ($clients, $file) = @$_;
		IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', $for, '-f', "$dir/$file", $primary->connstr('postgres') ],
			'<', \undef, '>', '/dev/null', '2>', '/dev/null')
	} [ 3, 'load.sql' ], [ 1, 'storage.sql' ];
	my ($found, $runs) = ('', 0);

	while (grep { Accel::still_runs($_) } @loads)
	{
		$found .= $q->("SELECT l FROM verify_lost_writes() l WHERE relation IS NOT NULL OR message NOT LIKE 'WAL up to%'");
		$runs++;
	}
	$_->finish foreach @loads;
	cmp_ok($runs, '>', 0, "$title: $runs runs meanwhile");
	is($found, '', "$title: no finding");
	return;
}

storm('load', $seconds);
$q->('CREATE DATABASE by_pages TEMPLATE template0 STRATEGY wal_log; CHECKPOINT');
$q->('CREATE DATABASE by_files TEMPLATE template0 STRATEGY file_copy; CHECKPOINT');
$q->('CREATE DATABASE moves TEMPLATE by_pages; ALTER DATABASE moves SET TABLESPACE elsewhere; CHECKPOINT');
foreach my $db (qw(by_pages by_files moves))
{
	is($primary->safe_psql($db, 'CREATE EXTENSION crc32c_accel; VACUUM FULL pg_proc; CHECKPOINT; SELECT count(*) FROM verify_lost_writes()'),
		0, "$db: no finding");
}
nothing($primary, 'after the load');
my $switched = $q->('SELECT pg_walfile_name(pg_switch_wal())');
$q->('CHECKPOINT');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver");
nothing($primary, 'from the archive', "'$archive'");
is($q->("SET maintenance_work_mem = '1MB'; SELECT count(*) FROM verify_lost_writes('$archive')"), 0, 'with little memory the same');

# Crash, standby, promotion
$primary->stop('immediate');
$primary->start;
nothing($primary, 'after a crash');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
nothing($standby, 'standby');
$primary->stop('immediate');
$standby->promote;
nothing($standby, 'promoted, before a checkpoint');
$standby->safe_psql('postgres', q{INSERT INTO t SELECT g, 1, '', '{}', '(0,0)', 'empty' FROM generate_series(-3000, -1) g; VACUUM t; CHECKPOINT});
nothing($standby, 'promoted');

# What was asked can see: pages of both timelines, with zeros in their place
my $path = $standby->data_dir . '/' . $standby->safe_psql('postgres', "SELECT pg_relation_filepath('t')");
my $newest = $standby->safe_psql('postgres', 'SELECT max((ctid::text::point)[0]) FROM t WHERE id < 0');
$standby->stop('fast');
AccelWal::poke($path, $_ * 8192, "\0" x 8192) foreach 0, $newest;
$standby->start;
is($standby->safe_psql('postgres', "SELECT string_agg(blkno || ' ' || status, ', ' ORDER BY blkno) FROM verify_lost_writes()"),
	"0 zeroed_page, $newest zeroed_page", 'promoted: and zeros are seen');
$standby->stop('fast');

# The old primary goes on alone, with as little WAL as can be, and images in it
# that are not to be restored
$primary->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\narchive_mode = off\nwal_skip_threshold = 0\nwal_consistency_checking = all");
$primary->start;
storm('wal_level minimal', $seconds);
$q->('BEGIN; CREATE TABLE skips (i int); COPY skips FROM PROGRAM \'seq 10000\' (FREEZE); COMMIT; CHECKPOINT; UPDATE skips SET i = i + 1; CHECKPOINT');
nothing($primary, 'after it');
$primary->stop('fast');
done_testing();
