# AccelProgram.pm: crc32c_verify beside SQL.
#
# A script that uses it, or AccelWal, has every archive, data directory and backup
# that it verifies by SQL verified by the program, too.  The rows must be the same.
package AccelProgram;

use strict;
use warnings;
use Cwd ();
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More ();

my $program = $ENV{ACCEL_PROGRAM} // Cwd::getcwd() . '/crc32c_verify';
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

# What the server knows of itself, and the program is told.
my %system;
sub cluster_of
{
	my ($node) = @_;
	my $name = $node->name;

	$ordinary->($node, 'postgres', 'SELECT system_identifier FROM pg_control_system()', stdout => \$system{$name}) if !$system{$name};
	return if !$system{$name};
	return ("--system-identifier=$system{$name}", '--server-version=' . ($node->pg_version =~ /^(\d+)/)[0],
		'--segment-size=' . segment_size($node));
}

# By the program, with its exit status.
sub rows_of_program
{
	my ($node, $function, $directory) = @_;
	my @cluster = $function =~ /wal/ ? cluster_of($node) : ();
	my ($status, $out, $err) = verify($command{$function}, '-v', '--format=json', @cluster, $directory);

	chomp $out;
	return ($status, $out, $err);
}

# ---- backups ----

my $literal = qr/'([^']+)'/;
my %argument = (
	wal_directory => qr/\G$literal/,
	prior_backups => qr/\GARRAY\[((?:$literal(?:,\s*)?)+)\]/,
	check_pages => qr/\G(true|false)/,
	include_healed => qr/\G(true|false)/,
	direct_io => qr/\G(true|false)/,
	workers => qr/\G(\d+)/,
	max_rate => qr/\G(\d+)/);

# The arguments of a call of verify_backup() as it stands in a statement, those of
# cost left out.  None if they are no literals.
sub arguments_of_call
{
	my ($call) = @_;
	my %of;

	$call =~ /\G\s*$literal/gc or return;
	$of{directory} = $1;
	while ($call =~ /\G\s*,\s*/gc)
	{
		my $name = $call =~ /\G(\w+) => /gc ? $1 : 'wal_directory';
		return if !$argument{$name} || $call !~ /$argument{$name}/gc;
		$of{$name} = $1;
	}
	return $call =~ /\G\s*\)/gc && $of{directory} =~ m{^/} ? \%of : undef;
}

sub rows_of_backup
{
	my ($node, $of) = @_;
	my ($out, $err) = ('', '');
	my $arguments = join ', ', "'$of->{directory}'", 'include_healed => true',
	  (map { defined $of->{$_} ? "$_ => '$of->{$_}'" : () } qw(wal_directory check_pages)),
	  (map { "prior_backups => ARRAY[$_]" } grep { defined } $of->{prior_backups});

	$ordinary->($node, 'postgres', "SELECT row_to_json(b) FROM verify_backup($arguments) b",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	return undef if $err =~ /ERROR/;
	$out =~ s{("lsn":"[0-9A-F]+/)0+(?=[0-9A-F])}{$1}g;
	return $out;
}

sub backup_by_program
{
	my ($node, $of) = @_;
	my ($status, $out, $err) = verify('backup', '-v', '--format=json', '-j', 1 + $compared % 2,
		cluster_of($node), defined $of->{wal_directory} ? "--wal=$of->{wal_directory}" : (),
		($of->{check_pages} // '') eq 'false' ? '--no-pages' : (),
		(map { "--prior=$_" } ($of->{prior_backups} // '') =~ /$literal/g), $of->{directory});

	chomp $out;
	return ($status, $out, $err);
}

sub backup_status
{
	my ($rows) = @_;
	return 1 if !defined $rows;
	my @status = grep { !/^ok_/ } $rows =~ /"status":"(\w+)"/g;
	return (grep { !/^(?:undecided|not_verifiable)$/ } @status) ? 2 : @status ? 3 : 0;
}

sub compare_backup
{
	my ($node, $of) = @_;
	return compare_rows("$of->{directory}: verify_backup", sub { rows_of_backup($node, $of) },
		sub { backup_by_program($node, $of) }, \&backup_status);
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
	return if is_own($node, $directory) || !cluster_of($node);
	return compare_rows("$directory: $function", sub { rows_of_sql($node, $function, $directory) },
		sub { rows_of_program($node, $function, $directory) }, \&expected_status);
}

# SQL is asked again where the rows are not the same, since something may write there.
# Returns whether they are the same; not, either, if that is not known.
sub compare_rows
{
	my ($what, $by_sql, $by_program, $status_of) = @_;
	my $sql = $by_sql->();
	my ($status, $rows, $err) = $by_program->();
	my $same = $rows eq ($sql // '') && $status eq $status_of->($sql);
	return 0 if !$same && ($by_sql->() // '') ne ($sql // '');
	$compared++;
	my $count = () = $rows =~ /^/mg;
	$rows_compared += $count;
	return 1 if $same;
	my @program = split /\n/, $rows;
	my @sql = split /\n/, $sql // '';
	my ($i) = grep { ($program[$_] // '') ne ($sql[$_] // '') } 0 .. ($#sql > $#program ? $#sql : $#program), 0;
	Test::More::is($program[ $i // 0 ], $sql[ $i // 0 ], "$what by the program as by SQL, row " . ($i // 0));
	Test::More::is($status, $status_of->($sql), "$what: its exit status") or Test::More::diag($err);
	return 0;
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
		while ($sql =~ m{verify_backup(?:_summary)?\(([^;]*)}g)
		{
			my $of = arguments_of_call($1);
			compare_backup($node, $of) if $of && !$seen{ join ' ', %$of{ sort keys %$of } }++;
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
