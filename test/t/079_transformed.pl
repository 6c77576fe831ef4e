# Storage that transforms pages (encryption below the server's storage manager)
# is no damage: one row says that such a relation cannot be verified.  Damage on
# plain storage, of all blocks of a relation even, stays damage.
#
# fault/transform.c transforms what lies in one tablespace; the shim of
# 050_faults.pl stops reads.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $shim = Accel::fault_shim();
my $transform = PostgreSQL::Test::Utils::tempdir() . '/transform.so';
system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', '-fno-builtin', '-U_FORTIFY_SOURCE',
	"-DPAGE=$blcksz", '-o', $transform, 'test/fault/transform.c', '-ldl');

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
jit = off
fsync = off
bgwriter_lru_maxpages = 0
max_parallel_workers = 4
CONF
$ENV{TRANSFORM_PATH} = '/secret/';
Accel::start_under("$shim:$transform", $node);
sub sql { return $node->safe_psql('postgres', $_[0]); }

my $wide = 500 * $blcksz / 8192;
my $narrow = 200 * $blcksz / 8192;	# one file
my $secret = $node->basedir . '/secret';
mkdir $secret or die $!;
sql("CREATE TABLESPACE secret LOCATION '$secret'");
sql($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C
CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C
CREATE SCHEMA s
CREATE TABLE s.enc TABLESPACE secret AS SELECT g, repeat('e', $wide) AS b FROM generate_series(1, 5000) g
CREATE INDEX enc_g ON s.enc (g) TABLESPACE secret
CREATE TABLE s.enc_one TABLESPACE secret AS SELECT 1 AS i
CREATE TABLE s.enc_none (i int) TABLESPACE secret
CREATE TABLE s.plain AS SELECT g, repeat('p', $wide) AS b FROM generate_series(1, 500) g
CREATE TABLE s.plain_one AS SELECT 1 AS i
CREATE TABLE s.replaced AS SELECT g, repeat('r', $narrow) AS b FROM generate_series(1, 500) g
CREATE TABLE s.healed AS SELECT 1 AS i
VACUUM s.enc
CHECKPOINT
SQL
my %path = map { $_ => $node->data_dir . '/' . sql("SELECT pg_relation_filepath('s.$_')") }
  qw(enc enc_one plain plain_one replaced healed);
$node->stop;

# Turns bits of each byte of a file from a block on, a range of bytes at a time.
sub spoil
{
	my ($file, $from, $blocks) = @_;
	AccelWal::poke_block($file, $_, 0, AccelWal::peek_block($file, $_) ^ ("\x3C" x $blcksz)) foreach $from .. $from + $blocks - 1;
	return;
}
my $blocks = Accel::blocks($path{plain});
spoil($path{plain}, 0, $blocks);
spoil($path{plain_one}, 0, 1);
Accel::resize($path{enc_one}, 2);	# a new block, which says nothing
Accel::start_under("$shim:$transform", $node);

# --- transformed ---------------------------------------------------------------

my $words = "message ~ 'storage transforms its pages'";
my $rows = "SELECT count(*), min(relation::text), min(fork), min(blkno), min(status), bool_and($words) FROM verify_relation";
is(sql('SELECT count(*) FROM s.enc'), '5000', 'the server reads its pages');
is(sql("$rows('s.enc')"), '1|s.enc|main||not_verifiable|t', 'transformed pages: one row');
is(sql("$rows('s.enc', 'main', 100, 200)"), '1|s.enc|main||not_verifiable|t', '... of a range');
is(sql("$rows('s.enc', 'vm')"), '1|s.enc|vm||not_verifiable|t', '... of a fork');
is(sql("$rows('s.enc', workers => 2, max_rate => 1000000)"), '1|s.enc|main||not_verifiable|t', '... by workers');
is(sql("$rows('s.enc_one')"), '1|s.enc_one|main||not_verifiable|t', '... of a single block');
is(sql("$rows('s.enc_none')"), '0|||||', '... nothing is said of no block');
is(sql("SELECT string_agg(concat_ws(' ', relation, fork, blocks, verified_blocks, bad_blocks, status), ', ') FROM verify_relation_summary('s.enc', include_indexes => true)"),
	's.enc main 0 0 0 not_verifiable, s.enc_g main 0 0 0 not_verifiable', 'the summary: a row per relation');
foreach my $n (1, 64)
{
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT count(crc32c) FROM page_digests('s.enc', blocks_per_row => $n)");
	is($out, '0', "no digest, $n blocks per row");
	is(join(' ', $err =~ /(WARNING:.*)/g), 'WARNING:  no digest of any block: not_verifiable', '... and one warning');
}
is(sql("SELECT status, $words FROM heal_block('s.enc', 'main', 3)"), 'not_verifiable|t', 'heal_block() writes nothing');
sql("UPDATE s.enc SET b = repeat('f', 400); CHECKPOINT");
is(sql('SELECT count(*) FROM verify_lost_writes()'), '0', 'verify_lost_writes() says nothing of them');
is(sql("$rows('s.enc')"), '1|s.enc|main||not_verifiable|t', 'pages in shared buffers: one row');

# --- a whole database ------------------------------------------------------------

my $plain = $blocks + 1;
foreach my $options ('', ', workers => 2, max_rate => 1000000')
{
	my ($rc, $out, $err) = $node->psql('postgres', 'CALL verify_database(' . Accel::relations($node, q{relnamespace = 's'::regnamespace}) . "$options)");
	my $title = $options ? 'a run with workers' : 'a run';
	is(sql("SELECT string_agg(CASE schema_name WHEN 's' THEN relation_name ELSE kind || ' of TOAST' END, ' ' ORDER BY schema_name DESC, relation_name) FROM verify_findings
		WHERE run = (SELECT max(run) FROM verify_runs) AND status = 'not_verifiable' AND $words"),
		'enc enc_g enc_one index of TOAST', "$title: a row per relation");
	is(scalar(() = $err =~ /WARNING:  could not verify relation/g), 4, '... and a warning');
	like($err, qr/; $plain findings, 4 not verifiable$/m, '... and findings of plain storage');
}

# Many relations are no storm of warnings.
sql(q{CREATE SCHEMA many});
sql(q{DO $$ BEGIN FOR i IN 1 .. 104 LOOP EXECUTE format('CREATE TABLE many.t%s TABLESPACE secret AS SELECT 1 AS i', i); END LOOP; END $$; CHECKPOINT});
my ($rc, $stdout, $stderr) = $node->psql('postgres', 'CALL verify_database(' . Accel::relations($node, q{relnamespace = 'many'::regnamespace}) . ')');
is(scalar(() = $stderr =~ /WARNING:/g), 101, 'many relations: a hundred of them have a warning');
like($stderr, qr/WARNING:  could not verify 4 more relations\nHINT:  verify_findings has all of them\.\n.*; 0 findings, 104 not verifiable$/s, '... and the rest one');

# --- plain storage ---------------------------------------------------------------

my $damage = "SELECT count(*), count(DISTINCT blkno), min(status), max(status) FROM verify_relation";
is(sql("$damage('s.plain')"), "$blocks|$blocks|lsn_in_future|lsn_in_future", 'all blocks of plain storage damaged: findings');
is(sql("$damage('s.plain', workers => 2, max_rate => 1000000)"), "$blocks|$blocks|lsn_in_future|lsn_in_future", '... by workers');
is(sql("$damage('s.plain_one')"), '1|1|lsn_in_future|lsn_in_future', '... a single one');

# Another file under the name of one that the server has open.
system_or_bail('cp', $path{replaced}, "$path{replaced}_damaged");
spoil("$path{replaced}_damaged", 0, Accel::blocks($path{replaced}));
is(sql("SELECT count(*) FROM s.replaced;
	COPY (SELECT 1) TO PROGRAM 'mv $path{replaced} $path{replaced}_open && mv $path{replaced}_damaged $path{replaced}';
	SELECT count(*) = pg_relation_size('s.replaced') / $blcksz, min(status) FROM verify_relation('s.replaced')"),
	"500\nt|bad_on_disk_cached_ok", 'a damaged file in the place of one that is open: findings');

# Then the reads of the file are those of the scan, of the decision, two that ask the
# device, and that of the question; the sixth is the storage manager's.  It fails, or
# the block is healed before it.
sql('INSERT INTO s.healed VALUES (2)');
spoil($path{healed}, 0, 1);
my ($file) = $path{healed} =~ m{(base/.*)};
is(sql("SELECT fault_arm('read', 'eio', 6, true, '$file\$');
	SELECT status, buffer_state FROM verify_relation('s.healed', 'main'); SELECT fault_fired()"),
	"\nbad_on_disk_cached_ok|dirty\n1", 'a storage manager that reads nothing: a finding');
my ($out, $err) = Accel::stopped_at($node, 'read', 6, "$file\$",
	"SELECT blkno, status, buffer_state FROM verify_relation('s.healed', 'main')",
	sub { sql('CHECKPOINT'); });
is("$out$err", '0|bad_on_disk_cached_ok|dirty', 'a block that is healed meanwhile: a finding');
is(sql("$damage('s.healed')"), '0|0||', '... and then none');

$node->stop;
done_testing();
