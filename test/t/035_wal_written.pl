# WAL that is still written to while it is read, and what servers leave behind
# the end of WAL: none of it is a finding, and real damage beside it is.
#
# The shim of 050_faults.pl stops the reading process before a chosen call.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $shim = Accel::fault_shim();
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\nwal_keep_size = 512MB\nmax_wal_size = 512MB\ncheckpoint_timeout = 1h\n");
Accel::start_under($shim, $node);
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE TABLE t (id int, filler text)});
$node->backup('early');
sql(q{INSERT INTO t SELECT g, repeat('x', 210) FROM generate_series(1, 15000) g; SELECT pg_create_restore_point('early');
	SELECT pg_switch_wal(); INSERT INTO t SELECT g, repeat('y', 210) FROM generate_series(1, 40000) g;
	SELECT pg_switch_wal(); INSERT INTO t VALUES (1)});
my @names = split /\n/, sql(q{SELECT segment FROM verify_wal() WHERE status = 'ok' OFFSET 6});
my $pg_wal = $node->data_dir . '/pg_wal';

# --- flushed up to the end of a page ---------------------------------------------

# Without a commit that waits, the walwriter flushes whole pages.  A record of
# five pages goes on there, by fewer bytes each time than its page headers have.
sql(q{ALTER SYSTEM SET wal_writer_delay = '10ms'});
sql('SELECT pg_reload_conf()');
sql(q{
	CREATE FUNCTION flushed_to_a_page(beyond int, OUT seen bool, OUT findings text) LANGUAGE plpgsql AS $$
	DECLARE
		page int := current_setting('wal_block_size');
		room int := 5 * page - ((pg_current_wal_insert_lsn() - '0/0') % page)::int;
	BEGIN
		PERFORM pg_logical_emit_message(false, 'x', repeat('x', room - 4 * 24 - 60 + beyond));
		FOR i IN 1 .. 200 LOOP
			PERFORM pg_sleep(0.01);
			seen := (pg_current_wal_flush_lsn() - '0/0') % page = 0
				AND pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn();
			EXIT WHEN seen;
		END LOOP;
		SELECT string_agg(w::text, ' ') INTO findings FROM verify_wal() w WHERE is_finding;
	END $$});
my ($seen, $findings) = split /\|/,
	sql(q{SELECT count(*) FILTER (WHERE seen), coalesce(min(findings), '') FROM generate_series(1, 150, 5) g, flushed_to_a_page(g)});
cmp_ok($seen, '>', 10, 'the walwriter flushes up to the end of a page');
is($findings // '', '', 'a record that goes on there is no finding');

# --- overtaken by the writer -----------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir();
my $whole = AccelWal::peek("$pg_wal/$names[0]", 0, $MB);
my $front = 200_000;			# written so far

# Runs a query that stops before the n-th read of a file; does something
# meanwhile.
sub meanwhile
{
	my ($nth, $pattern, $query, $do) = @_;

	return join '', Accel::stopped_at($node, 'read', $nth, $pattern, $query, $do);
}

my $damaged = $whole;
substr($damaged, 100_000, 1) ^= "\x10";
AccelWal::put("$folder/$names[0].partial", $damaged);
my $place = sql("SELECT string_agg(file_offset || ' ' || status, ', ') FROM verify_wal_findings('$folder', '$names[0].partial')");
like($place, qr/^\d+ corrupt$/, 'one finding');
unlink "$folder/$names[0].partial";

# The log in three pieces: the writer stands in the second one when that is read,
# and has gone on when the third one is.
foreach my $case (
	[ 'a .partial file', '.partial', $whole, "\0" x ($MB - $front), 'ok_partial 0', undef ],
	[ 'damaged before', '.partial', $damaged, "\0" x ($MB - $front), 'corrupt 1', $place ],
	[ 'another server\'s pg_wal', '', $whole, "\0" x ($MB - $front), 'ok_end_of_wal 0', undef ],
	[ 'a recycled file of another server', '', $whole, AccelWal::peek("$pg_wal/$names[1]", $front, $MB - $front), 'ok_end_of_wal 0', undef ],
	[ 'a copy that is being made', '', $whole, '', 'ok 0', undef ])
{
	my ($title, $suffix, $bytes, $rest, $want, $findings) = @$case;
	my $name = "$names[0]$suffix";
	my $copied = $title =~ /copy/;
	my $before = sub { AccelWal::put("$folder/$name", substr($bytes, 0, $copied ? 300_000 : $front) . $rest) };
	my $after = sub { AccelWal::poke("$folder/$name", $front, substr($bytes, $front)) };

	$copied ? rmdir "$folder/archive_status" : mkdir "$folder/archive_status";
	$before->();
	is( meanwhile(5, $name, "SELECT status || ' ' || findings FROM verify_wal('$folder', '$name', '$name')", $after),
		$want, "$title: overtaken while it is read");
	$before->();
	is( meanwhile(5, $name, "SELECT string_agg(file_offset || ' ' || status, ', ') FROM verify_wal_findings('$folder', '$name')", $after),
		$findings // '', "$title: its findings");
	unlink "$folder/$name";
}

# pg_receivewal creates a file, fills it with zeros, then writes to it
foreach my $size (0, 1, $wal_blcksz - 1, $wal_blcksz, 500_000)
{
	AccelWal::put("$folder/$names[0].partial", "\0" x $size);
	is(sql("SELECT status || ' ' || findings FROM verify_wal('$folder', '$names[0].partial', '$names[0].partial')"),
		'ok_unused 0', "a .partial file of $size bytes, all zero");
}
AccelWal::put("$folder/$names[0].partial", substr($whole, 0, 500_000));
is(sql("SELECT status || ' ' || findings FROM verify_wal('$folder', '$names[0].partial', '$names[0].partial')"),
	'size_mismatch 1', 'a .partial file that was truncated');
unlink "$folder/$names[0].partial";

# --- a switch that a crash cut off -------------------------------------------------

# from some page on there is what the recycled file held before
my ($before, $switched, $behind) = split /\|/, sql(q{SELECT * FROM (SELECT lag(segment) OVER w, segment, lead(segment) OVER w FROM verify_wal()
	WHERE status LIKE 'ok%' WINDOW w AS (ORDER BY segment)) s (before, segment, behind), verify_wal(NULL, before, before) b, verify_wal(NULL, s.segment, s.segment) v, verify_wal(NULL, behind, behind) n
	WHERE v.status = 'ok_switched' AND v.zero_bytes > 100000 AND b.status = 'ok' AND n.status = 'ok' LIMIT 1});
my $zeros = sql("SELECT zero_bytes FROM verify_wal(NULL, '$switched', '$switched')");
my $tail = int(($MB - $zeros) / $wal_blcksz + 3) * $wal_blcksz;
copy("$pg_wal/$_", "$folder/$_") foreach $before, $switched;
AccelWal::poke("$folder/$switched", $tail, AccelWal::peek("$pg_wal/$before", $tail, $MB - $tail));
my $cut = "SELECT concat_ws('|', status, findings, $zeros - zero_bytes, message) FROM verify_wal('$folder', '$switched', '$switched')";
like(sql($cut), qr/^ok_switched\|0\|@{[$MB - $tail]}\|recycled contents follow the XLOG_SWITCH record/,
	'a switch that a crash cut off');
AccelWal::poke("$folder/$switched", $tail - 100, 'x');
like(sql($cut), qr/^corrupt\|1\|.*not zero after the XLOG_SWITCH record/, 'zeros before that must be zeros');
AccelWal::poke("$folder/$switched", $tail - 100, "\0");
AccelWal::poke("$folder/$switched", $tail + $wal_blcksz, AccelWal::peek("$pg_wal/$behind", $tail + $wal_blcksz, $wal_blcksz));
like(sql($cut), qr/^corrupt\|1\|/, 'no log of a later segment is left there');
unlink "$folder/$_" foreach $before, $switched;

# --- a timeline is left, with log behind that point ----------------------------------

# The server recycles that log for the new timeline: files with later log than
# their names say.
$node->stop;
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'early');
Accel::configure($restored);
copy($_, $restored->data_dir . '/pg_wal') foreach glob("$pg_wal/0*");
$restored->append_conf('postgresql.conf', <<'CONF');
restore_command = 'false'
recovery_target_name = 'early'
recovery_target_action = promote
CONF
append_to_file($restored->data_dir . '/recovery.signal', '');
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
my $copy = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($restored->data_dir . '/pg_wal', $copy);
mkdir "$copy/archive_status";
foreach my $where ([ 'own pg_wal', '' ], [ 'a copy', "'$copy'" ])
{
	my ($title, $argument) = @$where;
	my $all = "verify_wal($argument)";
	is($restored->safe_psql('postgres', "SELECT string_agg(w::text, E'\\n') FROM $all w WHERE findings > 0 OR status = 'corrupt'"),
		'', "$title: log behind the point where its timeline was left is no finding");
	like($restored->safe_psql('postgres', "SELECT string_agg(DISTINCT status, ' ') || ' ' || (count(*) > 3) FROM $all
			WHERE timeline_id = 2 AND start_lsn > (SELECT max(end_lsn) FROM $all WHERE status = 'ok_end_of_wal' AND timeline_id = 2 AND records > 0)"),
		qr/^ok_recycled( ok_unused)? true$/, "$title: it is recycled");
}
$restored->stop;
done_testing();
