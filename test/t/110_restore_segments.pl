# restore_block() at the border of two segment files of a relation, out of a plain
# backup, archives and a chain: the page is looked for in the file that has it.
# The gigabyte before the border is a hole.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $border = 131072;			# blocks in a segment file
my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
fsync = off
bgwriter_lru_maxpages = 0
wal_keep_size = 4MB
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
my $has_chains = Accel::summarize_wal($node);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
plan skip_all => 'segment files are not of 1 GB' if sql('SHOW segment_size') ne '1GB';

# Nobody reads the rows before they are in the backups, so no hint bit is set since.
my $insert = q{INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 400) g};
sql($_) foreach 'CREATE EXTENSION crc32c_accel', 'CREATE TABLE t (id int, filler text)', $insert, 'CHECKPOINT';
my $file = sql("SELECT pg_relation_filepath('t')");
my $path = $node->data_dir . "/$file";
$node->stop;
truncate($path, ($border - 8) * 8192) or die "$path: $!";
$node->start;
sql($_) foreach $insert, 'CHECKPOINT';
is(-s $path, $border * 8192, 'a file of 1 GB');
cmp_ok(-s "$path.1", '>', 35 * 8192, '... and one after it');

sub page
{
	my ($block) = @_;
	return AccelWal::peek($block < $border ? $path : "$path.1", $block % $border * 8192, 8192);
}

sub damage
{
	my ($block) = @_;
	AccelWal::poke($block < $border ? $path : "$path.1", $block % $border * 8192 + 8000, 'damage');
	return;
}

sub restored
{
	my ($block, $backup, @prior) = @_;
	return sql("SELECT status, message FROM restore_block('t', 'main', $block, backup => '$backup', prior_backups => ARRAY["
		  . join(', ', map { "'$_'" } @prior) . "]::text[], directory => '$archive')");
}

my $dir = PostgreSQL::Test::Utils::tempdir_short();

sub backup
{
	my ($name, @options) = @_;
	system_or_bail('pg_basebackup', '-D', "$dir/$name", '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '--no-verify-checksums', @options);
	return "$dir/$name";
}

# Each: what, blocks from the border on, the backup, those before it.  None is restored
# twice: the page would be newer than the backup.
my @forms = ([ 'a plain backup', [ -1, 0 ], backup('plain') ], [ 'archives', [ -2, 1 ], backup('tar', '-Ft') ]);
push @forms, [ 'compressed archives', [ -3, 2 ], "$dir/gz" ] if BackupTar::compress("$dir/tar", "$dir/gz", 'gz');

# Of the incremental one are blocks 20 and 21 of the second file.
if ($has_chains)
{
	sql("DELETE FROM t WHERE ctid IN ('(" . ($border + 20) . ",1)', '(" . ($border + 21) . ",1)')");
	push @forms, [ 'a chain', [ -4, 3, 20, 21 ], backup('last', '-Ft', "--incremental=$dir/tar/backup_manifest"), "$dir/tar" ];
}
sql('SELECT pg_switch_wal()');
$node->stop;

foreach (@forms)
{
	my ($what, $from_border, $backup, @prior) = @$_;
	my @blocks = map { $border + $_ } @$from_border;
	my %good = map { $_ => page($_) } @blocks;

	ok(!grep({ $_ eq "\0" x 8192 } values %good), "$what: pages with rows");
	damage($_) foreach @blocks;
	$node->start;
	foreach my $block (@blocks)
	{
		my $found = restored($block, $backup, @prior);
	  SKIP:
		{
			skip "$what: not read by this build", 2 if $found =~ /this build of crc32c_accel cannot read/;
			like($found, qr/^restored\|.*: the backup is of this server/, "$what: block $block");
			ok(substr(page($block), 24) eq substr($good{$block}, 24), '... is what it was, but for its LSN');
		}
	}
	$node->stop;
}

# a backup without the second file
my $without = "$dir/plain";
unlink "$without/$file.1" or die;
damage($border + 30);
$node->start;
like(restored($border + 30, $without),
	qr/^not_proven\|.*file "\Q$file\E\.1" of the backup is missing/, 'a backup without the second file');
$node->stop;
done_testing();
