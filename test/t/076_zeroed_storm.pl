# No zeroed page is seen where none is: files are filled, frozen, cut and filled
# again, a primary and its standby crash while that goes on, and everything is
# verified on both, before the crashes and after them.
#
#	ACCEL_STORM_SECONDS		how long (default 6)
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_STORM_SECONDS} || 6;
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($calls, $blocks) = (0, 0);

my $primary = Accel::new_node('primary', allows_streaming => 1, conf => <<'CONF');
shared_buffers = 1MB
autovacuum_naptime = 1
bgwriter_delay = 10
checkpoint_timeout = 30
max_wal_size = 64MB
wal_keep_size = 1GB
max_standby_streaming_delay = 2s
CONF
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE grows (g int, b text);
CREATE TABLE shrinks AS SELECT g, repeat('s', 300) AS b FROM generate_series(1, 5000) g;
CREATE TABLE changes (g int, b text) WITH (fillfactor = 60);
INSERT INTO changes SELECT g, repeat('c', 300) FROM generate_series(1, 5000) g;
CREATE TABLE frozen (g int, b text);
VACUUM FREEZE;
SQL
my $direct = Accel::sometimes_direct($primary, 'changes');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
Accel::configure($standby);
$standby->start;

append_to_file("$dir/rows", join '', map { "$_\t" . 'r' x 300 . "\n" } 1 .. 2000);
chmod 0755, $dir;
append_to_file("$dir/storm.sql", <<"SQL");
\\set n random(1, 5)
\\if :n = 1
BEGIN;
TRUNCATE frozen;
COPY frozen FROM '$dir/rows' (FREEZE);
COMMIT;
\\elif :n = 2
COPY grows FROM '$dir/rows';
VACUUM grows;
\\elif :n = 3
DELETE FROM shrinks WHERE g > 100;
VACUUM shrinks;
INSERT INTO shrinks SELECT g, repeat('s', 300) FROM generate_series(101, 3000) g;
VACUUM (FREEZE) shrinks;
\\elif :n = 4
DELETE FROM grows;
VACUUM (FREEZE) grows;
CHECKPOINT;
\\else
UPDATE changes SET b = repeat('d', 300) WHERE g % 10 = :n;
VACUUM changes;
\\endif
SQL

# Each relation by itself: no lock is held longer.
my $verify = <<"SQL";
SELECT format('SELECT relation, fork, blocks, status, message FROM verify_relation_summary(%s, direct_io => %L)', oid, $direct) FROM pg_class
WHERE relkind IN ('r', 't', 'm') AND (oid >= 16384 OR relname = 'pg_class') \\gexec
SQL

# What is found on a node that is not as it should be.
sub found
{
	my ($node) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$verify, '>', \$out, '2>', \$err);
	foreach (split /\n/, $out)
	{
		$calls++;
		$blocks += (split /\|/)[2];
	}
	return join "\n", grep({ !/\|(?:ok|not_verifiable)\|/ } split /\n/, $out),
	  grep { /^ERROR/ && !/could not open relation|does not exist|conflict with recovery/ } split /\n/, $err;
}

my $until = time + $seconds;
my ($rounds, $found) = (0, '');
while ($rounds == 0 || time < $until)
{
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-T', 600, '-f', "$dir/storm.sql", $primary->connstr('postgres') ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null');
	my $pause = time + 2;
	do { $found .= found($_) foreach $primary, $standby; } while (time < $pause && $found eq '');
	$standby->stop('immediate') if $rounds % 2 == 0;
	$primary->stop('immediate');
	$load->finish;
	$primary->start;
	$standby->start if $rounds % 2 == 0;
	$found .= found($_) foreach $primary, $standby;
	$rounds++;
	last if $found ne '';
}
is($found, '', 'no finding');
diag("zeroed storm: direct_io => $direct, $rounds rounds with a crash, $calls calls, $blocks blocks, in $seconds s");

# What was asked can see
$primary->safe_psql('postgres', "BEGIN; TRUNCATE frozen; COPY frozen FROM '$dir/rows' (FREEZE); COMMIT; CHECKPOINT");
my $path = $primary->data_dir . '/' . $primary->safe_psql('postgres', "SELECT pg_relation_filepath('frozen')");
$primary->stop('fast');
AccelWal::poke($path, 3 * 8192, "\0" x 8192);
$primary->start;
like(found($primary), qr{^frozen\|main\|\d+\|zeroed_page\|}, 'a page of zeros is seen');
$_->stop('immediate') foreach $standby, $primary;
done_testing();
