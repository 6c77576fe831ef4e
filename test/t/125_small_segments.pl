# Segment files of a few blocks: what is found at their first and last blocks has the
# right number, file and offset, and is restored there.
#
# Servers with files of 1 GB skip this; test/matrix/builds.sh builds one without.
use strict;
use warnings;
use Accel;
use AccelProgram;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $per = Accel::built_with('RELSEG_SIZE');
my $size = Accel::built_with('BLCKSZ');
plan skip_all => 'segment files are not small' if $per > 64;

my $archive = PostgreSQL::Test::Utils::tempdir();
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
shared_buffers = 32MB
bgwriter_lru_maxpages = 0
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
my $has_chains = Accel::summarize_wal($node);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

# One row a page: five files and three blocks of a sixth; two files to the last block.
my $rows = 5 * $per + 3;
my $wide = int($size * 3 / 5);
sql(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLE t (id int, filler text);
ALTER TABLE t ALTER filler SET STORAGE PLAIN;
CREATE TABLE whole (LIKE t INCLUDING ALL);
CREATE TABLE lost (LIKE t INCLUDING ALL);
INSERT INTO t SELECT g, repeat('x', $wide) FROM generate_series(1, $rows) g;
INSERT INTO whole SELECT g, repeat('x', $wide) FROM generate_series(1, 2 * $per) g;
INSERT INTO lost SELECT g, repeat('x', $wide) FROM generate_series(1, $rows) g;
CREATE INDEX i ON t ((repeat('i', 1500) || id));
VACUUM t, whole, lost;
CHECKPOINT;
SQL
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } qw(t whole lost i);

# The file of a block, and where it begins there.
sub place
{
	my ($relation, $block) = @_;
	my $segment = int($block / $per);
	return ($file{$relation} . ($segment ? ".$segment" : ''), $block % $per * $size);
}

sub page
{
	my ($relation, $block, $page) = @_;
	my ($path, $offset) = place($relation, $block);
	return AccelWal::peek($node->data_dir . "/$path", $offset, $size) if !defined $page;
	AccelWal::poke($node->data_dir . "/$path", $offset, $page);
	return;
}

# The pages of a relation, in order.
sub all_pages { return join '', map { page($_[0], $_) } 0 .. $_[1] - 1; }

# --- healthy -----------------------------------------------------------------------

foreach my $relation ('t', 'whole', 'lost', 'i')
{
	my $blocks = sql("SELECT pg_relation_size('$relation') / $size");
	my $files = int(($blocks + $per - 1) / $per);

	is(sql("SELECT blocks, verified_blocks, status FROM verify_relation_summary('$relation', 'main')"),
		"$blocks|$blocks|ok", "$relation: $blocks blocks");
	is(sql("SELECT count(*), sum(blocks), bool_and(status = 'ok') FROM relation_files('$relation') WHERE fork = 'main' AND size > 0"),
		"$files|$blocks|t", "... in $files files");
	is(sql("SELECT crc32c FROM page_digests('$relation', blocks_per_row => 1000000, workers => 2)"),
		sql("SELECT public.crc32c('\\x" . unpack('H*', all_pages($relation, $blocks)) . "')"), '... and a digest over all of them');
}
is(sql('SELECT pg_relation_size(\'whole\')'), 2 * $per * $size, 'the last file of one is full');
is(sql("SELECT count(*) FROM pg_class c, verify_relation(c.oid) WHERE relkind IN ('r', 'i', 't', 'm', 'S')"), 0, 'nothing is found in the catalogs');
sql('CALL verify_database(record_digests => true)');
is(sql('SELECT count(*) FROM verify_findings'), 0, 'nor by a run');

# --- damage ------------------------------------------------------------------------

my @edges = (0, $per - 1, $per, 2 * $per - 1, 2 * $per, 3 * $per + 1, 5 * $per - 1, 5 * $per, $rows - 1);

sub backup
{
	my ($name, @options) = @_;
	Accel::base_backup($node, "$dir/$name", '--no-verify-checksums', @options);
	return "$dir/$name";
}
my $plain = backup('plain');
my $tar = backup('tar', '-Ft');
my @chain;
if ($has_chains)
{
	sql("UPDATE t SET id = -id WHERE id IN (2, $per, 3 * $per + 2, 5 * $per, 5 * $per + 2)");
	@chain = (backup('last', "--incremental=$plain/backup_manifest"));
}
sql('SELECT pg_switch_wal()');
foreach my $backup ($plain, $tar, @chain)
{
	my $prior = $backup eq ($chain[0] // '') ? ", prior_backups => ARRAY['$plain']" : '';
	is(sql("SELECT path, blkno, status, message FROM verify_backup('$backup'$prior)"), '', "$backup: a sound backup");
	next if $prior;
	my ($status, $out, $err) = AccelProgram::verify('backup', $backup);
	is($status, 0, '... by the program, too') or diag "$out$err";
}

$node->stop;
my %good = map { $_ => page('t', $_) } @edges;
page('t', $_, AccelWal::spoiled($good{$_})) foreach @edges;
$node->start;
my $expected = join "\n", map { my ($path, $offset) = place('t', $_); "$_|$path|$offset" } @edges;
my $found = "SELECT blkno, path, file_offset FROM verify_relation('t'";
is(sql("$found)"), $expected, 'each damaged block at its place');
is(sql("$found, workers => 2, max_rate => 100000) ORDER BY 1"), $expected, '... by workers');
is(sql("$found, direct_io => true)"), $expected, '... from the device')
  if Accel::sometimes_direct($node, 't') ne 'false';
my @expected = split /\n/, $expected;
is(sql("$found, first_block => $edges[$_], last_block => $edges[$_])"), $expected[$_], "block $edges[$_] alone") foreach 0 .. $#edges;
is(sql("$found, first_block => $per + 1, last_block => 2 * $per - 2)"), '', 'none between the edges of a file');
sql('SET client_min_messages = error; CALL verify_database(cluster_files => false)');
is(sql("SELECT blkno, path, file_offset FROM verify_findings WHERE relid = 't'::regclass ORDER BY 1"), $expected, '... by a run');

# --- what gives them back ------------------------------------------------------------

my $from = $has_chains ? "backup => '$chain[0]', prior_backups => ARRAY['$plain']" : "backup => '$plain'";
foreach my $block (@edges)
{
	my $source = $block % 2 ? $from : "backup => '$tar'";
	like(sql("SELECT status, message FROM restore_block('t', 'main', $block, $source, directory => '$archive')"),
		qr/^restored\|/, "block $block is restored");
	ok(substr(page('t', $block), 24) eq substr($good{$block}, 24), '... with what it had');
}
is(sql("$found)"), '', 'nothing is left');

# A page that shared buffers still have.
sql('SELECT sum(id), max(length(filler)) FROM t');
page('t', $_, AccelWal::spoiled(page('t', $_))) foreach $per - 1, 4 * $per;
is(sql("SELECT blkno, status FROM verify_relation('t')"), join("\n", map { "$_|bad_on_disk_cached_ok" } $per - 1, 4 * $per), 'damaged below shared buffers');
like(sql("SELECT status, message FROM heal_block('t', 'main', $_, true)"), qr/^healed/, "block $_ is healed") foreach $per - 1, 4 * $per;
is(sql("$found)"), '', 'and sound');

# --- lost writes -----------------------------------------------------------------------

my @lost = (0, $per - 1, $per, 4 * $per, $rows - 1);
my $start = sql('SELECT redo_lsn FROM pg_control_checkpoint()');
sql('CALL verify_database(record_digests => true)');
sql('CHECKPOINT');
$node->stop;
my %old = map { $_ => page('lost', $_) } @lost;
$node->start;
sql('UPDATE lost SET id = -id; CHECKPOINT');
sql('CALL verify_database(record_digests => true)');
$node->stop;
page('lost', $_, $old{$_}) foreach @lost;
$node->start;
$expected = join "\n", map { my ($path) = place('lost', $_); "$_|$path|stale_page" } @lost;
is(sql("SELECT blkno, path, status FROM verify_lost_writes(start_lsn => '$start') WHERE relation = 'lost'::regclass ORDER BY 1"),
	$expected, 'lost writes by the WAL');
is(sql("SELECT blkno, path FROM verify_page_digests('lost') ORDER BY 1"), $expected =~ s/\|stale_page//gr, 'lost writes by the ledger');
$node->stop;

# --- files -----------------------------------------------------------------------------

my $middle = $node->data_dir . '/' . (place('t', 2 * $per))[0];
rename $middle, "$middle.moved" or die;
$node->start;
is(sql("SELECT blkno, path, status FROM verify_relation('t', 'main')"), 2 * $per . "|$file{t}.2|missing", 'a missing file in the middle');
$node->stop;
rename "$middle.moved", $middle or die;
my $short = AccelWal::peek($middle, 0, ($per - 1) * $size);
my $entire = AccelWal::peek($middle, 0, $per * $size);
AccelWal::put($middle, $short);
$node->start;
is(sql("SELECT blkno, path, status FROM verify_relation('t', 'main')"), 3 * $per - 1 . "|$file{t}.2|size_mismatch", 'a file in the middle lacks a block');
$node->stop;
AccelWal::put($middle, $entire);
$node->start;
is(sql("SELECT count(*) FROM verify_relation('t', 'main')"), 0, 'all is back');

# What VACUUM cuts off leaves empty files.
sql("DELETE FROM whole WHERE id > 3; VACUUM whole; CHECKPOINT");
is(sql("SELECT pg_relation_size('whole')"), 3 * $size, 'VACUUM cuts files off');
is(sql("SELECT blocks, status FROM verify_relation_summary('whole', 'main')"), '3|ok', '... which is no finding');
$node->stop;
my ($status, $out, $err) = AccelProgram::verify('cluster', $node->data_dir);
is($status, 0, 'the program finds nothing in the data directory') or diag "$out$err";
done_testing();
