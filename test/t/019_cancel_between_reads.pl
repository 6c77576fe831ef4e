# A cancel ends every function that reads before its next read but one, at once
# and not by the end of its input.  No clock: the session stops inside of a read
# (by the shim of 050_faults.pl), is cancelled there, and its reads are counted.
# How long a cancel takes is 051_cancel.pl's.
use strict;
use warnings;
use Accel;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Accel::fault_shim();

my $node = Accel::new_node('main', extra => ['--wal-segsize=4'],
	conf => "autovacuum = off\njit = off\n");
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE FUNCTION fault_matched() RETURNS int AS '$shim' LANGUAGE C;
CREATE TABLE t AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, 30000) g;
CHECKPOINT;
SQL
my $table = $q->("SELECT pg_relation_filepath('t')");

# a whole segment and a large file, out of the server's way
my $dir = $node->basedir . '/copies';
mkdir $dir or die $!;
my $segment = $q->('SELECT pg_walfile_name(pg_switch_wal())');
$q->("CREATE TABLE fill AS SELECT repeat('y', 500) FROM generate_series(1, 20000) g");
$segment = $q->("SELECT name FROM pg_ls_waldir() WHERE name > '$segment' AND name ~ '^[0-9A-F]{24}\$' ORDER BY name LIMIT 1");
copy($node->data_dir . "/pg_wal/$segment", "$dir/$segment") or die "$segment: $!";

my ($start, $end) = split /\|/, $q->("SELECT start_lsn, end_lsn FROM verify_wal('$dir', '$segment', '$segment')");

foreach my $case (
	[ 'crc32c_file', "$dir/$segment", "SELECT crc32c_file('$dir/$segment')" ],
	[ 'verify_relation', $table, q{SELECT count(*) FROM verify_relation('t')} ],
	[ 'verify_relation_summary', $table, q{SELECT count(*) FROM verify_relation_summary('t')} ],
	[ 'page_digests', $table, q{SELECT count(*) FROM page_digests('t')} ],
	[ 'page_digests, masked', $table, q{SELECT count(*) FROM page_digests('t', masked => true)} ],
	[ 'verify_database', $table, 'CALL verify_database()' ],
	[ 'verify_wal, one', $segment, "SELECT status FROM verify_wal('$dir', '$segment', '$segment')" ],
	[ 'verify_wal_findings', $segment, "SELECT count(*) FROM verify_wal_findings('$dir', '$segment')" ],
	[ 'verify_wal, a directory', $segment, "SELECT count(*) FROM verify_wal('$dir')" ],
	[ 'verify_wal, a range', $segment, "SELECT count(*) FROM verify_wal('$dir', start_lsn => '$start', end_lsn => '$end')" ])
{
	my ($title, $path, $query) = @$case;
	my $count = 'SELECT fault_matched()';
	my $all = $q->("SELECT fault_arm('read', 'eio', 1000000000, false, '$path'); $query; $count");
	$all =~ s/.*\n//s;
	cmp_ok($all, '>', 8, "$title: many reads");
	my ($out, $err) = Accel::stopped_at($node, 'read', 3, $path, [ $query, $count ], sub {
		$q->("SELECT pg_cancel_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()");
	});
	like($err, qr/ERROR:  57014/, "$title: cancelled");
	like($out, qr/^[34]$/, "$title: and reads no more");
}
$node->stop;
done_testing();
