# The page ledger on copies: a standby, a promoted one, the old primary after
# pg_rewind, a restored backup.  What replay makes and what hint bits leave is
# the same page.  What a copy's disk lost is named, there and by it alone.
use strict;
use warnings;
use Accel;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
max_standby_streaming_delay = 10s
wal_level = logical
CONF

sub standby_of
{
	my ($primary, $name, $settings) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', $settings // '');
	$standby->start;
	return $standby;
}

# All of the primary's changes so far are on the standby, and on its disk if $disk.
sub meet
{
	my ($primary, $standby, $disk) = @_;

	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$standby->safe_psql('postgres', 'CHECKPOINT') if $disk;
	return;
}

my $all = <<"SQL";
CREATE EXTENSION crc32c_accel;
$Ledger::relations
CREATE SEQUENCE s;
SELECT nextval('s') FROM generate_series(1, 40);
SQL

# Sets hint bits and kills entries of indexes.
my $hints = join ';', 'SELECT count(*) FROM t', 'SET enable_seqscan = off; SET enable_bitmapscan = off',
  map { "SELECT count(*) FROM t WHERE $_" } 'id > 0', 'k = 5', "p <@ box '(0,0),(100,100)'", 'tags @> ARRAY[3]';

my $primary = Accel::new_node('primary', allows_streaming => 1, conf => $conf);
$primary->start;
$primary->safe_psql('postgres', $all);
my $standby = standby_of($primary, 'standby');

# A standby that is sound
$primary->safe_psql('postgres', "$hints; UPDATE t SET k = k + 1 WHERE id % 7 = 0; DELETE FROM t WHERE id % 11 = 0; VACUUM t; $hints");
meet($primary, $standby, 1);
$standby->safe_psql('postgres', $hints);
Ledger::record($primary);
meet($primary, $standby, 1);
is(Ledger::findings($standby), '', 'a standby that is sound');
is(Ledger::findings($standby, 'workers => 2'), '', 'by workers, too');
is($standby->safe_psql('postgres', "SELECT count(*) FROM internal_page_digests WHERE relid = 't'::regclass"), 1, 'by rows that came with the WAL');
my ($code, undef, $stderr) = $standby->psql('postgres', 'CALL verify_database(record_digests => true)');
like($stderr, qr/record_digests cannot be used during recovery/, 'nothing is recorded there');

# Lost writes of the standby, which its primary does not have
my %path = map { $_ => Ledger::path($primary, $_) } qw(t t_btree s);
my %old = map { $_ => Ledger::page($standby, $path{$_}, 0) } qw(t s);
$primary->safe_psql('postgres', "UPDATE t SET k = -1 WHERE ctid >= '(0,0)' AND ctid < '(1,0)'; SELECT nextval('s') FROM generate_series(1, 100)");
meet($primary, $standby, 1);
Ledger::record($primary);
meet($primary, $standby, 1);
my $blocks = Accel::blocks($standby->data_dir . "/$path{t_btree}");
Ledger::while_stopped($standby, sub {
	Ledger::put($standby, $path{$_}, 0, $old{$_}) foreach keys %old;
	Ledger::cut($standby, $path{t_btree}, $blocks - 1);
});
is(Ledger::findings($standby), "s|0|stale_page\nt|0|stale_page\nt_btree|" . ($blocks - 1) . '|gone', 'what the standby lost is named there');
is(Ledger::findings($primary), '', 'and not on the primary');
(undef, undef, $stderr) = $standby->psql('postgres', 'SELECT FROM verify_page_digests()');
like($stderr, qr/WARNING:  3 blocks are not.*\nHINT:  Only this standby lost them, if its primary has no such finding/, 'nor can the standby write');

# A page that is in shared buffers of the standby alone is in flight.  It is
# judged after the next restartpoint, and not by one that came while it was read.
$standby->stop;
$standby = standby_of($primary, 'standby2');
$primary->safe_psql('postgres', "UPDATE t SET k = -2 WHERE ctid >= '(1,0)' AND ctid < '(2,0)'; CREATE INDEX late ON t (word, id, k)");
meet($primary, $standby, 1);	# the catalogs are on its disk
$primary->safe_psql('postgres', 'REINDEX INDEX late; UPDATE t SET k = -3 WHERE id > 100');
$primary->safe_psql('postgres', 'CHECKPOINT');
Ledger::record($primary, "relations => '{t,late}'");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(Ledger::findings($standby), '', 'what no restartpoint has put on disk is no finding');
like(Ledger::reasons($standby, 'late'), qr/^\d+ blocks: changed after the redo point/, 'of an index');
like(Ledger::reasons($standby, 't'), qr/^\d+ blocks: changed after the redo point/, 'of a table');
my $slow = IPC::Run::start([ 'psql', '-XAtq', '-d', $standby->connstr('postgres'), '-c', "SELECT status FROM verify_page_digests('late', max_rate => 100)" ],
	'<', \undef, '>', \my $seen, '2>', \my $error);
ok(Accel::seen_in($standby, $slow, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'late'::regclass AND granted)"), 'at work') or note $error;
sleep 1;	# some blocks are read
meet($primary, $standby, 1);
$slow->finish;
unlike($seen, qr/gone|stale/, 'a restartpoint that comes while blocks are read proves nothing of them');
is(Ledger::findings($standby) . Ledger::reasons($standby, 'late'), '', 'and the next call has nothing to find');

# Logical decoding sees nothing of the ledger.
$primary->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('decoded', 'pgoutput'); CREATE PUBLICATION everything FOR ALL TABLES");
Ledger::record($primary);
$primary->safe_psql('postgres', 'CREATE TABLE gone_soon AS SELECT 1 AS a; CHECKPOINT');
Ledger::record($primary);
$primary->safe_psql('postgres', 'DROP TABLE gone_soon');
Ledger::record($primary);
is($primary->safe_psql('postgres', <<'SQL'), '1', 'logical decoding sees nothing of the ledger');
SELECT count(*) FROM pg_logical_slot_get_binary_changes('decoded', NULL, NULL, 'proto_version', '1', 'publication_names', 'everything')
WHERE chr(get_byte(data, 0)) IN ('I', 'U', 'D')
SQL
$primary->safe_psql('postgres', "SELECT pg_drop_replication_slot('decoded'); DROP PUBLICATION everything");

# A restored backup, which becomes a server of its own
meet($primary, $standby, 1);
$primary->backup('restored');
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($primary, 'restored');
$restored->start;
is(Ledger::findings($restored), '', 'a restored backup that is sound');
$old{late} = Ledger::page($restored, Ledger::path($restored, 'late'), 3);
$restored->safe_psql('postgres', 'CHECKPOINT');
my $damaged = Ledger::sealed($restored, Ledger::with_lsn(substr($old{late}, 0, -192) . chr(ord(substr $old{late}, -192) ^ 1) . substr($old{late}, -191), Ledger::lsn($old{late}) - 100), 3);
my $late = Ledger::path($restored, 'late');
Ledger::while_stopped($restored, sub { Ledger::put($restored, $late, 3, $damaged) });
is(Ledger::findings($restored), 'late|3|stale_page', 'an old page in a restored backup');
$restored->stop;

$primary->safe_psql('postgres', 'CREATE TABLE g AS SELECT point(a, a % 77) AS p FROM generate_series(1, 3000) a; CREATE INDEX g_p ON g USING gist (p)');

# Promotion: what the old timeline recorded holds on, and the old primary that was
# rewound is judged by what the new one has recorded.
meet($primary, $standby, 1);
$primary->stop;
$standby->promote;
is(Ledger::findings($standby), '', 'a promoted standby');
is(Ledger::reasons($standby, 't'), '', 'whose rows hold on the new timeline');
$standby->safe_psql('postgres', 'DELETE FROM internal_page_digests; CHECKPOINT');
Ledger::record($standby);
is($standby->safe_psql('postgres', 'SELECT DISTINCT timeline_id FROM internal_page_digests'), 2, 'recorded on the new timeline');
is(Ledger::findings($standby), '', 'and judged by that');
command_ok([ 'pg_rewind', '--source-server' => $standby->connstr('postgres'), '--target-pgdata' => $primary->data_dir, '--no-sync' ], 'pg_rewind');
Ledger::follow($primary, $standby);
is(Ledger::findings($primary), '', 'the old primary after pg_rewind: sorted builds of GiST in 15 have LSN 1 there');
is(Ledger::reasons($primary, 'g_p'), '', 'of which all is verifiable');
note 'LSNs of g_p here: ' . $primary->safe_psql('postgres', "SELECT string_agg(DISTINCT lsn::text, ' ') FROM page_digests('g_p')");
$primary->stop;
$standby->stop;

# wal_log_hints on one side alone, without checksums: LSNs lag behind for good.
my $hinting = Accel::new_node('hinting', checksums => 0, allows_streaming => 1, conf => "$conf\nwal_log_hints = on");
$hinting->start;
$hinting->safe_psql('postgres', $all);
my $other = standby_of($hinting, 'other', 'wal_log_hints = off');
$hinting->safe_psql('postgres', "DELETE FROM t WHERE id % 5 = 0; VACUUM t; UPDATE t SET k = 7 WHERE id % 9 = 0");
meet($hinting, $other, 1);
$hinting->safe_psql('postgres', "$hints; VACUUM t; VACUUM t");
Ledger::record($hinting);
meet($hinting, $other, 1);
Ledger::record($hinting);
meet($hinting, $other, 1);
my $lsns = "SELECT crc32c_agg(lsn::text::bytea ORDER BY blkno) FROM page_digests('t')";
note 'LSNs differ: ', $hinting->safe_psql('postgres', $lsns) ne $other->safe_psql('postgres', $lsns) ? 'yes' : 'no';
is(Ledger::findings($other), '', 'an LSN that hint bits moved on one side alone');
$other->stop;
$hinting->stop;

done_testing();
