# heal_block() and kill -9: a page that it reported as healed survives, whatever
# became of the write; every other block is as it was or healed, nothing else.
# Slow: runs with sh test/run.sh all.
#
#	ACCEL_HEAL_CRASHES=n	how many crashes (default 5, in the long form 20)
#	ACCEL_SEED=n			of their moments
#
# The shim of 050_faults.pl stops the server in the middle of the write.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant BLCKSZ => Accel::built_with('BLCKSZ');

my $loops = $ENV{ACCEL_HEAL_CRASHES} || ($ENV{LONG} ? 20 : 5);
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
shared_buffers = 8192
restart_after_crash = off
CONF
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(<<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
CREATE TABLE t AS SELECT g, repeat('t', 500) AS b FROM generate_series(1, @{[ BLCKSZ ]}) g;
VACUUM FREEZE t;
SQL
my $file = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('t')");
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $before = $q->($rows);
my $blocks = $q->("SELECT pg_relation_size('t') / current_setting('block_size')::int");
cmp_ok($blocks, '>', 500, "a table of $blocks blocks");

# Starts anew with the table in memory, then damages blocks on disk.
my %saved;
my %damaged;

sub page { return AccelWal::peek_block($file, $_[0]); }

sub begin
{
	my (@blocks) = @_;
	$node->stop;
	Accel::start_under($shim, $node);
	$q->('SELECT count(b) FROM t');
	%saved = map { $_ => page($_) } @blocks;
	%damaged = ();
	foreach my $block (@blocks)
	{
		$damaged{$block} = AccelWal::spoiled($saved{$block});
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

# A write that fails is an error; the page is not lost.  The first write is of what
# is on disk: when it fails, nothing has happened.
begin(7);
my $lsn = $q->('SELECT pg_current_wal_insert_lsn()');
my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate
	SELECT fault_arm('write', 'eio', 1, false, '/base/'); SELECT heal_block('t', 'main', 7)");
like($err, qr/ERROR:  58030/, 'storage that takes no writes: an error');
is($q->("SELECT status, buffer_state FROM verify_relation('t')"), 'bad_on_disk_cached_ok|clean', '... the page is not dirty');
is($q->("SELECT count(*) FROM wal_block_history('t', 'main', 7, start_lsn => '$lsn')"), '0', '... and not in the WAL');
is(state_of(7), 'damaged', '... the disk is as it was');
($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate
	SELECT fault_arm('write', 'eio', 2, false, '/base/'); SELECT heal_block('t', 'main', 7)");
like($err, qr/ERROR:  58030/, 'a write that fails after one that did not: an error');
like($q->("SELECT status, copy FROM heal_block('t', 'main', 7, true)"), qr{^healed\|(sane|proven)$}, '... and once more, the page now dirty');

# Half of the page is written, by the second write: only the WAL has all of it.
begin(9);
my $relation = (split m{/}, $file)[-1];
Accel::stopped_at($node, 'write', 2, $relation, "SELECT heal_block('t', 'main', 9)", sub {
	is(state_of(9), 'something else', 'the page is half written');
	Accel::kill_all($node);
});
$node->start;
is(state_of(9), 'good', 'recovery writes all of it');
is($q->("SELECT count(*) FROM verify_relation('t')"), '0', '... and it is good');

# Blocks are healed one by one; the end comes at a random moment, and what
# was written since the last checkpoint is lost as in a power failure.
my $acknowledged = 0;
foreach my $loop (1 .. $loops)
{
	my @blocks = map { $_ * 2 } 0 .. 249;
	my $script = $node->basedir . '/heal.sql';
	begin(@blocks);
	unlink $script;
	append_to_file($script, join '', map { "SELECT $_, status FROM heal_block('t', 'main', $_);\n" } @blocks);
	my $answers = '';
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ],
		'<', \undef, '>', \$answers, '2>', \my $trouble);
	my $wait = 20 + int rand 180;
	usleep(200) while Accel::still_runs($session) && ($answers =~ tr/\n//) < $wait;
	Accel::kill_all($node);
	eval { $session->finish };
	my @healed = $answers =~ /^(\d+)\|healed\n/mg;
	$acknowledged += @healed;
	my @wrong = grep { state_of($_) ne 'good' } @healed;
	is("@wrong", '', "crash $loop: written, what was healed (" . @healed . ')');
	AccelWal::poke_block($file, $_, 0, $damaged{$_}) foreach @healed;
	$node->start;
	@wrong = grep { state_of($_) ne 'good' } @healed;
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
cmp_ok($acknowledged, '>=', 20 * $loops, "$acknowledged blocks were healed before their crash");
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees');
done_testing();
