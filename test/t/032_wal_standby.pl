# WAL of a standby, through promotion, and in an archive with two timelines.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $archive = PostgreSQL::Test::Utils::tempdir();
my $primary = Accel::new_node(
	'primary',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => qq{
wal_keep_size = 512MB
autovacuum = off
archive_mode = on
archive_command = 'test ! -f "$archive/%f" && cp "%p" "$archive.%f" && mv "$archive.%f" "$archive/%f"'
});
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CREATE TABLE t (id int, filler text)');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
Accel::configure($standby);
$standby->start;

my $bad = q{status NOT IN ('ok', 'ok_switched', 'ok_end_of_wal', 'ok_recycled', 'ok_unused', 'ok_partial') OR findings > 0};

sub nothing_reported
{
	my ($node, $call, $title) = @_;
	is($node->safe_psql('postgres', "SELECT string_agg(w::text, E'\\n') FROM $call w WHERE $bad"),
		'', $title);
	return;
}

sub statuses
{
	my ($node, $call) = @_;
	return $node->safe_psql('postgres',
		"SELECT string_agg(substr(segment, 8, 1) || '/' || substr(segment, 23) || ' ' || status, ', ') FROM $call WHERE status NOT IN ('ok_recycled', 'ok_unused')");
}

$primary->safe_psql('postgres', q{
	INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(1, 20000) g;
	SELECT pg_switch_wal();
	INSERT INTO t SELECT g, repeat('y', 200) FROM generate_series(1, 2000) g});
$primary->wait_for_catchup($standby);

# --- streaming ---------------------------------------------------------------

nothing_reported($standby, 'verify_wal()', 'standby: nothing reported');
is( $standby->safe_psql('postgres',
		q{SELECT end_lsn >= pg_last_wal_replay_lsn() - 2 * current_setting('wal_block_size')::int FROM verify_wal() WHERE status = 'ok_end_of_wal'}),
	't', 'standby: the log ends where it was replayed to');
is( $standby->safe_psql('postgres',
		"SELECT count(*) FROM verify_wal(start_lsn => (SELECT min(start_lsn) FROM verify_wal() WHERE status LIKE 'ok%'))"),
	$standby->safe_psql('postgres', "SELECT count(*) FROM verify_wal() WHERE status LIKE 'ok%'"),
	'standby: a range up to the end');
is( $standby->safe_psql('postgres', q{SELECT count(*) FROM verify_wal() WHERE status = 'ok' AND skipped_bytes > 0}),
	0, 'standby: nothing skipped');

# received, but held back from replay
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$primary->safe_psql('postgres', q{INSERT INTO t SELECT g, repeat('z', 200) FROM generate_series(1, 12000) g});
$primary->wait_for_catchup($standby, 'write', $primary->lsn('flush'));
nothing_reported($standby, 'verify_wal()', 'replay paused: nothing reported');
is( $standby->safe_psql('postgres',
		q{SELECT max(end_lsn) >= pg_last_wal_receive_lsn() - 2 * current_setting('wal_block_size')::int FROM verify_wal() WHERE status LIKE 'ok%'}),
	't', 'replay paused: judged up to what was received');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$primary->wait_for_catchup($standby);

# --- promotion ---------------------------------------------------------------

$standby->promote;
$standby->safe_psql('postgres', q{INSERT INTO t SELECT g, 'new timeline' FROM generate_series(1, 3000) g});
nothing_reported($standby, 'verify_wal()', 'promoted: nothing reported');
my $list = statuses($standby, 'verify_wal()');
like($list, qr{2/.. ok_end_of_wal$}, 'promoted: the log ends on the new timeline');
like($list, qr{1/\w\w(?:\.partial ok_partial| ok_end_of_wal|), 2/},
	'promoted: the old timeline ends where it was left');
is( $standby->safe_psql('postgres',
		q{SELECT max(end_lsn) BETWEEN (SELECT pg_current_wal_flush_lsn()) - 2 * current_setting('wal_block_size')::int AND pg_current_wal_insert_lsn() FROM verify_wal() WHERE timeline_id = 2 AND status LIKE 'ok%'}),
	't', 'promoted: up to the flush position');
my $copy = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($standby->data_dir . '/pg_wal', $copy);
mkdir "$copy/archive_status";
nothing_reported($standby, "verify_wal('$copy')", 'copy of the new pg_wal: nothing reported');
my $start = $standby->safe_psql('postgres',
	"SELECT min(start_lsn) FROM verify_wal('$copy') WHERE timeline_id = 2 AND status LIKE 'ok%'");
is( AccelWal::number($standby->safe_psql('postgres',
			"SELECT max(end_lsn) FROM verify_wal('$copy') WHERE timeline_id = 2 AND status LIKE 'ok%'")),
	AccelWal::waldump_end($standby, $copy, $start, 2, $MB),
	'copy of the new pg_wal: it ends where pg_waldump stops');

# --- an archive with both ----------------------------------------------------

my $switched = $standby->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
$standby->safe_psql('postgres', 'CHECKPOINT');
$standby->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver WHERE last_archived_wal NOT LIKE '%history'")
  or die 'not archived';
nothing_reported($standby, "verify_wal('$archive')", 'archive of two timelines: nothing reported');
my $archived = statuses($standby, "verify_wal('$archive')");
like($archived, qr{1/\w\w ok.*2/\w\w ok}, 'archive of two timelines: both there');
my $switch = $standby->safe_psql('postgres',
	"SELECT min(segment) FROM verify_wal('$archive') WHERE timeline_id = 2 AND segment NOT LIKE '%history'");
is($standby->safe_psql('postgres', "SELECT unverified_head_bytes FROM verify_wal('$archive', '$switch', '$switch')"),
	0, 'the record over the border between timelines is checked');

# the first page of the new timeline's first segment belongs to the old one
AccelWal::poke("$archive/$switch", 4, pack('L', 2));
is( $standby->safe_psql('postgres', "SELECT status || ' ' || file_offset FROM verify_wal_findings('$archive', '$switch')"),
	'corrupt 0', 'a timeline too new before the switch');
is($standby->safe_psql('postgres', "SELECT string_agg(segment, ' ') FROM verify_wal('$archive') WHERE status = 'corrupt'"), $switch,
	'a timeline too new before the switch: nothing else is corrupt');
AccelWal::poke("$archive/$switch", 4, pack('L', 1));
like($standby->safe_psql('postgres', "SELECT status || findings FROM verify_wal('$archive', '$switch', '$switch')"),
	qr/^ok(_switched)?0$/, 'and right again');

# a gap
my @ones = split /\n/, $standby->safe_psql('postgres', "SELECT segment FROM verify_wal('$archive') WHERE timeline_id = 1 AND segment !~ 'partial'");
unlink "$archive/$ones[2]";
is( $standby->safe_psql('postgres', "SELECT segment || ' ' || status || ' ' || findings FROM verify_wal('$archive') WHERE status = 'missing'"),
	"$ones[2] missing 1", 'a gap');
is( $standby->safe_psql('postgres', "SELECT unverified_head_bytes > 0 OR records > 0 FROM verify_wal('$archive', '$ones[3]', '$ones[3]')"),
	't', 'the segment behind a gap is judged');

$standby->stop;
$primary->stop;
done_testing();
