# The library loads by CREATE EXTENSION alone and preloaded, and computes.
use strict;
use warnings;
use Accel;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
is($node->safe_psql('postgres', q{SELECT public.crc32c('123456789')}),
	'3808858755', 'loaded on first use');

$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'crc32c_accel'");
$node->restart;
is($node->safe_psql('postgres', q{SELECT public.crc32c('123456789')}),
	'3808858755', 'preloaded');

# A copy of the file is another library.
my $libdir = $node->safe_psql('postgres', q{SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'});
my ($staged) = grep { -e } map { s/^\$libdir$/$libdir/r . '/crc32c_accel.so' }
  split /:/, $node->safe_psql('postgres', 'SHOW dynamic_library_path');
my $copy = PostgreSQL::Test::Utils::tempdir() . '/crc32c_accel.so';
copy($staged, $copy) or die "$staged: $!";
$node->append_conf('postgresql.conf', "shared_preload_libraries = '$copy'");
$node->restart;
my (undef, undef, $error) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nSELECT public.crc32c('123456789')");
like($error, qr/ERROR:  55000: another copy of library "crc32c_accel" is already loaded/,
	'two copies of the library');
like($error, qr/DETAIL:  "\Q$copy\E" is loaded, "\Q$staged\E" is another file/, 'which they are');
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the rest of the session is served');
$node->stop;

done_testing();
