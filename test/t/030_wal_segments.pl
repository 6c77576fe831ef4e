# WAL of healthy clusters: archives, crashes, storms.  Nothing is reported, all
# records are counted, and the log ends where pg_waldump says.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# 030_wal_segments.pl runs its storm this long (seconds) and crashes so often
my $storm = $ENV{ACCEL_WAL_STORM} // 8;
my $crashes = $ENV{ACCEL_WAL_CRASHES} // 4;

my $MB = 1024 * 1024;
my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node(
	'small',
	extra => ['--wal-segsize=1'],
	conf => qq{
wal_level = logical
archive_mode = on
archive_command = 'cp "%p" "$archive.new" && mv "$archive.new" "$archive/%f"'
max_wal_size = 64MB
min_wal_size = 8MB
wal_compression = on
autovacuum = off
max_prepared_transactions = 10
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

sub sql { return $node->safe_psql('postgres', $_[0]); }

my $bad = q{status NOT IN ('ok', 'ok_switched', 'ok_end_of_wal', 'ok_recycled', 'ok_unused', 'ok_partial', 'ok_removed_during_scan') OR findings > 0};

# --- an archive with everything in it ---------------------------------------

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, filler text);
	INSERT INTO t SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 5000) g;
	CHECKPOINT;
	UPDATE t SET filler = filler || 'x' WHERE id % 3 = 0;
	SELECT pg_switch_wal();
	-- records over several segments, and of every length
	SELECT pg_logical_emit_message(false, 'test', repeat('y', 3500000));
	SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 3000) g;
	SET wal_compression = off;
	CHECKPOINT;
	UPDATE t SET filler = reverse(filler);
	SELECT pg_switch_wal();
	CREATE INDEX ON t (filler);
	VACUUM FULL t;
	SELECT pg_switch_wal();
});
my $last = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
$node->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$last' OR pg_walfile_name(pg_switch_wal()) IS NULL FROM pg_stat_archiver")
  or die 'not archived';
my $refused = sql('SELECT failed_count FROM pg_stat_archiver');
sql('ALTER SYSTEM SET archive_command = \'false\'; SELECT pg_reload_conf()');
sql(q{SELECT pg_logical_emit_message(true, 'one', 'more'); SELECT pg_switch_wal()});
$node->poll_query_until('postgres', "SELECT failed_count > $refused FROM pg_stat_archiver") or die 'still archived';

my $all = "verify_wal('$archive')";
is(sql("SELECT count(*) FROM $all WHERE $bad"), 0, 'intact archive: nothing reported');
is( sql("SELECT string_agg(DISTINCT status, ' ' ORDER BY status) FROM $all"),
	'ok ok_switched',
	'intact archive: complete segments');
is( sql("SELECT count(*) FROM (SELECT *, row_number() OVER () n, count(*) OVER () c FROM $all) s
	WHERE (unverified_head_bytes > 0 AND n > 1) OR (unverified_tail_bytes > 0 AND n < c) OR skipped_bytes > 0
	OR verified_bytes + unverified_head_bytes + unverified_tail_bytes + zero_bytes <> $MB"),
	0, 'intact archive: every byte accounted for');
is(sql("SELECT count(*) FROM $all WHERE crc32c <> crc32c_file('$archive/' || segment)"),
	0, 'digests are those of the files');
is(sql("SELECT count(*) FROM $all WHERE server_version::int <> current_setting('server_version_num')::int / 10000"),
	0, 'version');

my ($first, $final, $records, $images) = split /\|/,
  sql("SELECT min(segment), max(segment), sum(records), sum(fpi_bytes) FROM $all");
my ($out, $err) = run_command([ 'pg_waldump', '--stats', '-p', $archive, $first, $final ]);
my ($theirs, $their_images) = $out =~ /^Total\s+(\d+)\s+\d+ \[.*?\]\s+(\d+)/m;
cmp_ok(abs($theirs - $records), '<=', 1, "$records records, as pg_waldump counts them");
# the last record may go on behind the last file: we count it, pg_waldump cannot
cmp_ok($images - $their_images, '<=', $theirs == $records ? 0 : 33 * $blcksz,
	"$images bytes of full-page images, as pg_waldump counts them");
cmp_ok($images, '>=', $their_images, 'and not less');

is( sql("SELECT array_agg(w::text) FROM verify_wal('$archive', workers => 3) w"),
	sql("SELECT array_agg(w::text) FROM verify_wal('$archive') w"),
	'workers: the same rows in the same order');
my ($from, $to) = split /\|/, sql("SELECT start_lsn, end_lsn FROM $all OFFSET 2 LIMIT 1");
is(sql("SELECT count(*) || ' ' || min(start_lsn) FROM verify_wal('$archive', start_lsn => '$from', end_lsn => '$to', timeline_id => 1)"),
	"1 $from", 'the range of one segment');
is(sql("SELECT count(*) FROM verify_wal('$archive', start_lsn => '$from')"),
	sql("SELECT count(*) - 2 FROM $all"), 'a range without an end');
is(sql("SELECT count(*) FROM verify_wal('$archive', (SELECT segment FROM $all OFFSET 1 LIMIT 1), (SELECT segment FROM $all OFFSET 4 LIMIT 1))"),
	4, 'between two names');
is(sql("SELECT count(*) FROM $all a, verify_wal('$archive', a.segment, a.segment) s WHERE a::text <> s::text"),
	0, 'one by one: the same rows');

# --- a record over many segments ----------------------------------------------

# Reading must grow with the record, not with its square.  What a session reads
# is counted by the kernel.
my $long = PostgreSQL::Test::Utils::tempdir();
my $before_long = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql("SELECT pg_logical_emit_message(false, 'long', repeat('l', 60000000)); SELECT pg_switch_wal()");
my $after_long = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
foreach my $file (glob($node->data_dir . '/pg_wal/0*'))
{
	my ($name) = $file =~ m{/([0-9A-F]{24})$} or next;
	copy($file, $long) if $name ge $before_long && $name lt $after_long;
}
my $read = q{SELECT substring(pg_read_file('/proc/self/io') FROM 'rchar: (\d+)')::bigint};

sub long_record
{
	my ($title, $rows, $factor, $workers) = @_;
	my ($from, $row, $to) = split /\n/, sql("$read; SELECT $rows FROM verify_wal('$long', workers => $workers) w; $read");
	cmp_ok($to - $from, '<', $factor * 60000000, "$title: not read over and over") unless $workers;
	return $row;
}
my $verified = "count(*) > 55, sum(findings), count(*) FILTER (WHERE unverified_tail_bytes + unverified_head_bytes > 0)";
is(long_record('a long record', $verified, 5, 0), 't|0|0', 'a long record: all of it is verified');
is(long_record('workers', $verified, 5, 2), 't|0|0', 'a long record: by workers');
my ($middle) = (sort glob("$long/0*"))[30];
AccelWal::poke($middle, 500000, 'damage');
my $damaged = "count(*) FILTER (WHERE status = 'corrupt' AND findings = 1 AND message ~ 'data checksum in record') > 55, md5(string_agg(w::text, ''))";
my $row = long_record('damaged', $damaged, 12, 0);
like($row, qr/^t\|/, 'a long record, damaged: reported for each of its segments');
is(long_record('damaged, workers', $damaged, 12, 2), $row, 'damaged: by workers, the same rows');
is(sql("SELECT count(*) FROM (SELECT * FROM verify_wal('$long') OFFSET 29 LIMIT 3) a, verify_wal('$long', a.segment, a.segment) s WHERE a::text <> s::text"),
	0, 'damaged: one by one, the same rows');

# Where its beginning cannot be found, looking for it must not grow either.
sub lost_beginning
{
	my ($title, $messages) = @_;
	my $rows = q{string_agg(DISTINCT regexp_replace(message, ' at [0-9A-F/]+', ''), '; ')};
	is(long_record($title, $rows, 6, 0), $messages, "$title: what its segments say");
	is(sql("SELECT count(*) FROM (SELECT * FROM verify_wal('$long') OFFSET 11 LIMIT 3) a, verify_wal('$long', a.segment, a.segment) s WHERE a::text <> s::text"),
		0, "$title: one by one, the same rows");
	return;
}
AccelWal::poke($middle, 500000, 'l' x 6);
my $tenth = (sort glob("$long/0*"))[10];
AccelWal::poke($tenth, 400 * 1024, "\0" x $wal_blcksz);
lost_beginning('a zero page within a long record',
	'the record over the end is not checked: the segment after is damaged; '
	  . 'the record over the start is not checked: the segment before is damaged; '
	  . 'there is no contrecord flag, the page is all zero');
unlink $tenth;
lost_beginning('a segment missing within a long record',
	'the record over the end is not checked: the segment after is not there; '
	  . 'the record over the start is not checked: the segment before is not there; '
	  . 'the segment is not there');

# What follows such a record goes over page ends too: it is no part of it.
my $chain = PostgreSQL::Test::Utils::tempdir();
$before_long = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql(q{SELECT pg_logical_emit_message(false, 'long', repeat('l', 20000000));
	SELECT count(pg_logical_emit_message(false, 'next', repeat('n', 5000 + g))) FROM generate_series(1, 300) g; SELECT pg_switch_wal()});
$after_long = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
foreach my $file (glob($node->data_dir . '/pg_wal/0*'))
{
	my ($name) = $file =~ m{/([0-9A-F]{24})$} or next;
	copy($file, $chain) if $name ge $before_long && $name lt $after_long;
}
my ($read_before, $of_chain, $read_after) = split /\n/, sql("$read; SELECT count(*) > 18, sum(findings) FROM verify_wal('$chain'); $read");
is($of_chain, 't|0', 'a long record, others after it');
cmp_ok($read_after - $read_before, '<', 5 * 20000000, 'others after it: not read over and over');

# the last page of a segment within the record tells another length
($middle) = (sort glob("$chain/0*"))[9];
AccelWal::poke($middle, $MB - $wal_blcksz + 16, pack('L', unpack('L', AccelWal::peek($middle, $MB - $wal_blcksz + 16, 4)) ^ 0x1000));
foreach my $workers (0, 2)
{
	is(sql("SELECT string_agg(d.status || ' ' || d.findings || ' ' || s.message, ', ') FROM verify_wal('$chain', workers => $workers) d, verify_wal('$chain', d.segment, d.segment) s
		WHERE d.findings > 0 OR d::text <> s::text") =~ s/length \d+ \(expected \d+\).*//r,
		'corrupt 1 invalid contrecord ', "the length in a segment's last page is wrong: reported, $workers workers");
}

# segments of zeros: one pass is enough
my $zeros = PostgreSQL::Test::Utils::tempdir();
AccelWal::put(sprintf('%s/00000001%016X', $zeros, $_), "\0" x $MB) foreach 1 .. 20;
my ($bytes_before, $row_of_zeros, $bytes_after) = split /\n/, sql("$read; SELECT count(*), sum(findings), min(status), max(status) FROM verify_wal('$zeros'); $read");
is($row_of_zeros, '20|20|corrupt|corrupt', 'segments of zeros');
cmp_ok($bytes_after - $bytes_before, '<', 20 * 1.6 * $MB, 'segments of zeros are read once');

# --- this server's own pg_wal -----------------------------------------------

my $flushed = sql('SELECT pg_current_wal_flush_lsn()');
my $live_end = sql(q{SELECT max(end_lsn) FROM verify_wal() WHERE status LIKE 'ok%'});
# whole pages are written too, within a record
is( sql("SELECT '$live_end'::pg_lsn BETWEEN '$flushed'::pg_lsn - 2 * $wal_blcksz AND pg_current_wal_insert_lsn()"),
	't', "the log ends at the flush position ($live_end)");
is(sql("SELECT count(*) FROM verify_wal() WHERE $bad"), 0, 'pg_wal: nothing reported');

# --- crashes: the end of WAL in the files that they leave -------------------

sub check_end
{
	my ($folder, $what) = @_;
	my ($start, $end, $n) = split /\|/,
	  sql("SELECT (SELECT min(start_lsn) FROM verify_wal('$folder') WHERE status LIKE 'ok%'), max(end_lsn), count(*)
		FROM verify_wal('$folder') WHERE status = 'ok_end_of_wal'");
	my $dump = AccelWal::waldump_end($node, $folder, $start, 1, $MB);

	is($n, 1, "$what: one end of WAL");
	is(AccelWal::number($end), $dump,
		"$what: it ends where pg_waldump stops");
	is(sql("SELECT string_agg(w::text, E'\\n') FROM verify_wal('$folder') w WHERE $bad"),
		'', "$what: nothing reported");
	return;
}

foreach my $i (1 .. $crashes)
{
	my $load = IPC::Run::start(
		[
			'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
			"DO \$\$ BEGIN FOR i IN 1..100000 LOOP PERFORM pg_logical_emit_message(false, 'load', repeat('w', (random() * 3000)::int));
			 UPDATE t SET filler = filler WHERE id = (random() * 5000)::int; COMMIT; END LOOP; END \$\$"
		],
		'>', \my $o, '2>', \my $e);
	sleep(0.3 + rand(0.7));
	$node->stop('immediate');
	$load->finish;
	my $copy = PostgreSQL::Test::Utils::tempdir();
	AccelWal::copy_files($node->data_dir . '/pg_wal', $copy);
	mkdir "$copy/archive_status";	# it is a pg_wal, not an archive
	$node->start;
	check_end($copy, "crash $i");
	is(sql("SELECT count(*) FROM verify_wal() WHERE $bad"), 0, "after crash $i: nothing reported");
}

# --- a record that a crash cuts off at the end of a segment ------------------

sql(q{SELECT pg_switch_wal(); SELECT pg_logical_emit_message(false, 'x', 'x')});
sql(qq{SELECT pg_logical_emit_message(false, 'fill', repeat('f', ($MB - 20000 - (pg_current_wal_insert_lsn() - '0/0') % $MB)::int))});
my $before = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql(q{SELECT pg_logical_emit_message(false, 'over', repeat('o', 100000)); SELECT pg_switch_wal()});
my $behind = sql("SELECT lpad(to_hex(('x' || right('$before', 8))::bit(32)::int + 1), 8, '0')");
$behind = substr($before, 0, 16) . uc $behind;
$node->stop('immediate');
foreach my $file (glob($node->data_dir . '/pg_wal/' . substr($before, 0, 8) . '*'))
{
	unlink $file if $file =~ /([0-9A-F]{24})$/ && $1 ge $behind;
}
$node->start;
sql(q{INSERT INTO t SELECT g, 'after' FROM generate_series(100001, 100100) g; SELECT pg_switch_wal()});
is(sql("SELECT count(*) FROM verify_wal() WHERE $bad"), 0, 'abandoned record: nothing reported');
like(sql("SELECT status || ': ' || message FROM verify_wal(NULL, '$before', '$before')"),
	qr/^ok: 1 record was cut off by a crash/, 'abandoned record: told');
is(sql("SELECT status || findings FROM verify_wal(NULL, '$behind', '$behind')"), 'ok_switched0',
	'the segment that begins with the overwrite record');

# --- a storm: log is written, recycled and removed while it is read ---------

my $pgbench = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
		"DO \$\$ DECLARE t0 timestamptz := clock_timestamp(); i int := 0; BEGIN WHILE clock_timestamp() < t0 + interval '$storm s' LOOP
		 i := i + 1; UPDATE t SET filler = reverse(filler) WHERE id BETWEEN i % 50 * 100 AND i % 50 * 100 + 99; COMMIT;
		 IF i % 97 = 0 THEN PERFORM pg_switch_wal(); END IF; END LOOP; END \$\$"
	],
	'>', \my $so, '2>', \my $se);
my $checkpoints = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
	'<', \('SELECT pg_sleep(0.2); CHECKPOINT; ' x ($storm * 3)),
	'>', \my $co, '2>', \my $ce);
sql("ALTER SYSTEM SET archive_command = 'true'; SELECT pg_reload_conf()");
my ($rounds, $segments, $findings) = (0, 0, '');
my $t0 = time;
while (time < $t0 + $storm)
{
	my $r = sql("SELECT count(*) || '|' || coalesce(string_agg(w::text, E'\\n') FILTER (WHERE $bad), '') FROM verify_wal(workers => 0) w");
	my ($n, $found) = split /\|/, $r, 2;
	$rounds++;
	$segments += $n;
	$findings .= $found // '';
	# where it begins may have been removed already
	$found = sql("SELECT coalesce(string_agg(w::text, E'\\n') FILTER (WHERE $bad AND (status <> 'missing' OR seen)), '')
		FROM (SELECT *, bool_or(status <> 'missing') OVER (ROWS UNBOUNDED PRECEDING) AS seen FROM verify_wal(start_lsn => pg_current_wal_flush_lsn() - 2000000)) w");
	$findings .= $found;
}
$pgbench->finish;
$checkpoints->kill_kill;
is($findings, '', "storm: $rounds rounds over $segments segments, nothing reported");

# --- removed while the folder is read ----------------------------------------

my $many = PostgreSQL::Test::Utils::tempdir();
my ($whole) = sort glob("$archive/0*");
my $links = 20000;
sub link_name { return sprintf("$many/00000001%08X%08X", $_[0] / 4096, $_[0] % 4096) }
my $ro = '';
# after the listing and before the last one is read: try, later each time
foreach my $delay (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
{
	link $whole, link_name($_) foreach 1 .. $links;
	my $reader = IPC::Run::start(
		[
			'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
			"SELECT count(*) > 0 FROM verify_wal('$many') WHERE status = 'ok_removed_during_scan'"
		],
		'>', \$ro, '2>', \my $re);
	Accel::seen_in($node, $reader,
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%removed_during_scan%' AND pid <> pg_backend_pid()");
	sleep $delay;
	unlink link_name($links - $_) foreach 0 .. 1000;
	$reader->finish;
	last if $ro eq "t\n";
}
is($ro, "t\n", 'removed while the folder is read');

$node->stop;
done_testing();
