# restore_block() and kill -9: a page that it reported as restored survives,
# whatever became of the write; every other block is as it was or restored,
# nothing else.  Storage that takes no write leaves the block as it was, in
# memory too.
#
#	ACCEL_HEAL_CRASHES=n	how many crashes (default 5, with LONG=1 500)
#	ACCEL_SEED=n			of their moments
#
# The shim of 050_faults.pl stops the server in the middle of the write.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $loops = $ENV{ACCEL_HEAL_CRASHES} || ($ENV{LONG} ? 500 : 5);
my $seed = $ENV{ACCEL_SEED} || time;
note "ACCEL_SEED=$seed";
srand $seed;

my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
jit = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_keep_size = 1GB
shared_buffers = 8192	# blocks
restart_after_crash = off
CONF
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE t AS SELECT g, repeat('t', 500 * $blcksz / 8192) AS b FROM generate_series(1, 8000) g;
VACUUM FREEZE t;
SQL
my $file = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('t')");
my $aside = PostgreSQL::Test::Utils::tempdir();
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $before = $q->($rows);
cmp_ok($q->("SELECT pg_relation_size('t') / $blcksz"), '>', 500, 'a table of more than 500 blocks');

my %saved;
my %damaged;

sub page { return AccelWal::peek_block($file, $_[0]); }
sub call { return "restore_block('t', 'main', $_[0], pg_read_binary_file('$aside/$_[0]'), allow_unproven => true)"; }

# Starts anew with nothing in memory, then damages blocks on disk: their middle,
# their header, or all of it becomes zeros.
sub begin
{
	my (@blocks) = @_;
	$node->stop;
	Accel::start_under($shim, $node);
	%saved = map { $_ => page($_) } @blocks;
	%damaged = ();
	foreach my $block (@blocks)
	{
		my $kind = $block % 3;
		$damaged{$block} = $kind == 0 ? AccelWal::spoiled($saved{$block}) :
			$kind == 1 ? "\xff" x 24 . substr($saved{$block}, 24) : "\0" x $blcksz;
		AccelWal::put("$aside/$block", $saved{$block});
		AccelWal::poke_block($file, $block, 0, $damaged{$block});
	}
	return;
}

# What is on disk: the page as it was (but for LSN and checksum), or the damage.
sub state_of
{
	my ($block) = @_;
	my $now = page($block);
	return 'damaged' if $now eq $damaged{$block};
	return 'good' if substr($now, 10) eq substr($saved{$block}, 10);
	return 'something else';
}

# The first write is of what is on disk: when it fails, nothing has happened.
my ($rc, $out, $err);
foreach my $block (6, 7, 8)
{
	begin($block);
	my $lsn = $q->('SELECT pg_current_wal_insert_lsn()');
	($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate
		SELECT fault_arm('write', 'eio', 1, false, '/base/'); SELECT " . call($block));
	like($err, qr/ERROR:  58030/, "block $block, storage that takes no writes: an error");
	is($q->("SELECT count(*) FROM wal_block_history('t', 'main', $block, start_lsn => '$lsn')"), '0', '... nothing in the WAL');
	is(state_of($block), 'damaged', '... the disk is as it was');
	is($node->psql('postgres', 'CHECKPOINT'), 0, '... nothing is dirty');
	($rc, $out, $err) = $node->psql('postgres', 'SELECT count(b) FROM t');
	like($err, $block % 3 == 2 ? qr/^$/ : qr/invalid page in block $block/, '... and read as before');
	($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate
		SELECT fault_arm('write', 'eio', 2, false, '/base/'); SELECT " . call($block));
	like($err, qr/ERROR:  58030/, '... a write that fails after one that did not: an error');
	is($q->('CHECKPOINT; SELECT count(b) FROM t'), '8000', '... a checkpoint writes the page');
	is(state_of($block), 'good', '... which is the one that was given');
}

# Half of the page is written, by the second write: only the WAL has all of it.
foreach my $block (9, 11)
{
	begin($block);
	my $relation = (split m{/}, $file)[-1];
	Accel::stopped_at($node, 'write', 2, $relation, 'SELECT ' . call($block), sub {
		isnt(state_of($block), 'good', "block $block is half written");
		Accel::kill_all($node);
	});
	$node->start;
	is(state_of($block), 'good', 'recovery writes all of it');
	is($q->("SELECT count(*) FROM verify_relation('t')"), '0', '... and it is good');
}

# The block is changed after the WAL was read: the page is not written any more.
$q->(qq{CREATE TABLE l AS SELECT g, repeat('l', 500 * $blcksz / 8192) AS b FROM generate_series(1, 100) g; VACUUM FREEZE l; CHECKPOINT});
my $other = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('l')");
my $older = AccelWal::peek_block($other, 2);
$q->(q{DELETE FROM l WHERE ctid = '(2,1)'; CHECKPOINT});
AccelWal::put("$aside/l", AccelWal::peek_block($other, 2));
$node->stop;
AccelWal::poke_block($other, 2, 0, $older);
Accel::start_under($shim, $node);
my ($answer) = Accel::stopped_at($node, 'open', 1, 'pg_wal/0', "SELECT status FROM restore_block('l', 'main', 2, pg_read_binary_file('$aside/l'))", sub {
	$q->(q{UPDATE l SET b = 'new' WHERE ctid = '(2,2)'});
});
is($answer, 'healthy', 'changed after the WAL was read: nothing is written');
is($q->(q{SELECT count(*) FROM l WHERE b = 'new'}), '1', '... and the change stays');
is($q->(q{SELECT count(*) FROM l WHERE ctid = '(2,1)'}), '1', '... upon the older page');

# It is changed, and storage loses that write, too.  The page stays in memory,
# though every other one is replaced there.
$q->(qq{CREATE TABLE big AS SELECT g, repeat('b', 500 * $blcksz / 8192) AS b FROM generate_series(1, 8000) g; CREATE INDEX big_g ON big (g); VACUUM FREEZE big; CHECKPOINT; DELETE FROM l WHERE ctid = '(2,5)'});
$node->stop;
AccelWal::put("$aside/l", AccelWal::peek_block($other, 2));
AccelWal::poke_block($other, 2, 0, $older);
$node->append_conf('postgresql.conf', 'shared_buffers = 128');
Accel::start_under($shim, $node);
my $elsewhere = "SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(b) FROM big WHERE g > 0";
($answer) = Accel::stopped_at($node, 'open', 1, 'pg_wal/0', "SELECT status FROM restore_block('l', 'main', 2, pg_read_binary_file('$aside/l'))", sub {
	$q->(q{UPDATE l SET b = 'newer' WHERE ctid = '(2,3)'; CHECKPOINT});
	AccelWal::poke_block($other, 2, 0, $older);
	$q->($elsewhere) for 1 .. 6;
});
is($answer, 'bad_on_disk_cached_ok', 'changed, and the write is lost: nothing is written, heal_block() would');
is($q->(q{SELECT count(*) FROM l WHERE b = 'newer'}), '1', '... and the change stays');
$node->append_conf('postgresql.conf', 'shared_buffers = 8192');

# Two sessions for the same blocks.
my @both = (20 .. 119);
begin(@both);
my @sessions;
foreach my $n (0, 1)
{
	my $script = $node->basedir . "/both$n.sql";
	append_to_file($script, join '', map { "SELECT $_, status FROM " . call($_) . ";\n" } @both);
	my $answers = '';
	push @sessions, [ IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ],
		'<', \undef, '>', \$answers, '2>', \my $trouble), \$answers ];
}
$_->[0]->finish foreach @sessions;
my %times;
$times{$_}++ foreach map { ${ $_->[1] } =~ /^(\d+)\|restored\n/mg } @sessions;
is(join(' ', grep { ($times{$_} // 0) != 1 } @both), '', 'two sessions: each block is restored once');
is(join(' ', grep { state_of($_) ne 'good' } @both), '', '... and good');

# Blocks are restored one by one; the end comes at a random moment, and what was
# written since the last checkpoint is lost as in a power failure.
my $acknowledged = 0;
foreach my $loop (1 .. $loops)
{
	my @blocks = map { $_ * 2 } 0 .. 249;
	my $script = $node->basedir . '/restore.sql';
	begin(@blocks);
	unlink $script;
	append_to_file($script, join '', map { "SELECT $_, CASE status WHEN 'restored' THEN status ELSE status || ': ' || message END FROM " . call($_) . ";\n" } @blocks);
	my $answers = '';
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ],
		'<', \undef, '>', \$answers, '2>', \my $trouble);
	my $wait = 20 + int rand 180;
	usleep(200) while Accel::still_runs($session) && ($answers =~ tr/\n//) < $wait;
	Accel::kill_all($node);
	eval { $session->finish };
	my @restored = $answers =~ /^(\d+)\|restored\n/mg;
	is(join(' ', grep { !/^\d+\|restored$/ } $answers =~ /^(.*)\n/mg), '', "crash $loop: all answers are restored");
	$acknowledged += @restored;
	my @wrong = grep { state_of($_) ne 'good' } @restored;
	is("@wrong", '', '... written, what was restored (' . @restored . ')');
	AccelWal::poke_block($file, $_, 0, $damaged{$_}) foreach @restored;
	$node->start;
	@wrong = grep { state_of($_) ne 'good' } @restored;
	is("@wrong", '', '... recovery writes it again, had the write been lost');
	@wrong = grep { state_of($_) eq 'something else' } @blocks;
	is("@wrong", '', '... and no page is a third thing');
	$node->stop;
	foreach my $block (grep { state_of($_) eq 'damaged' } @blocks)
	{
		AccelWal::poke_block($file, $block, 0, $saved{$block});
	}
	$node->start;
	is($q->($rows), $before, '... the rows are what they were');
}
cmp_ok($acknowledged, '>=', 20 * $loops, "$acknowledged blocks were restored before their crash");
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees');
done_testing();
