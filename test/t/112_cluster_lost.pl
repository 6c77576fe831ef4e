# verify_cluster and lost writes: the WAL at hand is held against the disk of all
# databases, and what was found stays open while the disk is as it was found,
# however often the pages are verified since.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
fsync = off
bgwriter_lru_maxpages = 0
wal_keep_size = 32MB
min_wal_size = 2MB
max_wal_size = 4MB
CONF
$node->start;

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

# psql's words
sub call
{
	my ($statement, $where) = @_;
	my $err;

	($where // $node)->psql('postgres', $statement, stderr => \$err);
	return $err;
}

my $last = 'run = (SELECT max(run) FROM verify_runs)';
my $words = q{string_agg(w, ', ' ORDER BY w COLLATE "C") FROM (SELECT concat_ws(' ', coalesce(database, '-'), relation_name, fork, blkno, status) AS w};
my $found = "SELECT $words FROM verify_findings WHERE $last) f";
my $open = "SELECT $words FROM verify_bad_blocks WHERE healed_at IS NULL) f";

query('CREATE EXTENSION crc32c_accel');
query("CREATE DATABASE $_") foreach 'a', 'b';
query("CREATE TABLE t AS SELECT i, repeat('x', 500) AS t FROM generate_series(1, 300) i", $_) foreach 'postgres', 'a', 'b';
query('CREATE INDEX t_i ON t (i)', 'a');
query("COMMENT ON DATABASE $_ IS 'x'") foreach 'a', 'b';
query("VACUUM (FREEZE); CHECKPOINT", $_) foreach 'postgres', 'a', 'b';

my %path = map { $_ => $node->data_dir . '/' . query("SELECT pg_relation_filepath('t')", $_) } 'postgres', 'a', 'b';
$path{index} = $node->data_dir . '/' . query("SELECT pg_relation_filepath('t_i')", 'a');
$path{shared} = $node->data_dir . '/' . query("SELECT pg_relation_filepath('pg_shdescription')");
my %blocks = (postgres => [1], a => [ 2, 3 ], b => [], index => [1], shared => [0]);

sub pages { return map { my $file = $_; map { ("$file $_" => AccelWal::peek($path{$file}, $_ * 8192, 8192)) } @{ $blocks{$file} } } keys %blocks; }

# Writes are lost: what was there before is there again.
my %old = pages();
query("UPDATE t SET i = i WHERE ctid IN ('(1,1)', '(2,1)', '(3,1)', '(4,1)')", $_) foreach 'postgres', 'a', 'b';
query("COMMENT ON DATABASE a IS 'y'");
query('CHECKPOINT');
like(call('CALL verify_cluster()'), qr/INFO:  completed: 5 databases, .*; 0 findings, 0 not verifiable$/m, 'no write is lost yet');
is(query("SELECT count(*) FROM verify_findings"), '0', '... as the history says');
$node->stop;
my %new = pages();
foreach (sort keys %old)
{
	my ($file, $block) = split / /;
	AccelWal::poke($path{$file}, $block * 8192, $_ eq 'a 3' ? "\0" x 8192 : $old{$_});
}
my $end = (-s $path{a}) / 8192 - 1;
truncate($path{a}, $end * 8192) or die;
$node->start;

my @all = ('a t_i main 1 stale_page', 'a t main 2 stale_page', 'a t main 3 zeroed_page', "a t main $end missing_block",
	'postgres t main 1 stale_page', '- pg_shdescription main 0 stale_page');
my $all = join ', ', sort @all;
like(call("CALL verify_cluster(lost_writes => false)"), qr/; 0 findings,/, 'all pages are good by themselves');
foreach my $max (0, 100000)
{
	my $said = call("CALL verify_cluster(max_rate => $max)");
	like($said, qr/WARNING:  database "a": lost writes in 3 blocks of relation public\.t\nDETAIL:  stale_page: block 2: a write was lost: .*\. File "base\S+"\.\nHINT:  Replace the storage/,
		"a worker says so, max_rate $max");
	like($said, qr/WARNING:  database "a": lost write in block 1 of relation public\.t_i/, '... of an index');
	like($said, qr/WARNING:  lost write in block 1 of relation public\.t\n/, 'the session says so of its own database');
	is(scalar(() = $said =~ /lost write in block 0 of relation pg_catalog\.pg_shdescription/g), 1, '... and of what is shared, once');
	unlike($said, qr/database "b"/, 'nothing of a database that lost none');
	like($said, qr/ 5 databases, .*; 6 findings, 0 not verifiable/, 'each is counted once');
	is(query($found), $all, 'rows');
}
is(query($open), $all, 'they are open, whatever the pages say');
is(query('SELECT bad_blocks FROM verify_metrics'), '6', '... and the metrics say so');
is(query("SELECT database, bad_blocks FROM verify_database_metrics WHERE bad_blocks > 0 ORDER BY 1"), "a|4\npostgres|2", '... of each database');
like(call("CALL verify_cluster(ARRAY['b'])"), qr/; 1 finding,/, 'one database has what all share');
like(call("CALL verify_cluster(ARRAY['a'], fail_on_findings => true)"), qr/ERROR:  \d+ findings in this cluster/, 'fail_on_findings');

# the WAL is gone
query("SELECT count(pg_logical_emit_message(false, 'x', repeat('x', 1000))) FROM generate_series(1, 1000); SELECT pg_switch_wal()") for 1 .. 40;
query('CHECKPOINT; CHECKPOINT');
my $before = query($open);
like(call("CALL verify_cluster()"), qr/; 0 findings, 0 not verifiable/, 'without the WAL nothing is found');
is(query($open), $before, '... and nothing is healed');
query("SELECT prune_history('0')");
is(query($open), $before, '... or forgotten');

# what becomes of them
query("UPDATE t SET i = i WHERE ctid = '(2,2)'; CHECKPOINT", 'a');
query('REINDEX INDEX t_i', 'a');
query("VACUUM FULL t; CHECKPOINT");
is(query($open), join(', ', grep { /pg_shd|a t main [^2]/ } sort @all), 'a page that was written anew is another, as is a new file');
query("SELECT prune_history('0')");
is(query('SELECT count(DISTINCT (datid, relid, blkno)) FROM verify_findings'), '2', '... and then they are forgotten');
query('DROP DATABASE a; CHECKPOINT');
is(query($open), '', 'as are those of what is dropped, with the comment on it');

# storage that has ended since, half of the time, a standby
query("CREATE TABLE u AS SELECT * FROM t; CREATE TABLE d AS SELECT * FROM t; CHECKPOINT", $_) foreach 'b';
query("TRUNCATE u; DROP TABLE d; CHECKPOINT", 'b');
my $said = call("SET client_min_messages = notice; CALL verify_cluster(ARRAY['b'])");
unlike($said, qr/WARNING|NOTICE/, 'what was truncated or dropped has lost nothing');
query("SELECT count(pg_logical_emit_message(false, 'x', repeat('x', 1000))) FROM generate_series(1, 8000); CHECKPOINT");
like(call("CALL verify_cluster(ARRAY['b'], max_rate => 4000, max_duration => '2s', cluster_files => false)"),
	qr{NOTICE:  lost writes were not looked for in all WAL\nDETAIL:  WAL from [0-9A-F]+/[0-9A-F]+ on was not read: time was up\.\n(?s:.*)stopped: .*[1-9]\d* relations}, 'half of the time is for the pages');
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
my $file = query("SELECT pg_relation_filepath('t')", 'b');
my $page = AccelWal::peek($standby->data_dir . "/$file", 8192, 8192);
query("UPDATE t SET i = i WHERE ctid = '(1,2)'; CHECKPOINT", 'b');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
$standby->stop;
AccelWal::poke($standby->data_dir . "/$file", 8192, $page);
$standby->start;
like(call('CALL verify_cluster()', $standby), qr/WARNING:  database "b": lost write in block 1 of relation public\.t\n(?s:.*)completed: 4 databases, .*; 1 finding, 0 not/, 'a standby');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM verify_bad_blocks WHERE healed_at IS NULL'), '1', '... which knows of its primary what that has found');
$standby->stop;
$node->stop;
done_testing();
