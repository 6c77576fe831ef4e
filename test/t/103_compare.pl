# docs/examples/compare.sql compares a primary with its standby, by dblink and by
# postgres_fdw: what either disk lost is named with its side, nothing is found of
# copies that are sound, and restore_block() repairs the primary by the page of
# the standby.
use strict;
use warnings;
use Accel;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

Accel::need_modules('dblink', 'postgres_fdw');

my $examples = -d 'docs/examples' ? 'docs/examples' : "$ENV{ACCEL_TOP}/docs/examples";
my $primary = Accel::new_node('primary', allows_streaming => 1, conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
CONF
$primary->start;

sub query
{
	return $primary->safe_psql('postgres', shift);
}

query(<<"SQL");
CREATE SCHEMA checks;
CREATE EXTENSION crc32c_accel SCHEMA checks;
ALTER DATABASE postgres SET search_path = public, checks;
$Ledger::relations
CREATE MATERIALIZED VIEW mv AS SELECT id, word FROM t;
CREATE UNLOGGED TABLE u AS SELECT p FROM t;
CREATE SEQUENCE s;
SELECT nextval('s') FROM generate_series(1, 40);
SQL
my $standby = PostgreSQL::Test::Cluster->new('standby');
$primary->backup('standby');
$standby->init_from_backup($primary, 'standby', has_streaming => 1);
$standby->start;

# Both have the same on disk.
sub meet
{
	query('CHECKPOINT');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$standby->safe_psql('postgres', 'CHECKPOINT');
	return;
}

sub install
{
	my (@how) = @_;

	command_ok([ 'psql', '-Xq', '-d', $primary->connstr('postgres'), @how, '-f', "$examples/compare.sql" ], "compare.sql with $how[1]");
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

sub findings
{
	my ($relation) = @_;

	return query("SELECT blkno, side, status FROM compare.with_standby('$relation') WHERE status <> 'not_verifiable'");
}

sub reasons
{
	my ($relation) = @_;

	return query("SELECT message FROM compare.with_standby('$relation') WHERE status = 'not_verifiable'");
}

# Each relation in a transaction of its own, so that no lock is held for long.
sub compare_all
{
	my ($what) = @_;
	my @relations = split /\n/, query("SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm', 'S') AND relpersistence = 'p'");
	my $statements = join '', map { "SELECT '$_', * FROM compare.with_standby('$_') WHERE status <> 'not_verifiable';\n" } @relations;

	cmp_ok(@relations, '>', 100, @relations . ' relations');
	is(query($statements), '', $what);
	return;
}

# Commits flush WAL, which an idle server leaves in memory for some seconds.
my ($commits, $out, $err);
sub begin_commits
{
	$commits = IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres') ],
		'<', \"SELECT pg_logical_emit_message(true, 'commit', '') \\watch 0.2", '>', \$out, '2>', \$err);
	return;
}
begin_commits();

my $toast = query("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");
my @connection = ($standby->host, $standby->port);

sub test_all
{
	my (@how) = @_;

	query('DROP SCHEMA IF EXISTS compare CASCADE');
	install(@how);
	query("UPDATE t SET k = k + 1 WHERE id % 7 = 0; VACUUM t; SELECT nextval('s')");
	meet();
	compare_all('nothing is found of copies that are sound') if $how[1] =~ /^standby/;
	is(reasons('t'), '', 'all blocks are judged');
	is(reasons('u'), 'unlogged, without storage, or of an access method of an extension', 'an unlogged table');

	is(query("BEGIN; SELECT FROM compare.with_standby('t_gin');
		SELECT count(*) FROM pg_locks WHERE relation IN ('t'::regclass, 't_gin'::regclass) AND mode = 'AccessShareLock'; COMMIT"),
		2, 'a table and its index stay locked');

	# What is in memory alone is no finding.
	query("UPDATE t SET k = k + 1 WHERE id < 500; SELECT nextval('s') FROM generate_series(1, 100)");
	query('CHECKPOINT');
	is(findings($_), '', "$_: in flight") foreach 't', 't_btree', 's';
	like(reasons('t'), qr/^\d+ blocks: changed after the redo point/, 'which is said');
	meet();
	is(findings('t') . reasons('t'), '', 'until both have written');

	# Lost writes of the standby
	my %path = map { $_ => Ledger::path($primary, $_) } 't', 't_btree', 't_gin', 's', 'mv', $toast;
	my %old = map { $_ => Ledger::page($standby, $path{$_}, 0) } qw(t s);
	query("UPDATE t SET k = -1 WHERE ctid >= '(0,0)' AND ctid < '(1,0)'; SELECT nextval('s') FROM generate_series(1, 100)");
	meet();
	my %good = map { $_ => slurp_file($standby->data_dir . "/$path{$_}") } keys %path;
	my $blocks = length($good{t_btree}) / 8192;
	my $other = substr($good{mv}, 0, 8192);
	substr($other, 8160, 32) ^= "\x01" x 32;
	$other = Ledger::sealed($primary, $other, 0);
	Ledger::while_stopped($standby, sub {
		Ledger::put($standby, $path{$_}, 0, $old{$_}) foreach keys %old;
		Ledger::cut($standby, $path{t_btree}, $blocks - 1);
		Ledger::put($standby, $path{t_gin}, 3, "\0" x 8192);
		Ledger::put($standby, $path{$toast}, 1, 'x' x 8192);
		Ledger::put($standby, $path{mv}, 0, $other);
	});
	is(findings('t'), '0|standby|stale_page', 'the standby has lost a write of a table');
	is(findings('s'), '0|standby|stale_page', 'of a sequence');
	is(findings('t_btree'), $blocks - 1 . '|standby|gone', 'and the end of an index');
	is(findings('t_gin'), '3|standby|gone', 'a block of zeros');
	is(findings('mv'), '0||diverged', 'the same LSN, other contents');
	is(findings($toast) . reasons($toast), '1 blocks: damaged, see verify_relation()', 'damage is not compared');
	is(query("SELECT primary_lsn > standby_lsn, message FROM compare.with_standby('t')"),
		't|the page on the disk of the standby is older: a write was lost', 'with its LSNs');

	# The next change of the page after a checkpoint carries it to the standby.
	Ledger::while_stopped($standby, sub {
		Ledger::put($standby, $path{$_}, 0, $good{$_}) foreach grep { $_ ne 't' } keys %good;
	});
	is(findings('t'), '0|standby|stale_page', 'a page of the standby that is old still');
	query("CHECKPOINT; UPDATE t SET k = -2 WHERE ctid IN (SELECT ctid FROM t WHERE ctid < '(1,0)' LIMIT 1)");
	meet();
	is(findings($_), '', "an image in the WAL heals the standby: $_") foreach keys %path;

	# Lost writes of the primary, and the repair by the page of the standby
	$old{$_} = Ledger::page($primary, $path{$_}, $_ eq 't' ? 2 : 0) foreach qw(t s);
	my $row = query("SELECT ctid FROM t WHERE ctid > '(2,0)' AND ctid < '(3,0)' LIMIT 1");
	meet();
	query("DELETE FROM t WHERE ctid = '$row'; SELECT nextval('s') FROM generate_series(1, 100)");
	meet();
	$commits->kill_kill;
	Ledger::while_stopped($primary, sub {
		Ledger::put($primary, $path{t}, 2, $old{t});
		Ledger::put($primary, $path{s}, 0, $old{s});
		Ledger::put($primary, $path{t_btree}, 5, 'x' x 8192);
	});
	begin_commits();
	$standby->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'") or die;
	is(findings('t'), '2|primary|stale_page', 'the primary has lost a write of a table');
	is(findings('s'), '0|primary|stale_page', 'of a sequence');
	is(query("SELECT blkno, r.status FROM compare.with_standby('t'), restore_block('t', 'main', blkno, compare.standby_page('t', blkno)) r"),
		'2|restored', 'restore_block() writes the page of the standby');
	is(query("SELECT blkno, r.status FROM compare.with_standby('s'), restore_block('s', 'main', blkno, compare.standby_page('s', blkno)) r"),
		'0|restored', 'and that of a sequence');
	is(query("SELECT v.blkno, r.status FROM verify_relation('t_btree') v,
		restore_block('t_btree', 'main', v.blkno, compare.standby_page('t_btree', v.blkno), allow_unproven => true) r"),
		'5|restored', 'and over a damaged block');
	is(query("SELECT count(*) FROM t WHERE ctid = '$row'"), 0, 'what was deleted is so');
	meet();
	compare_all('nothing is found of what was restored');
	return;
}

test_all('-v', "standby=host=$connection[0] port=$connection[1] dbname=postgres");
query("CREATE EXTENSION postgres_fdw; CREATE SERVER standby FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$connection[0]', port '$connection[1]', dbname 'postgres'); CREATE USER MAPPING FOR PUBLIC SERVER standby");
test_all('-v', 'server=standby');

# What is not a primary with its standby
my ($code, undef, $stderr) = $standby->psql('postgres', "SELECT * FROM compare.with_standby('t')");
like($stderr, qr/this server is not a primary/, 'not on a standby');
$standby->promote;
($code, undef, $stderr) = $primary->psql('postgres', "SELECT * FROM compare.with_standby('t')");
like($stderr, qr/or the other one no standby of it/, 'nor with a server that was promoted');
$commits->kill_kill;
$standby->stop;
$primary->stop;
done_testing();
