# The library loads by CREATE EXTENSION alone and preloaded, and computes.
use strict;
use warnings;
use Accel;
use Test::More;

my $node = Accel::new_node('main');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
is($node->safe_psql('postgres', q{SELECT crc32c_accel('123456789')}),
	'3808858755', 'loaded on first use');

$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'crc32c_accel'");
$node->restart;
is($node->safe_psql('postgres', q{SELECT crc32c_accel('123456789')}),
	'3808858755', 'preloaded');
$node->stop;

done_testing();
