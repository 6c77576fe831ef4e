# ServerCrc.pm: reads a server process's pg_comp_crc32c from outside.
#
# What crc32c_server() says of its own session is not proof for a walsender or
# the startup process.  The pointer's place comes from the server's dynamic
# symbols (nm) and /proc/PID/maps, its value from /proc/PID/mem.
package ServerCrc;

use strict;
use warnings;
use Config;
use Fcntl qw(SEEK_SET);
use IPC::Run ();
use Test::More ();

# settings of a server with it and of one without
our $accelerated = "shared_preload_libraries = 'crc32c_accel'\n"
  . "crc32c_accel.accelerate_server = on\n";
our $stock = "shared_preload_libraries = ''\n"
  . "crc32c_accel.accelerate_server = off\n";

my %exported;    # program => { name => address in the file }

sub symbols
{
	my ($program) = @_;

	return $exported{$program} //= {
		map { /^([0-9a-f]+) \w (pg_comp_crc32c\w*)$/ ? ($2 => hex($1)) : () }
		  split(/\n/, `nm -D --defined-only '$program'`)
	};
}

# Where a process has mapped what: [start, end, file].
sub maps
{
	my ($pid) = @_;
	my @maps;

	open(my $fh, '<', "/proc/$pid/maps") or return;
	while (<$fh>)
	{
		push @maps, [ hex($1), hex($2), $3 ]
		  if /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+\s+(\S.*)$/;
	}
	close($fh);
	return @maps;
}

# Why this machine does not let us look; undef when it does.
sub unreadable
{
	my ($pid) = @_;
	my $program = readlink("/proc/$pid/exe");

	return 'no 64-bit Perl' if $Config{ptrsize} != 8;
	return 'no /proc' if !defined $program;
	return 'nm is not installed' if system('nm --version >/dev/null 2>&1') != 0;
	return 'the server has no pointer'
	  if !symbols($program)->{pg_comp_crc32c};
	return "/proc/$pid/mem cannot be read" if !defined owner($pid);
	return;
}

# Whose function this process uses: 'server' (an exported function of the
# program), 'accel' (in our library), 'other'; undef when it cannot be read.
sub owner
{
	my ($pid) = @_;
	my $program = readlink("/proc/$pid/exe") // return;
	my @maps = maps($pid) or return;
	my ($base) = map { $_->[0] } grep { $_->[2] eq $program } @maps;
	my $names = symbols($program);
	my $bytes = '';

	return if !defined $base || !$names->{pg_comp_crc32c};
	open(my $mem, '<:raw', "/proc/$pid/mem") or return;
	sysseek($mem, $base + $names->{pg_comp_crc32c}, SEEK_SET) or return;
	(sysread($mem, $bytes, 8) // 0) == 8 or return;
	close($mem);
	my $function = unpack('Q', $bytes);

	for my $map (@maps)
	{
		next if $function < $map->[0] || $function >= $map->[1];
		return 'accel' if $map->[2] =~ m{/crc32c_accel\.so( \(deleted\))?$};
		return 'server'
		  if grep { $base + $names->{$_} == $function } keys %$names;
	}
	return 'other';
}

sub postmaster
{
	my ($node) = @_;
	open(my $fh, '<', $node->data_dir . '/postmaster.pid') or return;
	chomp(my $pid = <$fh>);
	return $pid;
}

# The postmaster of a node and all its children: { pid => title }.
sub processes
{
	my ($node) = @_;
	my $postmaster = postmaster($node) // return {};
	my %titles = ($postmaster => 'postmaster');

	for my $stat (glob('/proc/[0-9]*/stat'))
	{
		open(my $s, '<', $stat) or next;
		my $line = <$s> // next;
		my ($pid, $parent) = $line =~ /^(\d+) \(.*\) \S (\d+)/ or next;
		next if $parent != $postmaster;
		open(my $c, '<', "/proc/$pid/cmdline") or next;
		my $title = <$c> // next;
		$title =~ s/\0+.*$//s;
		$title =~ s/^postgres: //;
		$titles{$pid} = $title;
	}
	return \%titles;
}

# Waits until a new session of this node has the accelerator on or off, and
# returns the reason when it never will ('' when it has).
sub wait_accelerated
{
	my ($node, $on) = @_;

	$node->poll_query_until('postgres',
		"SELECT setting::bool = '$on' FROM pg_settings WHERE name = 'crc32c_accel.accelerate_server'"
	);
	return $node->safe_psql('postgres',
		"SELECT CASE WHEN accelerated = '$on' THEN '' ELSE reason END FROM crc32c_server()"
	);
}

# The owners of the function in the processes of a node whose title matches,
# as "title: owner", sorted; "unreadable: why" where we may not look.
sub owners
{
	my ($node, $title) = @_;
	my $processes = processes($node);
	my $unreadable = unreadable(postmaster($node));
	my %found;

	return "unreadable: $unreadable" if defined $unreadable;
	for my $pid (grep { $processes->{$_} =~ /$title/ } keys %$processes)
	{
		my $owner = owner($pid) // next;
		$processes->{$pid} =~ /($title)/;
		$found{"$1: $owner"} = 1;
	}
	return join(', ', sort keys %found);
}

# A stock pg_waldump reads all WAL of a node from start on.
sub waldump_reads
{
	my ($node, $start, $title) = @_;
	my $end = $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()');
	# Segments by name: of a folder alone, pg_waldump reads the segment size
	# from the first file that it meets, which may be zeros yet.
	my @segments = split /\|/, $node->safe_psql('postgres',
		"SELECT pg_walfile_name('$start'::pg_lsn + 1), pg_walfile_name('$end')");
	my ($out, $err);

	Test::More::ok(
		IPC::Run::run(
			[
				'pg_waldump', '--quiet', '--path', $node->data_dir . '/pg_wal',
				'--start', $start, '--end', $end, @segments
			],
			'>', \$out, '2>', \$err),
		$title)
	  or Test::More::diag($err);
	return;
}

1;
