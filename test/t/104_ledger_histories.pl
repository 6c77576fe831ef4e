# The page ledger where a history forks or ends: recovery to a point in time,
# failover, the old primary after pg_rewind, pg_upgrade.  Rows of a history that
# this server does not share are no evidence, those that it shares name what its
# disk has lost.
#
# Next: a server of the next major version, where there is one
use strict;
use warnings;
use Accel;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
CONF
my $primary = Accel::new_node('primary', allows_streaming => 1, conf => $conf);
$primary->enable_archiving;
$primary->start;

sub query
{
	return $primary->safe_psql('postgres', shift);
}

query(<<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t (id int, k int, filler text) WITH (fillfactor = 80);
INSERT INTO t SELECT g, g % 100, repeat('y', 50) FROM generate_series(1, 6000) g;
CREATE INDEX t_id ON t (id);
CREATE SEQUENCE s;
SELECT nextval('s') FROM generate_series(1, 40);
CHECKPOINT;
SQL
my %path = map { $_ => Ledger::path($primary, $_) } qw(t t_id s);
my $change = "UPDATE t SET k = k + 1 WHERE ctid < '(40,0)'; SELECT nextval('s') FROM generate_series(1, 100); CHECKPOINT";

# --- recovery to a point in time --------------------------------------------------------------

$primary->backup('base');
my %first = map { $_ => Ledger::page($primary, $path{$_}, 5) } qw(t);
query($change);
Ledger::record($primary);
query("SELECT pg_create_restore_point('here')");
query($change);
Ledger::record($primary);    # of which the copy learns nothing
query("COPY (SELECT * FROM internal_page_digests WHERE relid IN ('t'::regclass, 's'::regclass)) TO '" . $primary->basedir . "/later'");
is(Ledger::findings($primary), '', 'the server that goes on');
query('SELECT pg_switch_wal()');

my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
$copy->append_conf('postgresql.conf', "recovery_target_name = 'here'\nrecovery_target_action = promote");
$copy->start;
$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;
$copy->safe_psql('postgres', 'CHECKPOINT');
is($copy->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()'), 2, 'a copy at a point in time, on a timeline of its own');
is(Ledger::findings($copy), '', 'in which nothing is found');
is(Ledger::reasons($copy, $_), '', "all of $_ is judged by what was recorded before that point") foreach qw(t t_id s);
my $good = Ledger::page($copy, $path{t}, 5);
Ledger::while_stopped($copy, sub { Ledger::put($copy, $path{t}, 5, $first{t}) });
is(Ledger::findings($copy), 't|5|stale_page', 'a page of the backup that recovery did not bring up to date');
Ledger::while_stopped($copy, sub { Ledger::put($copy, $path{t}, 5, $good) });

# Rows that were recorded after that point come by COPY.
$copy->safe_psql('postgres', "DELETE FROM internal_page_digests WHERE relid IN ('t'::regclass, 's'::regclass);
	COPY internal_page_digests FROM '" . $primary->basedir . "/later'");
is(Ledger::findings($copy), '', 'rows of the other timeline are no evidence');
like(Ledger::reasons($copy, 't'), qr/^\d+ blocks: .*an LSN that is not in this server's history$/, 'which is said');
$copy->safe_psql('postgres', 'CREATE TABLE fills AS SELECT g, repeat(chr(97), 500) AS f FROM generate_series(1, 20000) g; CHECKPOINT');
is($copy->safe_psql('postgres', 'SELECT max(taken_lsn) < pg_current_wal_lsn() FROM internal_page_digests'), 't', 'this timeline is as long by now');
is(Ledger::findings($copy), '', 'they are none still');
Ledger::record($copy);
is(Ledger::findings($copy) . Ledger::reasons($copy, 't'), '', 'a recording replaces them');
$copy->stop;

# --- failover, and the old primary ------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('standby');
$primary->backup('standby');
$standby->init_from_backup($primary, 'standby', has_streaming => 1);
$standby->start;
my %old = map { $_ => Ledger::page($primary, $path{$_}, $_ eq 's' ? 0 : 7) } qw(t s);
query($change);
Ledger::record($primary);
query('CHECKPOINT');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');
Ledger::while_stopped($standby, sub { Ledger::put($standby, $path{t}, 7, $old{t}) });
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# The old primary goes on alone, and records what nobody else will know.
$standby->promote;
query("DELETE FROM t WHERE ctid >= '(60,0)' AND ctid < '(61,0)'; CREATE TABLE lonely AS SELECT 1 AS i; CHECKPOINT");
Ledger::record($primary);
$standby->safe_psql('postgres', 'CREATE TABLE news AS SELECT g FROM generate_series(1, 1000) g; CHECKPOINT');
is(Ledger::findings($standby), 't|7|stale_page', 'after a failover: what the new primary had lost as a standby');
is(Ledger::findings($primary), '', 'the old primary, alone');

$primary->stop;
Ledger::put($primary, $path{s}, 0, $old{s});
command_ok([ 'pg_rewind', '--source-server' => $standby->connstr('postgres'), '--target-pgdata' => $primary->data_dir, '--no-sync' ], 'pg_rewind');
is(Ledger::page($primary, $path{s}, 0), $old{s}, 'it does not copy what was not changed since');
Ledger::follow($primary, $standby);
is(Ledger::findings($primary), 's|0|stale_page', 'the old primary after pg_rewind: what it lost, and nothing of what was rewound');
is($primary->safe_psql('postgres', "SELECT to_regclass('lonely') IS NULL"), 't', 'what it recorded alone is gone');
$primary->stop;

# --- pg_upgrade -------------------------------------------------------------------------------

# It keeps OIDs and numbers of files, and so the rows.  A page that was not copied as it
# was recorded is named, and no other: not of what was made anew, nor of what has changed.
$standby->safe_psql('postgres', 'CREATE DATABASE shop');
$standby->safe_psql('shop', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 5000) g');
$standby->safe_psql('postgres', 'CHECKPOINT; CALL verify_cluster(record_digests => true, cluster_files => false)');
my $upgraded = Accel::upgrade($standby, $conf);
SKIP:
{
	skip 'no pg_upgrade', 12 if !$upgraded;
	my %new;
	my $judged = sub {
		return $upgraded->safe_psql('postgres', 'SELECT database, relation_name, blkno, status FROM verify_page_digests(after_pg_upgrade => true) WHERE status ' . shift);
	};
	$upgraded->start;
	note 'upgraded to ' . $upgraded->safe_psql('postgres', 'SHOW server_version');
	$new{$_} = Ledger::path($upgraded, $_) foreach keys %path;
	is($new{t} =~ s/.*\///r, $path{t} =~ s/.*\///r, 'the number of a file is kept');
	cmp_ok($upgraded->safe_psql('postgres', "SELECT count(*) FROM internal_page_digests WHERE relid = 't'::regclass"), '>', 0, 'and the rows of the ledger');
	is(Ledger::findings($upgraded), '', 'they are no evidence of another cluster');
	like(Ledger::reasons($upgraded, 't'), qr/^\d+ blocks: .*another system identifier$/, 'which is said');
	is($judged->("<> 'not_verifiable'"), 'postgres|t|7|stale_page', 'after pg_upgrade a page that the old cluster had lost, and nothing else');
	$upgraded->safe_psql('postgres', "VACUUM; ANALYZE; UPDATE t SET k = 0 WHERE ctid < '(2,0)'; SELECT nextval('s'); CHECKPOINT");
	is($judged->("<> 'not_verifiable'"), '', '... and what has changed since is none');
	unlike($judged->("= 'not_verifiable'"), qr/\|t\||\|t_id\|/, '... and all of them are judged');
	like($upgraded->safe_psql('postgres', "SELECT DISTINCT message FROM verify_page_digests('pg_proc', after_pg_upgrade => true)"), qr/another system identifier$/,
		'... but for catalogs, which are made anew');
	my $size = -s $upgraded->data_dir . "/$new{t_id}";
	Ledger::while_stopped($upgraded, sub {
		Ledger::put($upgraded, $new{t}, 3, "\0" x 8192);
		Ledger::cut($upgraded, $new{t_id}, $size / 8192 - 1);
	});
	is($judged->("<> 'not_verifiable'"), join("\n", 'postgres|t|3|gone', 'postgres|t_id|' . ($size / 8192 - 1) . '|gone'), 'what was not copied is named');
	$upgraded->safe_psql('postgres', 'CHECKPOINT');
	Ledger::record($upgraded);
	unlike(Ledger::reasons($upgraded, 't'), qr/another system/, 'a recording replaces them');
	$upgraded->stop;
}
done_testing();
