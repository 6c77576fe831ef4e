# An index under concurrent construction, observed in every phase: what writes
# past shared buffers is not verifiable and said so, everything else is verified
# at once, and nothing of it is ever a finding of damage.
#
# Transactions that are held open make CREATE INDEX CONCURRENTLY, REINDEX
# CONCURRENTLY and DROP INDEX CONCURRENTLY wait where the test wants them.
use strict;
use warnings;
use Accel;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');

my $node = Accel::new_node('main', conf => "autovacuum = off\nmax_parallel_maintenance_workers = 0\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, point(g, g) AS p, repeat('x', 100) AS b FROM generate_series(1, 20000) g;
CREATE TABLE u AS SELECT 1 AS n;
CREATE FUNCTION gate(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 15000 THEN
		PERFORM pg_advisory_xact_lock(4711);
	END IF;
	RETURN $1;
END $$;
SQL

my $building = qr/\|not_verifiable\|the index is being built concurrently, past shared buffers/;
my $dropped = qr/\|not_verifiable\|the index is being dropped concurrently/;

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# A session that holds something until it is told to let go.
sub hold
{
	my @statements = @_;
	my $session = $node->background_psql('postgres');
	$session->query_safe($_) foreach @statements;
	return $session;
}

my @writer = ('BEGIN', 'UPDATE t SET b = b WHERE g = 1');
my @reader = ('BEGIN', 'SELECT FROM t LIMIT 1');
my @snapshot = ('BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT FROM u');

# A statement that waits; { run, err }.
sub start
{
	my ($statement) = @_;
	my %job = (out => '', err => '');
	$job{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $statement ],
		'<', \undef, '>', \$job{out}, '2>', \$job{err});
	return \%job;
}

sub finish
{
	my ($job, $title) = @_;
	$job->{run}->finish;
	is($job->{err}, '', "$title went through");
	return;
}

sub wait_for
{
	my ($condition, $title) = @_;
	ok($node->poll_query_until('postgres', "SELECT EXISTS ($condition)"), $title);
	return;
}

sub wait_phase
{
	my ($phase) = @_;
	wait_for("SELECT FROM pg_stat_progress_create_index WHERE phase = '$phase'", $phase);
	return;
}

sub findings
{
	my ($index) = @_;
	return query("SELECT relation, fork, blkno, status, message FROM verify_relation('$index')");
}

# It is really looked at: all its blocks, and damage would be found.
sub is_verified
{
	my ($index, $when) = @_;

	is(findings($index), '', "$index, $when: no finding");
	is(query("SELECT status, blocks > 2, verified_blocks + zero_blocks = blocks FROM verify_relation_summary('$index', 'main')"),
		'ok|t|t', "$index, $when: all of it is verified");
	query('CHECKPOINT');
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('$index')");
	flip_bit($path, 2 * BLCKSZ + 5000);
	like(findings($index), qr/^$index\|main\|2\|(checksum_mismatch|bad_on_disk_cached_ok)\|[^\n]*$/,
		"$index, $when: damage is found");
	flip_bit($path, 2 * BLCKSZ + 5000);
	return;
}

sub is_not_verifiable
{
	my ($index, $when, $why) = @_;

	like(findings($index), qr/^$index\|main\|${why}[^\n]*$/, "$index, $when: not verifiable, and why");
	is(query("SELECT blocks, verified_blocks, bad_blocks, status FROM verify_relation_summary('$index')"),
		'0|0|0|not_verifiable', "$index, $when: and its summary");
	is(query("SELECT * FROM relation_files('$index') WHERE is_finding"), '', "$index, $when: nor are its files a finding");
	return;
}

sub flip_bit
{
	my ($path, $offset) = @_;
	open my $fh, '+<:raw', $path or die "$path: $!";
	sysseek $fh, $offset, 0;
	sysread $fh, my $byte, 1;
	sysseek $fh, $offset, 0;
	syswrite $fh, chr(ord($byte) ^ 16);
	close $fh;
	return;
}

# CREATE INDEX CONCURRENTLY
my $first = hold(@writer);
my $build = start('CREATE INDEX CONCURRENTLY idx ON t (g)');
wait_phase('waiting for writers before build');
is_not_verifiable('idx', 'before it is built', qr/$building/);
is(query("SELECT relation, status FROM verify_relation('t', include_indexes => true)"),
	'idx|not_verifiable', 'with its table: one row, of the index');
my ($out, $err);
$node->psql('postgres', 'CALL verify_database(include_catalogs => false)', stderr => \$err);
is(scalar(() = $err =~ /WARNING/g), 1, 'with its database: one WARNING');
like($err, qr/WARNING:  could not verify relation public\.idx \(index of public\.\w+\)\nDETAIL:  not_verifiable: /, 'that names it');

my $second = hold($writer[0], 'UPDATE t SET b = b WHERE g = 2');
$first->quit;
wait_phase('waiting for writers before validation');
is(query("SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'idx'::regclass"), 't|f', 'ready, not valid');
is_verified('idx', 'before it is validated');

my $third = hold(@snapshot);
$second->quit;
wait_phase('waiting for old snapshots');
is_verified('idx', 'before it is valid');
$third->quit;
finish($build, 'CREATE INDEX CONCURRENTLY');
is(query("SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'idx'::regclass"), 't|t', 'ready and valid');
is_verified('idx', 'when it is done');

# ... in the middle of being built, pages written already or not
foreach my $method ('btree (gate(g))', 'hash (gate(g))', 'gist (p, point(gate(g), 0))',
	'brin (gate(g)) WITH (pages_per_range = 1)', 'gin (array_fill(gate(g), ARRAY[3]))',
	'spgist (point(gate(g), g))')
{
	my ($am) = $method =~ /^(\w+)/;
	my $gate = hold('BEGIN', 'SELECT pg_advisory_xact_lock(4711)');
	$build = start("CREATE INDEX CONCURRENTLY idx_$am ON t USING $method");
	wait_for("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", "$am: halfway");
	is_not_verifiable("idx_$am", 'halfway', qr/$building/);
	$gate->quit;
	finish($build, "the $am build");
	is(query("SELECT status, blocks > 0, verified_blocks + zero_blocks = blocks FROM verify_relation_summary('idx_$am', 'main')"),
		'ok|t|t', "idx_$am, done: verified");
	query("DROP INDEX idx_$am");
}

# REINDEX CONCURRENTLY
$first = hold(@writer);
$build = start('REINDEX INDEX CONCURRENTLY idx');
wait_phase('waiting for writers before build');
is_not_verifiable('idx_ccnew', 'before it is built', qr/$building/);
is_verified('idx', 'while its successor is built');
$second = hold($writer[0], 'UPDATE t SET b = b WHERE g = 2');
$first->quit;
wait_phase('waiting for writers before validation');
is_verified('idx_ccnew', 'before it is validated');
$third = hold(@snapshot);
$second->quit;
wait_phase('waiting for old snapshots');
is_verified('idx_ccnew', 'before the swap');
$first = hold(@reader);
$third->quit;
wait_phase('waiting for readers before marking dead');
is_verified('idx', 'swapped in');
is_verified('idx_ccold', 'swapped out');
$second = hold(@reader);
$first->quit;
wait_phase('waiting for readers before dropping');
is_not_verifiable('idx_ccold', 'dead', qr/$dropped/);
is(query("SELECT count(*) FROM verify_relation('t', include_indexes => true)"), '0', 'with its table: no word of it');
$second->quit;
finish($build, 'REINDEX CONCURRENTLY');
is_verified('idx', 'when it is done');
is(query("SELECT count(*) FROM pg_class WHERE relname ~ 'idx_cc'"), '0', 'nothing is left over');

# DROP INDEX CONCURRENTLY
$first = hold(@reader);
$build = start('DROP INDEX CONCURRENTLY idx');
wait_for("SELECT FROM pg_index WHERE indexrelid = 'idx'::regclass AND NOT indisvalid AND indisready", 'marked invalid');
is_verified('idx', 'marked invalid');
$second = hold(@reader);
$first->quit;
wait_for("SELECT FROM pg_index WHERE indexrelid = 'idx'::regclass AND NOT indislive", 'marked dead');
is_not_verifiable('idx', 'dead', qr/$dropped/);
$second->quit;
finish($build, 'DROP INDEX CONCURRENTLY');

# a build that failed
$node->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY failed ON t ((1))');
is_not_verifiable('failed', 'after its build failed', qr/$building, or such a build has failed/);
query('CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS n FROM generate_series(1, 2)');
$node->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY unlogged_failed ON unlogged (n)');
is_not_verifiable('unlogged_failed', 'that of an unlogged table', qr/$building, or such a build has failed/);

$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums agrees in the end');
done_testing();
