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


# Judging: other databases by workers there
sub judged
{
	my ($arguments, $where) = @_;
	return ($where // $node)->safe_psql('postgres', "SELECT database, coalesce(relation::text, schema_name || '/' || relation_name), blkno, status
		FROM verify_page_digests(@{[ $arguments // '' ]}) WHERE status <> 'not_verifiable' ORDER BY 1, 2, 3");
}

query('CREATE DATABASE closed; CREATE DATABASE spare');
query($Ledger::relations, $_) foreach qw(closed spare);
query('ALTER DATABASE closed ALLOW_CONNECTIONS false; CHECKPOINT');
query('DELETE FROM internal_page_digests');
record();
is(judged(), '', 'all is as it was recorded');
is(query("SELECT count(*) FROM verify_page_digests() WHERE status = 'not_verifiable' AND datid = $oid{shop} AND relation_name IN ('t', 't_gin', 'large', 's')"), 0, 'and was judged');

my %path = map { $_ => query("SELECT pg_relation_filepath('$_')", 'shop') } qw(t t_btree t_gin large s);
$path{own} = Ledger::path($node, 't');
my %old = map { $_ => Ledger::page($node, $path{$_}, $_ eq 'large' ? 2000 : 0) } qw(t large s own);
query("UPDATE t SET k = k + 1 WHERE ctid >= '(0,0)' AND ctid < '(1,0)'; UPDATE large SET g = -1 WHERE ctid = '(2000,1)';
	SELECT nextval('s') FROM generate_series(1, 100); CHECKPOINT", 'shop');
query("UPDATE t SET k = k + 1 WHERE ctid >= '(0,0)' AND ctid < '(1,0)'; CHECKPOINT");
record();
my %good = map { $_ => Ledger::page($node, $path{$_}, $_ eq 'large' ? 2000 : 0) } qw(t large s own);
my $gin = Ledger::page($node, $path{t_gin}, 3);
my $other = Ledger::page($node, $path{t_btree}, 1);
my $changed = $other;
substr($changed, 8100, 1) ^= "\x01";
$changed = Ledger::sealed($node, $changed, 1);
Ledger::while_stopped($node, sub {
	Ledger::put($node, $path{$_}, $_ eq 'large' ? 2000 : 0, $old{$_}) foreach qw(t large s own);
	Ledger::put($node, $path{t_gin}, 3, "\0" x 8192);
	Ledger::put($node, $path{t_btree}, 1, $changed);
});
my $found = "postgres|t|0|stale_page\nshop|public/large|2000|stale_page\nshop|public/s|0|stale_page\nshop|public/t|0|stale_page\nshop|public/t_btree|1|diverged\nshop|public/t_gin|3|gone";
is(judged(), $found, 'lost writes in two databases are named, nothing else');
is(judged('workers => 2'), $found, 'by workers');
is(judged('max_rate => 100000'), $found, 'below a bound on the rate');
is(judged("'t'"), 'postgres|t|0|stale_page', 'of one relation');
is(query("SELECT path, disk_lsn < known_lsn, recorded_at < now(), datid, relation IS NULL, message FROM verify_page_digests()
	WHERE database = 'shop' AND relation_name = 't' AND status = 'stale_page'"),
	"$path{t}|t|t|$oid{shop}|t|the page on disk is older than the one that was recorded: a write was lost", 'with what is known of them');
my (undef, undef, $said) = $node->psql('postgres', 'SELECT FROM verify_page_digests()');
like($said, qr/WARNING:  6 blocks are not what the page ledger knows/, 'all are counted');
record();
is(judged(), $found, 'another recording keeps what is known');

# on a standby, of its own files
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
Ledger::put($standby, $path{t}, 0, $good{t});
$standby->start;
$node->wait_for_catchup($standby);
$node->safe_psql('postgres', 'CHECKPOINT');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
is(judged('', $standby), $found =~ s/shop.public.t.0.stale_page\n//r, 'a standby judges itself, in all databases');
$standby->stop;
Ledger::while_stopped($node, sub {
	Ledger::put($node, $path{$_}, $_ eq 'large' ? 2000 : 0, $good{$_}) foreach qw(t large s own);
	Ledger::put($node, $path{t_gin}, 3, $gin);
	Ledger::put($node, $path{t_btree}, 1, $other);
});
is(judged(), '', 'nothing is found once they are healed');

# Rows of blocks that are far behind each other, and more of the same blocks than a
# range has rows: each of them is judged.
my $far = join ';', map { "UPDATE far SET first_block = $_->[0]; INSERT INTO internal_page_digests SELECT far.* FROM far, generate_series(1, $_->[1])" }
  [ 131072, 130 ], [ 132096, 1 ], [ 393216, 1 ];
query("BEGIN; CREATE TEMP TABLE far AS SELECT * FROM internal_page_digests WHERE datid = $oid{shop} AND relid = $relid{large} AND first_block = 0; $far; COMMIT");
like(query("SELECT message FROM verify_page_digests() WHERE datid = $oid{shop} AND relation_name = 'large'"), qr/^3072 blocks: /, 'in each range of blocks');
query("DELETE FROM internal_page_digests WHERE datid = $oid{shop} AND relid = $relid{large} AND first_block > 130000");

# What is not judged is said: a locked relation, a rewritten one, a lack of rights or workers
my $why = sub { query("$_[0] SELECT message FROM verify_page_digests() WHERE status = 'not_verifiable' AND database = 'shop' AND $_[1]") };
my $gate = Accel::gate($node, 'large', 'shop');
like($why->("SET lock_timeout = '100ms';", 'relation_name IS NULL'), qr/^could not obtain lock on relation with OID $relid{large}$/, 'a lock there');
$gate->quit;
query('VACUUM FULL large; CHECKPOINT', 'shop');
is($why->('', "relation_name = 'large'"), 'no digests of its present file are recorded', 'a rewritten relation');
query('CREATE ROLE reader; GRANT EXECUTE ON FUNCTION verify_page_digests TO reader');
like($why->('SET ROLE reader;', 'relation_name IS NULL'), qr/^permission denied/, 'a grant of EXECUTE is for this database');
query('ALTER DATABASE spare RENAME TO store; DROP DATABASE closed; ALTER DATABASE shop ALLOW_CONNECTIONS false');
is(query("SELECT count(*) FROM verify_page_digests() WHERE database IN ('closed', 'spare') OR relation_name IS NULL"), 0, 'databases that were dropped or renamed, or are closed');
is(query("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'crc32c_accel%'"), 0, 'no worker stays');
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
is($why->('', 'relation_name IS NULL'), 'all of max_worker_processes are in use', 'no place for a worker');

$node->stop;
done_testing();
