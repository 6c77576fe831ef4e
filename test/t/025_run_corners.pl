# verify_database: relations that have nothing to verify, the rights of the
# history's owner when schemas are renamed under a run, and where a run on a
# standby goes on.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n",
	extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
my $run = 'CALL verify_database(include_catalogs => false, verbose => true';

sub call
{
	my ($where, $statement) = @_;
	my $status = $where->psql('postgres', $statement, stdout => \my $out, stderr => \my $err);
	return ($status, $err);
}

# Starts a statement of a user; returns its handle and what it says on stderr.
sub begin
{
	my ($where, $database, $statement, $user) = @_;
	my $err = '';
	my $handle = IPC::Run::start([ 'psql', '-XAtq', '-d', $where->connstr($database), '-c',
		($user ? "SET SESSION AUTHORIZATION $user" : 'SET client_min_messages = info'), '-c', $statement ],
		'>', \my $out, '2>', \$err);
	return ($handle, \$err);
}

my $shim = Accel::fault_shim();
my $rows = 930 * int(($blcksz - 24) / 36);	# so many blocks
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE "tä" AS SELECT 1 AS i;
CREATE TABLE big AS SELECT i FROM generate_series(1, $rows) i;	-- no TOAST table: next comes next
CREATE TABLE next AS SELECT 1 AS i;
SQL

# relations
my ($status, $err) = call($node, "$run, relations => '{tä,pg_views}')");
like($err, qr/INFO:  verified public\."tä": .*INFO:  completed: 1 relation,/s, 'a table, and a view that has nothing to verify');
unlike($err, qr/WARNING/, 'no warning where a relation was selected');
($status, $err) = call($node, "$run, relations => '{pg_views}')");
like($err, qr/WARNING:  no relation was selected\nDETAIL: .*INFO:  completed: 0 relations/s, 'a view alone');
($status, $err) = call($node, "$run, relations => '{tä}', reverify_after => '1000 years')");
like($err, qr/INFO:  completed: 0 relations/, 'nothing is left');
unlike($err, qr/WARNING/, 'and nothing is wrong');

# what may be skipped later, and from when on
my $place = $node->safe_psql('postgres', "SELECT 'big'::regclass::oid") . '/main/500';
($status, $err) = call($node, "$run, relations => '{big}', resume_at => '$place')");
like($err, qr/INFO:  verified public\.big: 930 blocks/, 'what is recorded was verified whole, whatever resume_at says');
$node->safe_psql('postgres', "INSERT INTO internal_positions SELECT run, relid, 'main', 500, now(), began_at, 500, 500 * $blcksz, 0, 0, tablespace, filenode, datid
	FROM verify_run_relations WHERE relid = 'big'::regclass ORDER BY run DESC LIMIT 1;
	DELETE FROM verify_run_relations WHERE relid = 'big'::regclass");
($status, $err) = call($node, "$run, relations => '{big}', reverify_after => '1000 years')");
like($err, qr/INFO:  verified public\.big: 930 blocks.*INFO:  completed: 1 relation, 430 blocks/s, 'a run goes on inside of a relation');
$node->safe_psql('postgres', 'TRUNCATE next');	# else nothing is left to do
($status, $err) = call($node, "SET timezone = 'UTC'; $run, max_duration => '1 us', reverify_after => now() - timestamptz '2020-02-02 00:00:00+00')");
like($err, qr/HINT:  To go on, pass reverify_after => now\(\) - timestamptz '2020-02-02 00:00:00\+00'/, 'a continued run goes on from where the first began');
($status, $err) = call($node, "$run, max_duration => '200000000 days')");
like($err, qr/INFO:  completed/, 'as much time as it takes');

# a history that has no statistics yet
SKIP:
{
	skip 'this installation lacks auto_explain', 1 if Accel::missing_modules('auto_explain');
	($status, $err) = call($node, "LOAD 'auto_explain'; SET auto_explain.log_nested_statements = on; SET auto_explain.log_min_duration = 0;
		SET client_min_messages = log; $run, reverify_after => '1000 years')");
	my ($join) = $err =~ /FROM pg_class c WHERE .*?^(?: *-> +)?([\w ]+) Anti Join /ms;
	like($join, qr/Hash|Merge/, 'what is left is found without a nested loop over all of it');
}

# whoever owns the schema puts other tables in the place of the history's
$node->safe_psql('postgres', 'CREATE ROLE attacker LOGIN IN ROLE pg_stat_scan_tables; CREATE DATABASE attacked');
$node->safe_psql('attacked', <<'SQL');
GRANT CREATE ON DATABASE attacked TO attacker;
CREATE SCHEMA acc AUTHORIZATION attacker;
CREATE EXTENSION crc32c_accel SCHEMA acc;
CREATE TABLE gated AS SELECT 1 AS i;
CREATE TABLE after AS SELECT 1 AS i;
CHECKPOINT;
SQL
my $gate = Accel::gate($node, 'gated', 'attacked');
my ($session, $said) = begin($node, 'attacked', 'CALL acc.verify_database(include_catalogs => false)', 'attacker');
Accel::wait_at_gate($node, 'gated', 'attacked') or fail('the run never came to the table');
$node->safe_psql('attacked', <<'SQL');
SET SESSION AUTHORIZATION attacker;
BEGIN;
ALTER SCHEMA acc RENAME TO former;
CREATE SCHEMA acc;
CREATE TABLE acc.log (who text);
GRANT ALL ON acc.log TO PUBLIC;
CREATE FUNCTION acc.trap() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO acc.log VALUES (current_user); RETURN NULL; END';
CREATE TABLE acc.verify_runs (LIKE former.verify_runs);
CREATE TABLE acc.verify_run_relations (LIKE former.verify_run_relations);
CREATE TABLE acc.verify_findings (LIKE former.verify_findings);
CREATE TRIGGER trap AFTER INSERT OR UPDATE ON acc.verify_runs EXECUTE FUNCTION acc.trap();
CREATE TRIGGER trap AFTER INSERT OR UPDATE ON acc.verify_run_relations EXECUTE FUNCTION acc.trap();
COMMIT;
SQL
$gate->quit;
$session->finish;
is($node->safe_psql('attacked', "SELECT DISTINCT who FROM acc.log WHERE who <> 'attacker'"), '', 'nothing of his runs with the rights of another');
like($$said, qr/INFO:  completed: /, 'the run ends well');

# and before the list of relations is made, which is read with the caller's rights
my $holder = $node->background_psql('attacked');
$holder->query_safe('BEGIN; LOCK TABLE former.verify_runs; SELECT 1');
($session, $said) = begin($node, 'attacked', "CALL former.verify_database(order_by => 'stalest', relations => '{after}', cluster_files => false)");
$node->poll_query_until('attacked', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'former.verify_runs'::regclass)")
  or fail('never saw it wait');
$node->safe_psql('attacked', <<'SQL');
SET SESSION AUTHORIZATION attacker;
BEGIN;
ALTER SCHEMA former RENAME TO latter;
CREATE SCHEMA former;
CREATE FUNCTION former.trap() RETURNS timestamptz LANGUAGE plpgsql AS
	'BEGIN INSERT INTO acc.log VALUES (current_user); RETURN now(); END';
CREATE VIEW former.verify_run_relations AS SELECT oid AS relid, 0::oid AS datid, former.trap() AS verified_at FROM pg_class;
CREATE VIEW former.internal_positions AS SELECT oid AS relid, 0::oid AS datid, former.trap() AS recorded_at FROM pg_class;
COMMIT;
SQL
$holder->quit;
$session->finish;
is($node->safe_psql('attacked', "SELECT DISTINCT who FROM acc.log WHERE who <> 'attacker'"), '', 'nor in the list of relations');
like($$said, qr/WARNING:  could not read the history: schema former is no longer that of the extension.*INFO:  completed: 1 relation,/s, 'which is made without the history');

# the caller's time limit: not for the run, but for what follows it
(undef, undef, $err) = $node->psql('postgres', <<'SQL');
SET statement_timeout = '10min';
DO $$ BEGIN
	PERFORM set_config('statement_timeout', '100ms', false);
	CALL verify_database(relations => '{}', cluster_files => false);
	PERFORM pg_sleep(120);
END $$;
SQL
like($err, qr/INFO:  completed: .*ERROR:  canceling statement due to statement timeout/s, 'what follows a run is bounded by statement_timeout');

# a standby: cancelled while it waits for the relation after a large one
$node->backup('b', backup_options => ['--no-verify-checksums']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\n");
Accel::start_under($shim, $standby);
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE next; SELECT pg_current_xact_id()');
$node->safe_psql('postgres', 'SELECT pg_logical_emit_message(true, $$a$$, $$b$$)');
$node->wait_for_catchup($standby);
($session, $said) = begin($standby, 'postgres', "$run)");
$standby->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'next'::regclass)")
  or fail('never saw it wait');
$standby->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'next'::regclass");
$session->finish;
$locker->quit;
my $next = $node->safe_psql('postgres', "SELECT 'next'::regclass::oid");
like($$said, qr{INFO:  cancelled: .*\nHINT:  To go on, pass resume_at => '$next/main/0'}, 'goes on at the start of the relation');

# a relation that is rewritten behind the place where the run began in it: it goes
# on once replay waits for it (for something else than a lock: unseen)
my $big = $node->safe_psql('postgres', "SELECT 'big'::regclass::oid");
my $blocks = $node->safe_psql('postgres', "SELECT pg_relation_size('big') / $blcksz");
my $file = $node->safe_psql('postgres', "SELECT pg_relation_filenode('big')");
(undef, my $rewritten) = Accel::stopped_at($standby, 'read', 3, "/$file",
	"$run, max_rate => 1000, relations => '{big}', resume_at => '$big/main/500/$file')", sub {
	$node->safe_psql('postgres', 'VACUUM FULL big');
	$node->wait_for_catchup($standby, 'flush', $node->lsn('flush'));
	my $patience = time + 30;
	$standby->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'startup'
		AND wait_event_type = 'Lock') OR clock_timestamp() > to_timestamp($patience)");
});
my ($verified) = $rewritten =~ /INFO:  \w+: verified public\.big: (\d+) blocks/;
cmp_ok($verified // 0, '>=', $blocks, 'a new file is verified from its start') or diag($rewritten);

# a file that is not the one where a run stopped, or that is not named
$node->wait_for_catchup($standby);
my $new = $standby->safe_psql('postgres', "SELECT pg_relation_filenode('big')");
my $forks = $standby->safe_psql('postgres', "SELECT (pg_relation_size('big', 'fsm') + pg_relation_size('big', 'vm')) / $blcksz");
for my $case ([ "500/$file", $blocks, 'another file is verified from its start' ], [ '500', $blocks, 'so is one that is not named' ],
	[ "500/$new", $blocks - 500, 'the same file is not' ])
{
	($status, $err) = call($standby, "$run, relations => '{big}', resume_at => '$big/main/$case->[0]')");
	($verified) = $err =~ /INFO:  verified public\.big: (\d+) blocks/;
	is($verified, $case->[1] + $forks, $case->[2]);
}
foreach my $seconds (2, 8, 32)	# who has not begun to read by then has no place in a file
{
	($status, $err) = call($standby, "$run, relations => '{big}', max_rate => 100, max_duration => '$seconds s')");
	last if $err =~ m{resume_at => '$big/main/\d+/};
}
like($err, qr{HINT:  To go on, pass resume_at => '$big/main/\d+/$new'}, 'the place names the file');

# DDL without pause
my $done = 0;
my $storm = IPC::Run::start([ 'sh', '-c', 'while [ ! -e "$1" ]; do echo "TRUNCATE next, \"tä\"; INSERT INTO next VALUES (1);"; done |
	psql -XAtq -d "$2" >/dev/null', 'sh', $node->data_dir . '/enough', $node->connstr('postgres') ]);
my ($ended, $missed, $refused) = ('', '', 0);
for (1 .. ($ENV{LONG} ? 400 : 30))
{
	($status, $err) = call($standby, "$run, relations => '{next,tä}')");
	$refused++ if $status != 0 && $err !~ /INFO|WARNING/;	# a conflict before the run began
	$ended ||= $err if $status != 0 && $err =~ /INFO|WARNING/;
	$missed ||= $err if $err =~ /could not verify the files/;
}
append_to_file($node->data_dir . '/enough', '');
$storm->finish;
is($ended, '', "conflicts with recovery end no run, $refused did not begin");
is($missed, '', '... and leave no file of the cluster out');

$standby->stop;
$node->stop;
done_testing();
