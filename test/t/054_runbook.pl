# docs/corruption.md: every command of the runbook does what is said there, on
# damage of each kind.
use strict;
use warnings;
use Accel;
use AccelWal;
use Documents;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main',
	allows_streaming => 1,
	conf => "autovacuum = off\nshared_buffers = '64MB'\nwal_keep_size = '256MB'\n");
my $folder = PostgreSQL::Test::Utils::tempdir();
my %paths = map { ("/$_" => "$folder/$_") } qw(archive archive2 backup base good spare);
$paths{'/var/log/postgresql'} = $folder;
$paths{$_} = PostgreSQL::Test::Cluster::get_free_port() foreach '5433', '5434';
mkdir $paths{'/spare'};
# what start_alone.sh adds to its settings, to find the staged extension
$ENV{ALONE_CONF} = $ENV{ACCEL_STAGED_CONF};

$node->start;
my $examples = run_document($node, 'docs/corruption.md',
	paths => \%paths,
	hooks => { copy => \&copy_cluster, backup => \&base_backup, 'second copy' => \&damage_copy, archive => \&archive_segment, slot => \&damage_slot,
		clean => \&clean_folder, 'missing file' => \&lose_file, control => \&damage_control });
system_or_bail('pg_ctl', '-s', '-D', "$paths{'/spare'}/cluster", '-m', 'fast', 'stop');
cmp_ok($examples, '>', 25, "examples run: $examples");
$node->stop;
done_testing();

# The cluster at file level, as it is now
sub copy_cluster
{
	$node->stop;
	system_or_bail('rm', '-rf', $paths{'/good'});
	system_or_bail('cp', '-R', $node->data_dir, $paths{'/good'});
	$node->start;
	return;
}

# A base backup of the running server
sub base_backup
{
	system_or_bail('rm', '-rf', $paths{'/base'});
	system_or_bail('pg_basebackup', '-D', $paths{'/base'}, '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync', '--no-verify-checksums');
	return;
}

# A table of three files, of which the second goes: zeros, but for rows in the third.
sub lose_file
{
	my ($run, $table) = @_;
	$node->safe_psql($run->{db}, "CREATE TABLE $table (id integer)");
	my $file = $node->data_dir . '/' . $node->safe_psql($run->{db}, "CHECKPOINT; SELECT pg_relation_filepath('$table')");
	$node->stop;
	truncate $file, 1 << 30 or die $!;
	append_to_file("$file.1", '');
	truncate "$file.1", (1 << 30) or die $!;
	append_to_file("$file.2", "\0" x 8192);
	$node->start;
	$node->safe_psql($run->{db}, "INSERT INTO $table SELECT generate_series(1, 1000); CHECKPOINT");
	$node->stop;
	unlink "$file.1" or die $!;
	$node->start;
	return;
}

# A second copy with a page of which the checksum alone is wrong
sub damage_copy
{
	my ($run, $relation) = @_;
	my $path = $node->safe_psql($run->{db}, "SELECT pg_relation_filepath('$relation')");
	$node->stop;
	system_or_bail('sh', 'docs/examples/copy_cluster.sh', $node->data_dir, "$paths{'/spare'}/cluster");
	AccelWal::poke("$paths{'/spare'}/cluster/$path", 8, "\0\1");
	$node->start;
	return;
}

sub clean_folder
{
	system_or_bail('rm', '-rf', glob "$paths{'/spare'}/*");
	return;
}

# A base backup, then a second copy of the cluster that has lost its pg_control.
sub damage_control
{
	clean_folder();
	base_backup();
	$node->safe_psql('postgres', 'CREATE TABLE written_since AS SELECT 1 AS one');
	$node->stop('immediate');
	system_or_bail('sh', 'docs/examples/copy_cluster.sh', $node->data_dir, "$paths{'/spare'}/cluster");
	AccelWal::poke("$paths{'/spare'}/cluster/global/pg_control", 0, "\0" x 512);
	$node->start;
	return;
}

# A bit of the state of a slot, while the server runs
sub damage_slot
{
	my ($run, $slot) = @_;
	my $file = $node->data_dir . "/pg_replslot/$slot/state";
	AccelWal::poke($file, 100, AccelWal::peek($file, 100, 1) ^ "\x04");
	return;
}

# Two copies of the first segment; the first copy loses a bit.
sub archive_segment
{
	my $segment = '000000010000000000000001';
	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	for my $archive (@paths{ '/archive', '/archive2' })
	{
		mkdir $archive;
		system_or_bail('cp', $node->data_dir . "/pg_wal/$segment", $archive);
	}
	open my $f, '+<:raw', "$paths{'/archive'}/$segment" or die $!;
	seek $f, 1_500_000, 0;
	read $f, my $byte, 1;
	seek $f, 1_500_000, 0;
	print $f $byte ^ "\x10";
	close $f;
	return;
}
