# Damage that lets the server run until its next restart, which fails: each is
# found, what its message says is done, then all is clean and the server starts.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 'logical', conf => <<'CONF');
max_prepared_transactions = 10
autovacuum = off
checkpoint_timeout = 1h
log_statement = none
CONF
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
my $data = $node->data_dir;

$q->($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE TABLE t (a int)
CREATE DATABASE idle
SELECT pg_create_physical_replication_slot('slot', true)
SELECT pg_create_physical_replication_slot('spare', true)
CREATE PUBLICATION changes FOR TABLE t
SELECT pg_create_logical_replication_slot('logical', 'pgoutput')
SELECT pg_replication_origin_create('origin')
SELECT pg_replication_origin_advance('origin', '0/123')
BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'kept'
BEGIN; INSERT INTO t VALUES (2); PREPARE TRANSACTION 'lost'
CHECKPOINT
SQL
my @prepared = split /\n/, $q->(q{SELECT f.path FROM pg_prepared_xacts p, verify_cluster_files() f
	WHERE kind = 'two_phase' AND right(path, 8) = upper(lpad(to_hex(p.transaction::text::bigint), 8, '0')) ORDER BY gid});
my $map = $q->(q{SELECT 'base/' || oid || '/pg_filenode.map' FROM pg_database WHERE datname = 'idle'});
$node->backup('backup');
my $backup = $node->backup_dir . '/backup';
my $slot = 'pg_replslot/slot/state';
my $logical = 'pg_replslot/logical/state';
my $advance_slot = 'advance the slot to coalesce(confirmed_flush_lsn, restart_lsn + 1) and run CHECKPOINT, or drop it, which loses its position';

sub damage
{
	my ($path) = @_;
	AccelWal::poke("$data/$path", 40, AccelWal::peek("$data/$path", 40, 1) ^ "\x08");
	return;
}

# What is not ok, with what is to be done
sub findings
{
	return $q->(q{SELECT coalesce(string_agg(path || ' ' || status || ': ' || message, E'\n'), 'none')
		FROM verify_cluster_files() WHERE status <> 'ok'});
}

sub found
{
	my ($path, $remedy, $title) = @_;
	like(findings(), qr/^\Q$path\E \w+: [^;\n]+; \Q$remedy\E[^\n]*$/, "$title: found, the message says what to do");
	return;
}

sub clean
{
	my ($title) = @_;
	is(findings(), 'none', "$title: clean again");
	return;
}

sub restarts
{
	my ($title) = @_;
	$node->restart;
	is(findings(), 'none', "$title: the server restarts, and all is clean");
	return;
}

# A control first: it is a bomb
damage($slot);
found($slot, "$advance_slot; then check again", 'a slot');
$q->('INSERT INTO t VALUES (3); CHECKPOINT');
isnt(findings(), 'none', 'a slot: a checkpoint alone does not write it again');
$node->stop;
ok(!$node->start(fail_ok => 1), 'a slot: without a remedy the server does not start');
like(slurp_file($node->logfile), qr/checksum mismatch for replication slot file/, 'a slot: because of it');
damage($slot);
$node->start;

# A run over a database reports and records it, as who may scan tables, too
damage($slot);
$q->('CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables; CREATE ROLE bare LOGIN; GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA public TO bare');
my $files = $q->('SELECT count(*) FROM verify_cluster_files()');
sub run_of
{
	my ($role, $arguments) = @_;
	my $err = '';
	$node->psql('postgres', "CALL verify_database(relations => '{t}'$arguments)", stderr => \$err, extra_params => [ '-U', $role ]);
	return $err =~ s/^psql:<stdin>:\d+: //mgr;
}
my $warning = qr{^WARNING:  invalid file "\Q$slot\E"\nDETAIL:  checksum_mismatch: calculated CRC[^\n]*\nHINT:  Do not restart the server before this file is in order. See "/[^"]+/docs/corruption\.md"\.$}m;
like(run_of('scanner', ''), $warning, 'a run: reports a file of the cluster');
is($q->('SELECT path, status, relid IS NULL AND fork IS NULL AND filenode IS NULL FROM verify_findings'), "$slot|checksum_mismatch|t", 'a run: records it');
is($q->('SELECT findings, not_verifiable, relations FROM verify_runs'), '1|0|1', 'a run: counts it');
is($q->('SELECT count(*) FROM verify_bad_blocks'), '0', 'a run: it is no block');
like(run_of('scanner', ', fail_on_findings => true'), qr/^ERROR:  1 finding in this database$/m, 'a run: may fail for it');
like(run_of('scanner', ''), qr{^INFO:  completed: 1 relation, .*/s\), $files cluster files; 1 finding \(1 in cluster files\), 0 not verifiable$}m,
	'a run: its last line counts the files, and what was found in them');
like(run_of('scanner', ', cluster_files => false'), qr{^INFO:  completed: 1 relation, .*/s\); 0 findings, 0 not verifiable$}m,
	'a run: without the files of the cluster, and nothing is said of them');
unlike(run_of('bare', ''), qr/WARNING|ERROR/, 'a run: who may not does not');
like(run_of('bare', ', cluster_files => true'), qr/^ERROR:  permission denied to verify the files of the cluster$/m, 'a run: nor if asked to');
damage($slot);

# Slots: what their readers have not got yet stays
sub advance
{
	my ($name) = @_;
	$q->("SELECT pg_replication_slot_advance(slot_name, coalesce(confirmed_flush_lsn, restart_lsn + 1))
		FROM pg_replication_slots WHERE slot_name = '$name'");
	$q->('CHECKPOINT');
	return;
}

my $position = q{SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'slot'};
my $before = $q->($position);
damage($slot);
advance('slot');
clean('a slot advanced');
is($q->("SELECT ($position) - '$before'"), '1', 'a slot advanced: by one byte');
restarts('a slot advanced');

$q->('CHECKPOINT');
$q->(q{SELECT pg_replication_slot_advance('slot', pg_current_wal_lsn())});
damage($slot);
advance('slot') foreach 1 .. 2;
clean('a slot at the end of WAL: the second time at the latest');

my $changes = q{SELECT count(*), md5(string_agg(data, '' ORDER BY lsn)) FROM pg_logical_slot_peek_binary_changes('logical', NULL, NULL,
	'proto_version', '1', 'publication_names', 'changes')};
$q->('INSERT INTO t VALUES (5)');
$before = $q->($changes);
like($before, qr/^[1-9]/, 'a logical slot: its reader is late');
damage($logical);
found($logical, $advance_slot, 'a logical slot');
advance('logical');
clean('a logical slot');
is($q->($changes), $before, 'a logical slot: no change is lost');
restarts('a logical slot');
is($q->($changes), $before, '... after the restart');
$q->(q{SELECT pg_drop_replication_slot('logical')});

unlink "$data/$slot";
found($slot, "make the slot's folder if it is gone, too; then $advance_slot", 'a slot without a file');
advance('slot');
clean('a slot without a file');

unlink "$data/$slot";
rmdir "$data/pg_replslot/slot" or die $!;
found($slot, q{make the slot's folder}, 'a slot without a folder');
mkdir "$data/pg_replslot/slot", 0700;
$q->(q{SELECT pg_drop_replication_slot('slot')});
clean('a slot without a folder');

damage('pg_replslot/spare/state');
$q->(q{SELECT pg_drop_replication_slot('spare')});
clean('a slot dropped');
mkdir "$data/pg_replslot/left", 0700;
AccelWal::put("$data/pg_replslot/left/state", 'half');
found('pg_replslot/left/state', 'move its folder out of pg_replslot', 'what is left of a slot');
rename "$data/pg_replslot/left", "$data/../left" or die $!;
restarts('what is left of a slot');

# REPACK has a slot in a place of its own: no leftover.  It waits for the
# prepared transactions here.
if (int($node->pg_version) >= 19)
{
	$q->('CREATE TABLE packed (a int PRIMARY KEY)');
	my $repack = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'REPACK (CONCURRENTLY) packed' ], '>', \my $out, '2>', \my $err);
	my $files = q{SELECT count(*) FROM pg_ls_dir('pg_replslot') d WHERE d ~ '^pg_repack_'};
	ok($node->poll_query_until('postgres', $files, '1'), 'REPACK (CONCURRENTLY) has a slot');
	clean('REPACK (CONCURRENTLY)');
	$q->(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^REPACK' AND pid <> pg_backend_pid()});
	$repack->finish;
	ok($node->poll_query_until('postgres', $files, '0'), '... which goes with it');
}

# Prepared transactions
damage($prepared[0]);
found($prepared[0], 'put back the file of a standby or of a backup', 'a prepared transaction');
isnt($node->psql('postgres', q{COMMIT PREPARED 'kept'}), 0, 'a prepared transaction: it can not be committed');
AccelWal::put("$data/$prepared[0]", slurp_file("$backup/$prepared[0]"));
clean('a prepared transaction');
$node->restart;
$q->(q{COMMIT PREPARED 'kept'});
is($q->('SELECT count(*) FROM t WHERE a = 1'), '1', 'a prepared transaction: committed');

damage($prepared[1]);
found($prepared[1], 'put back the file of a standby or of a backup; without one, move it away before the server restarts, which loses the transaction',
	'another one');
rename "$data/$prepared[1]", "$data/../lost" or die $!;
restarts('another one, moved away');
is($q->('SELECT count(*) FROM pg_prepared_xacts'), '0', 'another one: lost');
is($q->('SELECT count(*) FROM t WHERE a = 2'), '0', '... as if rolled back');

# pg_control and the origins: the next checkpoint writes them
my $stale = slurp_file("$data/global/pg_control");
foreach my $path ('global/pg_control', 'pg_logical/replorigin_checkpoint')
{
	if ($path =~ /control/) { damage($path) } else { AccelWal::poke("$data/$path", 9, 'x') }
	found($path, 'run CHECKPOINT, then check again', $path);
	$q->('CHECKPOINT');
	clean($path);
}
AccelWal::put("$data/global/pg_control", $stale);
found('global/pg_control', 'run CHECKPOINT, then check again', 'an earlier pg_control');
$q->('CHECKPOINT');
clean('an earlier pg_control');

# The map of a database that nobody is connected to
damage($map);
found($map, 'put back the file of a standby or of a backup', 'a map');
ok(!Accel::accepts($node, 'idle'), 'a map: nobody can connect');
AccelWal::put("$data/$map", slurp_file("$backup/$map"));
clean('a map');
restarts('all of them');
is($node->safe_psql('idle', 'SELECT count(*) > 0 FROM pg_class'), 't', 'a map: the database is there');
$node->stop;
done_testing();
