# Files of pg_xact and pg_multixact that are missing or too short are findings;
# those that are not needed any more, or not yet, are none.
use strict;
use warnings;
use Accel;
use AccelProgram;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => "autovacuum = off\nfsync = off\ncheckpoint_timeout = 1h\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
my $data = $node->data_dir;
my $version = int($node->pg_version);
$q->('CREATE EXTENSION crc32c_accel');

sub found
{
	my ($directory) = @_;
	my $argument = $directory ? "'$directory'" : '';
	return $q->("SELECT coalesce(string_agg(path || ' ' || status, ', ' ORDER BY path), 'none')
		FROM verify_cluster_files($argument) WHERE kind = 'transaction_status'");
}

# Does something to a file, asks, and puts the file back.
sub with
{
	my ($root, $file, $change, $ask) = @_;
	rename "$root/$file", "$root/away" or die "$file: $!";
	system_or_bail('cp', '-a', "$root/away", "$root/$file");
	$change->("$root/$file");
	my $answer = $ask->();
	rename "$root/away", "$root/$file" or die "$file: $!";
	return $answer;
}
my $remove = sub { unlink $_[0] or die $! };
my $cut = sub { truncate $_[0], (-s $_[0]) - 8192 or die $! };

is(found(), 'none', 'a new cluster');
$q->('CHECKPOINT');
is(with($data, 'pg_xact/0000', $remove, sub { found() }), 'pg_xact/0000 missing', 'its only file of pg_xact');

# four segments, the last one begun
$node->stop;
my $segment = 1048576;
my $next = 3 * $segment + 70_000;
system_or_bail('pg_resetwal', '-x', $next, $data);
foreach my $n (0 .. 3)
{
	my $file = "$data/pg_xact/000$n";
	append_to_file($file, '');
	truncate $file, $n == 3 ? 3 * 8192 : 32 * 8192 or die $!;
}
$node->start;
$q->('CREATE TABLE t (i int PRIMARY KEY, j int); INSERT INTO t VALUES (1, 1)');
# multixacts: a lock and an update by two transactions, one of them inside the other
$q->("BEGIN; SELECT FROM t FOR KEY SHARE; SAVEPOINT s; UPDATE t SET j = $_; COMMIT") foreach 1 .. 10;
$q->('CHECKPOINT');
is(found(), 'none', 'four segments');
my $members = 'pg_multixact/members/' . ($version >= 19 ? '000000000000000' : '0000');
foreach my $case ((map { [ $_, $remove, 'missing' ] } map { "pg_xact/000$_" } 0 .. 3), [ 'pg_xact/0001', $cut, 'size_mismatch' ],
	[ 'pg_xact/0003', $cut, 'size_mismatch' ], [ 'pg_xact/0003', sub { append_to_file($_[0], 'x') }, 'none' ],
	[ $members, $remove, 'missing' ], [ $members, $cut, 'size_mismatch' ], [ 'pg_multixact/offsets/0000', $remove, 'missing' ])
{
	my ($file, $change, $status) = @$case;
	my $want = $status eq 'none' ? 'none' : "$file $status";
	is(with($data, $file, $change, sub { found() }), $want, "running: $file $status");
}
is(with($data, 'pg_xact/0001', $cut, sub {
	$q->("SELECT size || ' ' || message FROM verify_cluster_files() WHERE kind = 'transaction_status'") }),
	'253952 253952 bytes, expected at least 262144', '... in words');
my $err;
is(with($data, 'pg_xact/0002', $remove, sub {
	$node->psql('postgres', 'CALL verify_database(include_catalogs => false)', stderr => \$err);
	$q->("SELECT path || ' ' || status FROM verify_findings") }), 'pg_xact/0002 missing', 'a run records it');
like($err, qr/invalid file "pg_xact\/0002"/, '... and says so');

# a directory that is no server's
my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy';
$node->stop;
system_or_bail('cp', '-a', $data, $copy);
$node->start;
is(found($copy), 'none', 'stopped: intact');
is(with($copy, 'pg_xact/0000', $remove, sub { found($copy) }), 'none', 'stopped: the oldest may have been cut off');
is(with($copy, $_, $remove, sub { found($copy) }), "$_ missing", "stopped: $_") foreach 'pg_xact/0001', 'pg_xact/0003', $members;
append_to_file("$copy/backup_label", '');
is(with($copy, 'pg_xact/0001', $remove, sub { found($copy) }), 'none', 'a backup: left to verify_backup');

# cut off since the checkpoint
$q->('UPDATE pg_database SET datallowconn = true');
my @databases = split /\n/, $q->('SELECT datname FROM pg_database');
$node->safe_psql($_, 'VACUUM FREEZE') foreach @databases;
$node->safe_psql($_, 'VACUUM FREEZE') foreach @databases;
ok(!-e "$data/pg_xact/0001", 'VACUUM cut off what is not needed');
is(found(), 'none', 'running: cut off since the checkpoint');
$node->stop('immediate');
system_or_bail('rm', '-rf', $copy);
system_or_bail('cp', '-a', $data, $copy);
$node->start;
is(found($copy), 'none', 'stopped: cut off since the checkpoint');
is(found(), 'none', 'after a crash');
$q->('SELECT txid_current(); CHECKPOINT');
is(found(), 'none', '... and a checkpoint');
is(with($data, 'pg_xact/0003', $remove, sub { found() }), 'pg_xact/0003 missing', '... not the newest');
$node->stop;
done_testing();
