# heal_block() writes what shared buffers hold over its damaged block on disk,
# under load and with its WAL; and it refuses whatever it is not sure of.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');
use constant SEGMENT => Accel::built_with('RELSEG_SIZE');	# blocks

# nothing is written but by checkpoints and by us; all of it fits
my $quiet = "autovacuum = off\njit = off\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h\nmax_wal_size = 4GB\n";
my $node = Accel::new_node('main', allows_streaming => 1, conf => "${quiet}shared_buffers = 16384\nfsync = off\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->('CREATE EXTENSION crc32c_accel');

sub path { return $q->("SELECT pg_relation_filepath('$_[0]')"); }

# Overwrites a part of a block.
my %mutilate = (
	bit => sub { return (5000, chr(ord($_[0]->(5000, 1)) ^ 4)); },
	header => sub { return (10, "\xff" x 10); },
	lsn => sub { return (0, "\xff" x 8); },
	half => sub { return (BLCKSZ / 2, 'x' x (BLCKSZ / 2)); },
	zero => sub { return (0, "\0" x BLCKSZ); });

sub damage
{
	my ($data, $file, $block, $kind) = @_;
	my $peek = sub { return AccelWal::peek_block("$data/$file", $block, @_); };
	my ($offset, $bytes) = $mutilate{$kind}->($peek);
	AccelWal::poke_block("$data/$file", $block, $offset, $bytes);
	return;
}

# 1,000 blocks below cached buffers, while half of the table is being updated.
# The standby has lost some of the same blocks, of the other half.
my $scale = BLCKSZ / 4096;
my $half = 50_000 * $scale;	# rows
$node->command_ok([ 'pgbench', '-iq', '-s', $scale, $node->connstr('postgres') ], 'a table');
$q->('CHECKPOINT');
$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
Accel::configure($standby);
my %file = map { $_ => path($_) } qw(pgbench_accounts pgbench_accounts_pkey);
my ($blocks) = $q->("SELECT pg_relation_size('pgbench_accounts') / current_setting('block_size')::int");
my @lost = map { 3 * $_ + 1 } ($blocks / 6 + 20) .. 880;
damage($standby->data_dir, $file{pgbench_accounts}, $_, 'half') foreach @lost;
$standby->start;

$q->("SET enable_seqscan = off; SELECT count(*) FROM generate_series(1, 2 * $half, 50) g, pgbench_accounts WHERE aid = g");
$q->('SELECT count(abalance) FROM pgbench_accounts');
my $rows = 'SELECT count(*), sum(hashtextextended(a::text, 0)) FROM pgbench_accounts a WHERE aid > ' . $half;
my $before = $q->($rows);
my $script = $node->basedir . '/update.sql';
append_to_file($script, "\\set aid random(1, $half)\nUPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n");
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', $script, $node->connstr('postgres') ],
	'>', \my $bench_out, '2>', \my $bench_err);
ok($node->poll_query_until('postgres', 'SELECT sum(abalance) > 0 FROM pgbench_accounts'), 'it is being updated');

my @kinds = qw(bit header lsn half);
damage($node->data_dir, $file{pgbench_accounts}, 3 * $_ + 1, $kinds[ $_ % 4 ]) foreach 0 .. 899;
damage($node->data_dir, $file{pgbench_accounts_pkey}, 3 * $_ + 1, $kinds[ $_ % 4 ]) foreach 0 .. 99;
my $find = "FROM verify_relation('pgbench_accounts', 'main', include_indexes => true) v";
is($q->("SELECT v.status, h.status, h.copy IS NOT NULL, count(*), count(DISTINCT h.message)
	$find, heal_block(v.relation, v.fork, v.blkno, true) h GROUP BY 1, 2, 3"),
	'bad_on_disk_cached_ok|healed|t|1000|1', '1,000 damaged blocks under load: healed');
is($q->("SELECT count(*) $find"), '0', '... on disk, before any checkpoint');
ok($bench->pumpable, '... the load went on');
$bench->signal('TERM');
$bench->finish;
is($q->($rows), $before, 'the rows are what they were');
like(slurp_file($node->logfile), qr/LOG: .*block \d+ of fork "main" of relation "pgbench_accounts_pkey" was written again from shared buffers: healed/,
	'the server log tells');

$q->('CHECKPOINT');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');
my $digests = join ' UNION ALL ', map { "SELECT count(*), crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno)
	FROM page_digests('$_', masked => true)" } sort keys %file;
is($standby->safe_psql('postgres', "SELECT count(*) $find"), '0', 'the standby is healed, too');
is($standby->safe_psql('postgres', $digests), $q->($digests), '... and has the same pages');
my ($rc, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT heal_block('pgbench_accounts', 'main', 0)");
like($err, qr/25006/, 'a standby writes nothing itself');
$standby->stop;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees');

# One block each: what is on disk, what is in memory, what comes of it.
$node->start;
$q->($_) foreach split /\n/, <<'SQL';
DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history
CREATE TABLE t AS SELECT g, repeat('t', 500) AS b FROM generate_series(1, 2000) g
CREATE INDEX t_g ON t (g)
CREATE TABLE unvacuumed AS SELECT * FROM t
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM t
CREATE TABLE toasted (t text)
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL
INSERT INTO toasted SELECT repeat('t', 100000) FROM generate_series(1, 10)
CREATE SEQUENCE seq
SELECT nextval('seq')
CREATE VIEW view AS SELECT 1
CREATE TABLE parted (i int) PARTITION BY RANGE (i)
VACUUM t, unlogged, toasted
CHECKPOINT
SQL
my $toast = $q->("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toasted'");
$file{$_} = path($_) foreach qw(t t_g unvacuumed unlogged seq), $toast;
$file{"t.$_"} = "$file{t}_$_" foreach qw(vm fsm);
my $read = "SELECT count(b) FROM t; SELECT count(b) FROM unvacuumed; SELECT count(b) FROM unlogged;
	SELECT max(md5(t)) FROM toasted; SELECT last_value FROM seq;
	SET enable_seqscan = off; SELECT count(*) FROM t WHERE g > 0";
my $ignore = 'SET ignore_checksum_failure = on';
my $zeroes = 'SET zero_damaged_pages = on';

# [title, relation, fork, block, damage, SQL before the damage, SQL after it, trust, expected status|copy, message]
my @cases = (
	[ 'a page of an unlogged table', 'unlogged', 'main', 2, 'half', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'a good page', 't', 'main', 1, undef, '', '', 0, 'healthy|', qr/page on disk is good/ ],
	[ 'a damaged page that nobody has', 't', 'main', 1, 'bit', '', '', 1, 'no_good_copy|', qr/do not hold the block/ ],
	[ 'a page as it was read', 't', 'main', 2, 'bit', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'a page of an index', 't_g', 'main', 2, 'header', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'a page of a TOAST table', $toast, 'main', 2, 'lsn', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'a sequence', 'seq', 'main', 0, 'half', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'a page changed in memory', 't', 'main', 3, 'bit', "UPDATE t SET g = g WHERE ctid = '(3,1)'", '', 0, 'no_good_copy|sane', qr/allow_unproven => true/ ],
	[ 'a page changed in memory, trusted', 't', 'main', 3, 'bit', "UPDATE t SET g = g WHERE ctid = '(3,2)'", '', 1, 'healed|sane', qr/read back/ ],
	[ 'the damaged page itself in memory', 't', 'main', 4, 'bit', '', "$ignore; $read", 1, 'no_good_copy|', qr/no better page/ ],
	[ 'zeros in memory', 't', 'main', 5, 'bit', '', "$zeroes; $read", 1, 'no_good_copy|', qr/no better page/ ],
	[ 'a lost page', 't', 'main', 6, 'zero', '', '', 1, 'no_good_copy|', qr/do not hold/ ],
	[ 'a lost page below a clean buffer', 't', 'main', 7, 'zero', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'the same, not in the visibility map', 'unvacuumed', 'main', 7, 'zero', $read, '', 0, 'healed|proven', qr/read back/ ],
	[ 'zeros below a dirty buffer', 'unvacuumed', 'main', 8, 'zero', 'UPDATE unvacuumed SET g = g', '', 1, 'healthy|sane', qr/CHECKPOINT writes it/ ],
	[ 'zeros that may be new', 'unvacuumed', 'main', 9, 'zero', '', '', 1, 'healthy|', qr/as a new page is/ ],
	[ 'a page of the visibility map', 't', 'vm', 0, 'half', "UPDATE t SET g = g WHERE ctid = '(9,1)'", '', 1, 'healed|sane', qr/read back/ ],
	[ 'zeros in the free space map', 't', 'fsm', 0, 'zero', '', '', 1, 'healthy|', qr/as a new page is/ ]);

# Each case on a server that was just started.  (The unlogged table comes first:
# crashes below empty it.)
foreach my $case (@cases)
{
	my ($title, $relation, $fork, $block, $kind, $prepare, $after, $trust, $want, $message) = @$case;
	my $file = $file{ $fork eq 'main' ? $relation : "$relation.$fork" };
	$node->restart;
	$q->($prepare) if $prepare;
	my $saved = AccelWal::peek_block($node->data_dir . "/$file", $block);
	damage($node->data_dir, $file, $block, $kind) if $kind;
	my $damaged = AccelWal::peek_block($node->data_dir . "/$file", $block);
	$q->($after) if $after;
	my $got = $q->("SELECT status, copy, message FROM heal_block('$relation', '$fork', $block, " . ($trust ? 'true' : 'false') . ')');
	my ($status, $copy, $words) = split /\|/, $got, 3;
	is("$status|$copy", $want, $title);
	like($words, $message, '... in words');
	my $now = AccelWal::peek_block($node->data_dir . "/$file", $block);
	if ($status eq 'healed')
	{
		is($q->("SELECT count(*) FROM verify_relation('$relation', '$fork')"), '0', '... verified');
		is(substr($now, 24), substr($saved, 24), '... as it was on disk') if $copy eq 'proven';
	}
	else
	{
		ok($now eq $damaged, '... nothing was written');
		$node->stop('immediate');
		AccelWal::poke_block($node->data_dir . "/$file", $block, 0, $saved);
		$node->start;
	}
}

# What a run advises is what heal_block() does then, though the blocks adjoin.
$node->restart;
$q->("$read; CHECKPOINT");
$q->("UPDATE t SET g = g WHERE ctid = '(11,1)'");
damage($node->data_dir, $file{t}, $_, 'bit') foreach 10, 11;
$node->psql('postgres', "CALL verify_database(relations => '{t}', cluster_files => false)", stderr => \my $advice);
like($advice, qr/WARNING:  invalid page in block 10 of .*\nDETAIL:  .*proven by its checksum: .*\nHINT:  .* a page, which heal_block\(\) writes unless WAL has a newer one\. /, 'a proven page: write it');
like($advice, qr/WARNING:  invalid page in block 11 of .*\nDETAIL:  .*not proven by its checksum\. .*\nHINT:  .*writes it with allow_unproven => true\. /, 'a changed one: look at it first');
is($q->("SELECT b, (heal_block('t', 'main', b)).status FROM generate_series(10, 11) b"), "10|healed\n11|no_good_copy", '... and so it is');
is($q->("SELECT status FROM heal_block('t', 'main', 11, true)"), 'healed', '... with allow_unproven: healed');

# A block that the server does not reach, for a segment before it is short or
# missing, is not made dirty: no checkpoint could write it.
my $far = 2 * SEGMENT;
$q->('CREATE TABLE far AS SELECT 1 AS i');
$file{far} = $node->data_dir . '/' . path('far');
$node->stop;
foreach ([ '', SEGMENT * BLCKSZ ], [ '.1', SEGMENT * BLCKSZ ], [ '.2', BLCKSZ ])
{
	append_to_file("$file{far}$_->[0]", '');
	truncate "$file{far}$_->[0]", $_->[1] or die $!;
}
$node->start;
is($q->('INSERT INTO far VALUES (2) RETURNING ctid'), "($far,1)", 'a row in the third segment');
$q->('CHECKPOINT');
AccelWal::poke("$file{far}.2", 5000, 'x');
my $heal_far = "SELECT status FROM heal_block('far', 'main', $far, true)";
my $checkpoint = sub { return $node->psql('postgres', 'CHECKPOINT'); };
my $refused = sub {
	my ($title) = @_;
	my $errors = '';
	$node->psql('postgres', $heal_far, stderr => \$errors);
	like($errors, qr/ERROR:  block $far of fork "main" of relation "far" cannot be written\nDETAIL:  A segment up to it is short/, "$title: refused");
	is($checkpoint->(), 0, '... and nothing is dirty that a checkpoint cannot write');
};
rename "$file{far}.1", "$file{far}.away" or die $!;
$refused->('a missing segment');
AccelWal::put("$file{far}.1", "\0" x BLCKSZ);
$refused->('a short segment');
unlink "$file{far}.1";
rename "$file{far}.away", "$file{far}.1" or die $!;
is($q->($heal_far), 'healed', 'the segment is back: healed');

$q->('CREATE ROLE somebody; GRANT EXECUTE ON FUNCTION heal_block TO somebody');
foreach my $case (
	[ 'not a superuser', "SET ROLE somebody; SELECT heal_block('t', 'main', 0)", '42501' ],
	[ 'a read-only transaction', "BEGIN READ ONLY; SELECT heal_block('t', 'main', 0)", '25006' ],
	[ 'a block past the end', "SELECT heal_block('t', 'main', 100000)", '22023' ],
	[ 'a fork that is not there', "SELECT heal_block('t', 'init', 0)", '22023' ],
	[ 'an empty fork', "SELECT heal_block('unlogged', 'init', 0)", '22023' ],
	[ 'no fork', "SELECT heal_block('t', 'mains', 0)", '22023' ],
	[ 'a negative block', "SELECT heal_block('t', 'main', -1)", '22023' ],
	[ 'a view', "SELECT heal_block('view', 'main', 0)", '42809' ],
	[ 'a partitioned table', "SELECT heal_block('parted', 'main', 0)", '42809' ],
	[ 'no relation', "SELECT heal_block(4294967295::oid, 'main', 0)", '42P01' ])
{
	my ($title, $query, $state) = @$case;
	($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");
	like($err, qr/ERROR:  $state$/m, "$title: $state");
}
is($q->("CREATE TEMP TABLE temporary (i int); INSERT INTO temporary VALUES (1);
	SELECT status, message FROM heal_block('temporary', 'main', 0)"),
	"not_verifiable|temporary relations live in their session's memory", 'a temporary table');
$node->stop;

# Without checksums only headers tell.
my $off = Accel::new_node('off', checksums => 0, conf => "${quiet}fsync = off\n");
$off->start;
$off->safe_psql('postgres', "CREATE EXTENSION crc32c_accel; CREATE TABLE t AS SELECT g, repeat('t', 500) AS b FROM generate_series(1, 100) g; CHECKPOINT");
my $t = $off->safe_psql('postgres', "SELECT pg_relation_filepath('t')");
my $heal = "SELECT status, copy FROM heal_block('t', 'main', 1, true)";
damage($off->data_dir, $t, 1, 'bit');
is($off->safe_psql('postgres', $heal), 'not_verifiable|', 'checksums off: a sane header says nothing');
damage($off->data_dir, $t, 1, 'header');
is($off->safe_psql('postgres', $heal), 'healed|sane', '... a damaged one can be healed');
$off->stop;
done_testing();
