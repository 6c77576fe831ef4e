# The page ledger in a storm: updates, extension, truncation, rewrites and drops,
# recordings all the time, and verdicts all the time on the primary and on a
# standby, by the ledger and by docs/examples/compare.sql.  No finding may come of it.
#
#	ACCEL_STORM_SECONDS		how long (default 30, 1800 in the long form)
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_STORM_SECONDS} || ($ENV{LONG} ? 1800 : 30);

my $primary = Accel::new_node('storm', allows_streaming => 1, conf => <<'CONF');
shared_buffers = 4MB
autovacuum_naptime = 1
bgwriter_delay = 10
bgwriter_lru_maxpages = 1000
wal_keep_size = 0
max_wal_size = 128MB
max_slot_wal_keep_size = 4GB
log_statement = none
CONF
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE SEQUENCE numbers;
CREATE TABLE hot (id int, filler text, n int) WITH (fillfactor = 70);
INSERT INTO hot SELECT g, repeat('f', 300), 0 FROM generate_series(1, 10000) g;
CREATE INDEX hot_id ON hot (id);
CREATE INDEX hot_hash ON hot USING hash (n);
CREATE TABLE grows (id serial, filler text, p point);
CREATE INDEX grows_gin ON grows USING gin (to_tsvector('simple', filler));
CREATE INDEX grows_gist ON grows USING gist (p);
CREATE INDEX grows_spgist ON grows USING spgist (p);
CREATE INDEX grows_brin ON grows USING brin (id) WITH (pages_per_range = 4);
CREATE TABLE rewritten AS SELECT g, repeat('r', 200) AS filler FROM generate_series(1, 2000) g;
CREATE INDEX rewritten_g ON rewritten (g);
CREATE TABLE big (a text);
ALTER TABLE big ALTER a SET STORAGE EXTERNAL;
SELECT pg_create_physical_replication_slot('standby');
SQL
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_slot_name = 'standby'\nmax_standby_streaming_delay = 5s\nshared_buffers = 4MB");
$standby->start;

my $examples = -d 'docs/examples' ? 'docs/examples' : "$ENV{ACCEL_TOP}/docs/examples";
my @compared = Accel::missing_modules('dblink') ? () :
  qw(hot hot_id hot_hash grows grows_gin grows_gist grows_spgist grows_brin rewritten rewritten_g big numbers);
note 'this installation lacks dblink' if !@compared;
command_ok([ 'psql', '-Xq', '-d', $primary->connstr('postgres'), '-v', 'standby=' . $standby->connstr('postgres'), '-f', "$examples/compare.sql" ], 'compare.sql')
  if @compared;

my $dir = PostgreSQL::Test::Utils::tempdir();
my %script = (
	update => <<'SQL',
\set id random(1, 10000)
UPDATE hot SET n = n + 1, filler = repeat(chr(97 + :id % 26), 300) WHERE id BETWEEN :id AND :id + 20;
SELECT count(*) FROM hot WHERE id BETWEEN :id AND :id + 500;
SELECT nextval('numbers');
SQL
	grow => <<'SQL',
INSERT INTO grows (filler, p) SELECT 'word' || g || ' ' || repeat('g', 200), point(g, g) FROM generate_series(1, 100) g;
INSERT INTO big SELECT repeat('b', 50000) FROM generate_series(1, 3);
\sleep 20 ms
SQL
	admin => <<'SQL',
DROP TABLE IF EXISTS short_lived;
VACUUM hot;
DELETE FROM grows WHERE id > (SELECT min(id) + 300 FROM grows);
VACUUM grows;
CHECKPOINT;
REINDEX INDEX CONCURRENTLY hot_id;
TRUNCATE big;
VACUUM FULL rewritten;
UPDATE rewritten SET filler = 'again';
DELETE FROM rewritten WHERE g > 1500;
VACUUM rewritten;
INSERT INTO rewritten SELECT g, repeat('s', 200) FROM generate_series(1501, 2000) g;
ALTER SEQUENCE numbers INCREMENT 3;
CREATE TABLE short_lived AS SELECT g, repeat('s', 500) AS filler FROM generate_series(1, 1000) g;
CREATE INDEX ON short_lived (g);
\sleep 300 ms
CLUSTER rewritten USING rewritten_g;
SQL
	checkpoint => "CHECKPOINT;\n\\sleep 500 ms\n");
append_to_file("$dir/$_", $script{$_}) foreach keys %script;
chmod 0755, $dir;
chmod 0644, "$dir/$_" foreach keys %script;

my $until = time + $seconds;
my @load = map {
	IPC::Run::start([ 'pgbench', '-n', '-c', $_ eq 'update' ? 2 : 1, '-T', $seconds, '-f', "$dir/$_", $primary->connstr('postgres') =~ s/ dbname=.*//r =~ s/^/dbname=postgres /r ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null')
} sort grep { $_ ne 'checkpoint' } keys %script;

my %count = (recordings => 0, primary => 0, standby => 0, compared => 0, cancelled => 0);
my @found;
my $turn = 0;
while (time < $until)
{
	Ledger::record($primary, $turn++ % 2 ? 'workers => 2' : 'include_catalogs => false');
	$count{recordings}++;
	foreach my $node ($primary, $standby)
	{
		my ($code, $out, $err) = $node->psql('postgres',
			"CHECKPOINT; SELECT relation, blkno, status, disk_lsn, known_lsn, recorded_at FROM verify_page_digests() WHERE status <> 'not_verifiable'");
		push @found, map { $node->name . " $_" } split /\n/, $out if $code == 0;
		$count{ $code == 0 ? $node->name eq 'storm' ? 'primary' : 'standby' : 'cancelled' }++;
		note $err if $code != 0;
	}
	foreach my $relation (@compared)
	{
		my ($code, $out, $err) = $primary->psql('postgres',
			"SELECT '$relation', * FROM compare.with_standby('$relation') WHERE status <> 'not_verifiable'");
		push @found, map { "compared $_" } split /\n/, $out if $code == 0;
		$count{ $code == 0 ? 'compared' : 'cancelled' }++;
		note $err if $code != 0;
	}
}
$_->finish foreach @load;
is(join("\n", @found), '', 'no finding in a storm');
note join ', ', map { "$_: $count{$_}" } sort keys %count;
cmp_ok($count{$_}, '>', 0, "$_: judged") foreach 'recordings', 'primary', 'standby', @compared ? 'compared' : ();

# When all is quiet, every block can be judged.
$primary->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = off');
$primary->reload;
$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%'")
  or die 'autovacuum goes on';
Ledger::record($primary);
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');
is(Ledger::findings($_), '', $_->name . ', after the storm') foreach $primary, $standby;
$primary->safe_psql('postgres', 'CHECKPOINT');
is($primary->safe_psql('postgres', "SELECT * FROM compare.with_standby('$_')"), '', "compared: $_") foreach @compared;
is(Ledger::reasons($standby, $_), '', "all of $_ is judged") foreach 'hot', 'grows', 'grows_gist';
$standby->stop;
$primary->stop;
done_testing();
