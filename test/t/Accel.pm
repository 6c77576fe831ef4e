# Accel.pm: what the TAP tests share.
#
# Runs under test/server.sh, which stages the extension and names the settings
# that make a server find it (ACCEL_STAGED_CONF).
package Accel;

use strict;
use warnings;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes qw(usleep);

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

# Those of the given contrib modules that the installation lacks (a Python
# wheel's has none).
sub missing_modules
{
	my (@modules) = @_;
	chomp(my $folder = `pg_config --pkglibdir`);
	return grep { !-e "$folder/$_.so" } @modules;
}

# Ends the script as skipped where the installation lacks one.
sub need_modules
{
	my @missing = missing_modules(@_);
	Test::More::plan(skip_all => "this installation lacks @missing") if @missing;
	return;
}

# Builds the library that stands before system calls; returns its path.
sub fault_shim
{
	my $shim = PostgreSQL::Test::Utils::tempdir() . '/shim.so';
	my $headers = `pg_config --includedir-server`;
	chomp $headers;
	system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', '-Wl,-z,lazy',
		'-fno-builtin', '-U_FORTIFY_SOURCE', "-I$headers", '-o', $shim,
		'test/fault/shim.c', '-ldl');
	return $shim;
}

# Runs a query (or several) in a session that stops before its nth call of a kind on files
# whose path holds the pattern (a write: in the middle of it), and does something
# meanwhile.  The node runs under the shim and has fault_arm().
sub stopped_at
{
	my ($node, $call, $nth, $pattern, $query, $meanwhile) = @_;
	my $data = $node->data_dir;
	my ($out, $err) = ('', '');

	unlink "$data/fault_paused", "$data/fault_go";
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
			map { ('-c', $_) } "SELECT fault_arm('$call', 'pause', $nth, false, '$pattern')",
			ref $query ? @$query : $query ],
		'<', \undef, '>', \$out, '2>', \$err);
	for (my $i = 0; $i < 4000 && !-e "$data/fault_paused"; $i++)
	{
		usleep(5000);
		$session->pump_nb;
		last if !$session->pumpable;
	}
	my $paused = -e "$data/fault_paused";
	$meanwhile->();
	append_to_file("$data/fault_go", '');
	$session->finish;
	unlink "$data/fault_paused", "$data/fault_go";
	$out =~ s/^\n//;
	chomp $out;
	return ($paused ? $out : 'never stopped', $err);
}

# Starts a server with a library preloaded by the loader.
sub start_under
{
	my ($library, $node) = @_;
	local $ENV{LD_PRELOAD} = $library;
	$node->start;
	return;
}

1;
