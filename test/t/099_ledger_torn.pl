# The page ledger without checksums: a page that is half written when it is read
# is not recorded as it is then, and not judged.
use strict;
use warnings;
use Accel;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', checksums => 0, conf => <<'CONF');
autovacuum = off
jit = off
wal_level = replica
bgwriter_lru_maxpages = 0
shared_buffers = 1MB
CONF
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE t WITH (fillfactor = 10) AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, 50) g;
CREATE TABLE large AS SELECT g, repeat('l', 1000) AS b FROM generate_series(1, 10000) g;
CREATE INDEX ON large (g);
VACUUM t, large;
CHECKPOINT;
SQL
my $file = Ledger::path($node, 't') . '$';

foreach my $what ("CALL verify_database(record_digests => true, relations => '{t}', cluster_files => false)",
	"SELECT count(*) FROM verify_page_digests('t')")
{
	# each page changes in both halves
	$q->("UPDATE t SET b = repeat(chr(97 + length(b) % 20), 600)");
	my $session;
	my ($out, $err) = Accel::stopped_at($node, 'write', 1, $file,
		'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(b) FROM large WHERE g > 0', sub {
		$session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $what ],
			'<', \undef, '>', \my $said, '2>', \my $error);
		ok(Accel::seen_in($node, $session,
				"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event ~ '^(BufferContent|BufferExclusive)\$' AND query ~ 'digests')"),
			'a block that is half written is waited for');
	});
	is("$out$err", '10000', 'the write ends');
	$session->finish;
	$q->('CHECKPOINT');
	is(Ledger::findings($node), '', 'no half of it was believed');
}
$node->stop;
done_testing();
