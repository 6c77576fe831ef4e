# A standby may lose a database: ALTER DATABASE SET TABLESPACE copies its folder,
# and then drops the old one.  A standby that crashes after it has replayed both, and
# before a restartpoint, copies again, from a folder that is gone (dbase_redo() makes
# an empty one; seen on 15 to 19).  What is lost is told, and where a server loses
# nothing, nothing is.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1,
	conf => "autovacuum = off\ncheckpoint_timeout = 1h\nmax_wal_size = 1GB\nallow_in_place_tablespaces = on\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE elsewhere LOCATION ''", 'CREATE DATABASE moved';
$node->safe_psql('moved', 'CREATE TABLE t AS SELECT generate_series(1, 1000) g');
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;

sub map_of
{
	return sql(q{SELECT 'pg_tblspc/' || dattablespace || '/%/' || oid || '/pg_filenode.map' FROM pg_database WHERE datname = 'moved'});
}
my $finding = q{SELECT status FROM verify_cluster_files() WHERE is_finding AND path LIKE '%s'};

sub restarted
{
	my ($mode, $title) = @_;
	$standby->stop($mode);
	$standby->start;
	my $there = $standby->psql('moved', 'SELECT count(*) FROM t', stdout => \my $rows) == 0;
	is($rows, '1000', "$title: it is whole") if $there;
	is($standby->safe_psql('postgres', sprintf $finding, map_of()), $there ? '' : 'missing', "$title: what is said of it");
	return $there;
}

$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
# (a later record takes that of the old folder to the standby)
sql($_) foreach 'ALTER DATABASE moved SET TABLESPACE elsewhere', 'CREATE TABLE later ()';
$node->wait_for_catchup($standby);
is($standby->safe_psql('moved', 'SELECT count(*) FROM t'), '1000', 'it was moved');
is($standby->safe_psql('postgres', sprintf $finding, map_of()), '', 'nothing is said of it');
my $there = restarted('immediate', 'after a crash');
note($there ? 'this server loses nothing' : 'this server has lost it');
is(restarted('fast', 'after a restart'), $there, 'and it stays so');
is(sql(sprintf $finding, map_of()), '', 'the primary has it');

$standby->stop;
$node->stop;
done_testing();
