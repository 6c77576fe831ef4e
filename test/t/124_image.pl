# The extension lies in a folder of its own that is read-only, as an image volume is.
# PostgreSQL 18 and later find it by two parameters; nothing is in the server's folders.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Find;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => "autovacuum = off\nlog_min_messages = debug1\n");
plan skip_all => 'servers before 18 have no extension_control_path' if $node->pg_version < 18;

# As docs/install.md says it, with the objects that are there.
my $stage = PostgreSQL::Test::Utils::tempdir();
my $folder = '/extensions/crc32c_accel';
my $image = "$stage$folder";
system_or_bail('make', '-s', 'install', 'PG_CONFIG=pg_config', 'with_llvm=no', "DESTDIR=$stage",
	map { s/=/=$folder/r } 'datadir=/share', 'pkglibdir=/lib', 'bindir=/bin', 'docdir=/doc', 'mandir=/man');
ok(-e "$image/$_", "$_ is in the image")
  foreach 'share/extension/crc32c_accel.control', 'lib/crc32c_accel.so', 'bin/crc32c_verify';
find({ no_chdir => 1, wanted => sub { -l or chmod((stat)[2] & 0555, $_) } }, $image);

# Paths, sizes and times of all that lies there.
sub listing
{
	my @found;
	find({ no_chdir => 1, wanted => sub { push @found, join ' ', $_, (stat)[7, 9, 10] } }, $image);
	return join "\n", sort @found;
}
my $before = listing();

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Later lines win over those of the staged extension.
$node->append_conf('postgresql.conf', "extension_control_path = '$image/share:\$system'
dynamic_library_path = '\$libdir'");
$node->start;
my (undef, undef, $error) = $node->psql('postgres', 'CREATE EXTENSION crc32c_accel');
like($error, qr/could not access file "crc32c_accel"/, 'without the second parameter there is no library');

$node->append_conf('postgresql.conf', "dynamic_library_path = '$image/lib:\$libdir'");
$node->reload;
sql('CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat(\'x\', 500) AS b FROM generate_series(1, 20000) g;
	CHECKPOINT');
my $path = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('t')");
my $blocks = sql("SELECT pg_relation_size('t') / current_setting('block_size')::int");
my $page = sql('SHOW block_size');

my @mapped = split /\n/, sql(q{SELECT public.crc32c('123456789') = 3808858755;
	SELECT DISTINCT substring(line FROM '/.*') FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') line
	WHERE line LIKE '%crc32c_accel.so'});
is_deeply(\@mapped, [ 't', "$image/lib/crc32c_accel.so" ], 'a session computes by the library of the image');

# The log says of each process that a postmaster starts what it is.
sub started
{
	my ($kind) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /starting background worker process "$kind/g);
}

$node->stop;
AccelWal::poke($path, 7 * $page, AccelWal::spoiled(AccelWal::peek($path, 7 * $page, $page)));
foreach my $preloaded (0, 1)
{
	my $when = $preloaded ? 'preloaded' : 'loaded on first use';
	my ($parallel, $crew) = (started('parallel worker'), started('crc32c_accel worker'));

	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'crc32c_accel'
crc32c_accel.accelerate_server = on") if $preloaded;
	$node->start;
	is(sql("SELECT blkno, status FROM verify_relation('t', workers => 2, max_rate => 20000)"), '7|checksum_mismatch',
		"$when: a parallel scan finds a spoiled page");
	is(started('parallel worker') - $parallel, 2, '... with its workers');
	$node->psql('postgres', q{CALL verify_database(workers => 2, max_rate => 20000, relations => '{t}', cluster_files => false)});
	is(sql('SELECT blkno, status FROM verify_findings WHERE run = (SELECT max(run) FROM verify_findings)'), '7|checksum_mismatch',
		"$when: so does a run");
	is(started('crc32c_accel worker') - $crew, 2, '... with its own');
	$node->stop;
}
unlike(slurp_file($node->logfile), qr/could not load|could not find function/, 'no process missed the library');

is(listing(), $before, 'nothing was written into the image');
chomp(my @server = map { scalar `pg_config --$_` } 'pkglibdir', 'sharedir');
my @ours;
find({ no_chdir => 1, wanted => sub { push @ours, $_ if /crc32c_accel/ } }, @server);
is("@ours", '', "... and nothing of it is in the server's folders");
like(`'$image/bin/crc32c_verify' --version`, qr/^crc32c_verify /, 'its program runs');

find({ no_chdir => 1, wanted => sub { -d && chmod(0755, $_) } }, $image);
done_testing();
