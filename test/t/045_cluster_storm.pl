# The storm: checkpoints, prepared transactions, slots, origins, rewrites of
# mapped catalogs, databases made, moved and dropped, while verify_cluster_files
# runs in a loop, on a primary and its standby.  No finding may come of it.
#
#	ACCEL_CLUSTER_STORM		how many seconds (default 5, with LONG 120); it goes on
#							until each has had its turns, for ten times as long at most
use strict;
use warnings;
use Accel;
use AccelProgram;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_CLUSTER_STORM} // ($ENV{LONG} ? 120 : 5);
my $node = Accel::new_node('main', allows_streaming => 'logical', conf => <<'CONF');
max_prepared_transactions = 20
max_connections = 50
max_replication_slots = 20
autovacuum = off
fsync = off
log_statement = none
CONF
my $version = int($node->pg_version);
Accel::summarize_wal($node);
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', $_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE DATABASE other
CREATE TABLE t (a int)
SELECT pg_replication_origin_create('origin')
SQL
$node->safe_psql('other', 'CREATE EXTENSION crc32c_accel');
foreach my $database ('postgres', 'other')
{
	$node->safe_psql($database, q{
		CREATE FUNCTION look() RETURNS int LANGUAGE plpgsql AS $$
		DECLARE
			bad text;
			n int;
		BEGIN
			SELECT string_agg(path || ' ' || status || ': ' || coalesce(message, ''), '; ') FILTER (WHERE status <> 'ok'), count(*)
			INTO bad, n FROM verify_cluster_files();
			IF bad IS NOT NULL THEN
				RAISE EXCEPTION 'FINDING: %', bad;
			END IF;
			RETURN n;
		END $$});
}
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
Accel::configure($standby);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nmax_connections = 50\n");
$node->append_conf('postgresql.conf', "allow_in_place_tablespaces = on\n");
$standby->append_conf('postgresql.conf', "allow_in_place_tablespaces = on\n");
$node->reload;
$node->safe_psql('postgres', q{CREATE TABLESPACE elsewhere LOCATION ''});
$standby->start;

my $logical = Accel::missing_modules('test_decoding') ? 'physical' : 'logical';
# name => [database, script]
my %load = (
	checkpoint => [ 'postgres', "CHECKPOINT;\n\\sleep 20 ms\n" ],
	prepare => [ 'postgres', <<'SQL' ],
BEGIN;
INSERT INTO t SELECT generate_series(1, 200);
PREPARE TRANSACTION 'first';
\sleep 15 ms
BEGIN;
INSERT INTO t SELECT generate_series(1, 10);
PREPARE TRANSACTION 'second';
COMMIT PREPARED 'first';
\sleep 5 ms
ROLLBACK PREPARED 'second';
SQL
	slots => [ 'postgres', <<'SQL' ],
SELECT pg_create_physical_replication_slot('physical', true);
DO $$ BEGIN PERFORM pg_replication_slot_advance('physical', pg_current_wal_lsn()); EXCEPTION WHEN OTHERS THEN NULL; END $$;
SELECT pg_drop_replication_slot('physical');
SELECT pg_create_physical_replication_slot('temporary', false, true);
SELECT pg_drop_replication_slot('temporary');
SQL
	decoding => [ 'other', $logical eq 'physical' ? "SELECT 1;\n\\sleep 100 ms\n" : <<'SQL' ],
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = 'logical';
SELECT pg_create_logical_replication_slot('logical', 'test_decoding');
SELECT count(*) FROM pg_logical_slot_get_changes('logical', NULL, NULL);
SELECT pg_drop_replication_slot('logical');
SQL
	rewrite => [ 'postgres', <<'SQL' ],
VACUUM FULL pg_class;
REINDEX TABLE pg_attribute;
REINDEX TABLE pg_tablespace;
VACUUM FULL pg_shdepend;
SQL
	rewrite_other => [ 'other', "VACUUM FULL pg_type;\nREINDEX TABLE pg_class;\n" ],
	databases => [ 'postgres', <<'SQL' ],
CREATE DATABASE made;
ALTER DATABASE made SET TABLESPACE elsewhere;
DROP DATABASE made;
CREATE DATABASE made TABLESPACE elsewhere;
DROP DATABASE made;
SQL
	origins => [ 'postgres', <<'SQL' ],
SELECT pg_replication_origin_advance('origin', pg_current_wal_lsn());
SELECT pg_replication_origin_create('brief');
SELECT pg_replication_origin_advance('brief', pg_current_wal_lsn());
SELECT pg_replication_origin_drop('brief');
\sleep 5 ms
SQL
);

# A script over and over, for as long as the storm lasts
sub run_load
{
	my ($name, $server, $database, $script) = @_;
	unlink "$dir/$name.sql";
	append_to_file("$dir/$name.sql", $script);
	chmod 0644, "$dir/$name.sql";
	my %run = (name => $name, out => '', err => '');
	$run{handle} = IPC::Run::start([ 'pgbench', '-n', '-T', $seconds, '-f', "$dir/$name.sql", $server->connstr($database) ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

my %looks = (look => [ $node, 'postgres' ], look_other => [ $node, 'other' ], look_standby => [ $standby, 'postgres' ]);
my %programs = (program => $node, program_standby => $standby);
my (%turns, %said);

# The program over the directory of the running server, over and over.  It cannot
# know of a database that is just made or dropped.
my $unknown = qr{(?:base|pg_tblspc/\d+/PG_\w+)/\d+/pg_filenode\.map: not_verifiable: [^\n]*\n};
sub run_program
{
	my ($name, $server) = @_;
	my %run = (name => $name, out => '', err => '');
	$run{handle} = IPC::Run::start([ 'timeout', $seconds, 'sh', '-c', 'while "$0" cluster -q "$1" || [ $? = 3 ]; do echo sound; done; echo FINDING',
		AccelProgram::path(), $server->data_dir ], '<', \undef, '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

for (1 .. 10)
{
	my @runs = map { run_load($_, $node, @{ $load{$_} }) } sort keys %load;
	push @runs, map { run_load($_, @{ $looks{$_} }, "SELECT look();\n") } sort keys %looks;
	push @runs, map { run_program($_, $programs{$_}) } sort keys %programs;
	foreach my $run (@runs)
	{
		$run->{handle}->finish;
		$turns{ $run->{name} } += $run->{out} =~ /transactions actually processed: (\d+)/ ? $1 : scalar(() = $run->{out} =~ /^sound$/mg);
		$said{ $run->{name} } .= $programs{ $run->{name} } ? $run->{out} =~ s/^(?:sound\n|$unknown)//mgr . $run->{err} : $run->{err};
	}
	last if grep { /FINDING/ } values %said;
	last if !grep { $turns{$_} < ($load{$_} ? 1 : 4) } keys %turns;
}
diag(join ', ', map { "$_ $turns{$_}" } sort keys %turns);
foreach my $name (sort keys %looks, keys %programs)
{
	is($said{$name} =~ /(.*FINDING.*)/s || ($programs{$name} && $said{$name} =~ /(.+)/s) ? $1 : 'none', 'none', "$name: no finding");
	cmp_ok($turns{$name}, '>', 3, "$name: $turns{$name} times") or diag($said{$name});
}
foreach my $name (sort keys %load)
{
	cmp_ok($turns{$name}, '>', 0, "$name was at work") or diag($said{$name});
}

# What is left is clean to both, running and stopped
is($node->safe_psql('postgres', 'SELECT look() > 3'), 't', 'afterwards: no finding');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', 'SELECT look() > 3'), 't', '... nor on the standby');
my $data = $standby->data_dir;
$standby->stop;
is($node->safe_psql('postgres', "SELECT count(*) FROM verify_cluster_files('$data') WHERE status <> 'ok'"), '0', '... nor in its stopped directory');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT look() > 3'), 't', '... nor after a crash');
$node->stop;
done_testing();
