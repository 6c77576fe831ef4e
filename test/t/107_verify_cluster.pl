# verify_cluster: all databases from one, by workers that need no extension there.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $odd = q{a 'b' "c" \\d=};		# a name as nobody should choose it
my $node = Accel::new_node('main', allows_streaming => 1, conf => <<'CONF');
autovacuum = off
max_worker_processes = 12
CONF
$node->start;

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

# psql's words, and in $main::status its exit status.
our $status;
sub call
{
	my ($statement, $where) = @_;
	my ($out, $err);

	$status = ($where // $node)->psql('postgres', $statement, stdout => \$out, stderr => \$err, on_error_stop => 1);
	return $err;
}

sub connstr
{
	my ($database) = @_;
	$database =~ s/([\\'])/\\$1/g;
	return "port=" . $node->port . " host=" . $node->host . " dbname='$database'";
}

# In the database with the odd name.
sub in_odd
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', connstr($odd), '-c', $sql ], '<', \undef, '>', \$out, '2>', \$err)
	  or die $err;
	chomp $out;
	return $out;
}

sub flip_byte
{
	my ($path, $offset) = @_;
	open my $file, '+<:raw', $node->data_dir . "/$path" or die "$path: $!";
	seek $file, $offset, 0;
	read $file, my $byte, 1;
	seek $file, $offset, 0;
	print $file chr(ord($byte) ^ 0xff);
	close $file;
	return;
}

my $with_storage = q{SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't'};
my $last = 'run = (SELECT max(run) FROM verify_runs)';

(my $quoted = $odd) =~ s/"/""/g;
query('CREATE EXTENSION crc32c_accel');
query('CREATE ROLE nobody');
query("CREATE DATABASE $_") foreach 'shop', 'closed', 'gone', 'broken_drop', qq{"$quoted"};
query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
my $bad = "CREATE TABLE t AS SELECT i, repeat('x', 500) t FROM generate_series(1, 2000) i; CHECKPOINT;";
query($bad, $_) foreach 'postgres', 'shop', 'closed', 'gone';
in_odd($bad);
query(q{SET client_encoding = 'UTF8'; CREATE TABLE "käse" AS SELECT 1 AS i; CHECKPOINT}, 'latin');
my %path = map { $_ => query("SELECT pg_relation_filepath('t')", $_) } 'shop', 'closed';
my $odd_path = in_odd("SELECT pg_relation_filepath('t')");
query('ALTER DATABASE closed ALLOW_CONNECTIONS false');

# no finding, all relations, what is shared once
my $said = call('CALL verify_cluster(verbose => true)');
is($status, 0, 'a cluster is verified') or diag $said;
like($said, qr/INFO:  completed: 9 databases, \d+ relations, .*; 0 findings, 0 not verifiable/, 'and clean');
foreach my $database ('template1', 'shop', 'latin')
{
	is(query("SELECT count(*) FROM verify_run_relations WHERE $last AND database = '$database'"),
		query("$with_storage AND NOT relisshared", $database), "all relations of $database");
}
is(query("SELECT count(*), count(DISTINCT relid) FROM verify_run_relations WHERE $last AND datid = 0"),
	join('|', (query("$with_storage AND relisshared")) x 2), 'what is shared once');
is(query("SELECT count(*) > 100 FROM verify_run_relations r JOIN pg_database d ON d.oid = datid WHERE $last AND d.datname = 'template0'"),
	't', 'template0 too');
is(query("SELECT relations = (SELECT count(*) FROM verify_run_relations v WHERE v.run = r.run), datid = (SELECT oid FROM pg_database
	WHERE datname = 'postgres'), files > 0 FROM verify_runs r WHERE $last"), 't|t|t', 'the row of the run');
my $converted = query('SHOW server_encoding') eq 'UTF8' ? 'käse' : 'k?se';	# else SQL_ASCII
like($said, qr/database "latin": verified public\."\Q$converted\E":/, 'a name in another encoding');
is(query("SELECT relation_name FROM verify_run_relations WHERE $last AND relation_name LIKE 'k%se'"), $converted, 'which is recorded so');
is(query('SELECT never_verified, bad_blocks, unverified_relations, running FROM verify_metrics'), '0|0|0|0', 'the metrics');
my $of_databases = 'SELECT count(*), sum(bad_blocks), sum(unverified_relations), max(oldest_good_seconds) = (SELECT oldest_good_seconds FROM verify_metrics)
	FROM verify_database_metrics';
is(query($of_databases), '9|0|0|t', 'of each database');
is(query('SELECT count(*) FROM pg_proc WHERE proname = $$verify_cluster$$', 'shop'), '0', 'no extension there');

# findings in several
flip_byte($path{shop}, 2 * 8192 + 5000);
flip_byte($path{closed}, 3 * 8192 + 5000);
flip_byte($odd_path, 4 * 8192 + 5000);
# what the owner of a database chose for its sessions is not for the worker's
query("ALTER DATABASE shop SET $_") foreach 'client_min_messages = error', "client_encoding = 'LATIN1'", 'role = nobody', 'statement_timeout = 1',
  'default_transaction_isolation = serializable', 'default_transaction_read_only = on', 'default_transaction_deferrable = on';
foreach my $workers (0, 2)
{
	$said = call("CALL verify_cluster(workers => $workers, max_rate => 1000000)");
	is(scalar(() = $said =~ /WARNING/g), 3, "findings, $workers workers") or diag $said;
	like($said, qr/WARNING:  database "shop": invalid page in block 2 of relation public\.t\n/, 'one in shop');
	like($said, qr/WARNING:  database "closed": invalid page in block 3 of relation public\.t\n/, 'one where nobody may connect');
	like($said, qr/WARNING:  database "\Q$odd\E": invalid page in block 4 of relation public\.t\n/, 'one in a database with an odd name');
	is(query("SELECT string_agg(format('%s %s %s %s', relation_name, blkno, status, d.datname = f.database), ' ' ORDER BY blkno)
		FROM verify_findings f JOIN pg_database d ON d.oid = datid WHERE $last"),
		't 2 checksum_mismatch t t 3 checksum_mismatch t t 4 checksum_mismatch t', 'as rows');
}
query('ALTER DATABASE shop RESET ALL');
like(call('CALL verify_cluster(fail_on_findings => true)'), qr/ERROR:  3 findings in this cluster/, 'fail_on_findings');
is(query("SELECT count(*), count(relation), count(healed_at) FROM verify_bad_blocks"), '3|0|0', 'open ones');
is(query('SELECT bad_blocks FROM verify_metrics'), '3', 'count');
is(query("SELECT string_agg(database, ' ' ORDER BY database) FROM verify_database_metrics WHERE bad_blocks = 1"), "$odd closed shop", 'in their databases');
is(query("SELECT sum(checksum_failures) > 0 FROM pg_stat_database WHERE datname = 'shop'"), 't', 'the server counts them there');

# some of them, and what becomes of findings
$said = call("CALL verify_cluster(ARRAY['shop'], include_catalogs => false)");
like($said, qr/INFO:  completed: 1 database, 3 relations, .*; 1 finding,/, 'one database');
flip_byte($path{shop}, 2 * 8192 + 5000);
call("CALL verify_cluster(ARRAY['shop'])");
query('DROP DATABASE closed; CHECKPOINT');
is(query("SELECT string_agg(database, ' ') FROM verify_bad_blocks WHERE healed_at IS NULL"), $odd, 'one was healed, one dropped');
flip_byte($odd_path, 4 * 8192 + 5000);
is(query('SELECT count(*) FROM verify_database_metrics'), '8', 'what is dropped has no metrics');

# who may
query('CREATE ROLE scanner IN ROLE pg_stat_scan_tables; GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA public TO nobody');
like(call('SET ROLE scanner; CALL verify_cluster()'), qr/completed: 8 databases/, 'a member of pg_stat_scan_tables');
is(query('SELECT count(*) FROM verify_bad_blocks WHERE healed_at IS NULL'), '0', 'all is well again');
like(call('SET ROLE nobody; CALL verify_cluster()'), qr/ERROR:  permission denied to verify other databases/, 'a grant alone is not enough');

# an interrupted DROP DATABASE
query("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'broken_drop'");
$said = call('CALL verify_cluster(fail_on_findings => true)');
is($status, 0, 'an invalid database is no finding');
like($said, qr/WARNING:  could not verify database "broken_drop": the database is invalid/, 'but is named');
is(query("SELECT status, database, relid IS NULL FROM verify_findings WHERE $last"), 'not_verifiable|broken_drop|t', 'and recorded');
is(query('SELECT unverified_relations FROM verify_metrics'), '1', 'and counted');
is(query('SELECT database, unverified_relations FROM verify_database_metrics WHERE unverified_relations > 0'), 'broken_drop|1', 'as its metrics say');
query('DROP DATABASE broken_drop');
is(query('SELECT unverified_relations FROM verify_metrics'), '0', 'until it is dropped');

# A slow run in the background, and something meanwhile, while it reads in a
# database.  Who looks too late on a machine at work looks at a slower one, as does
# who acts too late, which $meanwhile says by what it returns.
sub slow_run
{
	my ($arguments, $database, $meanwhile, @rates) = @_;
	my ($out, $err) = ('', '');
	my $session = $node->background_psql('postgres');
	my $seen = '';

	foreach my $rate (@rates ? @rates : (400, 100, 25))
	{
		my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
			"CALL verify_cluster($arguments, include_catalogs => false, cluster_files => false, lost_writes => false, max_rate => $rate)" ],
			'<', \undef, '>', \$out, '2>', \$err);
		do
		{
			$seen = $session->query_safe("SELECT count(*) FROM verify_progress p JOIN pg_database d ON d.oid = p.datid
				WHERE d.datname = '$database' AND blocks_done > 0");
		} until ($seen || !Accel::still_runs($run));
		$seen &&= $meanwhile->();
		$run->finish;
		last if $seen;
		($out, $err) = ('', '');
	}
	ok($seen, "somebody reads in $database");
	$session->quit;
	return $err;
}

my $number = query('SELECT max(run) + 1 FROM verify_runs');
$said = slow_run("ARRAY['gone', 'template1']", 'gone', sub {
	is($node->psql('postgres', 'DROP DATABASE gone'), 0, 'a database at work can be dropped');
}, 20);
like($said, qr/NOTICE:  database "gone" was dropped meanwhile/, 'which the run says');
unlike($said, qr/ERROR|WARNING/, 'and takes for no error');
like($said, qr/completed: 1 database,/, 'it goes on');
is(query("SELECT state, findings FROM verify_runs WHERE run = $number"), 'completed|0', 'and is recorded');

$said = slow_run("ARRAY['shop']", 'shop', sub {
	is($node->psql('postgres', 'ALTER DATABASE shop RENAME TO store'), 0, 'a database at work can be renamed');
});
my ($blocks) = $said =~ /completed: 1 database, 3 relations, (\d+) blocks/;
ok($blocks, 'which ends nothing');
is(query("SELECT count(*), max(blocks) FROM verify_run_relations WHERE $last"),
	'3|' . query("SELECT sum(pg_relation_size('t', f))::bigint / 8192 FROM unnest(ARRAY['main', 'fsm', 'vm', 'init']) f", 'store'), 'and leaves nothing out');
is(query("SELECT sum(blocks) FROM verify_run_relations WHERE $last"), $blocks, 'and verifies nothing twice');

my $worker = "SELECT pid FROM verify_progress p JOIN pg_database d ON d.oid = p.datid WHERE d.datname = 'store'";
$said = slow_run("ARRAY['store'], workers => 1", 'store', sub {
	return query("SELECT pg_terminate_backend(($worker))") eq 't';
});
like($said, qr/completed: 1 database, 3 relations/, 'a worker that is terminated is replaced');
$said = slow_run("ARRAY['store'], workers => 1", 'store', sub {
	return query("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'store'; SELECT pg_terminate_backend(($worker))") eq 't';
}, 25);		# a second run could not read there
like($said, qr/WARNING:  could not verify database "store": the database is invalid: only DROP DATABASE is possible/, 'not in a database that is being dropped');
query("UPDATE pg_database SET datconnlimit = -1 WHERE datname = 'store'");
my $left = "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'crc32c_accel%'";
foreach my $how ('cancel', 'terminate')
{
	slow_run("ARRAY['store'], workers => 1", 'store', sub {
		query("SELECT pg_${how}_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL verify_cluster%'");
	}, 20);
	ok($node->poll_query_until('postgres', $left), "$how: no worker stays");
}
call("CALL verify_cluster(ARRAY['template1'])");
is(query("SELECT string_agg(state, ' ' ORDER BY run) FROM (SELECT run, state FROM verify_runs ORDER BY run DESC LIMIT 3) r"),
	'cancelled interrupted completed', 'their states');

# a lock there
my $gate = Accel::gate($node, 't', 'store');
$said = call("SET lock_timeout = '100ms'; CALL verify_cluster(ARRAY['store'], include_catalogs => false)");
like($said, qr/WARNING:  database "store": could not verify relation public\.t\n.*could not obtain lock/, 'a relation that is locked');
like($said, qr/; 0 findings, 1 not verifiable/, 'is not verifiable');
is(query('SELECT unverified_relations FROM verify_metrics'), '1', 'as the metrics say');
is(query("SELECT unverified_relations FROM verify_database_metrics WHERE database = 'store'"), '1', 'of its database by its new name');
$gate->quit;
call("CALL verify_cluster(ARRAY['store'], include_catalogs => false)");
is(query('SELECT unverified_relations FROM verify_metrics'), '0', 'until it is verified');

# resume over the cluster: what is verified once is not verified again
$number = query('SELECT max(run) + 1 FROM verify_runs');
$said = call("CALL verify_cluster(max_rate => 20000, max_duration => '1s', cluster_files => false)");
like($said, qr/INFO:  stopped: .*\nHINT:  To go on, pass reverify_after/, 'a time limit');
my $started = query("SELECT started_at FROM verify_runs WHERE run = $number");
$said = call("CALL verify_cluster(reverify_after => now() - '$started')");
like($said, qr/INFO:  completed: /, 'the next run goes on');
is(query("SELECT count(*) = count(DISTINCT (datid, relid)), count(DISTINCT datid) FROM verify_run_relations WHERE run >= $number"),
	't|' . query('SELECT count(*) + 1 FROM pg_database'), 'where the first one stopped');

# stalest first, what was never verified before all others
query('CREATE DATABASE fresh');
query("CREATE TABLE n AS SELECT 1 AS i", 'store');
$number = query('SELECT max(run) + 1 FROM verify_runs');
$said = call("CALL verify_cluster(order_by => 'stalest')");
like($said, qr/INFO:  completed: 7 databases/, 'stalest first') or diag $said;
is(query("SELECT count(*) FROM (SELECT v.*, row_number() OVER (ORDER BY verified_at) AS turn FROM verify_run_relations v WHERE run = $number) v
	WHERE turn <= (SELECT count(*) FROM verify_run_relations f WHERE f.run = $number AND (f.database = 'fresh' OR f.relation_name = 'n'))
		AND NOT (database = 'fresh' OR relation_name = 'n')"), '0', 'what nobody had verified comes first');
is(query("SELECT count(*) = count(DISTINCT (datid, relid)) FROM verify_run_relations WHERE run = $number"), 't', 'nothing twice');

# a time that is too short for anything: each call gets something done all the same
query('CREATE TABLE gone AS SELECT 1 AS i', 'store');
my ($whole) = call('CALL verify_cluster(include_catalogs => false)') =~ /INFO:  completed: \d+ databases, (\d+) relations/;
query('DROP TABLE gone', 'store');
$whole--;
$number = query('SELECT max(run) + 1 FROM verify_runs');
call("CALL verify_cluster(include_catalogs => false, cluster_files => false, order_by => 'stalest', max_duration => '1 us')") for 1 .. $whole;
is(query("SELECT count(*), count(DISTINCT (datid, relid)) FROM verify_run_relations WHERE run >= $number"), "$whole|$whole",
	'as many short calls as there are relations verify each');

# wrong use
like(call("CALL verify_cluster(ARRAY['nowhere'])"), qr/ERROR:  database "nowhere" does not exist/, 'an unknown database');
like(call("CALL verify_cluster(resume_at => '16384/main/0')"), qr/ERROR:  invalid resume_at.*\nDETAIL:  Expected the OID of a database/, 'a position without a database');

# a standby: no record, a position to go on from
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$number = query('SELECT max(run) FROM verify_runs');
my ($all) = call('CALL verify_cluster()', $standby) =~ /INFO:  completed: 7 databases, (\d+) relations, .*; 0 findings,/;
ok($all, 'a standby');
$said = call("CALL verify_cluster(max_rate => 20000, max_duration => '1s', cluster_files => false)", $standby);
my ($position) = $said =~ /resume_at => '(\d+\/\d+\/main\/\d+(?:\/\d+)?)'/;
ok(defined $position, 'names where it stopped') or diag $said;
my ($first) = $said =~ /stopped: \d+ databases?, (\d+) relations?/;
my ($rest) = call("CALL verify_cluster(resume_at => '$position')", $standby) =~ /completed: \d+ databases?, (\d+) relations/;
is($first + $rest, $all, 'from which the next one goes on');
is($standby->safe_psql('postgres', 'SELECT max(run) FROM verify_runs'), $number, 'without a record');
$standby->stop;

# nor does one where nothing is recorded stay where it is
$standby->start;
my ($at, $calls, $verified) = ('', 0, 0);
do
{
	$said = call("CALL verify_cluster(include_catalogs => false, cluster_files => false, verbose => true, max_duration => '1 us'$at)", $standby);
	$verified += () = $said =~ /INFO: .* verified /g;
	$at = $said =~ /pass (resume_at => '[^']+')/ ? ", $1" : '';
} while ($at && ++$calls < 2 * $whole);
like($said, qr/INFO:  completed: /, 'short calls on a standby come to an end') or diag $said;
is($verified, $whole, 'after each relation');
$standby->stop;

# no place for a worker
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
$said = call("SET statement_timeout = '100s'; CALL verify_cluster(ARRAY['postgres', 'store'], include_catalogs => false)");
like($said, qr/WARNING:  could not verify database "store": all of max_worker_processes are in use/, 'no place for a worker');
like($said, qr/completed: 1 database, .*; 0 findings, 1 not verifiable/, 'the run says so and goes on');
my $unverified = 'SELECT unverified_relations FROM verify_metrics';
is(query($unverified), '1', 'which the metrics count');
$node->adjust_conf('postgresql.conf', 'max_worker_processes', '8');
$node->restart;
call("CALL verify_cluster(ARRAY['store'], include_catalogs => false)");
is(query($unverified), '0', 'until a run has a place');
my $held = Accel::gate($node, 't', 'store');
call("SET lock_timeout = '100ms'; CALL verify_cluster(ARRAY['store'], include_catalogs => false)");
$held->quit;
is(query($unverified), '1', 'as a relation there');
query('DROP TABLE t; CHECKPOINT', 'store');
is(query($unverified), '0', 'until it is dropped');

# names of databases in other encodings, which the server can convert or not
query("CREATE DATABASE utf ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0");
my $long = "\xc3\xa4" x 63;
query(qq{SET client_encoding = 'UTF8'; CREATE TABLE "$long" (); CREATE EXTENSION crc32c_accel}, 'latin');
query(qq{SET client_encoding = 'UTF8'; CREATE TABLE "\xc5\x82\xc3\xa4se\xe2\x82\xac" (); CREATE EXTENSION crc32c_accel}, 'utf');
foreach (['utf', 'latin', "k\xc3\xa4se"], ['utf', 'latin', $long], ['latin', 'utf', "?\xe4se?"])
{
	my ($here, $there, $name) = @$_;
	my $rest = "include_catalogs => false, cluster_files => false, lost_writes => false, verbose => true";
	my ($out, $err);
	$node->psql($here, "CALL verify_cluster('{$there}', $rest); SELECT relation_name FROM verify_run_relations WHERE database = '$there'",
		stdout => \$out, stderr => \$err);
	like($err, qr/database "$there": verified public\."\Q$name\E":/, "$there seen from $here");
	ok((grep { $_ eq $name } split /\n/, $out), 'recorded so');
}
$node->stop;
done_testing();
