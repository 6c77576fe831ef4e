# The page ledger over all databases: verify_cluster records them from one, and
# that one judges them.
use strict;
use warnings;
use Accel;
use Ledger;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1, conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
max_worker_processes = 12
CONF
$node->start;

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

sub record
{
	my ($more) = @_;
	my ($out, $err);

	$node->psql('postgres', 'CALL verify_cluster(record_digests => true, cluster_files => false, lost_writes => false'
		  . ($more ? ", $more" : '') . ')', stdout => \$out, stderr => \$err);
	return $err;
}

query('CREATE EXTENSION crc32c_accel; CREATE DATABASE shop; CREATE DATABASE spare');
query($Ledger::relations, $_) foreach qw(postgres shop spare);
query("CREATE TABLE large AS SELECT g, repeat('l', 1000) AS b FROM generate_series(1, 20000) g; CREATE SEQUENCE s; SELECT nextval('s');
	CREATE TABLE marked AS SELECT g, repeat('m', 500) AS b FROM generate_series(1, 400) g; VACUUM (FREEZE) marked", 'shop');
query('CHECKPOINT');

my %oid = map { split /\|/ } split /\n/, query('SELECT datname, oid FROM pg_database');
my %relid = map { $_ => query("SELECT '$_'::regclass::oid", 'shop') } qw(t t_btree large marked s pg_class);

# Recording: the same rows whoever reads
my $array = "SELECT crc32c_agg(lsns || digests ORDER BY relid, first_block), count(*) FROM internal_page_digests
	WHERE datid = $oid{shop} AND relid IN ($relid{t}, $relid{t_btree}, $relid{large}, $relid{marked}, $relid{s})";
my %arrays;
foreach my $how ('', 'workers => 2', 'max_rate => 100000', 'workers => 2, max_rate => 100000')
{
	query('DELETE FROM internal_page_digests');
	like(record($how), qr/INFO:  completed: 5 databases, .*; 0 findings, 0 not verifiable/, "recorded with $how");
	$arrays{ query($array) } = $how;
}
is(keys %arrays, 1, 'all ways to read record the same') or diag(join "\n", %arrays);
like((keys %arrays)[0], qr/\|7$/, 'a row for 1024 blocks');
is(query('SELECT count(DISTINCT datid), bool_or(datid = 0) FROM internal_page_digests'), '6|t', 'of every database, and what they share');
query('CREATE EXTENSION crc32c_accel', 'shop');
is(query("SELECT encode(string_agg(digests, '' ORDER BY first_block), 'hex') FROM internal_page_digests WHERE datid = $oid{shop} AND relid = $relid{large}"),
	query("SELECT string_agg(lpad(to_hex(crc32c), 8, '0'), '' ORDER BY blkno) FROM page_digests('large', masked => true)", 'shop'),
	'the digests are those of page_digests() there');
query('DROP EXTENSION crc32c_accel', 'shop');

# A run that writes nothing, one of this database, and one of a part
my $versions = "SELECT string_agg(ctid || ' ' || xmin, ',' ORDER BY ctid) FROM internal_page_digests WHERE datid = $oid{shop} AND relid >= 16384";
my $before = query($versions);
record("databases => '{shop}'");
is(query($versions), $before, 'the second run writes nothing');
query('CALL verify_database(record_digests => true)');
is(query($versions), $before, 'nor does a run of this database forget the others');
query("UPDATE t SET k = k + 1 WHERE id = 1; CHECKPOINT", 'shop');
record("databases => '{shop}'");
isnt(query($versions), $before, 'what has changed is written');

# Rows of what is gone
my $of = "SELECT count(*) FROM internal_page_digests WHERE datid = ";
query('DROP TABLE marked; CHECKPOINT', 'shop');
record("databases => '{postgres}'");
is(query("$of $oid{shop} AND relid = $relid{marked}"), 0, 'those of a file that was dropped go');
isnt(query("$of $oid{shop} AND relid = $relid{large}"), 0, 'others stay');
query('DROP DATABASE spare; CHECKPOINT');
record("databases => '{postgres}'");
is(query("$of $oid{spare}"), 0, 'and those of a database');

$node->stop;
done_testing();
