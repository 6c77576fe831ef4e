# verify_lost_writes where timelines part: a standby that is promoted while the
# search runs, one that follows it, a server that was restored to a point in time
# and has WAL of the time after that in its archive.  No false finding, a clear
# word of what could not be judged, and lost writes of each timeline named.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Accel::fault_shim();
my $archive = PostgreSQL::Test::Utils::tempdir();
my $found = q{SELECT string_agg(concat_ws(' ', relation, fork, blkno, status, CASE WHEN relation IS NULL THEN regexp_replace(message, '[0-9A-F]+/[0-9A-F]+', 'LSN') END), ', ' ORDER BY relation::text, blkno) FROM verify_lost_writes(%s)};

my $primary = Accel::new_node('primary', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
checkpoint_timeout = 1h
wal_keep_size = 512MB
bgwriter_lru_maxpages = 0
archive_mode = on
archive_command = 'test ! -f "$archive/%f" && cp "%p" "$archive.%f" && mv "$archive.%f" "$archive/%f"'
CONF
$primary->start;
my $q = sub { return $primary->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE t (i int PRIMARY KEY, b text) WITH (fillfactor = 50);
INSERT INTO t SELECT g, repeat('x', 500) FROM generate_series(1, 100) g;
CREATE TABLE shrinks AS SELECT * FROM t;
VACUUM;
CHECKPOINT;
SQL
my $path = $q->("SELECT pg_relation_filepath('t')");
my $old = AccelWal::peek_block($primary->data_dir . "/$path", 1);
$primary->backup('base');

sub standby_of
{
	my ($name, $of) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'base');
	$node->enable_streaming($of);
	Accel::configure($node);
	Accel::start_under($shim, $node);
	return $node;
}

sub restart
{
	my ($node, $meanwhile) = @_;
	$node->stop('fast');
	$meanwhile->($node->data_dir . "/$path");
	Accel::start_under($shim, $node);
	return;
}

sub found
{
	my ($node, $arguments) = @_;
	return $node->safe_psql('postgres', sprintf $found, $arguments // '');
}

my $standby = standby_of('standby', $primary);
my $cascade = standby_of('cascade', $standby);
$q->("UPDATE t SET b = repeat('y', 500); DELETE FROM shrinks WHERE i > 10; VACUUM shrinks; CHECKPOINT");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$standby->wait_for_catchup($cascade, 'replay', $standby->lsn('replay'));
foreach my $node ($standby, $cascade)
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	is(found($node), '', $node->name . ': healthy');
	restart($node, sub { AccelWal::poke_block($_[0], 1, 0, $old) });
	is(found($node), 't main 1 stale_page', $node->name . ': a lost write');
}

# --- a promotion while the search runs -----------------------------------------

# A page is older than the WAL that was read.  What ended its storage since may be
# in WAL of the new timeline, which the search does not follow.
my $word = 'not_verifiable blocks that seem older than WAL before LSN cannot be judged: a new timeline began meanwhile';
my $promote = sub {
	$standby->promote;
	$standby->safe_psql('postgres', q{CREATE TABLE later AS SELECT g FROM generate_series(1, 10000) g; TRUNCATE shrinks; INSERT INTO shrinks SELECT g, 'new' FROM generate_series(1, 10) g});
	$standby->wait_for_catchup($cascade, 'replay', $standby->lsn('flush'));
};
SKIP:
{
	if (int($standby->pg_version) >= 19)
	{
		$promote->();
		skip 'a promotion waits for every session, one that a shim has stopped, too', 2;
	}
	my ($out, $err) = Accel::stopped_at($standby, 'read', 1, $path, sprintf($found, ''), sub {
		# the cascade's search, in the WAL that its upstream server leaves
		my ($below, $trouble) = Accel::stopped_at($cascade, 'read', 3, 'pg_wal/00000001', sprintf($found, ''), $promote);
		like("$below$trouble", qr{^(?:t main 1 stale_page|\Q$word\E)$}, 'a server upstream is promoted meanwhile: no false finding');
	});
	is("$out$err", $word, 'a standby is promoted meanwhile: said, and no finding');
}
is(found($standby), 't main 1 stale_page', 'promoted: the lost write is named');
$standby->safe_psql('postgres', 'CHECKPOINT');
$standby->wait_for_catchup($cascade, 'replay', $standby->lsn('flush'));
$cascade->safe_psql('postgres', 'CHECKPOINT');
is(found($cascade), 't main 1 stale_page', 'a standby that followed: named, too');

# Pages of both timelines
my $later = $standby->safe_psql('postgres', "SELECT pg_relation_filepath('later')");
foreach my $node ($standby, $cascade)
{
	restart($node, sub {
		AccelWal::poke_block($_[0], 2, 0, "\0" x $blcksz);
		AccelWal::poke_block($node->data_dir . "/$later", 3, 0, "\0" x $blcksz);
	});
	is(found($node), 'later main 3 zeroed_page, t main 1 stale_page, t main 2 zeroed_page', $node->name . ': of both timelines');
}
$_->stop('fast') foreach $cascade, $standby;

# --- restored to a point in time -------------------------------------------------

$q->("UPDATE t SET b = repeat('z', 500) WHERE i <= 50; SELECT pg_create_restore_point('here')");
$q->("UPDATE t SET b = repeat('n', 500); INSERT INTO t SELECT g, repeat('n', 500) FROM generate_series(101, 300) g; VACUUM t; CHECKPOINT");
my $switched = $q->('SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver");
$primary->stop('fast');

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($primary, 'base');
Accel::configure($restored);
$restored->append_conf('postgresql.conf', <<"CONF");
restore_command = 'cp "$archive/%f" "%p"'
recovery_target_name = 'here'
recovery_target_action = promote
recovery_target_timeline = 1
CONF
$restored->set_recovery_mode;
Accel::start_under($shim, $restored);
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is(found($restored), '', 'restored: nothing');
$restored->safe_psql('postgres', 'CREATE TABLE anew AS SELECT g FROM generate_series(1, 10000) g; CHECKPOINT');
$switched = $restored->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
$restored->poll_query_until('postgres', "SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver WHERE last_archived_wal !~ 'history'");
$restored->safe_psql('postgres', 'CHECKPOINT');
is(found($restored), '', 'restored: nothing in pg_wal');
is(found($restored, "'$archive'"), '', 'restored: the archive has WAL after that point, of another history: nothing');
my $anew = $restored->safe_psql('postgres', "SELECT pg_relation_filepath('anew')");
restart($restored, sub {
	AccelWal::poke_block($_[0], 1, 0, $old);
	AccelWal::poke_block($restored->data_dir . "/$anew", 3, 0, "\0" x $blcksz);
});
is(found($restored, "'$archive'"), 'anew main 3 zeroed_page, t main 1 stale_page', 'restored: lost writes of both timelines');
$restored->stop('fast');
done_testing();
