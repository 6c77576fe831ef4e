# Files of WAL that storage does not give as they were listed: shorter than they
# were, unreadable, behind links that lead nowhere.  A shim that the server
# preloads makes the calls fail.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $size = 1024 * 1024;
my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], conf => "autovacuum = off\nwal_keep_size = 1GB\n");
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };

$q->(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_matched() RETURNS int AS '$shim' LANGUAGE C;
	SELECT pg_switch_wal();
});
my $start = $q->('SELECT pg_current_wal_insert_lsn()');
$q->(q{SELECT pg_logical_emit_message(false, 'a', repeat('x', 900000)); SELECT pg_switch_wal()}) for 1 .. 4;
my @names = split /\n/, $q->("SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}\$'
	AND name >= pg_walfile_name('$start'::pg_lsn + 1) AND name < pg_walfile_name(pg_current_wal_insert_lsn()) ORDER BY name");
cmp_ok(scalar(@names), '>=', 4, 'segments');
my ($before, $name, $after) = @names[0 .. 2];

my $archives = PostgreSQL::Test::Utils::tempdir();
my $number = 0;

# A new copy of the segments, an hour old.
sub archive
{
	my $archive = "$archives/" . ++$number;
	mkdir $archive;
	foreach my $segment (@names)
	{
		copy($node->data_dir . "/pg_wal/$segment", "$archive/$segment") or die "$segment: $!";
		utime(time() - 3600, time() - 3600, "$archive/$segment");
	}
	return $archive;
}

# What a query says while a call fails on files of a name, or the segment's.
sub under
{
	my ($call, $fault, $nth, $query, $file) = @_;
	$file //= $name;
	return $q->("SELECT WHERE fault_arm('$call', '$fault', $nth, true, '$file') IS NULL; $query; SELECT WHERE fault_fired() < 0");
}

my $row = q{SELECT concat_ws('|', status, message) FROM };
my $remembered = "SELECT concat_ws('|', status, crc32c IS NOT NULL) FROM verify_wal_files WHERE segment = '$name' ORDER BY verified_at DESC LIMIT 1";

# --- a file that ends before its end -----------------------------------------
# the reads of its first bytes are right, the third one and all others find the end
my $archive = archive();
foreach my $nth (1 .. 10)
{
	my $told = under('read', 'end', $nth, "$row verify_wal('$archive', '$name', '$name')");
	like($told, qr/^(size_mismatch|corrupt)\|./, "shorter from read $nth on: $told");
}
$q->("SELECT WHERE fault_arm('read', 'end', 5, true, '$name') IS NULL; CALL verify_wal_archive('$archive')");
unlike($q->($remembered), qr/^ok|\|t$/, 'no CRC of a part is remembered');
$q->("CALL verify_wal_archive('$archive')");
is($q->($remembered), 'ok_switched|t', 'the next run reads all of it');
is($q->("SELECT string_agg(DISTINCT status, ' ') FROM verify_wal('$archive')"), 'ok_switched', 'sound');

# cut while it is read
my ($row_of_cut) = Accel::stopped_at($node, 'read', 5, $name, "$row verify_wal('$archive', '$name', '$name')",
	sub {
		truncate("$archive/$name", $size / 2) or die $!;
		utime(time() - 3600, time() - 3600, "$archive/$name");
	});
like($row_of_cut, qr/^(size_mismatch|corrupt)\|/, 'cut while it is read');

# --- reads that fail ----------------------------------------------------------
$archive = archive();
foreach my $nth (2 .. 6)
{
	is(under('read', 'eio', $nth, "$row verify_wal('$archive', '$name', '$name')") =~ s/offset \d+/offset N/r,
		'io_error|could not read at offset N: Input/output error', "read $nth fails");
}
like(under('open', 'eio', 1, "$row verify_wal('$archive') WHERE segment = '$name'"),
	qr{^io_error\|could not open the file: Input/output error$}, 'an open fails');
my $history = '00000002.history';
AccelWal::put("$archive/$history", "1\t$start\tno reason\n");
foreach my $case ([ 'open', 'could not open the file' ], [ 'read', 'could not read at offset 0' ])
{
	my ($call, $words) = @$case;
	is(under($call, 'eio', 1, "$row verify_wal('$archive') WHERE segment = '$history'", $history),
		"io_error|$words: Input/output error", "a history file: $call fails");
}
is($q->("$row verify_wal('$archive') WHERE segment = '$history'"), 'ok', 'the history file is fine');
unlink "$archive/$history";
is(under('read', 'eio', 3, "SELECT DISTINCT status || '|' || reason FROM verify_wal_findings('$archive', '$name')"),
	'io_error|file_read', 'it is a finding');
my ($result, $out, $err) = $node->psql('postgres', "SELECT fault_arm('read', 'eio', 3, true, '$name');
	CALL verify_wal_archive('$archive', fail_on_findings => true)", on_error_stop => 0);
like($err, qr/WARNING:  could not read WAL segment "$name"\nDETAIL:  io_error: could not read at offset/, 'said by a run');
like($err, qr/ERROR: .*finding/, 'it ends a run that fails on findings');
is($q->($remembered), 'io_error|f', 'it is recorded');

# --- links that lead nowhere -------------------------------------------------
$archive = archive();
$q->("CALL verify_wal_archive('$archive')");
my $tier = "$archives/tier";
mkdir $tier;
rename("$archive/$name", "$tier/$name");
symlink("$tier/$name", "$archive/$name");
is($q->("$row verify_wal('$archive', '$name', '$name')"), 'ok_switched', 'behind a link');
rename($tier, "$tier.gone");
my $dead = 'missing|the file behind the symbolic link is not there';
is($q->("$row verify_wal('$archive', '$name', '$name')"), $dead, 'the link leads nowhere');
is($q->("$row verify_wal('$archive') WHERE segment = '$name'"), $dead, 'in a directory');
is($q->("$row verify_wal('$archive', start_lsn => '$start') WHERE segment = '$name'"), $dead, 'in a range');
is($q->("SELECT status || '|' || message FROM verify_wal_findings('$archive', '$name')"), $dead, 'as a finding');
($result, $out, $err) = $node->psql('postgres', "CALL verify_wal_archive('$archive', fail_on_findings => true)");
like($err, qr/WARNING:  missing WAL segment "$name"\nDETAIL:  missing: the file behind the symbolic link is not there/, 'said by a run');
is($q->($remembered), 'missing|f', 'it is recorded');
rename("$tier.gone", $tier);
$q->("CALL verify_wal_archive('$archive')");
is($q->($remembered), 'ok_switched|t', 'and sound when the link leads to it again');

# --- one written page that tells another page size ---------------------------
my $single = $q->(q{SELECT pg_switch_wal(); SELECT pg_logical_emit_message(false, 'a', 'a');
	SELECT pg_walfile_name(pg_switch_wal())}) =~ s/.*\n//sr;
copy($node->data_dir . "/pg_wal/$single", "$archive/$single") or die "$single: $!";
is($q->("SELECT status || ' ' || findings FROM verify_wal('$archive', '$single', '$single')"), 'ok_switched 0', 'one page');
AccelWal::poke("$archive/$single", 36, pack('L', 2 * $wal_blcksz));
like($q->("$row verify_wal('$archive', '$single', '$single')"), qr/^corrupt\|.*@{[ 2 * $wal_blcksz ]}/, 'of another size, it says');

$node->stop;
done_testing();
