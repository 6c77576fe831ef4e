# Ranges of WAL: limits anywhere, in records, headers and on borders, over a
# switch of timelines, in an archive and in the server's own pg_wal.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	conf => "wal_level = replica\nwal_keep_size = 512MB\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CREATE TABLE t (id int, filler text)');

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub lsn { return sprintf("%X/%X", $_[0] / 2**32, $_[0] % 2**32); }
sub name { return sprintf('%08X%08X%08X', $_[1] // 1, $_[0] / 2**32, $_[0] % 2**32 / $MB); }

sql(q{
	INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(1, 6000) g;
	SELECT pg_logical_emit_message(false, 'over segments', repeat('y', 2500000));
	INSERT INTO t SELECT g, repeat('z', 200) FROM generate_series(1, 6000) g;
	SELECT pg_switch_wal();
	INSERT INTO t SELECT g, repeat('z', 200) FROM generate_series(1, 2000) g;
	SELECT pg_switch_wal();
	SELECT pg_logical_emit_message(true, 'x', 'x')});
my @names = split /\n/, sql(q{SELECT segment FROM verify_wal() WHERE status IN ('ok', 'ok_switched')});
copy($node->data_dir . "/pg_wal/$_", "$dir/$_") foreach @names;
my ($begin, $end) = map { AccelWal::number($_) }
  split /\|/, sql("SELECT min(start_lsn), max(start_lsn) + $MB FROM verify_wal('$dir')");

# Where its records are; the first segment's page-crossing and others.
my ($dump) = run_command([ 'pg_waldump', '-p', $dir, $names[0], $names[-1] ]);
my @records = map { m{len \(rec/tot\):\s*\d+/\s*(\d+),.*? lsn: ([0-9A-F]+/[0-9A-F]+),} ? { lsn => AccelWal::number($2), len => $1 } : () } split /\n/, $dump;
$_->{end} = AccelWal::record_end($_->{lsn}, $_->{len}, $MB) foreach @records;
my ($long) = grep { $_->{len} > 2_000_000 } @records;
my ($plain) = grep { $_->{lsn} > $begin + 3 * $MB / 2 && $_->{len} > 100 && $_->{lsn} % $wal_blcksz + $_->{len} < 8000 } @records;
my ($paged) = grep { $_->{lsn} > $begin + 3 * $MB / 2 && $_->{len} > 100 && $_->{lsn} % $wal_blcksz + $_->{len} > $wal_blcksz + 40 && $_->{len} < $wal_blcksz } @records;
ok($long && $plain && $paged, scalar(@records) . ' records');

my $border = $begin + 2 * $MB;
my %at = (
	'the first byte' => $begin,
	'a record\'s start' => $plain->{lsn},
	'in a record\'s header' => $plain->{lsn} + 10,
	'in a record' => $plain->{lsn} + 60,
	'a record\'s end' => $plain->{end},
	'in a record over pages' => $paged->{lsn} + 30,
	'in a page header' => int($paged->{lsn} / $wal_blcksz + 1) * $wal_blcksz + 10,
	'behind a page header' => int($paged->{lsn} / $wal_blcksz + 1) * $wal_blcksz + 24,
	'right before a border' => $border - 1,
	'a border' => $border,
	'right behind a border' => $border + 1,
	'in a long page header' => $border + 30,
	'in a record over segments' => $long->{lsn} + 3000,
	'in its next segment' => int($long->{lsn} / $MB + 1) * $MB + 5000,
	'in its last segment' => $long->{end} - 1000,
	'its end' => $long->{end},
	'in a zero tail' => $end - 100,
	'the end' => $end,
);
my $positions = join(', ', map { my $t = $_; $t =~ s/'/''/g; "('$t', '" . lsn($at{$_}) . "'::pg_lsn)" } sort keys %at);

# All pairs at once: the segments that must come, and nothing reported.
my $pairs = qq{WITH p(what, at) AS (VALUES $positions), r AS (
	SELECT a.what AS from_what, b.what AS to_what, a.at AS start, b.at AS stop,
		(SELECT coalesce(string_agg(v.segment, ' '), '') FROM verify_wal(%s, start_lsn => a.at, end_lsn => b.at, timeline_id => 1) v) AS segments,
		(SELECT string_agg(concat_ws(' ', v.segment, v.status, v.findings, v.first_finding_lsn, v.message), '; ')
			FROM verify_wal(%s, start_lsn => a.at, end_lsn => b.at, timeline_id => 1) v
			WHERE v.findings > 0 OR v.status NOT IN ('ok', 'ok_switched', 'ok_end_of_wal')) AS reported,
		(SELECT string_agg(upper('00000001' || lpad(to_hex(s::bigint >> 12), 8, '0') || lpad(to_hex(s::bigint & 4095), 8, '0')), ' ' ORDER BY s)
			FROM generate_series(div(a.at - '0/0', $MB), greatest(div(a.at - '0/0', $MB), div(b.at - '0/1', $MB))) s) AS expected
	FROM p a JOIN p b ON a.at <= b.at)
	SELECT %s FROM r};
# in its own pg_wal the last segment of the archive is followed by another one
foreach my $case ([ 'archive', "'$dir'" ], [ 'own pg_wal', 'NULL' ])
{
	my ($title, $folder) = @$case;
	my $inside = $title eq 'archive' ? " WHERE start < '" . lsn($end) . "'" : '';
	is(sql(sprintf($pairs, $folder, $folder, q{count(*)}) . $inside), (keys %at) * ((keys %at) + 1) / 2 - ($inside ? 1 : 0),
		"$title: all pairs of limits");
	is(sql(sprintf($pairs, $folder, $folder, q{string_agg(concat_ws(' | ', from_what, to_what, segments, expected), E'\n') FILTER (WHERE segments IS DISTINCT FROM expected)}) . $inside),
		'', "$title: the segments that hold the range, and no others");
	is(sql(sprintf($pairs, $folder, $folder, q{string_agg(concat_ws(' | ', from_what, to_what, reported), E'\n') FILTER (WHERE reported IS NOT NULL)}) . $inside),
		'', "$title: nothing reported");
}

# A damaged record counts if it lies in the range from its start to its end; in a
# segment that it goes on into, from there to its end.
foreach my $case ([ 'a record', $plain ], [ 'a record over pages', $paged ], [ 'a record over segments', $long ])
{
	my ($title, $record) = @$case;
	my $at = $record->{lsn} % $wal_blcksz + 26 < $wal_blcksz ? $record->{lsn} + 26 : $record->{end} - 9;
	my $file = "$dir/" . name($at);
	my $old = AccelWal::peek($file, $at % $MB, 1);
	AccelWal::poke($file, $at % $MB, chr(ord($old) ^ 4));
	my $last_border = int(($record->{end} - 1) / $MB) * $MB;
	my $lsn = lsn($last_border > $record->{lsn} ? $last_border : $record->{lsn});
	is( sql(sprintf($pairs, "'$dir'", "'$dir'", qq{string_agg(concat_ws(' | ', from_what, to_what, reported), E'\n')
			FILTER (WHERE (reported IS NOT NULL) <> (start <= '$lsn' AND stop >= '} . lsn($record->{end}) . q{'))})
			  . " WHERE start < '" . lsn($end) . "'"),
		'', "$title damaged: reported where it lies in the range, only there");
	AccelWal::poke($file, $at % $MB, $old);
}

# --- open ends, nothing there, bad arguments --------------------------------------

sub state
{
	my ($query) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");
	return $err =~ /ERROR:  (\w+)/ ? $1 : "rows: $out";
}
my $columns = "string_agg(segment || ' ' || status || ' ' || findings, ', ')";
sub range	# start, end, timeline
{
	my ($start, $end, $timeline) = @_;
	return sql("SELECT $columns FROM verify_wal('$dir', start_lsn => $start, end_lsn => $end, timeline_id => $timeline)");
}
my ($first, $beyond) = (lsn($begin), lsn($end + 5 * $MB));
is(sql("SELECT count(*) FROM verify_wal('$dir', start_lsn => '$first', timeline_id => 1)"), scalar(@names), 'no end: as far as there are');
is(range("'$beyond'", 'NULL', 1), name($end + 5 * $MB) . ' missing 1', 'beyond the end of an archive: missing');
is(range("'$beyond'", "'$beyond'", 1), name($end + 5 * $MB) . ' missing 1', 'beyond the end, empty');
is(range("'" . lsn($end - 1) . "'", "'" . lsn($end + 1) . "'", 1),
	"$names[-1] ok_switched 0, " . name($end) . ' missing 1', 'over the end of an archive');
is(range("'FFFFFFFF/0'", 'NULL', 'NULL'), '00000001FFFFFFFF00000000 missing 1', 'the last positions of all');
is(range("'0/0'", "'0/0'", 1), '000000010000000000000000 missing 1', 'nothing of nothing');
is(sql("SELECT count(*) FROM verify_wal(start_lsn => pg_current_wal_flush_lsn(), end_lsn => pg_current_wal_flush_lsn()) WHERE findings = 0"),
	1, 'own pg_wal: the flush position');
is(sql("SELECT count(*) FILTER (WHERE findings > 0 OR status = 'missing') FROM verify_wal(start_lsn => '$beyond')"),
	0, 'own pg_wal: beyond its end nothing is expected');
is(state("SELECT * FROM verify_wal(start_lsn => '0/2', end_lsn => '0/1')"), '22023', 'upside down');
is(state("SELECT * FROM verify_wal(start_lsn => '0/1', end_lsn => '0/2', timeline_id => -1)"), '22023', 'a negative timeline');
is(state("SELECT * FROM verify_wal(start_lsn => '0/1', end_lsn => '0/2', timeline_id => 4294967296)"), '22023', 'a timeline that is too great');
is(range("'$first'", "'$first'", 4294967295), name($begin, 4294967295) . ' missing 1', 'the last timeline of all');
is(sql("SELECT timeline_id FROM verify_wal_segment(''::bytea, '800000010000000000000008')"), '2147483649', 'a timeline beyond 2^31');
is(state("SELECT * FROM verify_wal('$dir/nothing', start_lsn => '0/1', end_lsn => '0/2', timeline_id => 1)"), '58P01', 'no such folder');
is(state("SELECT * FROM verify_wal('$dir/$names[0]', start_lsn => '0/1', end_lsn => '0/2', timeline_id => 1)"), '42809', 'a file for a folder');
is(range("'$first'", "'$first'", 7), name($begin, 7) . ' missing 1', 'a timeline that is not there');

# --- over a switch of timelines -----------------------------------------------------

$node->stop;
$node->append_conf('postgresql.conf', "restore_command = 'false'");
$node->set_standby_mode;
$node->start;
$node->promote;
sql(q{INSERT INTO t SELECT g, repeat('n', 200) FROM generate_series(1, 9000) g; SELECT pg_switch_wal(); CHECKPOINT});
my $both = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($node->data_dir . '/pg_wal', $both);
mkdir "$both/archive_status";
my ($history) = slurp_file($node->data_dir . '/pg_wal/00000002.history') =~ m{^1\t([0-9A-F]+/[0-9A-F]+)}m;
my $left = AccelWal::number($history);
my $segment = int($left / $MB) * $MB;
foreach my $folder ("'$both'", 'NULL')
{
	my $title = $folder eq 'NULL' ? 'own pg_wal' : 'a copy';
	my %ranges = (
		'over the switch' => [ $segment - 10, $segment + $MB + 10, 2, [ 1, -1 ], [ 2, 0 ], [ 2, 1 ] ],
		'up to the switch' => [ $segment - 10, $left, 2, [ 1, -1 ], [ 2, 0 ] ],
		'from the switch on' => [ $left, $segment + $MB, 2, [ 2, 0 ] ],
		'before it' => [ $segment - $MB, $segment, 2, [ 1, -1 ] ],
		'on the old timeline' => [ $segment - 10, $left, 1, [ 1, -1 ], [ 1, 0 ] ]);
	foreach my $what (sort keys %ranges)
	{
		my ($from, $to, $timeline, @want) = @{ $ranges{$what} };
		# the old timeline's last segment may have been renamed to .partial
		is( sql("SELECT string_agg(replace(segment, '.partial', ''), ' ') || ' ' || sum(findings) || ' ' || bool_and(status ~ '^ok')
				FROM verify_wal($folder, start_lsn => '" . lsn($from) . "', end_lsn => '" . lsn($to) . "', timeline_id => $timeline)"),
			join(' ', map { name($segment + $_->[1] * $MB, $_->[0]) } @want) . ' 0 true', "$title: $what");
	}
	is( sql("SELECT max(timeline_id) || ' ' || sum(findings) FROM verify_wal($folder, start_lsn => '" . lsn($segment - $MB) . "')"),
		'2 0', "$title: the newest timeline if none is named");
}

# --- bytes ----------------------------------------------------------------------------

my $name = name($plain->{lsn});
sql("CREATE TABLE b (data bytea); ALTER TABLE b ALTER data SET STORAGE EXTERNAL; INSERT INTO b VALUES (pg_read_binary_file('$dir/$name'))");
sql('CREATE TABLE c (data bytea); INSERT INTO c SELECT data FROM b');
is(sql("SELECT string_agg(concat_ws(' ', status, findings, records > 100), ', ') FROM (SELECT * FROM b UNION ALL SELECT * FROM c) s, verify_wal_segment(data, '$name')"),
	'ok 0 t, ok 0 t', 'bytes out of line, as they are and compressed');
is(sql("SELECT string_agg(n || ' ' || status, ', ') FROM b, unnest(ARRAY[0, 1, 23, 24, 39, 40, $wal_blcksz - 1, $wal_blcksz, $wal_blcksz + 1, 2 * $wal_blcksz, 100000]) n,
	verify_wal_segment(substr(data, 1, n), '$name') WHERE status <> 'size_mismatch'"),
	'', 'cut anywhere: size_mismatch');
is(sql("SELECT string_agg(status || ' ' || findings, ', ') FROM b, unnest(ARRAY[1, $wal_blcksz, $MB, 5 * $MB]) n, verify_wal_segment(data || decode(repeat('00', n), 'hex'), '$name')"),
	join(', ', ('size_mismatch 1') x 4), 'too long');
is(sql("SELECT string_agg(DISTINCT status, ', ') FROM b, unnest(ARRAY['" . join("', '", map { name($begin + $_ * $MB) } 5, 6, 700) . "']) n, verify_wal_segment(data, n)"),
	'corrupt', 'under another name');
is(sql("SELECT status FROM verify_wal_segment(convert_to(repeat('noise, ', 30000000), 'UTF8'), '$name')"), 'not_verifiable', 'noise of 210 MB');
is(state("SELECT verify_wal_segment(''::bytea, '$_')"), '22023', "no name: \"$_\"")
  foreach '', 'x', "$name ", lc(name(0xAB * $MB)), "$name.gz", "../$name", substr($name, 1);
is(sql("SELECT verify_wal_segment(NULL::bytea, '$name') IS NULL AND verify_wal_segment(''::bytea, NULL) IS NULL"), 't', 'NULL');

$node->stop;
done_testing();
