# A log with eleven timelines, across a border of 4 GB: whole, with parts taken
# out, with files between it that are none of its segments.
use strict;
use warnings;
use Accel;
use AccelWal;
use Cwd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $newest = 11;	# more than what is allocated at first, for histories and for their entries
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1,
	conf => "autovacuum = off\nwal_keep_size = 1GB\nmax_wal_size = 1GB\ncheckpoint_timeout = 1h\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }

$node->start;
sql('CREATE EXTENSION crc32c_accel; CREATE TABLE t (i int)');	# its WAL is of any size
$node->stop;
system_or_bail('pg_resetwal', '-l', '000000010000000000000FFC', '-D', $node->data_dir);
$node->start;
my $start = sql('SELECT pg_current_wal_insert_lsn()');
for my $timeline (2 .. $newest)
{
	sql("INSERT INTO t SELECT g FROM generate_series(1, 2000) g; SELECT pg_switch_wal();
		INSERT INTO t SELECT g FROM generate_series(1, 500) g");
	$node->set_standby_mode();
	$node->restart;
	$node->promote;
}
sql('INSERT INTO t SELECT g FROM generate_series(1, 2000) g; SELECT pg_switch_wal();
	INSERT INTO t VALUES (1)');
my $last = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');

# where each timeline was left
sql('CREATE TABLE switched (parent int, switched pg_lsn)');
foreach (split /\n/, slurp_file($node->data_dir . sprintf('/pg_wal/%08X.history', $newest)))
{
	sql("INSERT INTO switched VALUES ($1, '$2')") if /^(\d+)\s+(\S+)/;
}

my $segments = q{SELECT string_agg(CASE WHEN w.segment LIKE '%%.history' THEN substr(w.segment, 7) ELSE substr(w.segment, 7, 2) || '/' || substr(w.segment, 13, 4) || substr(w.segment, 22) END || ' ' || w.status, ', ') FROM };
my $whole = "$segments verify_wal('%s') w WHERE w.status NOT LIKE 'ok%%'";
my $range = "$segments verify_wal('%s', start_lsn => '$start') w WHERE w.status NOT LIKE 'ok%%'";

# Timeline 12 of a recovery along timeline 11 that ended in the second page of the
# segment in which timeline 9 was left later: what the server writes into the
# history file then (recovery_target_timeline = 'latest').
sub branch_off
{
	my $name = '0000000C0000000100000005';
	AccelWal::put($name, slurp_file('0000000A0000000100000005'));
	foreach my $page (map { $_ * $wal_blcksz } 2 .. 1024 * 1024 / $wal_blcksz - 1)	# zeros follow the switch
	{
		AccelWal::poke($name, $page + 4, pack('L', 12)) if AccelWal::peek($name, $page, 2) ne "\0\0";
	}
	AccelWal::put('0000000C.history', slurp_file('0000000B.history') . sprintf("11\t1/50%04X\tafter LSN 1/50%04X\n", $wal_blcksz + 16, $wal_blcksz));
	return;
}

# [title, what is done in a copy of pg_wal, query, expected]
my $copies = PostgreSQL::Test::Utils::tempdir();
my $number = 0;
foreach my $case (
	[ 'intact', sub { }, $whole, '' ],
	[ 'intact, a range', sub { }, $range, '' ],
	[ 'the path of a range', sub { }, "SELECT string_agg(timeline_id::text, ' ') FROM verify_wal('%s', start_lsn => '$start')",
		'1 2 3 4 5 6 7 8 9 10 11' ],
	[ 'the path to an older timeline', sub { }, "$segments verify_wal('%s', start_lsn => '$start', timeline_id => 3) w",
		'01/0000FFC ok_switched, 02/0000FFD ok_switched, 03/0000FFE ok_switched, 03/0000FFF ok_end_of_wal' ],
	[ 'a timeline that nothing is known of', sub { }, "$segments verify_wal('%s', start_lsn => '$start', timeline_id => 99) w", '63/0000FFC missing' ],
	[ 'a range within one record', sub { }, "$segments verify_wal('%s', start_lsn => '$start', end_lsn => '$start') w", '01/0000FFC ok_switched' ],
	[ 'the first of a timeline is gone', sub { unlink '000000050000000100000000' }, $whole, '05/0001000 missing' ],
	[ 'the first of a timeline is gone, a range', sub { unlink '000000050000000100000000' }, $range, '05/0001000 missing' ],
	[ 'the first of a timeline is gone, a range up to it', sub { unlink '000000050000000100000000' },
		"$segments verify_wal('%s', start_lsn => '$start', end_lsn => (SELECT t.switched FROM switched t WHERE parent = 4)) w WHERE w.status NOT LIKE 'ok%%'", '' ],
	[ 'the first of a timeline is gone, a range into it', sub { unlink '000000050000000100000000' },
		"$segments verify_wal('%s', start_lsn => '$start', end_lsn => (SELECT t.switched + 1 FROM switched t WHERE parent = 4)) w WHERE w.status NOT LIKE 'ok%%'", '05/0001000 missing' ],
	[ 'a timeline between is gone', sub { unlink glob('00000006*[0-9]') }, $whole, '06/0001001 missing' ],
	[ 'timelines between are gone', sub { unlink glob('0000000[67]*[0-9]') }, $whole, '06/0001001 missing, 07/0001002 missing' ],
	[ 'a timeline between is gone, a range', sub { unlink glob('00000006*[0-9]') }, $range, '06/0001001 missing' ],
	[ 'old segments are removed, by number', sub {
			foreach my $name (grep { /^[0-9A-F]{24}$/ } glob('*')) { unlink $name if substr($name, 8) le '0000000100000002' }
			}, $whole, '' ],
	[ 'a segment is gone', sub { unlink glob('0000000[45]0000000100000000') }, $whole, '05/0001000 missing' ],
	[ 'a segment is gone, a range', sub { unlink glob('0000000[45]0000000100000000') }, $range, '05/0001000 missing' ],
	[ 'the first is named and not there', sub { }, "$segments verify_wal('%s', '000000010000000000000FF9') w WHERE w.status NOT LIKE 'ok%%'", '01/0000FF9 missing, 01/0000FFA missing, 01/0000FFB missing' ],
	[ 'the last is named and not there', sub { }, "$segments verify_wal('%s', NULL, '0000000B0000000100000009') w WHERE w.status NOT LIKE 'ok%%'", '0B/0001007 missing, 0B/0001008 missing, 0B/0001009 missing' ],
	[ 'none of those named is there', sub { }, "$segments verify_wal('%s', '000000010000000000000F00', '000000010000000000000F02') w", '01/0000F00 missing, 01/0000F01 missing, 01/0000F02 missing' ],
	[ 'nothing from the first named on', sub { }, "$segments verify_wal('%s', '0000000B0000000200000000') w", '0B/0002000 missing' ],
	[ 'named bounds on different timelines', sub { }, "$segments verify_wal('%s', '000000020000000000000FFF', '000000030000000000000FFE') w", '03/0000FFE ok_switched' ],
	[ 'other files', sub {
			AccelWal::put($_, 'x') foreach ('something.histor', '00000001.history', 'zzzzzzzz.history',
				'000000020000000000000FFE.00000028.backup', 'README');
			mkdir '00000013.history';
			}, $whole, '13.history not_verifiable, 02/0000FFE.00000028.backup corrupt' ],
	[ 'compressed', sub {
			rename('000000020000000000000FFE', '000000020000000000000FFE.gpg');
			AccelWal::poke('000000020000000000000FFE.gpg', 0, 'Salted__');
			rename('000000030000000000000FFE', '000000030000000000000FFE.partial');
			}, $whole, '02/0000FFE.gpg not_verifiable' ],
	[ 'no regular files', sub {
			unlink('000000020000000000000FFE', '000000030000000000000FFE', '000000040000000000000FFF', '000000040000000100000000');
			mkdir '000000020000000000000FFE';
			symlink('nowhere', '000000030000000000000FFE');
			symlink('000000040000000000000FFF', '000000040000000000000FFF');
			AccelWal::put('000000040000000100000000', '');
			chmod 0, '000000040000000100000000';
			}, $whole, '02/0000FFE not_verifiable, 03/0000FFE missing, 04/0000FFF not_verifiable, 04/0001000 not_verifiable' ],
	[ 'a history with comments', sub {
			my $text = slurp_file('0000000B.history');
			unlink '0000000B.history';
			AccelWal::put('0000000B.history', "# comment\n\n$text\n# end\n");
			}, $range, '' ],
	[ 'an unreadable history', sub { chmod 0, '0000000B.history' }, $range, join(', ', map { sprintf('0B/%07X missing', $_) } 0xFFC .. 0x1005) ],
	[ 'an empty history', sub { unlink '0000000B.history'; AccelWal::put('0000000B.history', '') }, $range, join(', ', map { sprintf('0B/%07X missing', $_) } 0xFFC .. 0x1005) ],
	[ 'a history that is none', sub { unlink '0000000B.history'; AccelWal::put('0000000B.history', "\0" x 100000) }, $range, join(', ', map { sprintf('0B/%07X missing', $_) } 0xFFC .. 0x1005) ],
	[ 'no histories', sub { unlink glob('*.history') }, $whole, '01/0000FFD corrupt, 02/0000FFE corrupt, 03/0000FFF corrupt, 04/0001000 corrupt, 05/0001001 corrupt, 06/0001002 corrupt, 07/0001003 corrupt, 08/0001004 corrupt, 09/0001005 corrupt, 0A/0001006 corrupt, ' . join(', ', map { sprintf('%02X.history missing', $_) } 2 .. 11) ],
	[ 'recovered to before a switch point', \&branch_off, $whole, '' ],
	[ 'recovered to before a switch point, a range', \&branch_off, "$segments verify_wal('%s', start_lsn => '$start') w WHERE w.timeline_id > 8",
		'09/0001004 ok_switched, 0C/0001005 ok_switched' ],
	[ 'an empty directory', sub { unlink glob('*') }, "SELECT string_agg(w::text, '') FROM verify_wal('%s') w",
		'(,,,,not_verifiable,f,,0,0,0,0,0,0,0,0,,,"none of the 0 entries of the directory is named as a WAL segment",)' ],
	[ 'an empty directory, a range', sub { unlink glob('*') }, $range, '01/0000FFC missing' ])
{
	my ($title, $change, $query, $want) = @$case;
	my $copy = "$copies/" . ++$number;
	AccelWal::copy_files($node->data_dir . '/pg_wal', $copy);
	unlink "$copy/$last";	# still written to
	my $here = Cwd::getcwd();
	chdir $copy;
	$change->();
	chdir $here;
	my $got = sql(sprintf($query, $copy));
	ref $want ? like($got, $want, $title) : is($got, $want, $title);
}

# --- histories without end ----------------------------------------------------

# Memory is bounded over all of them; the peak of a session is counted by the
# kernel.
my $many = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($node->data_dir . '/pg_wal', $many);
unlink "$many/$last";
AccelWal::put("$many/00000100.history", "1\t0/1\n" x 590000);
link "$many/00000100.history", sprintf('%s/%08X.history', $many, $_) foreach 0x101 .. 0x140;
my $peak = q{SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::bigint};
my ($from, $rows, $to) = split /\n/, sql("$peak; SELECT count(*) > 10 FROM verify_wal('$many'); $peak");
is($rows, 't', 'long histories: verified');
AccelWal::put("$many/00000100.history", "1\t0/1\n" x 700000);
is(sql("SELECT status || ' ' || message FROM verify_wal('$many') WHERE segment = '00000140.history'"), 'not_verifiable the file has more than 4194304 bytes',
	'long histories: how long they may be');
cmp_ok($to - $from, '<', 100000, 'long histories: memory is bounded (kB)');

# A file of the first timeline, one of the last, and as many segments between them
# as a history file makes up: a thousand per timeline.
my $gaps = PostgreSQL::Test::Utils::tempdir();
AccelWal::put("$gaps/000000010000000000000001", '');
AccelWal::put("$gaps/00001388000005000000000A", '');
AccelWal::put("$gaps/00001388.history", join('', map { sprintf("%d\t%X/%X\n", $_, $_ * 1000 >> 12, ($_ * 1000 & 4095) << 20) } 1 .. 4999));
($from, $rows, $to) = split /\n/, sql("$peak; SELECT count(*) BETWEEN 100000 AND 110000 FROM verify_wal('$gaps') WHERE status = 'missing'; $peak");
is($rows, 't', 'long gaps: each has a row');
cmp_ok($to - $from, '<', 100000, 'long gaps: memory is bounded (kB)');

# --- in pg_wal ----------------------------------------------------------------

is(sql($whole =~ s/'%s'//r =~ s/%%/%/r), '', 'live: nothing is reported');
sql(q{ALTER SYSTEM SET wal_keep_size = 0; ALTER SYSTEM SET max_wal_size = '2MB'; SELECT pg_reload_conf()});
# (in another session: the server knows it by then)
sql(q{INSERT INTO t SELECT g FROM generate_series(1, 30000) g; SELECT pg_switch_wal(); CHECKPOINT;
	SELECT pg_switch_wal(); CHECKPOINT});
is(sql(q{SELECT min(segment) > '0000000B0000000100000006' FROM verify_wal() WHERE status LIKE 'ok%'}),
	't', 'live: old segments are removed');
is(sql(q{SELECT count(*) FROM verify_wal() WHERE status NOT LIKE 'ok%' AND status NOT IN ('ok_recycled', 'ok_unused', 'ok_removed_during_scan')}),
	'0', 'live: what was removed by right is not missing');

# unless it is asked for, before a restart and after
sub asked_for
{
	my ($title) = @_;
	my $missing = "SELECT string_agg(segment || ' ' || status, ', ') FROM (SELECT segment, status FROM";
	is(sql("$missing verify_wal(start_lsn => '$start', end_lsn => '$start') LIMIT 1) w"), '000000010000000000000FFC missing', "$title: a position");
	is(sql("$missing verify_wal(start_lsn => '1/600000') LIMIT 2) w"), '0000000B0000000100000006 missing, 0000000B0000000100000007 missing', "$title: from a position on");
	is(sql("$missing verify_wal(start_lsn => '1/600000', end_lsn => '1/700000', timeline_id => 99) LIMIT 1) w"), '000000630000000100000006 missing', "$title: of no timeline here");
	is(sql("$missing verify_wal(NULL, '0000000B0000000100000006') LIMIT 1) w"), '0000000B0000000100000006 missing', "$title: by a first name");
	is(sql("$missing verify_wal(NULL, '0000000B0000000100000005', '0000000B0000000100000006')) w"), '0000000B0000000100000005 missing, 0000000B0000000100000006 missing', "$title: by both names");
	is(sql("SELECT count(*) FROM verify_wal(start_lsn => '2/0')"), '0', "$title: behind the end of WAL nothing is");
	return;
}
asked_for('removed');
$node->restart;
asked_for('after a restart');
$node->stop;
done_testing();
