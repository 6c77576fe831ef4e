# docs/examples/verify_member.sh: what a standby remembers in files, what a primary has in
# tables, and the tags that Patroni gets from either.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $script = (-d 'docs/examples' ? 'docs/examples' : "$ENV{ACCEL_TOP}/docs/examples") . '/verify_member.sh';
my $primary = Accel::new_node('primary', allows_streaming => 1, conf => "autovacuum = off\n");
$primary->start;
$primary->safe_psql('postgres', $_) foreach 'CREATE SCHEMA "a b"', 'CREATE EXTENSION crc32c_accel SCHEMA "a b"', 'CREATE DATABASE shop';
$primary->safe_psql('shop', "CREATE TABLE t AS SELECT i, repeat('x', 500) x FROM generate_series(1, 20000) i; VACUUM FREEZE t; CHECKPOINT");
$primary->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'b', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

my $folder = PostgreSQL::Test::Utils::tempdir();
my $tags = "$folder/patroni/90-verified.yml";
mkdir "$folder/patroni" or die $!;
AccelWal::put("$folder/patroni/50-member.yml", "scope: shop\nname: member\ntags:\n  nofailover: false\n  nosync: true\n");

# The exit status, and in @said the verdict and the findings.
our @said;
sub night
{
	my ($node, %env) = @_;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, STATE => "$folder/" . $node->name,
		TAGS => $tags, RELOAD => "echo reload >>$folder/reloads", MAX_RATE => 0, %env);
	IPC::Run::run([ 'sh', $script ], '<', \undef, '>', \my $out, '2>', \my $err);
	@said = ($out, $err);
	chomp $said[0];
	return $? >> 8;
}

sub content
{
	my ($file) = @_;
	return -e "$folder/$file" ? slurp_file("$folder/$file") : undef;
}

sub reloads { return scalar(() = (content('reloads') // '') =~ /reload/g); }

# What Patroni makes of its folder.
my $patroni = system(q{python3 -c 'import patroni.config' 2>/dev/null}) == 0;
sub patroni_reads
{
	my ($wanted, $what) = @_;
  SKIP:
	{
		skip 'no patroni', 1 if !$patroni;
		my ($out, $err) = run_command([ 'python3', '-c',
			'import sys, patroni.config; t = patroni.config.Config(sys.argv[1], None)["tags"]; print(t.get("nofailover"), t.get("clonefrom"), t.get("nosync"))',
			"$folder/patroni" ]);
		is($out, "$wanted True", $what) or diag $err;
	}
	return;
}

# a standby
is(night($standby, MAX_AGE => 14), 0, 'a sound standby');
is($said[0], 'good', 'is good');
is(content('patroni/90-verified.yml'), "tags:\n  nofailover: false\n  clonefrom: true\n", 'and may be copied');
is(reloads(), 1, 'which Patroni is told');
patroni_reads('False True', 'and reads, beside other tags');
is(night($standby) . reloads(), '01', 'the next night tells it nothing new');

my $path = $standby->data_dir . '/' . $standby->safe_psql('shop', "SELECT pg_relation_filepath('t')");
my $page = AccelWal::peek($path, 1000 * 8192, 8192);
sub damage { AccelWal::poke($path, 1000 * 8192 + 5000, 'damage'); return; }
damage();
is(night($standby), 1, 'a damaged block of a standby');
is($said[0], 'bad', 'is bad');
like($said[1], qr/WARNING:  XX001: database "shop": invalid page in block 1000 of relation public\.t\n/, 'and says which');
is(content('patroni/90-verified.yml'), "tags:\n  nofailover: true\n  clonefrom: false\n", 'it is not to be promoted');
is(reloads(), 2, 'which Patroni is told');
patroni_reads('True False', 'and reads, whatever another file says');
AccelWal::poke($path, 1000 * 8192, $page);
is(night($standby), 0, 'it is good again, once it is mended');
is(content('standby/findings'), '', 'and nothing is open');

# nights that are too short: a round takes several
damage();
my ($nights, $place) = (0, '');
my %short = (MAX_DURATION => '5 s', MAX_RATE => 10000);
my @verdicts;
do
{
	night($standby, %short);
	push @verdicts, $said[0];
	$place = content('standby/place');
	BAIL_OUT('no end') if ++$nights > 40;
} while (defined $place);
cmp_ok($nights, '>=', 2, 'a round of several nights');
is($verdicts[0], 'good', 'is as before at first');
is($verdicts[-1], 'bad', 'and bad from where the damage is on');
is(join(' ', @verdicts) =~ /bad.*good/ ? 'no' : 'yes', 'yes', 'up to its end');
AccelWal::poke($path, 1000 * 8192, $page);
night($standby, %short);
is($said[0], 'bad', 'until a whole round has not found it');
is(night($standby), 0, 'as this one');

# what is too old
AccelWal::put("$folder/standby/good", time - 3 * 86400 . "\n");
night($standby, %short, MAX_AGE => 2);
is(($? >> 8) . $said[0], '3unknown', 'what was good too long ago is unknown');
is(content('patroni/90-verified.yml'), "tags:\n  nofailover: false\n  clonefrom: false\n", 'it may be promoted, but not be copied');
is(night($standby), 0, 'a round later it is good');

# a data directory that was made anew
AccelWal::put("$folder/standby/of", "1/1:1\n");
night($standby, %short);
is($said[0], 'unknown', 'files of another data directory say nothing of this one');
is(night($standby), 0, 'which is verified then');

# the primary, and the standby as primary
is(night($primary), 0, 'a primary');
is($said[0], 'good', 'by its history');
$primary->stop;
$standby->promote;
is(night($standby), 0, 'a promoted standby');
is(join(' ', grep { -e "$folder/standby/$_" } qw(place began good found findings)), '', 'has a history, and no file any more');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM "a b".verify_runs WHERE state = $$completed$$'), '2', 'beside that of the primary before');
damage();
is(night($standby), 1, 'bad');
is(content('patroni/90-verified.yml'), "tags:\n  nofailover: false\n  clonefrom: false\n", 'a primary is not tagged against promotion');

# what cannot be done
is(night($standby, DATABASE => 'shop'), 2, 'no extension');
like($said[1], qr/database "shop" has no extension crc32c_accel/, '... is said');
is(night($standby, DATABASE => 'nowhere'), 2, 'no database');
$standby->stop;
isnt(night($standby), 0, 'no server');
is(content('standby/verdict'), "bad\n", 'the last verdict stays');
done_testing();
