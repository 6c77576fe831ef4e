# AccelProgram.pm: crc32c_verify beside SQL.
#
# A script that uses it, or AccelWal, has every archive and every data directory
# that it verifies by SQL verified by the program, too.  The rows must be the same.
package AccelProgram;

use strict;
use warnings;
use Cwd ();
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More ();

my $program = Cwd::getcwd() . '/crc32c_verify';
my $ordinary = \&PostgreSQL::Test::Cluster::psql;
our $comparing = 0;
my ($compared, $rows_compared) = (0, 0);

# Runs the program; returns its exit status, what it printed, and its messages.
sub verify
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ $program, @arguments ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? & 127 ? "signal $?" : $? >> 8, $out, $err);
}

sub path { return $program; }

# What is compared: the function of SQL => the command.
my %command = (verify_wal => 'wal', verify_wal_images => 'images', verify_cluster_files => 'cluster');

# Rows of a function as lines of JSON, with the LSNs of all versions alike.
sub rows_of_sql
{
	my ($node, $function, $directory) = @_;
	my ($out, $err) = ('', '');

	$ordinary->($node, 'postgres', "SELECT row_to_json(w) FROM $function('$directory') w",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	return undef if $err =~ /ERROR/;
	$out =~ s{(lsn":"[0-9A-F]+/)0+(?=[0-9A-F])}{$1}g;
	$out =~ s{("(?:tablespace|database|relfilenode)":)"(\d+)"}{$1$2}g;
	return $out;
}

# In MB, of the server.
my %segment_size;
sub segment_size
{
	my ($node) = @_;
	my $out;

	if (!$segment_size{ $node->name })
	{
		$ordinary->($node, 'postgres', q{SELECT pg_size_bytes(current_setting('wal_segment_size')) / 1048576}, stdout => \$out);
		$segment_size{ $node->name } = $out;
	}
	return $segment_size{ $node->name };
}

# By the program, with its exit status.
sub rows_of_program
{
	my ($node, $function, $directory, $system) = @_;
	my @cluster = $function =~ /wal/ ? ("--system-identifier=$system",
		'--server-version=' . ($node->pg_version =~ /^(\d+)/)[0],
		'--segment-size=' . segment_size($node)) : ();
	my ($status, $out, $err) = verify($command{$function}, '-v', '--format=json', @cluster, $directory);

	chomp $out;
	return ($status, $out, $err);
}

sub expected_status
{
	my ($rows) = @_;
	return !defined $rows ? 1 : $rows =~ /"is_finding":true|"status":"stale_page"/ ? 2 : $rows =~ /"status":"not_verifiable"/ ? 3 : 0;
}

# Is it the server's own, of which the program cannot know what is in memory?
sub is_own
{
	my ($node, $directory) = @_;
	my @here = stat $directory;
	return @here && grep { my @own = stat; @own && $here[0] == $own[0] && $here[1] == $own[1] } $node->data_dir, $node->data_dir . '/pg_wal';
}

# A directory by both.  One that is being written proves nothing.
sub compare
{
	my ($node, $function, $directory) = @_;
	my $system;
	return if is_own($node, $directory);
	$ordinary->($node, 'postgres', 'SELECT system_identifier FROM pg_control_system()', stdout => \$system);
	return if !$system;
	my $before = rows_of_sql($node, $function, $directory);
	my ($status, $rows, $err) = rows_of_program($node, $function, $directory, $system);
	my $after = rows_of_sql($node, $function, $directory);
	return if ($before // '') ne ($after // '');
	$compared++;
	my $count = () = $rows =~ /^/mg;
	$rows_compared += $count;
	return if $rows eq ($before // '') && $status == expected_status($before);
	my @by_program = split /\n/, $rows;
	my @by_sql = split /\n/, $before // '';
	my ($i) = (grep { ($by_program[$_] // '') ne ($by_sql[$_] // '') } 0 .. ($#by_sql > $#by_program ? $#by_sql : $#by_program), 0);
	Test::More::is($by_program[$i], $by_sql[$i], "$directory: $function by the program as by SQL, row $i");
	Test::More::is($status, expected_status($before), "$directory: its exit status") or Test::More::diag($err);
	return;
}

sub watched
{
	my ($node, $database, $sql, @more) = @_;
	my @result = wantarray ? $ordinary->(@_) : scalar $ordinary->(@_);
	my ($status, $error) = ($?, $@);

	if (!$comparing && defined $sql)
	{
		local $comparing = 1;
		my %seen;
		while ($sql =~ m{(verify_wal(?:_images)?|verify_cluster_files)(?:_findings)?\('(/[^']+)'}g)
		{
			compare($node, $1, $2) if !$seen{"$1 $2"}++;
		}
	}
	($?, $@) = ($status, $error);
	return wantarray ? @result : $result[0];
}

{
	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::psql = \&watched;
}

END
{
	Test::More::note("$compared directories, $rows_compared rows by the program as by SQL") if $compared;
}

1;
