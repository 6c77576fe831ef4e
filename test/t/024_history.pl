# What the history answers: damage that appears and heals, the last good verdict,
# metrics.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT i, repeat('x', 500) x FROM generate_series(1, 2000) i;
CREATE TABLE rewritten AS SELECT i, repeat('x', 500) x FROM generate_series(1, 2000) i;
CREATE TABLE dropped AS SELECT i, repeat('x', 500) x FROM generate_series(1, 2000) i;
CREATE TABLE never (i int);
SQL

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# A run of the tables but "never"; returns its messages.
sub run
{
	my ($more, $what) = @_;
	my $err;
	my $relations = Accel::relations($node, $what // q{relname IN ('t', 'rewritten', 'dropped')});
	$node->psql('postgres', "CALL verify_database($relations" . ($more // '') . ')', stderr => \$err);
	return $err;
}

# Flips a byte of a block on disk, behind a server that is stopped.
sub damage
{
	my ($relation, $block) = @_;
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('$relation')");
	query('CHECKPOINT');
	$node->stop;
	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $block * 8192 + 5000, 0;
	read $file, my $byte, 1;
	seek $file, $block * 8192 + 5000, 0;
	print $file chr(ord($byte) ^ 1);
	close $file or die $!;
	$node->start;
	return;
}

my $bad = 'SELECT relation, fork, blkno, status, times_seen, healed_at IS NOT NULL FROM verify_bad_blocks ORDER BY relation::text';
my $good = q{SELECT relation, last_verified_at IS NOT NULL, last_good_at IS NOT NULL, last_good_at = last_verified_at
	FROM verify_last_good WHERE relation::text IN ('t', 'rewritten', 'never') ORDER BY relation::text};

query('CHECKPOINT');
is(query('SELECT bad_blocks, never_verified = relations, oldest_good_seconds, last_run_state, running, data_checksums FROM verify_metrics'),
	'0|t|||0|t', 'metrics before the first run');
run();
is(query($good), "never|f|f|\nrewritten|t|t|t\nt|t|t|t", 'a good verdict on what was verified');

# whose run it is: of this system, timeline, directory and database
my $own = 'bool_and(internal_is_own_run(system_identifier, timeline_id, data_directory_inode, datid))';
is(query("SELECT count(*) > 0, $own, " . join(', ', map { $own =~ s/(?<=[ (])$_(?=[,)])/$_ + 1/r } qw(system_identifier timeline_id data_directory_inode)) .
	", bool_or(internal_is_own_run(system_identifier, timeline_id, data_directory_inode, 1)) FROM verify_runs"), 't|t|f|f|f|f', 'whose run it is');

# damage appears, is seen again, heals
damage($_, 3) for 't', 'rewritten', 'dropped';
run() for 1 .. 2;
is(query($bad), join("\n", map { "$_|main|3|checksum_mismatch|2|f" } 'dropped', 'rewritten', 't'), 'damage is open');
is(query($good), "never|f|f|\nrewritten|t|t|f\nt|t|t|f", 'the last good verdict stays behind');
run('', q{relname = 'pg_am'});
is(query('SELECT bad_blocks, healed_blocks, last_run_state FROM verify_metrics'), '3|0|completed', 'metrics tell of it, after a run of something else');
my ($alert) = slurp_file('docs/operations.md') =~ /^## Alerts\n.*?^```sql\n(.*?)^```/ms;
like(query($alert), qr/^3\|/, 'so does the query of the documents');
query(qq{INSERT INTO verify_runs SELECT (n).* FROM (SELECT jsonb_populate_record(r, jsonb_build_object('run', -1, 'state', other,
	'started_at', now() + interval '1 hour', 'system_identifier', r.system_identifier + 1)) AS n
	FROM verify_runs r, unnest('{running,failed}'::text[]) other WHERE run = (SELECT max(run) FROM verify_runs)) x});
is(query('SELECT last_run_state, running, last_run_seconds < 3600 FROM verify_metrics'), 'completed|0|t', 'not of runs that a restored dump brought along');
query('DELETE FROM verify_runs WHERE run < 0');
query("SET ignore_checksum_failure = on; UPDATE t SET i = i WHERE ctid >= '(3,0)' AND ctid < '(4,0)'; CHECKPOINT");
query('SET ignore_checksum_failure = on; VACUUM FULL rewritten; DROP TABLE dropped');
like(query("SELECT healed_at IS NOT NULL FROM verify_bad_blocks WHERE path !~ (SELECT relfilenode::text FROM pg_class WHERE relname = 't') GROUP BY 1"),
	qr/^t$/, 'a file that is gone is damaged no longer');
run();
is(query("SELECT healed_at > last_seen_at FROM verify_bad_blocks WHERE relation = 't'::regclass"), 't', 'a rewritten block is healed');
is(query('SELECT bad_blocks, healed_blocks FROM verify_metrics'), '0|3', 'metrics tell of that, too');
is(query($good), "never|f|f|\nrewritten|t|t|t\nt|t|t|t", 'all is good again');

# a table that its owner keeps out of every run by a lock
my $unverified = 'SELECT unverified_relations FROM verify_metrics';
is(query($unverified), '0', 'every relation could be verified');
my $locker = $node->background_psql('postgres');
$locker->query_safe("BEGIN; LOCK TABLE never, rewritten");
like($node->psql('postgres', "SET lock_timeout = '10ms'; CALL verify_database(relations => '{never,rewritten}', fail_on_findings => true)") . query($unverified),
	qr/^02$/, 'a run that may not verify two: no finding, but metrics tell');
$locker->quit;
run();
is(query($unverified), '1', 'of the one that was verified since no longer');
query('DROP TABLE never; CREATE TABLE never (i int)');
is(query($unverified), '0', 'nor of one that is gone');

# the history has a bound, which leaves the last verdict on each relation
cmp_ok(query("SELECT prune_history('0')"), '>', 5, 'pruning');
is(query($good), "never|f|f|\nrewritten|t|t|t\nt|t|t|t", 'leaves the last verdicts');
damage('t', 5);
run();
cmp_ok(query("SELECT prune_history('0')"), '>', 0, 'pruning again');
is(query("SELECT blkno FROM verify_bad_blocks WHERE healed_at IS NULL"), '5', 'leaves open damage');

# what another database said, brought along by a dump, refutes nothing here
query(qq{INSERT INTO verify_runs SELECT (n).* FROM (SELECT jsonb_populate_record(r, jsonb_build_object('run', -1,
	'system_identifier', r.system_identifier + 1)) AS n FROM verify_runs r WHERE run = (SELECT max(run) FROM verify_runs)) x});
query(qq{INSERT INTO verify_run_relations SELECT (n).* FROM (SELECT jsonb_populate_record(r, jsonb_build_object('run', -1, 'findings', 0,
	'began_at', now(), 'verified_at', now())) AS n FROM verify_run_relations r WHERE relid = 't'::regclass ORDER BY verified_at DESC LIMIT 1) x});
query("SELECT prune_history('0')");
is(query("SELECT blkno FROM verify_bad_blocks WHERE healed_at IS NULL"), '5', 'pruning beside the history of another database');
is(query('SELECT count(*) FROM verify_run_relations WHERE run < 0'), '0', 'which goes by its age');
query('DELETE FROM verify_runs WHERE run < 0');

run();
my $runs = query('SELECT count(*) FROM verify_runs');
$node->append_conf('postgresql.conf', "crc32c_accel.history_keep_time = 0\n");
$node->restart;
run();
cmp_ok(query('SELECT count(*) FROM verify_runs'), '<=', $runs, 'a run prunes by itself');

# verdicts for scripts
my ($status, $out, $err) = $node->psql('postgres', 'CALL verify_database(relations => \'{t}\', fail_on_findings => true)');
is($status, 3, 'fail_on_findings: psql fails');
like($err, qr/INFO:  completed: .*; 1 finding, .*\n.*ERROR:  1 finding in this database/s, 'after the closing line');
($status, $out, $err) = $node->psql('postgres', 'CALL verify_database(relations => \'{rewritten}\', fail_on_findings => true)');
is($status, 0, 'and not without findings');
like(run(", max_rate => 2000, report_interval => '50 ms'"),
	qr/INFO:  [\d.]+ [kM]B of [\d.]+ MB, \d+ %, [\d.]+ [kM]B\/s, about \d+ s left, \d+ findings?/, 'report_interval');

# The history of a template does not tell when a file of its copy was good.
query('DROP TABLE t');
run();
query('CREATE DATABASE copied TEMPLATE postgres');
{
	my $file = $node->data_dir . '/' . $node->safe_psql('copied', "SELECT pg_relation_filepath('rewritten')");
	query('CHECKPOINT');
	$node->stop;
	open my $fh, '+<:raw', $file or die "$file: $!";
	seek $fh, 3 * 8192 + 5000, 0;
	print $fh 'damage';
	close $fh or die $!;
	$node->start;
}
my $of_copy = q(SELECT last_verified_at IS NOT NULL, last_good_at IS NOT NULL FROM verify_last_good WHERE relation = 'rewritten'::regclass);
is(query($of_copy), 't|t', 'a template was good');
is($node->safe_psql('copied', $of_copy), 'f|f', 'its copy was not verified yet');
$node->psql('copied', "SET crc32c_accel.history_keep_time = -1; CALL verify_database(relations => '{rewritten}')");
is($node->safe_psql('copied', $of_copy), 't|f', 'and never was good');

# nor does what was before a failover, whose runs are of another timeline
is(query($of_copy), 't|t', 'all is good before a failover');
query('UPDATE verify_runs SET timeline_id = timeline_id + 1');
is(query($of_copy) . query('SELECT oldest_good_seconds IS NULL FROM verify_metrics'), 'f|ft', 'nothing is after it');
damage('rewritten', 3);
run('', q{relname = 'rewritten'});
is(query($of_copy), 't|f', 'nor was good when it is verified');

$node->stop;
done_testing();
