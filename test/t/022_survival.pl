# verify_database survives damage and other users, and believes its
# history only about the very files that it was written about.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE dam AS SELECT i, repeat('x', 500) t FROM generate_series(1, 5000) i;
CREATE TABLE docs (t text);
ALTER TABLE docs ALTER t SET STORAGE EXTERNAL;
INSERT INTO docs SELECT repeat('x', 5000) FROM generate_series(1, 10);
CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables;
SQL

sub query
{
	my ($query, $database) = @_;
	return $node->safe_psql($database // 'postgres', $query);
}

# Runs statements; returns psql's exit status and what it said on stderr.
sub call
{
	my ($statement, $database, $where) = @_;
	my ($out, $err);
	my $status = ($where // $node)->psql($database // 'postgres', $statement,
		stdout => \$out, stderr => \$err);
	return ($status, $err);
}

# Flips a byte of block 0 of the files of relations, while the server is stopped.
sub damage
{
	my ($database, @relations) = @_;
	my @paths = map { $node->data_dir . '/' . query("SELECT pg_relation_filepath('$_')", $database) } @relations;

	query('CHECKPOINT', $database);
	$node->stop;
	for my $path (@paths)
	{
		open my $file, '+<:raw', $path or die "$path: $!";
		seek $file, 5000, 0;
		read $file, my $byte, 1;
		seek $file, 5000, 0;
		print $file chr(ord($byte) ^ 1);
		close $file or die $!;
	}
	$node->start;
	return;
}

my $run = 'CALL verify_database(include_catalogs => false)';

# the history itself is damaged: what lies behind it is verified all the same
query('CREATE DATABASE damaged');
query("CREATE EXTENSION crc32c_accel; CREATE TABLE zdam AS SELECT i, repeat('x', 500) t FROM generate_series(1, 5000) i;
	INSERT INTO verify_findings (run, status, found_at) VALUES (1, 'ok', now())", 'damaged');
damage('damaged', 'verify_findings', 'zdam');
my ($status, $err) = call($run, 'damaged');
is($status, 0, 'damage in the history: the run ends well');
like($err, qr/invalid page in block 0 of relation public\.$_$/m, "damage in $_ is found") for 'verify_findings', 'zdam';
is(scalar(() = $err =~ /could not record/g), 1, 'what cannot be recorded is said once');
like($err, qr/could not record.*\nDETAIL:  .*\nHINT:  If a table of the extension is damaged, DROP EXTENSION and CREATE EXTENSION/, 'with a hint at damage');
like($err, qr/INFO:  completed: .*; 2 findings/, 'the verdict counts both');
is(query("SELECT state, findings FROM verify_runs", 'damaged'), 'not_recorded|2', 'the run tells that it was not recorded');
query('DROP EXTENSION crc32c_accel; CREATE EXTENSION crc32c_accel', 'damaged');
($status, $err) = call($run, 'damaged');
unlike($err, qr/could not record/, 'a repaired history is used again');
is(query("SELECT count(*) FROM verify_findings WHERE relid = 'zdam'::regclass", 'damaged'), '1', 'by the next run');
damage('damaged', 'verify_run_relations');
($status, $err) = call("CALL verify_database(include_catalogs => false, reverify_after => '1000 years')", 'damaged');
like($err, qr/WARNING:  could not read the history: invalid page/, 'a history that cannot be read');
like($err, qr/INFO:  completed: .*; 2 findings/, 'excuses nothing');
query('TRUNCATE verify_run_relations', 'damaged');

# a member of pg_stat_scan_tables can write nothing
for my $statement ("INSERT INTO verify_runs SELECT * FROM verify_runs", "INSERT INTO verify_runs (run) VALUES (5)",
	"INSERT INTO verify_run_relations SELECT * FROM verify_run_relations", "UPDATE verify_runs SET findings = 0",
	"BEGIN; LOCK TABLE verify_runs IN ROW EXCLUSIVE MODE", "DELETE FROM verify_findings",
	"SELECT * FROM verify_runs FOR UPDATE", "SELECT prune_history('1 day')")
{
	($status, $err) = call("SET ROLE scanner; $statement");
	like($err, qr/ERROR:  permission denied/, "a member cannot: $statement");
}
($status, $err) = call("SET ROLE scanner; $run");
is($status, 0, 'a member can run it');
is(query('SELECT state FROM verify_runs'), 'completed', 'which is recorded');

# defaults of the session
for my $default ('serializable', 'repeatable read')
{
	my @sessions = map {
		my $err = '';
		my $handle = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
			"SET default_transaction_isolation = '$default'", map { ('-c', $run) } 1 .. 4 ], '>', \my $out, '2>', \$err);
		[ $handle, \$err ];
	} 1 .. 2;
	$_->[0]->finish for @sessions;
	is(join('', map { ${ $_->[1] } =~ /(ERROR.*)/ ? $1 : '' } @sessions), '', "two sessions whose default is $default");
}
query(q{CREATE FUNCTION level() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN RAISE 'level'; END IF; RETURN true; END $$;
	ALTER TABLE verify_runs ADD CHECK (level()) NOT VALID});
($status, $err) = call("SET default_transaction_isolation = 'serializable'; $run");
unlike($err, qr/could not record/, 'its own transactions are READ COMMITTED');
query('DROP FUNCTION level() CASCADE');
my $runs = query('SELECT count(*) FROM verify_runs');
is(query('SELECT count(DISTINCT run) FROM verify_runs'), $runs, 'each run has a number of its own');
($status, $err) = call("SET default_transaction_read_only = on; $run");
is($status, 0, 'a read-only session');
unlike($err, qr/could not record/, 'is recorded');
like($err, qr/NOTICE:  default_transaction_read_only does not hold for verify_database/, 'which is said');
is(query('SELECT count(*) FROM verify_runs'), $runs + 1, 'all the same');

# a relation that is locked: tried again at the end, then not verifiable
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE dam');
for my $timeout (qw(lock_timeout statement_timeout))
{
	($status, $err) = call("SET $timeout = '1s'; $run");
	is($status, 0, "$timeout does not end the run");
	like($err, qr/WARNING:  could not verify relation public\.dam\nDETAIL:  not_verifiable: canceling statement due to/,
		'what is locked is not verifiable');
	like($err, qr/INFO:  completed: .*; 0 findings, 1 not verifiable/, 'and no more');
	is(query("SELECT count(*) FROM verify_run_relations WHERE relid = 'docs'::regclass
		AND run = (SELECT max(run) FROM verify_runs)"), '1', 'the others are verified');
}
($status, $err) = call("SET lock_timeout = '50ms'; CALL verify_database(include_catalogs => false, verbose => true)");
like($err, qr/INFO:  verified public\.docs: .*could not verify relation public\.dam\n/s, 'it is tried again after those that follow it');
$locker->quit;

# a part that fails after its findings were shown
my $filler = "repeat('x', @{[ Accel::built_with('BLCKSZ') / 8 * 5 ]})";	# one row a page
query("CREATE TABLE failing AS SELECT i, $filler t FROM generate_series(1, 10) i;
	ALTER TABLE failing ALTER t SET STORAGE PLAIN; INSERT INTO failing SELECT i, $filler FROM generate_series(1, 2000) i");
my $failing = $node->data_dir . '/' . query("SELECT pg_relation_filepath('failing')");
query('CHECKPOINT');
$node->stop;
AccelWal::poke_block($failing, $_, 20, "\xff\xff") foreach 1 .. 1999;
$node->start;
($status, $err) = call("SET work_mem = '64kB'; SET temp_file_limit = 0;
	CALL verify_database(include_catalogs => false, relations => '{failing}', fail_on_findings => true)");
like($err, qr/could not verify relation public\.failing\nDETAIL:  not_verifiable: temporary file size exceeds/, 'a part fails');
like($err, qr/INFO:  completed: .*; [1-9]\d* findings?, 1 not verifiable/, 'the findings that were shown count');
isnt($status, 0, 'the run fails on them');
query('DROP TABLE failing');

# a time limit, which bounds the run and is continued
($status, $err) = call("CALL verify_database(include_catalogs => false, max_duration => '1 microsecond')");
like($err, qr/INFO:  stopped: 1 relation, .*\nHINT:  To go on, pass reverify_after => now\(\) - timestamptz '/, 'max_duration');
is(query('SELECT state FROM verify_runs ORDER BY run DESC LIMIT 1'), 'stopped', 'is recorded');

# DROP EXTENSION meanwhile: said, the run goes on
query("CREATE DATABASE dropping");
query("CREATE EXTENSION crc32c_accel; CREATE TABLE gated AS SELECT i, repeat('x', 500) t FROM generate_series(1, 3000) i; CHECKPOINT", 'dropping');
my $dropped = '';
my $gate = Accel::gate($node, 'gated', 'dropping');
my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('dropping'), '-c',
	'CALL verify_database(include_catalogs => false)' ], '>', \my $out, '2>', \$dropped);
Accel::wait_at_gate($node, 'gated', 'dropping') or fail('the run never came to the table');
query('DROP EXTENSION crc32c_accel', 'dropping');
$gate->quit;
$session->finish;
like($dropped, qr/WARNING:  could not record this run any further: relation "public\.verify_\w+" does not exist/, 'DROP EXTENSION meanwhile');
like($dropped, qr/INFO:  completed: .*; 0 findings/, 'does not end the run');
unlike($dropped, qr/could not record.*\nDETAIL:  .*\nHINT:/, 'nor hints at damage');

# history is believed about the very file alone
my $resume = "CALL verify_database(reverify_after => '1000 years')";
my $all = query("SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't'");

sub verified
{
	my ($database) = @_;
	return query('SELECT relations FROM verify_runs ORDER BY run DESC LIMIT 1', $database);
}
call('CALL verify_database()');
call($resume);
is(verified('postgres'), '0', 'nothing is left to a resumed run');
query('VACUUM FULL dam; TRUNCATE docs');
call('CALL verify_database(include_catalogs => false, reverify_after => \'1000 years\')');
is(query("SELECT string_agg(relation_name, ' ' ORDER BY relation_name) FROM verify_run_relations
	WHERE run = (SELECT max(run) FROM verify_runs) AND kind = 'table'"), 'dam docs', 'but what was rewritten');
query('CREATE DATABASE copied TEMPLATE postgres');
call($resume, 'copied');
cmp_ok(verified('copied'), '>=', $all, 'a copy of the database is verified anew');

# a dump that leaves the damaged table out restores in one transaction, also
# into a database whose template has a history of its own
damage('postgres', 'dam');
call($run);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '--exclude-table=dam', '-f', $dump, $node->connstr('postgres') ], 'a salvage dump');
query('CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-1', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restores with -1');
is(query("SELECT DISTINCT schema_name, relation_name, kind, relid = (SELECT oid FROM pg_class WHERE relname = 'dam')
	FROM verify_findings WHERE status = 'checksum_mismatch'", 'restored'), 'public|dam|table|', 'and keeps the names');
query("CREATE EXTENSION crc32c_accel", 'template1');
call($run, 'template1');
query('CREATE DATABASE templated');
my $plain = PostgreSQL::Test::Utils::tempdir() . '/plain.sql';
$node->command_ok([ 'pg_dump', '--exclude-table=dam', '-t', 'verify_*', '-e', 'crc32c_accel', '-f', $plain, $node->connstr('postgres') ], 'a dump of the history');
$node->command_ok([ 'psql', '-Xq', '-1', '-v', 'ON_ERROR_STOP=1', '-f', $plain, $node->connstr('templated') ],
	'restores beside the history of a template');
query('DROP TABLE dam');
is(query("SELECT relation_name FROM verify_findings WHERE status = 'checksum_mismatch' LIMIT 1"), 'dam', 'a dropped table keeps its name');

# a standby: replay cancels a scan, which goes on; what is left out is named
my $shim = Accel::fault_shim();
query("CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C");
query("CREATE TABLE victim AS SELECT i, repeat('x', 500) t FROM generate_series(1, 20000) i; CREATE TABLE later AS SELECT 1 AS i");
$node->backup('b', backup_options => ['--no-verify-checksums']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\n");
Accel::start_under($shim, $standby);
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT count(*) > 0 FROM verify_runs WHERE internal_is_own_run(system_identifier, timeline_id, 0, datid)'),
	't', 'a standby has the history of its primary');
my $whose = 'SELECT of_primary, last_run_state FROM verify_metrics';
is($standby->safe_psql('postgres', $whose), 't|' . query('SELECT last_run_state FROM verify_metrics'), 'its metrics say that they are the primary\'s');
like(query($whose), qr/^f\|/, 'and those of the primary that they are its own');
# (the rate: the conflict comes at once, but not at the same moment)
(undef, my $conflict) = Accel::stopped_at($standby, 'read', 3, query("SELECT pg_relation_filepath('victim')"),
	'CALL verify_database(include_catalogs => false, max_rate => 4000, verbose => true)', sub {
	query('VACUUM FULL victim');
	$node->wait_for_catchup($standby, 'flush', $node->lsn('flush'));
});
$conflict =~ s/(?<=INFO|ROR):  \w{5}:/: /g;
unlike($conflict, qr/ERROR/, 'a conflict with recovery does not end the run');
like($conflict, qr/INFO:  verified public\.(victim|later): /, 'what it was about is verified');
like($conflict, qr/INFO:  completed: .*; 0 findings, 0 not verifiable/, 'and the rest');
($status, $err) = call("CALL verify_database(include_catalogs => false, max_duration => '500 ms', max_rate => 2000)", 'postgres', $standby);
like($err, qr/INFO:  stopped: .*\nHINT:  To go on, pass resume_at => '(\d+\/main\/\d+(\/\d+)?)'\./, 'a standby says where to go on');
my ($start) = $err =~ /resume_at => '([^']+)'/;
my ($relid, $block) = split m{/main/}, $start;
($status, $err) = call("CALL verify_database(include_catalogs => false, verbose => true, resume_at => '$start')", 'postgres', $standby);
my $rest = $standby->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND oid >= $relid");
like($err, qr/INFO:  completed: $rest relations?/, 'and goes on there');
for my $place ('16384', '-1/main/-1', '1/main/-1', ' 1/main/0', '4294967296/main/0', '1/main/4294967295', '1/main/', '1/main/0/',
	'1/main/0/4294967296', '1/main/0/1/', '99999999999999999999/main/0')
{
	($status, $err) = call("\\set VERBOSITY verbose\nCALL verify_database(include_catalogs => false, resume_at => '$place')", 'postgres', $standby);
	like($err, qr/ERROR:  22023: invalid resume_at "\Q$place\E"\nDETAIL:  Expected an OID, a fork, a block/, "a place that is none: $place");
}
$standby->stop;

$node->stop;
done_testing();
