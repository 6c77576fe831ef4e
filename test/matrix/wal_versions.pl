# wal_versions.pl: this server judges the log of several versions, as
# wal_versions.sh put it beside this file: logs/VERSION with the files of a
# pg_wal and "records", what the writer's own pg_waldump lists.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $node = Accel::new_node('reader');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

sub sql { return $node->safe_psql('postgres', $_[0]); }

my $major = sql("SELECT current_setting('server_version_num')::int / 10000");
my $system = sql('SELECT system_identifier FROM pg_control_system()');
my @folders = sort glob(dirname(__FILE__) . '/logs/*');
is(join(' ', map { basename($_) } @folders), '15 17 18', 'logs of all versions');

foreach my $from (@folders)
{
	my $version = basename($from);
	my $dir = PostgreSQL::Test::Utils::tempdir();
	AccelWal::copy_files($from, $dir);
	mkdir "$dir/archive_status";	# a pg_wal, not an archive
	my @lines = split /\n/, slurp_file("$from/records");
	my @records = map { m{len \(rec/tot\):\s*\d+/\s*(\d+),.*? lsn: ([0-9A-F]+/[0-9A-F]+),} or die $_; [ AccelWal::number($2), $1 ] } @lines;
	my $end = AccelWal::record_end(@{ $records[-1] }, $MB);
	my $written = "verify_wal('$dir') WHERE records > 0 OR status = 'ok_switched'";

	is( sql("SELECT string_agg(DISTINCT concat_ws(' ', server_version, status, findings), ', ') FROM $written"),
		"$version foreign_system 1", "$version: another cluster's, of this version");

	# WAL of this version is made this server's own, so that nothing else can be
	# the matter.  This identifier over another version would be a finding.
	my $own = $version eq $major;
	my $foreign = $own ? 0 : 1;	# the one finding that each segment has anyway
	AccelWal::poke($_, 24, pack('Q', $system))
	  foreach grep { $own && AccelWal::peek($_, 0, 8) ne "\0" x 8 } glob("$dir/0*");
	is( sql("SELECT string_agg(w::text, E'\\n') FROM verify_wal('$dir') w
		WHERE findings > CASE WHEN records > 0 OR status = 'foreign_system' THEN $foreign ELSE 0 END OR status NOT IN
			('ok', 'ok_switched', 'ok_end_of_wal', 'ok_recycled', 'ok_unused'" . ($own ? '' : ", 'foreign_system'") . ')'),
		'', "$version: nothing else reported");
	is(sql("SELECT string_agg(DISTINCT server_version, ' ') FROM $written"), $version, "$version: named");
	is(sql("SELECT sum(records) FROM $written"), scalar(@records),
		"$version: as many records as its pg_waldump lists");
	is( AccelWal::number(sql("SELECT max(end_lsn) FROM verify_wal('$dir') WHERE records > 0")),
		$end, "$version: the log ends where its pg_waldump stops");
	is(sql("SELECT count(*) > 0 AND sum(fpi_bytes) > 100000 FROM $written"), 't', "$version: images are seen");
	is(sql("SELECT array_agg(w::text) FROM verify_wal('$dir', workers => 2) w"),
		sql("SELECT array_agg(w::text) FROM verify_wal('$dir') w"), "$version: with workers");

	# one record damaged: in its middle, or it may lie over the border of a page
	my ($broken) = grep { $_->[1] > 60 && $_->[0] % 8192 + $_->[1] < 8192 } @records[ @records / 2 .. $#records ];
	my ($lsn, $len) = @$broken;
	my $name = sprintf('00000001%08X%08X', $lsn / 2**32, $lsn % 2**32 / $MB);
	my $at = $lsn % $MB + 24 + int(($len - 24) / 2);
	AccelWal::poke("$dir/$name", $at, chr(ord(AccelWal::peek("$dir/$name", $at, 1)) ^ 16));
	is( sql("SELECT string_agg(concat_ws(' ', segment, status, findings, first_finding_lsn - '0/0', skipped_bytes), ', ')
		FROM verify_wal('$dir') WHERE findings > $foreign"),
		"$name corrupt " . ($foreign + 1) . " $lsn " . int(($len + 7) / 8) * 8, "$version: one record damaged, one finding");
	is( sql("SELECT string_agg(concat_ws(' ', lsn - '0/0', file_offset, status), ', ') FROM verify_wal_findings('$dir', '$name') WHERE status = 'corrupt'"),
		$lsn . ' ' . $lsn % $MB . ' corrupt', "$version: at its place");
	is(sql("SELECT sum(records) FROM $written"), $#records, "$version: all others are verified");
	is( sql("SELECT concat_ws(' ', server_version, findings, start_lsn - '0/0') FROM verify_wal_segment(pg_read_binary_file('$dir/$name'), '$name')"),
		"$version " . ($foreign + 1) . ' ' . int($lsn / $MB) * $MB, "$version: as bytes");
}

$node->stop;
done_testing();
