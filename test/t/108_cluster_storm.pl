# verify_cluster while every database is written, and others are created,
# renamed and dropped: no finding, and nothing that could not be verified.
use strict;
use warnings;
use Accel;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_STORM_SECONDS} // 8;
my $node = Accel::new_node('main', conf => <<'CONF');
max_worker_processes = 12
shared_buffers = 16MB
checkpoint_timeout = 30s
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
my @databases = map { "db$_" } 1 .. 3;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach @databases;
my $until = time + $seconds;

# In a process of its own up to the end, with the number of the turn.
sub in_background
{
	my ($work) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	for (my $turn = 1; time < $until; $turn++)
	{
		$work->($turn);
	}
	POSIX::_exit(0);	# the server is not ours to stop
}

# Whatever becomes of it: tables go in one session while another one wants them.
sub attempt
{
	my ($database, $sql) = @_;
	return $node->psql($database, $sql, stderr => \my $said);
}

sub write_all
{
	my ($database, $turn) = @_;
	my $table = 't' . $turn % 5;
	attempt($database, "CREATE TABLE IF NOT EXISTS $table AS SELECT i, repeat('x', 300) AS t FROM generate_series(1, 3000) i;
		CREATE INDEX IF NOT EXISTS ${table}_i ON $table (i);
		UPDATE $table SET t = t || 'y' WHERE i % 3 = 0; VACUUM $table");
	attempt($database, ("VACUUM FULL $table", "DROP TABLE $table", "TRUNCATE $table", "CLUSTER $table USING ${table}_i",
			"REINDEX TABLE $table")[int rand 5]);
	attempt($database, $_) foreach $turn % 7 ? () : ('VACUUM FULL pg_class', 'REINDEX TABLE pg_attribute');
	return;
}

my @children = map { my $database = $_; in_background(sub { write_all($database, @_) }) } 'postgres', @databases;
push @children, in_background(sub {
	my ($turn) = @_;
	attempt('postgres', $_) foreach "CREATE DATABASE x$turn", "ALTER DATABASE x$turn RENAME TO y$turn", "DROP DATABASE y$turn", 'CHECKPOINT';
});

my $runs = 0;
my @bad;
do
{
	my $judge = $runs % 2 ? $node->psql('postgres', "SELECT status, database, relation_name FROM verify_page_digests() WHERE status <> 'not_verifiable'", stdout => \my $judged, stderr => \my $words) : 0;
	push @bad, $judged // '', $words if $runs % 2 && ($judged || $judge);
	my $order = (qw(oid largest stalest))[ $runs % 3 ];
	$node->psql('postgres', 'CALL verify_cluster(workers => ' . $runs % 3 . ", order_by => '$order'" . ($runs % 2 ? '' : ', record_digests => true') . ')', stderr => \my $said);
	push @bad, $said if $said !~ /INFO:  completed: [5-9] databases, .*; 0 findings, 0 not verifiable$/m;
	$runs++;
} while (time < $until);
waitpid $_, 0 foreach @children;
is(scalar @bad, 0, 'no run of a storm finds anything') or diag @bad;
note "$runs runs in $seconds seconds";
$node->safe_psql('postgres', 'CHECKPOINT');
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE status <> 'not_verifiable'), count(*) FILTER (WHERE relation_name IS NULL) FROM verify_page_digests()"),
	'0|0', 'nor does the page ledger of all of them');
cmp_ok($node->safe_psql('postgres', 'SELECT count(DISTINCT datid) FROM verify_run_relations'), '>=', 7, 'every database was verified');
$node->stop;
done_testing();
