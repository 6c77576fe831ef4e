# Accel.pm: what the TAP tests share.
#
# Runs under test/server.sh, which stages the extension and names the settings
# that make a server find it (ACCEL_STAGED_CONF).
package Accel;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# A cluster that finds the staged extension.  Options: checksums => 0 (default
# 1), conf => text for postgresql.conf, extra => [initdb options],
# allows_streaming => 1 (passed on).  Not started.
sub new_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $checksums = $opt{checksums} // 1;
	my @extra = @{ $opt{extra} // [] };

	push @extra, '--data-checksums' if $checksums;
	push @extra, '--no-data-checksums'
	  if !$checksums && $node->pg_version >= 18;
	$node->init(extra => \@extra,
		allows_streaming => $opt{allows_streaming} // 0);
	configure($node);
	$node->append_conf('postgresql.conf', $opt{conf}) if $opt{conf};
	return $node;
}

# Makes a cluster (one from a backup, say) find the staged extension.
sub configure
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', slurp_file($ENV{ACCEL_STAGED_CONF}));
	return;
}

1;
