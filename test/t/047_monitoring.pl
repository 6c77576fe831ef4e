# docs/examples with the programs that they are for, as Debian has them: an
# exporter that scrapes, Prometheus' rules, check_postgres, pg_cron, timers of systemd.  What is not
# installed is skipped.
use strict;
use warnings;
use Accel;
use Cwd ();
use HTTP::Tiny;
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $cron = !Accel::missing_modules('pg_cron');
my $node = Accel::new_node('main', allows_streaming => 1, conf => "autovacuum = off\n"
	  . ($cron ? "shared_preload_libraries = 'pg_cron'\nmax_worker_processes = 20\n" : ''));
$node->start;
my $examples = -d 'docs/examples' ? 'docs/examples' : "$ENV{ACCEL_TOP}/docs/examples";
my %program = map { my $name = $_; $name => scalar((grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0]) }
  qw(check_postgres prometheus-postgres-exporter promtool systemd-analyze);

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

sub overwrite
{
	my ($path, $offset) = @_;
	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $offset, 0;
	print $file 'damage';
	close $file or die $!;
	return;
}

# a damaged block and a damaged file of the cluster, found
query("SELECT pg_create_physical_replication_slot('slot', true)");
query("CREATE EXTENSION crc32c_accel; CREATE TABLE t AS SELECT i, repeat('x', 500) x FROM generate_series(1, 2000) i; CHECKPOINT");
my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('t')");
overwrite($path, 5 * 8192 + 5000);
$node->restart;
overwrite($node->data_dir . '/pg_replslot/slot/state', 100);
$node->psql('postgres', "CALL verify_database(relations => '{t}')");

# what a run says that left the files out, or whose findings were lost
my $bad_files = 'SELECT bad_files FROM verify_metrics';
query("CALL verify_database(relations => '{pg_am}', cluster_files => false)");
is(query($bad_files), '1', 'a run that does not verify the files says nothing of them');
query('ALTER TABLE verify_findings RENAME TO elsewhere');
$node->psql('postgres', "CALL verify_database(relations => '{pg_am}')");
query('ALTER TABLE elsewhere RENAME TO verify_findings');
is(query("SELECT state, files FROM verify_runs ORDER BY run DESC LIMIT 1") . query($bad_files), 'not_recorded|01', 'nor does one whose findings could not be recorded');

# an archive with a damaged segment
my $archive = PostgreSQL::Test::Utils::tempdir();
my $segment = query('SELECT pg_walfile_name(pg_switch_wal())');
my $wal = slurp_file($node->data_dir . "/pg_wal/$segment");
append_to_file("$archive/$segment", $wal);
my $bad_wal_files = "CALL verify_wal_archive('$archive'); SELECT bad_wal_files FROM verify_metrics";
is(query($bad_wal_files), '0', 'a sound archive');
substr($wal, 100, 6) = 'damage';
unlink "$archive/$segment" or die $!;
append_to_file("$archive/$segment", $wal);
is(query($bad_wal_files), '1', 'the metrics tell of a bad file of the archive');

# a backup that is bad
mkdir $_ or die $! foreach "$archive/backups", "$archive/backups/bad";
append_to_file("$archive/backups/bad/backup_manifest", '{}');
$node->psql('postgres', "CALL verify_backups('$archive/backups')");

# postgres_exporter
my $yaml = slurp_file("$examples/postgres_exporter.yaml");
my %exported;
while ($yaml =~ /^(\w+):\n(?:  cache_seconds: \d+\n)?  query: \|\n(.*?)\n  metrics:\n(.*?)(?=^\w|\z)/gms)
{
	my ($name, $text, $metrics) = ($1, $2, $3);
	$exported{$name} = { sql => $text, listed => [ $metrics =~ /^    - (\w+):/mg ], gauges => [ $metrics =~ /^    - (\w+):\n +usage: "GAUGE"/mg ] };
	is(join(' ', sort split /\|/, query("SELECT string_agg(key, '|') FROM json_object_keys((SELECT row_to_json(q) FROM ($text) q)) key")),
		join(' ', sort @{ $exported{$name}{listed} }), "the exporter's query $name has the columns that it lists");
	is(join(' ', map { $node->safe_psql($_, "SELECT count(*) FROM ($text) q") } 'postgres', 'template1'), '1 0',
		"the exporter's query $name: no row where the extension is not");
}
my $sql = $exported{crc32c_accel}{sql};
is(query("SELECT bad_blocks, bad_files, history, data_checksums FROM ($sql) q"), '1|1|own|1', 'the exporter\'s query');
is(query("SELECT bad_blocks, unverified_relations FROM ($exported{crc32c_accel_database}{sql}) q WHERE verified_database = 'postgres'"), '1|0', 'that of databases');
is(query("SELECT relations - never_verified > 0 FROM ($exported{crc32c_accel_coverage}{sql}) q"), 't', 'that of what was ever verified');
is(query("SELECT files, bad_files, not_verifiable FROM ($exported{crc32c_accel_wal_archive}{sql}) q"), '1|1|0', 'that of the archive');

is(query("SELECT backups, bad_backups, unverified_backups, newest_good_seconds FROM ($exported{crc32c_accel_backups}{sql}) q"), '1|1|0|-1', 'that of backups');

# A scrape reads as little of many relations as of few.  What counts are the rows
# that a transaction got from tables and indexes.
my @tables = qw(pg_class internal_verdicts verify_run_relations verify_findings);
my $tables = "ARRAY['" . join("','", @tables) . "']::regclass[]";
sub rows_read
{
	my ($statement) = @_;
	my $count = "SELECT 'rows ' || sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid)) FROM (
		SELECT unnest($tables)::oid AS oid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = ANY ($tables)) r";
	my @counts = $node->safe_psql('many', join(';', 'BEGIN', $statement, $count, $statement, $count, 'COMMIT')) =~ /^rows (\d+)$/mg;
	return $counts[1] - $counts[0];
}
my @scrape = map { $exported{$_}{sql} } grep { $_ ne 'crc32c_accel_coverage' } sort keys %exported;
query('CREATE DATABASE many');
$node->safe_psql('many', $_) foreach 'CREATE EXTENSION crc32c_accel',
  q{DO $$ BEGIN FOR i IN 1 .. 600 LOOP EXECUTE format('CREATE TABLE t%s ()', i); END LOOP; END $$},
  "CREATE TABLE bad AS SELECT i, repeat('x', 500) x FROM generate_series(1, 2000) i; CREATE TABLE locked ()",
  'CALL verify_database(cluster_files => false)', 'VACUUM ANALYZE', 'CHECKPOINT';
overwrite($node->data_dir . '/' . $node->safe_psql('many', "SELECT pg_relation_filepath('bad')"), 5 * 8192 + 5000);
my $gate = Accel::gate($node, 'locked', 'many');
$node->safe_psql('many', "SET lock_timeout = '10ms'; CALL verify_database(relations => '{bad,locked}', cluster_files => false)");
$gate->quit;
is($node->safe_psql('many', 'SELECT bad_blocks, unverified_relations FROM verify_metrics'), '1|1', 'a database of many relations');
cmp_ok(rows_read($exported{crc32c_accel_coverage}{sql}), '>', 600, 'coverage reads each relation');
cmp_ok(rows_read($_), '<', 100, 'a scrape does not') foreach @scrape, 'SELECT * FROM verify_database_metrics';
my $oldest = "(SELECT min(good_at) FROM internal_oldest_good) = (SELECT min(last_good_at) FROM verify_last_good)";
my $first = "SELECT min(good_at) FROM internal_oldest_good";
$node->safe_psql('many', "CREATE TABLE before AS $first");
is($node->safe_psql('many', "SELECT min = ($first), $oldest FROM before"), 't|t', 'the oldest good verdict');
$node->safe_psql('many', q{DO $$ DECLARE r record; BEGIN FOR r IN SELECT oid::regclass AS t FROM pg_class WHERE relname ~ '^t[0-9]+$' LOOP EXECUTE format('DROP TABLE %s', r.t); END LOOP; END $$});
$node->safe_psql('many', 'CALL verify_database(' . Accel::relations($node, "relkind IN ('r', 'm')", 'many') . ', cluster_files => false)');
is($node->safe_psql('many', "SELECT min < ($first), $oldest, (SELECT count(*) FROM internal_verdicts) = (SELECT count(*) FROM verify_last_good) FROM before"),
	't|t|t', 'what was dropped has none, and is forgotten');
query('DROP DATABASE many WITH (FORCE)');

SKIP:
{
	skip 'no prometheus-postgres-exporter', 6 + map { @{ $_->{gauges} } } values %exported
	  if !$program{'prometheus-postgres-exporter'};
	my $address = '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
	query('CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher');
	query('CREATE DATABASE elsewhere');
	$node->safe_psql('elsewhere', 'CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO watcher; CREATE EXTENSION crc32c_accel SCHEMA elsewhere');
	local $ENV{DATA_SOURCE_NAME} = sprintf 'host=%s port=%s user=watcher dbname=postgres sslmode=disable', $node->host, $node->port;
	my $exporter = IPC::Run::start([ 'prometheus-postgres-exporter', "--web.listen-address=$address", '--auto-discover-databases',
		"--extend.query-path=$examples/postgres_exporter.yaml", '--disable-default-metrics', '--disable-settings-metrics' ],
		'>', \my $out, '2>', \my $err);
	my $scraped;
	for (1 .. 3000)
	{
		last if !Accel::still_runs($exporter);
		$scraped = HTTP::Tiny->new(timeout => 10)->get("http://$address/metrics")->{content};
		last if $scraped =~ /^crc32c_accel_/m;
		usleep(100_000);
	}
	$exporter->kill_kill(grace => 2);
	like($scraped, qr/^crc32c_accel_bad_blocks\{database="postgres".*?\} 1$/m, 'the exporter: the block, as a role with pg_monitor') or diag $err;
	like($scraped, qr/^crc32c_accel_bad_blocks\{database="elsewhere".*?\} 0$/m, 'the exporter: another database and schema');
	foreach my $query (sort keys %exported)
	{
		like($scraped, qr/^${query}_$_\{/m, "the exporter: ${query}_$_") for @{ $exported{$query}{gauges} };
	}
	like($scraped, qr/^pg_exporter_last_scrape_error 0$/m, 'the exporter: databases without the extension are no error');
	unlike($err, qr/level=error/, 'the exporter: no error');
	dashboard_shows($scraped);
	query('DROP DATABASE elsewhere WITH (FORCE)');
}

# Grafana: each panel's expressions have values, of what the exporter told, as
# Prometheus takes it.
sub dashboard_shows
{
	my ($told) = @_;
	my $dashboard = JSON::PP::decode_json(slurp_file("$examples/grafana_dashboard.json"));
	my @expressions = map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
	my ($list) = grep { $_->{name} eq 'instance' } @{ $dashboard->{templating}{list} };
	my ($name) = $list->{query} =~ /^label_values\((\w+), instance\)$/;

	cmp_ok(scalar(grep { /\binstance=~"\$instance"/ } @expressions), '==', scalar(@expressions), 'the dashboard: all is of the chosen servers');
  SKIP:
	{
		skip 'no promtool', 1 if !$program{promtool};
		# an age that is not known has no line: here all have one
		my @series = map { /^(crc32c_accel_\w+)\{(.*)\} (\S+)$/ ? [ qq($1\{instance="main:9187",$2\}), $3 eq '-1' ? 5 : $3 ] : () } split /\n/, $told;
		append_to_file("$archive/dashboard_test.yaml", "evaluation_interval: 1h\ntests:\n  - interval: 1h\n    input_series:\n"
			  . join('', map { "      - {series: '$_->[0]', values: '$_->[1]x1'}\n" } @series)
			  . "    promql_expr_test:\n"
			  . join('', map { "      - {expr: 'clamp_max(count($_), 1)', eval_time: 1h, exp_samples: [{labels: '{}', value: 1}]}\n" }
				map { s/\$instance/.*9187/gr } @expressions, "group($name) * 1"));
		command_ok([ 'promtool', 'test', 'rules', "$archive/dashboard_test.yaml" ], 'the dashboard: each expression has values');
	}
	return;
}

# Prometheus: what fires each alert, and it alone, beside a server that is in order.
my $of = sub { return qq($_[0]\{instance="$_[1]", database="shop", history="own"}) };
my @fires = (
	[ 'PostgresDamage', [ $of->('crc32c_accel_bad_blocks', 'bad'), 0 ], [ $of->('crc32c_accel_bad_files', 'bad'), 1 ] ],
	[ 'PostgresWalArchiveDamage', [ 'crc32c_accel_wal_archive_bad_files{instance="bad"}', 2 ] ],
	[ 'PostgresBackupDamage', [ 'crc32c_accel_backups_bad_backups{instance="bad"}', 1 ] ],
	[ 'PostgresNoGoodBackup', [ 'crc32c_accel_backups_newest_good_seconds{instance="bad"}', 86401 ] ],
	[ 'PostgresNoGoodBackup', [ 'crc32c_accel_backups_newest_good_seconds{instance="bad"}', -1 ] ],
	[ 'PostgresVerificationFailed', [ 'node_systemd_unit_state{name="crc32c-accel-backup.service", state="failed"}', 1 ] ],
	[ 'PostgresUnverifiedRelations', [ $of->('crc32c_accel_unverified_relations', 'bad'), 1 ] ],
	[ 'PostgresUnverifiedRelations', [ 'crc32c_accel_wal_archive_not_verifiable{instance="bad"}', 1 ] ],
	[ 'PostgresUnverifiedRelations', [ 'crc32c_accel_backups_unverified_backups{instance="bad"}', 1 ] ],
	[ 'PostgresRunFailed', [ $of->('crc32c_accel_last_run_ended', 'bad'), 0 ], [ $of->('crc32c_accel_last_run_seconds', 'bad'), 5 ] ],
	[ 'PostgresVerificationOverdue', [ $of->('crc32c_accel_oldest_good_seconds', 'bad'), 8 * 86400 + 1 ] ],
	[ 'PostgresVerificationOverdue', [ $of->('crc32c_accel_oldest_good_seconds', 'bad'), -1 ] ],
	[ 'PostgresWalArchiveOverdue', [ 'crc32c_accel_wal_archive_behind_seconds{instance="bad"}', 86401 ] ],
	[ 'PostgresVerificationJobOverdue', [ 'node_systemd_timer_last_trigger_seconds{name="crc32c-accel-verify.timer", instance="bad"}', 0 ] ],
	[ 'PostgresNotVerified', [ 'pg_up{instance="bad"}', 1 ] ],
	[ 'PostgresSilent', [ $of->('crc32c_accel_bad_blocks', 'bad'), '0x100' ] ],
	[ 'PostgresSilent', [ $of->('crc32c_accel_bad_blocks', 'bad'), '0x100' ], [ 'pg_up{instance="bad"}', 0 ] ],
	[ 'PostgresWithoutDataChecksums', [ $of->('crc32c_accel_data_checksums', 'bad'), 0 ] ]);
my @in_order = (
	(map { [ $of->("crc32c_accel_$_", 'good'), 0 ] } qw(bad_blocks bad_files unverified_relations)),
	(map { [ qq(crc32c_accel_wal_archive_$_\{instance="good"}), 0 ] } qw(bad_files not_verifiable)),
	(map { [ qq(crc32c_accel_backups_$_\{instance="good"}), 0 ] } qw(bad_backups unverified_backups)),
	[ 'crc32c_accel_backups_newest_good_seconds{instance="good"}', 40000 ],
	[ $of->('crc32c_accel_last_run_ended', 'good'), 1 ], [ $of->('crc32c_accel_last_run_seconds', 'good'), 5 ],
	[ $of->('crc32c_accel_last_run_ended', 'new'), 0 ], [ $of->('crc32c_accel_last_run_seconds', 'new'), -1 ],
	[ $of->('crc32c_accel_oldest_good_seconds', 'good'), 7 * 86400 ], [ $of->('crc32c_accel_data_checksums', 'good'), 1 ],
	[ 'crc32c_accel_wal_archive_behind_seconds{instance="good"}', 3600 ], [ 'pg_up{instance="good"}', 1 ], [ 'pg_up{instance="down"}', 0 ],
	[ 'node_systemd_unit_state{name="crc32c-accel-verify.service", state="failed"}', 0 ],
	[ 'node_systemd_unit_state{name="crc32c-accel-verify.service", state="active"}', 1 ],
	[ 'node_systemd_unit_state{name="another.service", state="failed"}', 1 ],
	[ 'node_systemd_timer_last_trigger_seconds{name="crc32c-accel-verify.timer", instance="good"}', '0+3600' ],
	[ 'node_systemd_timer_last_trigger_seconds{name="another.timer"}', 0 ]);
is(join(' ', sort(slurp_file("$examples/prometheus_rules.yaml") =~ /- alert: (\w+)/g)), join(' ', sort keys %{ { map { $_->[0] => 1 } @fires } }),
	'what fires each alert is known');
SKIP:
{
	skip 'no promtool', 1 if !$program{promtool};
	my $tests = "$archive/rules_test.yaml";
	my @tests = map {
		my ($alert, @series) = @$_;
		"  - interval: 1h\n    input_series:\n"
		  . join('', map { "      - {series: '$_->[0]', values: '" . ($_->[1] =~ /x/ ? $_->[1] : $_->[1] =~ /\+/ ? "$_->[1]x220" : "$_->[1]+0x220") . "'}\n" } @in_order, @series)
		  . "    promql_expr_test:\n      - expr: count by (alertname) (ALERTS{alertstate=\"firing\"})\n        eval_time: 220h\n"
		  . "        exp_samples: [" . ($alert ? "{labels: '{alertname=\"$alert\"}', value: 1}" : '') . "]\n";
	} [''], @fires;
	my @fleet = ([ $of->('crc32c_accel_bad_blocks', 'a'), 2 ], [ $of->('crc32c_accel_bad_blocks', 'a') =~ s/shop/other/r, 3 ],
		[ $of->('crc32c_accel_bad_files', 'a'), 4 ], [ $of->('crc32c_accel_bad_files', 'a') =~ s/shop/other/r, 4 ],
		[ $of->('crc32c_accel_bad_blocks', 'b'), 5 ], [ $of->('crc32c_accel_bad_files', 'b'), 0 ], [ $of->('crc32c_accel_bad_blocks', 'gone'), '0x100' ],
		[ $of->('crc32c_accel_oldest_good_seconds', 'a'), 70 ], [ $of->('crc32c_accel_oldest_good_seconds', 'b'), 90 ],
		[ 'crc32c_accel_backups_bad_backups{instance="a"}', 2 ], [ 'crc32c_accel_backups_bad_backups{instance="b"}', 1 ],
		[ 'crc32c_accel_backups_newest_good_seconds{instance="a"}', 50 ], [ 'crc32c_accel_backups_newest_good_seconds{instance="b"}', -1 ],
		[ $of->('crc32c_accel_oldest_good_seconds', 'c'), -1 ], [ 'pg_up{instance="a"}', 1 ], [ 'pg_up{instance="down"}', 0 ]);
	my %fleet = ('findings:sum' => 14, 'oldest_good_seconds:max' => 90, 'never_good:count' => 1, 'silent:count' => 2,
		'bad_backups:sum' => 3, 'newest_good_backup_seconds:max' => 50, 'no_good_backup:count' => 1);
	push @tests, "  - interval: 1h\n    input_series:\n"
	  . join('', map { "      - {series: '$_->[0]', values: '" . ($_->[1] =~ /x/ ? $_->[1] : "$_->[1]+0x220") . "'}\n" } @fleet)
	  . "    promql_expr_test:\n"
	  . join('', map { "      - {expr: 'sum(fleet:crc32c_accel_$_)', eval_time: 220h, exp_samples: [{labels: '{}', value: $fleet{$_}}]}\n" } sort keys %fleet);
	append_to_file($tests, "rule_files: ['" . Cwd::abs_path("$examples/prometheus_rules.yaml") . "']\nevaluation_interval: 1h\ntests:\n" . join('', @tests));
	command_ok([ 'promtool', 'test', 'rules', $tests ], 'each alert is fired by its cause alone, and a fleet is summed up');
}

# check_postgres
SKIP:
{
	skip 'no check_postgres', 9 if !$program{check_postgres};
	my @check = ('sh', "$examples/check_postgres.sh", '--host=' . $node->host, '--port=' . $node->port, '--dbname=postgres',
		'--dbuser=' . query('SELECT current_user'));
	command_checks_all(\@check, 2, [qr/CRITICAL/], [], 'check_postgres: critical');
	query('DROP TABLE t');
	command_checks_all(\@check, 2, [qr/CRITICAL/], [], 'check_postgres: critical for a file of the cluster');
	query("SELECT pg_drop_replication_slot('slot')");
	query("CALL verify_database(relations => '{}')");
	command_checks_all(\@check, 0, [qr/OK/], [], 'check_postgres: ok');
}

# systemd
SKIP:
{
	skip 'no systemd-analyze', 1 if !$program{'systemd-analyze'};
	my ($stdout, $stderr) = run_command([ 'systemd-analyze', 'verify', '--man=no', glob "$examples/*.service $examples/*.timer" ]);
	is(join("\n", grep { /crc32c-accel/ } split /\n/, $stderr), '', 'systemd-analyze verify');
}

query("DROP TABLE IF EXISTS t; SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
query("CALL verify_database(relations => '{}')");
is(query("SELECT bad_files FROM ($sql) q"), '0', 'a file that is in order again');

# what the unit runs: every database whatever its name is, which is no connection
# string, and whatever its owner makes of search_path
my ($script) = slurp_file("$examples/crc32c-accel-verify.service") =~ m{^ExecStart=/bin/sh /usr/local/bin/crc32c_accel_(\w+\.sh)$}m;
sub exit_status
{
	my ($port, @arguments) = @_;
	local @ENV{qw(PGHOST PGPORT)} = ($node->host, $port);
	return system('sh', "$examples/$script", @arguments) >> 8;
}
sub query_in
{
	my ($name, $sql) = @_;
	$name =~ s/([\\'])/\\$1/g;
	my ($out, $err) = run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d',
		$node->connstr =~ s/dbname=\S*//r . " dbname='$name'", '-c', $sql ]);
	return $err || $out;
}
is(exit_status($node->port), 0, 'the unit: no findings');
isnt(exit_status(1), 0, 'the unit: no server');
my @names = ('an other', 'a=b', 'host=127.0.0.1 port=1', qq(it's \\ "so"), '{}', '-l');
push @names, "two\nlines" if int($node->pg_version) < 19;    # which refuses it

foreach my $name (@names)
{
	my $quoted = $name =~ s/"/""/gr;
	query(qq(CREATE DATABASE "$quoted"));
	isnt(exit_status($node->port), 0, "the unit: database $name without the extension") if $name eq $names[0];
	query_in($name, $_) foreach 'CREATE SCHEMA "Its own"', 'CREATE EXTENSION crc32c_accel SCHEMA "Its own"',
	  q(CREATE FUNCTION public.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END'),
	  qq(ALTER DATABASE "$quoted" SET search_path = public, pg_catalog);
}
is(exit_status($node->port), 0, 'the unit: names of all kinds');
is(query_in($_, 'SELECT count(*), min(state) FROM "Its own".verify_runs'), '1|completed', "the unit: verified $_") foreach @names;

# a lost write: storage kept the page of before
is(exit_status($node->port, 'lost_writes'), 0, 'lost writes: none');
query_in($names[1], 'CREATE TABLE public.lost AS SELECT 1 AS i; CHECKPOINT');
$path = $node->data_dir . '/' . query_in($names[1], "SELECT pg_relation_filepath('public.lost')");
my $before = slurp_file($path);
query_in($names[1], 'UPDATE public.lost SET i = 2; CHECKPOINT');
{
	local $ENV{RECORD_DIGESTS} = 1;
	is(exit_status($node->port), 0, 'the unit: digests are recorded');
}
is(query_in($names[1], q(SELECT count(*) FROM "Its own".internal_page_digests WHERE relid = 'public.lost'::regclass)), 1, 'of each database');
is(exit_status($node->port, 'page_digests'), 0, 'page ledger: no findings');
$node->stop;
open my $file, '>:raw', $path or die "$path: $!";
print $file $before;
close $file or die $!;
$node->start;
isnt(exit_status($node->port, 'lost_writes'), 0, 'lost writes: one');
isnt(exit_status($node->port, 'page_digests'), 0, 'page ledger: one');
isnt(exit_status($node->port, 'lost writes'), 0, 'an argument that is none');

query(q{DROP DATABASE "an other" WITH (FORCE)});

# pg_cron: the job as it is shipped, with less time and at the server's start, not
# in the night.  What the first run did not reach comes first in the second.
SKIP:
{
	skip 'no pg_cron', 5 if !$cron;
	my $job = slurp_file("$examples/pg_cron.sql");
	query("CREATE EXTENSION pg_cron; $job");
	is(query("SELECT count(*) FROM cron.job WHERE schedule = '30 1 * * *' AND active"), '1', 'pg_cron takes the job');
	$job =~ s/'30 1 \* \* \*'/'\@reboot'/ && $job =~ s/max_rate => \d+/max_rate => 1400/ && $job =~ s/'2 hours'/'4 s'/
	  or fail('the job is not as it was');
	query("SELECT cron.unschedule(jobid) FROM cron.job; $job");
	for my $n (1, 2)
	{
		my $before = query('SELECT max(run) FROM verify_runs');
		$node->restart;
		$node->poll_query_until('postgres', "SELECT state = 'stopped' FROM verify_runs WHERE run > $before")
		  or fail("run $n never came: " . query('SELECT json_agg(d) FROM cron.job_run_details d'));
		is(query("SELECT state, relations > 5 FROM verify_runs WHERE run = $before + 1"), 'stopped|t', "pg_cron: run $n, as far as it came");
	}
	is(query(q{WITH r AS (SELECT *, (SELECT max(run) FROM verify_runs) AS last FROM verify_run_relations)
		SELECT count(*) > 5, count(*) FILTER (WHERE EXISTS (SELECT FROM r b WHERE b.relid = r.relid AND b.datid = r.datid AND b.run = r.last - 1)) FROM r WHERE run = last}),
		't|0', 'pg_cron: the second run went on where the first had to stop');
	is(query("SELECT count(*) FROM cron.job_run_details WHERE status = 'failed'"), '0', 'pg_cron: none failed');
}
$node->stop;
done_testing();
