# verify_wal_archive(): what it reads again and what not, what it remembers, and
# what it finds by that.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy qw(copy move);
use IO::Compress::Gzip qw(gzip);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $MB = 1024 * 1024;
my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\nwal_keep_size = 600MB\nmax_wal_size = 2GB\n");
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->("CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE ROLE reader LOGIN IN ROLE pg_read_server_files;
	CREATE ROLE nobody LOGIN");

# --- WAL: a record over each border, one of them over three segments; then 140
# segments that stand alone

my $from = $q->('SELECT pg_walfile_name(pg_switch_wal() + 1)');
$q->(q{SELECT count(pg_logical_emit_message(false, 't', m)) FROM generate_series(1, 12) g, unnest(ARRAY[repeat('y', 700000), 'MARK' || g || repeat('-', 60)]) m;
	SELECT pg_logical_emit_message(false, 't', repeat('z', 3300000));
	SELECT count(pg_logical_emit_message(false, 't', repeat('y', 700000))) FROM generate_series(1, 3)});
my @many_wal;
my $switches = join ';', ("SELECT pg_logical_emit_message(true, 's', 's')", 'SELECT pg_switch_wal()') x 140;
my $many_from = $q->("SELECT pg_switch_wal(); SELECT pg_logical_emit_message(true, 's', 's'); SELECT pg_walfile_name(pg_current_wal_insert_lsn())");
$many_from = (split /\n/, $many_from)[-1];
$q->($switches);
my $own = $node->data_dir . '/pg_wal';
my @wal = grep { $_ gt $from && $_ lt $many_from } split /\n/, $q->("SELECT segment FROM verify_wal() WHERE status = 'ok' ORDER BY 1");
my @alone = split /\n/, $q->("SELECT segment FROM verify_wal(first_segment => '$many_from') WHERE status = 'ok_switched' ORDER BY 1 LIMIT 140");
cmp_ok(scalar(@wal), '>=', 12, scalar(@wal) . ' segments with a record over each border');
is(scalar(@alone), 140, 'and 140 without');

my $dir;
my $clock = time - 100000;

# Puts a segment's bytes into the archive, with a time of its own.
sub put
{
	my ($name, $bytes) = @_;
	my $time = $clock++;
	AccelWal::put("$dir/$name", $bytes // slurp_file("$own/" . substr($name, 0, 24)));
	utime($time, $time, "$dir/$name") or die $!;
	return;
}

# An archive of its own.
sub archive
{
	$dir = PostgreSQL::Test::Utils::tempdir();
	put($_) foreach @_;
	return;
}

# Writes bytes without a trace.
sub rot
{
	my ($name, $at, $bytes) = @_;
	my @stat = stat "$dir/$name";
	AccelWal::poke("$dir/$name", $at, $bytes);
	utime($stat[8], $stat[9], "$dir/$name") or die $!;
	return;
}

# What a call says: [verdict, WARNINGs and ERRORs, all].
sub call
{
	my ($more, %opt) = @_;
	my $err = '';
	($opt{node} // $node)->psql('postgres', ($opt{set} // '') . "CALL verify_wal_archive('$dir'" . ($more ? ", $more" : '') . ')',
		stderr => \$err, on_error_stop => 0, extra_params => [ '-U', $opt{role} // $ENV{PGUSER} // getpwuid($<) ]);
	my ($verdict) = $err =~ /^.*INFO:  (\w+: .*)$/m;
	my @lines = $err =~ /^.*?((?:WARNING|ERROR):  .*(?:\n.*?DETAIL:  .*)?)$/mg;
	return ($verdict // 'none', join("\n", @lines), $err);
}

sub counted { return "$_[0] $_[1]" . ($_[0] == 1 ? '' : 's'); }

# The run reads so many of so many, and finds so much; returns the messages.
sub reads
{
	my ($title, $more, $segments, $read, $findings, $expired) = @_;
	my ($verdict, $warnings, $all) = call($more);
	my $expected = sprintf 'completed: %s, %d read, .*; %s, 0 not verifiable, %d expired',
	  counted($segments, 'segment'), $read, counted($findings // 0, 'finding'), $expired // 0;
	like($verdict, qr/^$expected$/, $title);
	my $count = () = $warnings =~ /WARNING/g;
	is($count, $findings // 0, "$title: a WARNING each") or diag $all;
	return $warnings;
}

sub rows
{
	my ($what, $where) = @_;
	return $q->("SELECT $what FROM verify_wal_files WHERE directory = '$dir' AND " . ($where // 'true') . ' ORDER BY segment');
}

sub value
{
	my ($what, $where) = @_;
	return $q->("SELECT $what FROM verify_wal_files WHERE directory = '$dir'" . ($where ? " AND $where" : ''));
}

# --- new segments only -------------------------------------------------------------

archive(@wal[0 .. 3]);
reads('first run', '', 4, 4);
is(rows('segment, timeline_id, size, status, is_finding, start_open, end_open, crc32c IS NOT NULL, sound_at = verified_at, modified_at IS NOT NULL'),
	join("\n", map { "$wal[$_]|1|$MB|ok|f|" . 'f|' . ($_ == 3 ? 't' : 'f') . '|t|t|t' } 0 .. 3), 'what is remembered');
is($q->("SELECT count(*) FROM verify_wal_files s JOIN verify_wal('$dir') d USING (segment) WHERE s.crc32c = d.crc32c AND s.status = d.status AND s.message IS NOT DISTINCT FROM d.message"),
	4, 'as verify_wal says it');
reads('nothing new', '', 4, 0);
my $io = q{SELECT substring(pg_read_file('/proc/self/io') FROM 'rchar: (\d+)')::bigint};
my ($before, $after) = $q->("CALL verify_wal_archive('$dir'); $io; CALL verify_wal_archive('$dir'); $io") =~ /(\d+)/g;
cmp_ok($after - $before, '<', 200000, 'nothing new: the border is read, and nothing else');
my $old = rows('verified_at', "segment = '$wal[1]'");

# the last one has a record that goes on in the next one
put($_) foreach @wal[4, 5];
reads('two more, and the border before them', '', 6, 3);
is(rows('segment', 'end_open'), $wal[5], 'that border is closed now');
is(rows('verified_at', "segment = '$wal[1]'"), $old, 'the others were left alone');
put($wal[6]);
($before, $after) = $q->("$io; CALL verify_wal_archive('$dir'); $io") =~ /(\d+)/g;
cmp_ok($after - $before, '<', 5.5 * $MB, 'one more: two of seven are read, and what their records need of others');

# the end of a segment was damaged when nobody could tell
archive(@wal[0 .. 2]);
AccelWal::poke("$dir/$wal[2]", $MB - 5000, 'damage');
reads('damage in a record that ends in the next segment', '', 3, 3);
put($wal[3]);
like(reads('it comes', '', 4, 2, 2), qr/invalid WAL segment "$wal[2]".*corrupt: incorrect resource manager data checksum.*invalid WAL segment "$wal[3]"/s,
	'both segments of the record are reported');
reads('what is damaged is read each time', '', 4, 2, 2);
put($wal[2]);
reads('mended', '', 4, 2);

# a record over some segments, which come one by one
my %within = map { $_ => 1 } split /\n/, $q->("SELECT segment FROM verify_wal() WHERE records = 0 AND status = 'ok'");
my ($first) = grep { $within{ $wal[ $_ + 1 ] } && $within{ $wal[ $_ + 2 ] } } 0 .. $#wal - 2;
my $last = $first + 1;
$last++ while $within{ $wal[$last] };
archive($wal[$first]);
reads('the first of a long record', '', 1, 1);
foreach my $n ($first + 1 .. $last)
{
	put($wal[$n]);
	reads('one more of a long record: all are judged again', '', ($n - $first + 1) x 2);
}
reads('then none', '', $last - $first + 1, 0);
is(rows('segment', "end_open AND segment < '$wal[$last]'"), '', 'all borders are closed');

# the other way round: the beginning comes last
archive(@wal[ $first + 1 .. $last ]);
reads('no beginning', '', ($last - $first) x 2);
is(rows('segment', 'start_open'), join("\n", @wal[ $first + 1 .. $last ]), 'no start could be judged');
put($wal[$first]);
reads('it comes', '', ($last - $first + 1) x 2);
is(rows('segment', "start_open AND segment > '$wal[$first]'"), '', 'all borders are closed');

# --- written, rotten ---------------------------------------------------------------

archive(@wal[0 .. 4]);
reads('five', '', 5, 5);
utime(time - 10, time - 10, "$dir/$wal[2]");
is(reads('touched', '', 5, 1), '', 'nothing to say');
# a moment of seconds, which a machine at work may miss
my $moment = '';
for (my $try = 0; $try < 20 && $moment ne 't'; $try++)
{
	my $now = time;
	utime($now, $now + 1, "$dir/$wal[2]");
	call();
	$moment = rows('modified_at IS NULL', "segment = '$wal[2]'");
}
is($moment, 't', 'written in this moment: its time tells nothing');
utime(1, 1, "$dir/$wal[2]");
reads('so it is read again', '', 5, 1);

# other contents, with the CRC-32C that belongs to them
my $good = slurp_file("$own/$wal[1]");
my ($at, $record) = AccelWal::variant($node, $good);
rot($wal[1], $at, $record);
is($q->("SELECT status, findings FROM verify_wal('$dir', '$wal[1]', '$wal[1]')"), 'ok|0', 'rotten where WAL does not tell');
reads('not read', '', 5, 0);
reads('not yet', "reverify_after => '1 day'", 5, 0);
like(reads('read again', "reverify_after => '0'", 5, 5, 1), qr/invalid WAL segment "$wal[1]".*\n.*DETAIL:  changed: other contents than at 20.*, with the same size and modification time: CRC-32C [0-9A-F]{8}, was [0-9A-F]{8}\. Archive "\Q$dir\E"/,
	'found by its digest');
is(rows('segment, status, is_finding, sound_at < verified_at'), join("\n", map { "$wal[$_]|" . ($_ == 1 ? 'changed|t|t' : 'ok|f|f') } 0 .. 4), 'recorded');
reads('told each time', '', 5, 1, 1);
my ($verdict, $warnings, $all) = call('fail_on_findings => true');
like($all, qr/ERROR:  1 finding in WAL archive "\Q$dir\E"/, 'an ERROR if that is wanted');
rot($wal[1], 0, $good);
reads('it was the cable', '', 5, 1);
is(value('count(*)', 'is_finding'), 0, 'all is good');

rot($wal[1], 300000, 'damage');
like(reads('rotten where WAL tells, in a record over its start', "reverify_after => '0'", 5, 5, 2), qr/"$wal[1]"\n.*corrupt: .*\(it was sound at 20.* and was not written since\)/, 'and since when');
put($wal[1]);
reads('a good copy', '', 5, 2);
rot($wal[1], 0, 'x' x $MB);
like(reads('no WAL any more', "reverify_after => '0'", 5, 5, 1), qr/changed: other contents than at 20.*, with the same size and modification time: no page is valid/, 'known by what it was');
my $other = $good;
substr($other, $at, length($record)) = $record;
put($wal[1], $other);
(undef, $warnings, $all) = call('verbose => true');
is($warnings, '', 'another copy is no finding');
like($all, qr/INFO:  read "$wal[1]": ok\n/, 'verbose: names it');
put($wal[1]);
(undef, undef, $all) = call();
like($all, qr/NOTICE:  WAL segment "$wal[1]": written anew, with other contents than at 20/, 'other contents are said');
is(rows('message LIKE $$written anew%$$', "segment = '$wal[1]'"), 't', 'and recorded');

# --- removed -----------------------------------------------------------------------

move("$dir/$wal[2]", "$dir.moved");
like(reads('removed', '', 4, 0, 1), qr/missing WAL segment "$wal[2]".*\n.*missing: the file is gone; it was sound at 20/, 'is missing');
is(rows('segment, status, size', 'is_finding'), "$wal[2]|missing|$MB", 'recorded');
reads('told each time', '', 4, 0, 1);
unlink("$dir/$wal[4]");
reads('the last one, too', '', 3, 0, 2);
move("$dir.moved", "$dir/$wal[2]");
reads('one is back', '', 4, 1, 1);
put($wal[4]);
reads('and the other one', '', 5, 1);
unlink("$dir/$wal[0]", "$dir/$wal[1]");
is(reads('the oldest are removed', '', 3, 0, 0, 2), '', 'by right');
is(rows('segment, status, is_finding, message'), join("\n", (map { "$_|ok_expired|f|the file is gone, and all older ones are" } @wal[0, 1]), (map { "$_|ok|f|" } @wal[2, 3]),
		"$wal[4]|ok|f|" . rows('message', "segment = '$wal[4]'")), 'said');
reads('said once', '', 3, 0);
cmp_ok($q->("SELECT prune_history('0')"), '>=', 2, 'pruned');
is(value('count(*)'), 3, 'what is there stays');
put($wal[0]);
like(reads('a gap that was never seen', '', 4, 1, 1), qr/missing WAL segment "$wal[1]".*\n.*missing: the segment is not there/, 'is a finding');
is(rows('status, size IS NULL, modified_at IS NULL', "segment = '$wal[1]'"), 'missing|t|t', 'and recorded');
put($wal[1]);
# the end of the one before was open
reads('it comes', '', 5, 2);
unlink("$dir/$_") foreach @wal;
my $none = (call())[2];
my $count = () = $none =~ /missing WAL segment/g;
is($count, 5, 'all are removed: no archive prunes itself so far');
like($none, qr/could not verify WAL archive.*none of the 0 entries/s, 'and nothing is there');

# --- other files of a segment ------------------------------------------------------

sub gzipped
{
	my ($bytes, @options) = @_;
	my $out;
	gzip(\$bytes => \$out, -Minimal => 1, @options) or die;
	return $out;
}

archive(@wal[0 .. 3]);
reads('four', '', 4, 4);
my $crc = rows('crc32c', "segment = '$wal[1]'");
put("$wal[1].gz", gzipped(slurp_file("$own/$wal[1]")));
SKIP:
{
	skip 'this build does not read gzip', 12
	  if $q->("SELECT status FROM verify_wal('$dir', '$wal[1].gz', '$wal[1].gz')") eq 'not_verifiable';
	reads('compressed as well', '', 5, 1);
	unlink("$dir/$wal[1]");
	is(reads('compressed', '', 4, 0), '', 'nothing is missing');
	is(rows('segment, status, crc32c'), join("\n", map { "$_|ok|" . rows('crc32c', "segment = '$_'") } $wal[0], "$wal[1].gz", @wal[2, 3]), 'the old file is forgotten');
	is(rows('crc32c', "segment = '$wal[1].gz'"), $crc, 'with the digest of the segment');
	# at once, and with other contents
	my $changed = slurp_file("$own/$wal[2]");
	my ($where, $what) = AccelWal::variant($node, $changed);
	substr($changed, $where, length($what)) = $what;
	put("$wal[2].gz", gzipped($changed));
	unlink("$dir/$wal[2]");
	(undef, undef, $all) = call();
	like($all, qr/NOTICE:  WAL segment "$wal[2]\.gz": written anew, with other contents/, 'compressed with other contents: said');
	is(rows('segment'), "$wal[0]\n$wal[1].gz\n$wal[2].gz\n$wal[3]", 'in the place of the other');
	my $bytes = slurp_file("$dir/$wal[1].gz");
	rot("$wal[1].gz", int(length($bytes) / 2), substr($bytes, int(length($bytes) / 2), 1) ^ "\x10");
	like(reads('rotten', "reverify_after => '0'", 4, 4, 1), qr/invalid WAL segment "$wal[1]\.gz"/, 'found');
}
archive($wal[0], "$wal[1].partial");
reads('a partial one', '', 2, 2);
unlink("$dir/$wal[1].partial");
put($wal[1]);
# the border of the one before is closed now
reads('completed', '', 2, 2);
is(rows('segment, status'), "$wal[0]|ok\n$wal[1]|ok", 'the partial one is forgotten');

# --- interrupted, at the same time -------------------------------------------------

archive(@alone);
($verdict) = call("max_duration => '1 us'");
like($verdict, qr/^stopped: 140 segments, 128 read/, 'time is up after a batch');
is(value('count(*)'), 128, 'it is recorded');
reads('the rest', '', 140, 12);
$q->("DELETE FROM verify_wal_files");
my ($out, $err) = Accel::stopped_at($node, 'read', 1, "$dir/$alone[134]", "CALL verify_wal_archive('$dir')", sub {
	like((call())[2], qr/ERROR:  WAL archive "\Q$dir\E" is being verified by another session/, 'two at a time: no');
	my $busy = $dir;
	archive($wal[0]);
	like((call())[0], qr/^completed: 1 segment, 1 read/, 'another archive: yes');
	$dir = $busy;
	is(value('count(*)'), 128, 'a batch is committed');
	$q->("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL verify_wal_archive%' AND pid <> pg_backend_pid()");
});
like($err, qr/INFO:  00000: cancelled: 140 segments, 128 read.*HINT:  To go on, call the procedure again\..*ERROR:  57014/s, 'cancelled: says how far it came');
is($q->("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, 'no lock is left');
reads('goes on', '', 140, 12);
$q->("DELETE FROM verify_wal_files");
reads('with workers', 'workers => 2', 140, 140);
is(value("count(*), string_agg(DISTINCT status, ' ')"), '140|ok_switched', 'the same');

# --- a bound on the rate, of files as they are stored: no run can be faster

foreach my $case ([ 'alone', [ @wal[0 .. 2] ], '' ], [ 'workers', [ @wal[0 .. 2] ], ', workers => 2' ], [ 'gzip', [ map { "$_.gz" } @wal[0 .. 2] ], '' ])
{
	my ($title, $names, $more) = @$case;
	archive();
	foreach my $name (@$names)
	{
		my $bytes = slurp_file("$own/" . substr($name, 0, 24));
		# stored: what is decoded is no larger than what is read
		$bytes = gzipped($bytes, -Level => 0) if $name =~ /gz/;
		put($name, $bytes);
	}
  SKIP:
	{
		skip 'this build does not read gzip', 1
		  if $q->("SELECT status FROM verify_wal('$dir', '$names->[0]', '$names->[0]')") eq 'not_verifiable';
		my $begin = Time::HiRes::time();
		reads("max_rate, $title", "max_rate => 2048$more", 3, 3);
		cmp_ok(Time::HiRes::time() - $begin, '>', 1.3, "max_rate, $title: 3 MB at 2 MB/s");
	}
}

# The lowest segment of a timeline is read in each run, for its history.
archive();
foreach my $name (@wal[0, 1])
{
	my $bytes = slurp_file("$own/$name");
	substr($bytes, $_ * $wal_blcksz + 4, 4) = pack('L', 2) foreach 0 .. $MB / $wal_blcksz - 1;
	put($name =~ s/^00000001/00000002/r, $bytes);
}
put('00000002.history', "1\t" . $q->("SELECT start_lsn FROM verify_wal(NULL, '$wal[0]', '$wal[0]')") . "\tno reason\n");
reads('of timeline 2', '', 2, 2);
{
	my $begin = Time::HiRes::time();
	reads('max_rate, the lowest segment alone', 'max_rate => 700', 2, 0);
	cmp_ok(Time::HiRes::time() - $begin, '>', 1.2, 'max_rate, the lowest segment alone: 1 MB at 0.7 MB/s');
}

archive();
put("$_.gz", gzipped(slurp_file("$own/$_"))) foreach @alone;
SKIP:
{
	skip 'this build does not read gzip', 3
	  if $q->("SELECT status FROM verify_wal('$dir', '$alone[0].gz', '$alone[0].gz')") eq 'not_verifiable';
	($verdict) = call("max_duration => '1 us', max_rate => 1000");
	like($verdict, qr/^stopped: 140 segments, 5[78] read/, 'a batch is what the rate allows in a minute');
	($verdict) = call("max_duration => '1 us', max_rate => 50");
	like($verdict, qr/^stopped: 140 segments, 8 read/, 'but not too small');
	# 165 kB of small files: each read asks for more than there is, 1.1 MB in all
	is($node->psql('postgres', "SET statement_timeout = '45s'; CALL verify_wal_archive('$dir', reverify_after => '0', max_rate => 20)"), 0,
		'the rate is that of what is read');
}

# --- rights, memory ----------------------------------------------------------------

archive(@wal[0 .. 2]);
($verdict, undef, $all) = call('', role => 'nobody');
like($all, qr/ERROR:  permission denied for procedure verify_wal_archive/, 'nobody: no');
$q->('GRANT EXECUTE ON PROCEDURE verify_wal_archive TO nobody');
like((call('', role => 'nobody'))[2], qr/ERROR:  absolute path not allowed|ERROR:  .*pg_read_server_files/, 'granted only: no way to the archive');
($verdict, undef, $all) = call('', role => 'reader', set => 'SET default_transaction_read_only = on;');
like($verdict, qr/^completed: 3 segments, 3 read/, 'a reader of files, read-only by default');
is(value('count(*)'), 3, 'is recorded');
like($all, qr/NOTICE:  default_transaction_read_only does not hold for verify_wal_archive/, 'which is said');
like((call('', role => 'reader'))[0], qr/^completed: 3 segments, 0 read/, 'and is read');
is($q->("SELECT extconfig && ARRAY['verify_wal_files'::regclass::oid] FROM pg_extension WHERE extname = 'crc32c_accel'"), 't', 'pg_dump takes it along');
$q->("UPDATE verify_wal_files SET system_identifier = 1 WHERE directory = '$dir'");
reads('what another cluster has verified does not count', '', 3, 3);
$q->('ALTER TABLE verify_wal_files RENAME TO elsewhere');
($verdict, $warnings) = call();
like($verdict, qr/^completed: 3 segments, 3 read.*; 0 findings/, 'no table: all is read');
like($warnings, qr/^WARNING:  could not read what is remembered of WAL archive .* does not exist\n[^\n]*Every segment is read, and nothing is remembered\.$/, 'said once');
$q->('ALTER TABLE elsewhere RENAME TO verify_wal_files');
$q->(q{CREATE FUNCTION no() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
	ALTER TABLE verify_wal_files ADD CHECK (no()) NOT VALID});
($verdict, $warnings) = call("reverify_after => '0'");
like($verdict, qr/^completed: 3 segments, 3 read.*; 0 findings/, 'a table that cannot be written: all is read');
like($warnings, qr/^WARNING:  could not record this run any further: no/, 'said once');
is(value('count(*)'), 3, 'what was there stays');
$q->('DROP FUNCTION no() CASCADE');

# --- arguments ---------------------------------------------------------------------

for my $case (
	[ "BEGIN; CALL verify_wal_archive('$dir')", qr/verify_wal_archive cannot run inside a transaction block/ ],
	[ 'CALL verify_wal_archive(NULL)', qr/argument "directory" must not be null/ ],
	[ "CALL verify_wal_archive('$dir', reverify_after => '-1 s')", qr/reverify_after must not be negative/ ],
	[ "CALL verify_wal_archive('$dir', max_duration => '0')", qr/max_duration must be greater than zero/ ],
	[ "CALL verify_wal_archive('$dir', workers => -1)", qr/workers/ ],
	[ "CALL verify_wal_archive('$dir', max_rate => -1)", qr/-1 is outside the valid range for parameter "max_rate"/ ],
	[ "CALL verify_wal_archive('pg_wal')", qr/"pg_wal" is no WAL archive but this server's own WAL/ ],
	[ "CALL verify_wal_archive('PG_VERSION')", qr/"PG_VERSION" is not a directory/ ],
	[ "CALL verify_wal_archive('no_such')", qr/could not open directory "no_such"/ ])
{
	my ($sql, $error) = @$case;
	my $said;
	$node->psql('postgres', $sql, stderr => \$said);
	like($said, qr/ERROR:  .*$error/, $sql);
}

# --- another system, many findings -------------------------------------------------

archive(@wal[0 .. 2]);
foreach my $name (@wal[0 .. 2])
{
	my $bytes = slurp_file("$own/$name");
	substr($bytes, 24, 8) = 'whatever';
	put($name, $bytes);
}
like(reads('of another system', '', 3, 3, 3), qr/foreign_system/, 'said');
reads('its WAL is sound: it need not be read again, and is a finding all the same', '', 3, 0, 3);
archive(@alone);
AccelWal::poke("$dir/$_", 100, 'damage') foreach @alone;
($verdict, $warnings) = call();
$count = () = $warnings =~ /invalid WAL segment/g;
is($count, 100, 'a hundred lines');
like($warnings, qr/WARNING:  40 more findings in WAL archive/, 'and the rest');
like($verdict, qr/; 140 findings/, 'all are counted');
is(value('count(*)', 'is_finding'), 140, 'and recorded');

# --- a standby ---------------------------------------------------------------------

archive(@wal[0 .. 2]);
reads('on the primary', '', 3, 3);
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
Accel::configure($standby);
$standby->start;
$node->wait_for_catchup($standby);
for my $run (1, 2)
{
	($verdict, $warnings, $all) = call('', node => $standby);
	like($verdict, qr/^completed: 3 segments, 3 read.*; 0 findings/, "standby, run $run: all is read");
	like($all, qr/NOTICE:  nothing is remembered of WAL archive "\Q$dir\E" during recovery/, "standby, run $run: says why");
}
AccelWal::poke("$dir/$wal[1]", 300000, 'damage');
like((call('fail_on_findings => true', node => $standby))[2], qr/WARNING:  invalid WAL segment "$wal[1]".*ERROR:  2 findings/s, 'standby: finds');
$standby->stop;
$node->stop;
done_testing();
