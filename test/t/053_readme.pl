# The examples of README.md and docs/ run, and show what they show there.
#
# docs/corruption.md, which needs damage, is run by 054_runbook.pl.
use strict;
use warnings;
use Accel;
use Documents;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1,
	conf => "shared_preload_libraries = 'crc32c_accel'\nwal_keep_size = '256MB'\n");
$node->start;

# The server of the examples that connect to one
$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', 'CREATE EXTENSION crc32c_accel; CALL verify_database()');

my $backup = PostgreSQL::Test::Utils::tempdir() . '/backup';
system_or_bail('pg_basebackup', '-D', $backup, '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync');

# The drill's backup has a tablespace, and its server finds the staged extension.
my $space = PostgreSQL::Test::Utils::tempdir_short() . '/tablespaces';
my $drill = PostgreSQL::Test::Utils::tempdir_short() . '/drill';
mkdir $_ foreach $space, $drill;
$node->safe_psql('postgres', "CREATE TABLESPACE drill LOCATION '$space'");
$node->safe_psql('postgres', 'CREATE TABLE in_tablespace TABLESPACE drill AS SELECT 1 AS one');
local $ENV{ALONE_CONF} = $ENV{ACCEL_STAGED_CONF};

# Messages name the documents below the folder of this installation's.
chomp(my $documents = `pg_config --docdir`);
my $examples = 0;
for my $file ('README.md', 'CONTRIBUTING.md', sort grep { $_ ne 'docs/corruption.md' } glob 'docs/*.md')
{
	my $archive = PostgreSQL::Test::Utils::tempdir() . '/archive';
	mkdir $archive;
	$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal()');
	system_or_bail('sh', '-c', 'cp "$(ls "$1"/pg_wal/0000* | head -1)" "$2"', 'sh', $node->data_dir, $archive);
	$examples += run_document($node, $file,
		paths => { '/tablespaces' => $space, '/drill' => $drill, '5433' => PostgreSQL::Test::Cluster::get_free_port(),
			'/usr/share/doc/postgresql-doc-15' => $documents, '/archive' => $archive, '/backup' => $backup, 'shop1.example.org' => $node->host, '5432' => $node->port });
}
cmp_ok($examples, '>', 10, "examples compared: $examples");
$node->stop;
done_testing();
