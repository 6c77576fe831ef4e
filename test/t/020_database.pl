# verify_database: a whole database, one relation a transaction.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant BLCKSZ => Accel::built_with('BLCKSZ');

my $node = Accel::new_node('main', allows_streaming => 1, conf => <<'CONF');
shared_preload_libraries = 'crc32c_accel'
autovacuum = off
max_prepared_transactions = 2
CONF
$node->start;
my $rows = 20000 * BLCKSZ / 8192;
$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA ext;
CREATE EXTENSION crc32c_accel SCHEMA ext;
CREATE TABLE healthy AS SELECT i, repeat('x', 500) t FROM generate_series(1, $rows) i;
CREATE INDEX healthy_i ON healthy (i);
CREATE TABLE broken AS SELECT i, repeat('x', 500) t FROM generate_series(1, $rows / 10) i;
CREATE INDEX broken_i ON broken (i);
CREATE TABLE toasted (t text);
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat('x', 5000) FROM generate_series(1, 10);
CREATE SEQUENCE s;
CREATE UNLOGGED TABLE unlogged (i int);
CREATE MATERIALIZED VIEW m AS SELECT 1 AS i;
CREATE TABLE parted (i int) PARTITION BY RANGE (i);
CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE VIEW v AS SELECT 1 AS i;
CHECKPOINT;
SQL

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# Runs a statement that must work; returns what psql said on stderr.
sub call
{
	my ($statement, $where) = @_;
	my ($stdout, $stderr);
	my $status = ($where // $node)->psql('postgres', $statement,
		stdout => \$stdout, stderr => \$stderr);

	is($status, 0, "$statement works") or diag $stderr;
	return $stderr;
}

sub path_of
{
	my ($relation) = @_;
	return $node->data_dir . '/' . query("SELECT pg_relation_filepath('$relation')");
}

sub flip_byte	# of a block
{
	my ($path, $offset) = Accel::place(@_);
	$offset += 5000;
	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $offset, 0;
	read $file, my $byte, 1;
	seek $file, $offset, 0;
	print $file chr(ord($byte) ^ 1);
	close $file or die $!;
	return;
}

my $with_storage = <<'SQL';
SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't'
SQL

# a healthy database
like(call('CALL ext.verify_database()'),
	qr/^psql:\S+ INFO:  completed: \d+ relations, \d+ blocks(?: \(\d+ not on disk yet\))?, \d+ MB in [\d.]+ s \(\d+ [kMG]B\/s\), [5-9] cluster files; 0 findings, 0 not verifiable$/,
	'a healthy database: the closing line alone');
is(query('SELECT state, findings, finished_at >= started_at, blocks > 1500, read_bytes >= blocks * ' . BLCKSZ . ' FROM ext.verify_runs'),
	'completed|0|t|t|t', 'the run is recorded');
is(query('SELECT relations FROM ext.verify_runs'), query($with_storage),
	'every relation with storage');
is(query('SELECT count(*) FROM ext.verify_run_relations JOIN pg_class ON oid = relid'),
	query($with_storage), 'each of them is recorded');
is(query("SELECT blocks FROM ext.verify_run_relations WHERE relid = 'healthy_i'::regclass"),
	query("SELECT pg_relation_size('healthy_i') / current_setting('block_size')::int"), 'with its blocks');

# catalogs left out
call('CALL ext.verify_database(include_catalogs => false)');
is(query('SELECT min(relid) >= 16384 FROM ext.verify_run_relations WHERE run = 2'),
	't', 'without catalogs');
is(query("SELECT relations FROM ext.verify_runs WHERE run = 2"),
	query("$with_storage AND oid >= 16384"), 'and nothing else is missing');

# damage
my ($table, $index) = (path_of('broken'), path_of('broken_i'));
my $size = -s $table;
$node->stop;
flip_byte($table, 3);
flip_byte($table, 7);
flip_byte($index, 1);
$node->start;
my $warnings = call('CALL ext.verify_database()');
is(scalar(() = $warnings =~ /WARNING/g), 3, 'a WARNING per finding');
like($warnings, qr/WARNING:  invalid page in block 7 of relation public.broken
DETAIL:  checksum_mismatch: .*\. File "\Q@{[substr $table, length($node->data_dir) + 1]}\E", offset @{[7 * BLCKSZ]}\.
HINT:  Copy the data directory before any repair\. See ".*\/corruption\.md"\./,
	'that says what, where and what to do first');
like($warnings, qr/WARNING:  invalid page in block 1 of relation public.broken_i \(index of public.broken\)
DETAIL:  .*
HINT:  REINDEX/, 'of an index, too');
like($warnings, qr/INFO:  completed: .*; 3 findings, 0 not verifiable$/, 'the closing line counts them');
is(query("SELECT relation_name, fork, blkno, status, path, file_offset FROM ext.verify_findings WHERE run = 3 ORDER BY 1, 3"),
	join("\n",
		'broken|main|3|checksum_mismatch|' . substr($table, length($node->data_dir) + 1) . '|' . 3 * BLCKSZ,
		'broken|main|7|checksum_mismatch|' . substr($table, length($node->data_dir) + 1) . '|' . 7 * BLCKSZ,
		'broken_i|main|1|checksum_mismatch|' . substr($index, length($node->data_dir) + 1) . '|' . BLCKSZ),
	'the findings are recorded');
is(query('SELECT findings, state FROM ext.verify_runs WHERE run = 3'),
	'3|completed', 'and counted');
is(query("SELECT findings FROM ext.verify_run_relations WHERE run = 3 AND relid = 'broken'::regclass"),
	'2', 'by relation');
is(query("SELECT count(*) FROM ext.verify_relation('broken') v JOIN ext.verify_findings f
	ON f.run = 3 AND f.relid = v.relation AND (f.blkno, f.stored_checksum, f.computed_checksum, f.lsn, f.message)
	= (v.blkno, v.stored_checksum, v.computed_checksum, v.lsn, v.message)"),
	'2', 'as verify_relation gives them');

# the server's own counters, unless that is not wanted
my $counter = 'SELECT sum(checksum_failures) FROM pg_stat_database';
$node->poll_query_until('postgres', "SELECT ($counter) = 3")
  or fail('the counters never came');
is(query("SELECT checksum_failures FROM pg_stat_database WHERE datname = 'postgres'"),
	'3', 'findings feed the counters of this database');
call('CALL ext.verify_database(include_catalogs => false, report_failures => false)');
is(query($counter), '3', 'unless report_failures is false');

# workers: the same findings, the same totals
call('CALL ext.verify_database(workers => 2)');
is(query('SELECT count(*) FROM (SELECT relid, fork, blkno, status, path, message FROM ext.verify_findings WHERE run = 3
	EXCEPT SELECT relid, fork, blkno, status, path, message FROM ext.verify_findings WHERE run = 5) e'),
	'0', 'workers find the same');
is(query('SELECT findings FROM ext.verify_runs WHERE run = 5'), '3', 'and no more');

# inside a transaction
my ($out, $err);
$node->psql('postgres', "\\set VERBOSITY verbose\nBEGIN; CALL ext.verify_database();", stderr => \$err);
like($err, qr/ERROR:  2D000/, 'not inside a transaction block');
$node->psql('postgres', "\\set VERBOSITY verbose\nCALL ext.verify_database(workers => -1)", stderr => \$err);
like($err, qr/ERROR:  22023/, 'workers out of range');
$node->psql('postgres', "\\set VERBOSITY verbose\nCALL ext.verify_database(max_rate => -1)", stderr => \$err);
like($err, qr/ERROR:  22023/, 'max_rate out of range');

# search_path decides nothing: impostors of tables and operators before ours
query(<<'SQL');
CREATE SCHEMA evil;
CREATE TABLE evil.verify_runs (run int);
CREATE TABLE evil.pg_class (oid oid);
CREATE FUNCTION evil.eq(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = evil.eq);
CREATE FUNCTION evil.eq8(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.eq8);
SQL
$node->psql('postgres', "SET search_path = evil, pg_catalog;
	CREATE TEMP TABLE pg_class (oid oid);
	CALL ext.verify_database(include_catalogs => false, reverify_after => '1000 years');
	SHOW search_path", stdout => \$out, stderr => \$err);
unlike($err, qr/evil/, 'a hostile search_path');
is($out, 'evil, pg_catalog', 'which the caller keeps');
is(query('SELECT state FROM ext.verify_runs ORDER BY run DESC LIMIT 1'), 'completed', 'and the run is recorded');
query('DROP SCHEMA evil CASCADE; ALTER EXTENSION crc32c_accel SET SCHEMA public');
call("CALL verify_database(include_catalogs => false, reverify_after => '1000 years')");
is(query("SELECT state FROM verify_runs ORDER BY run DESC LIMIT 1"),
	'completed', 'the extension is relocatable');
query('ALTER EXTENSION crc32c_accel SET SCHEMA ext');

# a role with no more than the grant
query('CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables; GRANT USAGE ON SCHEMA ext TO scanner');
$warnings = call('SET ROLE scanner; CALL ext.verify_database(include_catalogs => false)');
is(scalar(() = $warnings =~ /WARNING/g), 3, 'a member of pg_stat_scan_tables runs it');
$node->psql('postgres', "\\set VERBOSITY verbose\nCREATE ROLE nobody; GRANT USAGE ON SCHEMA ext TO nobody; SET ROLE nobody; CALL ext.verify_database()", stderr => \$err);
like($err, qr/ERROR:  42501/, 'others do not');

# A run in the background, so slow that what comes meanwhile ends it: waits for
# the relation called $relation, does something, and hands over psql's words.
sub slow_run
{
	my ($arguments, $relation, $meanwhile) = @_;
	my ($stdin, $stdout, $stderr) = ('', '', '');
	my $background = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'),
			'-c', "CALL ext.verify_database($arguments)" ],
		'>', \$stdout, '2>', \$stderr);

	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM ext.verify_progress
		WHERE relid = '$relation'::regclass AND blocks_done > 0)")
	  or do { fail("never saw $relation at work"); $background->kill_kill; return ''; };
	$meanwhile->();
	$background->finish;
	return $stderr;
}

my $pid_query = 'SELECT pid FROM ext.verify_progress WHERE relid IS NOT NULL';
my $cancel = sub { query("SELECT pg_cancel_backend(pid) FROM ($pid_query) p") };

# no snapshot while a relation is scanned; progress; cancel and resume
my $run = query('SELECT max(run) + 1 FROM ext.verify_runs');
$err = slow_run('include_catalogs => false, max_rate => 100', 'healthy', sub {
	is(query("SELECT backend_xmin IS NULL AND backend_xid IS NULL, state FROM pg_stat_activity WHERE pid = ($pid_query)"),
		't|active', 'no snapshot is held');
	is(query("SELECT datid = (SELECT oid FROM pg_database WHERE datname = 'postgres'), fork, blocks_total,
		blocks_done BETWEEN 1 AND blocks_total, findings, started_at < now(), relations_total > 0 FROM ext.verify_progress"),
		't|main|' . query("SELECT pg_relation_size('healthy') / current_setting('block_size')::int") . '|t|0|t|t', 'progress');
	is(query("SELECT count(*) FROM pg_locks WHERE pid = ($pid_query) AND locktype = 'relation' AND relation <> 'healthy'::regclass"),
		'0', 'no other relation is locked');
	# what vacuum may remove has moved on beyond the start of the run
	is(query("SELECT state, finished_at IS NULL FROM ext.verify_runs WHERE run = $run"),
		'running|t', 'the run is at work');
	is(query('SELECT running FROM ext.verify_metrics'), '1', 'and counts as such');
	$cancel->();
});
like($err, qr/canceling statement due to user request/, 'a cancel');
is(query('SELECT count(*) FROM ext.verify_progress'), '0', 'leaves no progress');
is(query("SELECT state, finished_at IS NOT NULL FROM ext.verify_runs WHERE run = $run"),
	'cancelled|t', 'is recorded');
is(query("SELECT count(*) FROM ext.verify_run_relations WHERE run = $run AND relid = 'healthy'::regclass"),
	'0', 'the relation at work does not count as verified');
my $started = query("SELECT started_at FROM ext.verify_runs WHERE run = $run");
call("CALL ext.verify_database(include_catalogs => false, reverify_after => now() - '$started')");
is(query("SELECT count(*), count(DISTINCT relid) FROM ext.verify_run_relations WHERE run >= $run"),
	join('|', (query("$with_storage AND oid >= 16384")) x 2),
	'reverify_after goes on where it stopped');
is(query("SELECT count(*) > 0 FROM ext.verify_run_relations WHERE run = $run"), 't',
	'having skipped some');

# an error inside a constraint of the tables: the run goes on
query(q{CREATE FUNCTION refuse() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'refused'; END$$;
	ALTER TABLE ext.verify_run_relations ADD CHECK (refuse()) NOT VALID});
$warnings = call('CALL ext.verify_database(include_catalogs => false)');
is(scalar(() = $warnings =~ /could not record this run any further: refused/g), 1, 'an error inside a constraint is said once');
like($warnings, qr/INFO:  completed: .*; 3 findings/, 'the run goes on');
is(query('SELECT state FROM ext.verify_runs ORDER BY run DESC LIMIT 1'), 'not_recorded', 'and that is recorded');
query('DROP FUNCTION refuse() CASCADE');

# ... also when what ends it cannot be recorded; no lock is left
query(q{CREATE FUNCTION refuse() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'refused'; END$$;
	ALTER TABLE ext.verify_runs ADD CHECK (CASE WHEN state <> 'running' OR blocks > 0 THEN refuse() END) NOT VALID});
$node->psql('postgres', q{CALL ext.verify_database(include_catalogs => false);
	SELECT 'locks: ' || count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()},
	stdout => \$out, stderr => \$err, on_error_stop => 0);
like($err, qr/WARNING:  could not record .*: refused/, 'a run that cannot be recorded at all');
is($out, 'locks: 0', 'leaves no lock to the session');
is(query("SELECT running, (SELECT count(*) FROM ext.verify_runs WHERE state = 'running') FROM ext.verify_metrics"),
	'0|1', 'and is not at work, whatever its row says');
query('DROP FUNCTION refuse() CASCADE');
call('CALL ext.verify_database(include_catalogs => false)');
is(query("SELECT count(*) FROM ext.verify_runs WHERE state = 'running'"), '0', 'the next run tells its state');

# a run that has ended in a transaction that has not: another run lets it be
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(4711)');
$run = query('SELECT max(run) + 1 FROM ext.verify_runs');
my $first = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	'DO $$BEGIN CALL ext.verify_database(include_catalogs => false); PERFORM pg_advisory_lock(4711); END$$' ],
	'>', \$out, '2>', \$err);
$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
  or fail('the first run never ended');
is(query("SELECT state FROM ext.verify_runs WHERE run = $run"), 'completed', 'a run is over when it has returned');
$node->psql('postgres', q{SET statement_timeout = '300s'; CALL ext.verify_database(include_catalogs => false)});
$gate->quit;
$first->finish;
is(query("SELECT string_agg(state, ' ' ORDER BY run) FROM ext.verify_runs WHERE run >= $run"),
	'completed completed', 'and another run does not think otherwise');

# a relation that the server cannot open: the library of its access method is
# gone (one for a type of its own: 18 asks all that know an operator it plans)
SKIP:
{
	skip 'this installation lacks bloom', 3 if Accel::missing_modules('bloom');
	query(q{CREATE FUNCTION handler(internal) RETURNS index_am_handler AS '$libdir/bloom', 'blhandler' LANGUAGE C;
		CREATE ACCESS METHOD blooms TYPE INDEX HANDLER handler;
		CREATE OPERATOR CLASS blooms_ops DEFAULT FOR TYPE macaddr USING blooms AS OPERATOR 1 =, FUNCTION 1 hashmacaddr(macaddr);
		CREATE TABLE blooming (m macaddr);
		CREATE INDEX blooming_i ON blooming USING blooms (m);
		CREATE TABLE behind (i int)});
	query(q{SET allow_system_table_mods = on; UPDATE pg_proc SET probin = '$libdir/gone' WHERE proname = 'handler'});
	$warnings = call('CALL ext.verify_database(include_catalogs => false)');
	like($warnings, qr/could not verify relation (public\.)?blooming_i.*
DETAIL:  not_verifiable: could not access file "(\$libdir\/)?gone"/,
		'a relation that cannot be opened is not verifiable');
	$run = query('SELECT max(run) FROM ext.verify_runs');
	is(query("SELECT state, findings, (SELECT count(*) FROM ext.verify_findings f WHERE f.run = r.run AND status = 'not_verifiable')
		FROM ext.verify_runs r WHERE run = $run"), 'completed|4|1', 'which is recorded');
	is(query("SELECT string_agg(relname, ' ' ORDER BY relname) FROM ext.verify_run_relations JOIN pg_class ON oid = relid
		WHERE run = $run AND relname ~ '^bloom|^behind'"), 'behind blooming', 'those behind it are verified, it does not count as such');
	query(q{SET allow_system_table_mods = on; UPDATE pg_proc SET probin = '$libdir/bloom' WHERE proname = 'handler'});
	query('DROP ACCESS METHOD blooms CASCADE; DROP TABLE blooming, behind; DROP FUNCTION handler');
}

# a file that is gone has no offset
my $gone = path_of('part1');
rename $gone, "$gone.away";
$warnings = call("\\set SHOW_CONTEXT always\nCALL ext.verify_database(include_catalogs => false)");
like($warnings, qr/missing file at block 0 of relation public.part1\nDETAIL:  missing: .*\. File "[^"]+"\.$/m,
	'a file that is gone has no offset');
unlike($warnings, qr/CONTEXT|offset -1|file ""/i, 'and no finding has a context of its own');
rename "$gone.away", $gone;

# a relation dropped meanwhile, after it was listed
query('CREATE TABLE dropped (i int)');
$gate = Accel::gate($node, 'healthy');
my $behind_gate = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	'CALL ext.verify_database(include_catalogs => false)' ], '>', \$out, '2>', \$err);
Accel::wait_at_gate($node, 'healthy') or fail('the run never came to the table');
is(query("SELECT r.relations > 1, r.relations = (SELECT count(*) FROM ext.verify_run_relations v WHERE v.run = r.run)
	FROM ext.verify_runs r WHERE state = 'running'"), 't|t', 'a run that waits for a lock: its row says what is done');
query('DROP TABLE dropped');
$gate->quit;
$behind_gate->finish;
is(scalar(() = $err =~ /WARNING/g), 3, 'a relation dropped meanwhile is no finding');
unlike($err, qr/ERROR/, 'and no error');

# a session that dies leaves a run that the next one tidies up
$run = query('SELECT max(run) + 1 FROM ext.verify_runs');
slow_run('include_catalogs => false, max_rate => 100', 'healthy',
	sub { query("SELECT pg_terminate_backend(pid) FROM ($pid_query) p") });
is(query('SELECT count(*) FROM ext.verify_progress'), '0', 'a terminated run leaves no progress');
call('CALL ext.verify_database(include_catalogs => false)');
is(query("SELECT state FROM ext.verify_runs WHERE run = $run"), 'interrupted',
	'a run whose session died is told by the next one');

# dump and restore
query('CREATE TABLE gone (i int); INSERT INTO gone VALUES (1)');
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '--exclude-table-data=broken', $node->connstr('postgres') ], 'pg_dump');
query('CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restore');
for my $of ('count(*) FROM ext.verify_runs', 'count(*) FROM ext.verify_run_relations',
	"count(*) FROM ext.verify_findings WHERE relation_name = 'broken'", 'count(*) FROM ext.verify_findings')
{
	is($node->safe_psql('restored', "SELECT $of"), query("SELECT $of"), "restored: $of");
}
cmp_ok(query("SELECT count(*) FROM ext.verify_findings WHERE relid = 'broken'::regclass"), '>', 5, 'of many');
cmp_ok($node->safe_psql('restored', "SELECT count(*) FROM ext.verify_findings
	WHERE relation_name = 'broken_i' AND kind = 'index' AND owner_table = 'public.broken'"), '>', 5, 'indexes included');
$node->safe_psql('restored', 'CALL ext.verify_database(include_catalogs => false)');
is($node->safe_psql('restored', 'SELECT max(run) FROM ext.verify_runs'),
	query('SELECT max(run) + 1 FROM ext.verify_runs'), 'runs go on being numbered');

# a standby: warnings alone
$node->backup('b', backup_options => ['--no-verify-checksums']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$warnings = call('CALL ext.verify_database(workers => 2)', $standby);
is(scalar(() = $warnings =~ /WARNING:  invalid page/g), 3, 'a standby: a WARNING per finding');
is($standby->safe_psql('postgres', 'SELECT max(run) FROM ext.verify_runs'),
	query('SELECT max(run) FROM ext.verify_runs'), 'and no record');
is($standby->safe_psql('postgres', 'SET ROLE scanner; SELECT count(*) > 1 FROM ext.verify_findings'),
	't', 'who may run it may dump its tables');
$standby->psql('postgres', "\\set VERBOSITY verbose\nCALL ext.verify_database(reverify_after => '0')", stderr => \$err);
like($err, qr/ERROR:  55000/, 'no skipping of what the primary has verified');

# masked digests are equal at equal LSN: hint bits set here only
query('SELECT count(*) FROM healthy; CHECKPOINT');
query('DELETE FROM healthy WHERE i % 3 = 0; UPDATE healthy SET i = -i WHERE i % 5 = 0; SELECT count(*) FROM healthy; VACUUM healthy');
query("SELECT nextval('s') FROM generate_series(1, 5)");
query('SELECT count(*) FROM healthy WHERE i > 0; CHECKPOINT');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
my %digests;
for my $relation ('healthy', 'healthy_i', 's', 'toasted', 'm')
{
	for my $masked ('true', 'false')
	{
		my $q = "SELECT count(*), ext.crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno), max(lsn)
			FROM ext.page_digests('$relation', masked => $masked)";
		my ($here, $there) = (query($q), $standby->safe_psql('postgres', $q));
		is($there, $here, "masked digests of $relation") if $masked eq 'true';
		$digests{$masked} .= $here eq $there ? 'same ' : 'other ';
	}
}
like($digests{false}, qr/other/, 'unmasked ones differ');

# more findings on a standby than memory may hold: they are not kept at all
my $healthy = $standby->data_dir . '/' . query("SELECT pg_relation_filepath('healthy')");
my $damaged = $standby->safe_psql('postgres', "SELECT pg_relation_size('healthy')") / BLCKSZ;
cmp_ok($damaged, '>', 500, 'many blocks');
flip_byte($healthy, $_) foreach 0 .. $damaged - 1;
$warnings = call("SET work_mem = '64kB'; CALL ext.verify_database(include_catalogs => false)", $standby);
# of a batch, which a machine at work ends sooner
my @lines = $warnings =~ /invalid page in block(s? \d+(?: to \d+)?) of relation public\.healthy$/mg;
my $next = 0;
foreach my $line (@lines)
{
	my ($first, $last) = $line =~ /(\d+)(?: to (\d+))?/;
	$next = ($last // $first) + 1 if $first == $next;
}
is($next, $damaged, 'all are told');
cmp_ok(scalar @lines, '<', $damaged / 50, 'adjacent findings are one line');
like($warnings, qr/INFO:  completed: .*; (\d+) findings/, 'and are counted');
unlike($warnings, qr/leak/, 'leave no file behind');
flip_byte($healthy, $_ * 2) foreach 0 .. ($damaged - 1) / 2;	# every other block is good again
$warnings = call('CALL ext.verify_database(include_catalogs => false)', $standby);
is(scalar(() = $warnings =~ /invalid page in block \d+ of relation public.healthy$/mg), 100, 'a hundred lines about a relation');
like($warnings, qr{WARNING:  @{[int($damaged / 2) - 100]} more findings in relation public\.healthy\nHINT:  verify_relation}, 'and one that counts the rest');

$standby->stop;
$node->stop;
done_testing();
