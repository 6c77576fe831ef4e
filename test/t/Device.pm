# Device.pm: what the TAP tests share that damage what a device holds, below the
# page cache.
#
# Root makes the file systems (test/devices.sh) before the tests run, which have
# ACCEL_DEVICES then.
package Device;

use strict;
use warnings;
use AccelWal;
use IPC::Open2;
use PostgreSQL::Test::Utils ();
use Test::More ();

# Why there is no such file system, undef if there is one.
sub missing
{
	my ($name) = @_;
	my $folder = $ENV{ACCEL_DEVICES} or return 'no devices: they take root';
	return -e "$folder/$name.missing" ? AccelWal::slurp_file("$folder/$name.missing") : undef;
}

sub folder { return "$ENV{ACCEL_DEVICES}/$_[0]"; }
sub image { return "$ENV{ACCEL_DEVICES}/$_[0].img"; }

# The places on a device of the given pieces of 4096 bytes, each of which lies
# there once: {piece => offset}.
sub places
{
	my ($name, @pieces) = @_;
	my %wanted = map { $_ => undef } @pieces;

	open(my $fh, '<:raw', image($name)) or die "image: $!";
	for (my $at = 0; sysread($fh, my $bytes, 1 << 20); $at += length $bytes)
	{
		for (my $i = 0; $i < length $bytes; $i += 4096)
		{
			my $piece = substr($bytes, $i, 4096);
			$wanted{$piece} = $at + $i if exists $wanted{$piece};
		}
	}
	close($fh);
	return \%wanted;
}

# The place on its device of a byte of a file (FS_IOC_FIEMAP).
sub place_of
{
	my ($path, $offset) = @_;
	my $map = pack('QQLLLL', $offset, 1, 1, 0, 1, 0) . "\0" x 56;

	open(my $fh, '<:raw', $path) or die "$path: $!";
	ioctl($fh, 0xC020660B, $map) or die "$path: $!";
	close($fh);
	my ($mapped, $logical, $physical) = (unpack('QQLLLLQQ', $map))[ 3, 6, 7 ];
	die "$path has nothing at $offset" if $mapped != 1;
	return $physical + $offset - $logical;
}

# Every piece of 4096 bytes of a file.
sub pieces
{
	my ($path) = @_;
	local $/;
	open(my $fh, '<:raw', $path) or die "$path: $!";
	my $bytes = <$fh>;
	close($fh);
	return unpack('(a4096)*', $bytes);
}

# Inverts three bytes on the device at an offset.  mend() undoes it all.
my @damaged;
sub damage
{
	my ($name, $at) = @_;
	push @damaged, [ $name, $at ];
	AccelWal::poke(image($name), $at, ~AccelWal::peek(image($name), $at, 3) & "\xff" x 3);
	return;
}

sub mend
{
	my @places = splice(@damaged);
	damage(@$_) foreach @places;
	@damaged = ();
	return;
}

# How many pages of a file the page cache has, undef if the kernel does not tell.
sub cached
{
	my ($path) = @_;
	open(my $fh, '<:raw', $path) or die "$path: $!";
	my $range = pack('QQ', 0, -s $path);
	my $state = "\0" x 40;
	my $status = syscall(451, fileno($fh), $range, $state, 0);
	close($fh);
	return $status == 0 ? (unpack('Q5', $state))[0] : undef;
}

# Which pages of a file the page cache has, as a string of 0 and 1.
sub cached_pages
{
	my ($path) = @_;
	my $pages = '';
	open(my $fh, '<:raw', $path) or die "$path: $!";
	for (my $at = 0; $at < -s $path; $at += 4096)
	{
		my $range = pack('QQ', $at, 4096);
		my $state = "\0" x 40;
		return undef if syscall(451, fileno($fh), $range, $state, 0) != 0;
		$pages .= (unpack('Q5', $state))[0] > 0 ? 1 : 0;
	}
	close($fh);
	return $pages;
}

# Whether what is done leaves the page cache as it was, page for page, of a file that it
# has in part.  Whoever is short of memory takes pages out of it at any time, so that it
# is done again.
sub leaves_cache
{
	my ($path, $done) = @_;
	for (1 .. 5)
	{
		drop_cached($path);
		AccelWal::peek($path, int(rand((-s $path) / 4096)) * 4096, 4096) for 1 .. 5;
		my $before = cached_pages($path) // return 1;
		$done->();
		return 1 if $before =~ /0/ && $before =~ /1/ && cached_pages($path) eq $before;
	}
	return 0;
}

# Reads files into the page cache and keeps them there as long as the result lives:
# whoever is short of memory takes clean pages out of it at any time.
my $keeper;
sub keep
{
	my (@files) = @_;
	if (!defined $keeper)
	{
		$keeper = PostgreSQL::Test::Utils::tempdir() . '/keep';
		PostgreSQL::Test::Utils::system_or_bail('cc', '-O1', '-Wall', '-o', $keeper, 'test/fault/keep.c');
	}
	my $pid = open2(my $out, my $in, $keeper, @files);
	my $said = <$out>;
	Test::More::note("pages may leave the page cache: $said") if $said ne "kept\n";
	return bless { pid => $pid, in => $in, out => $out }, 'Device';
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $/);
	close($self->{in});
	my $rest = readline($self->{out});	# until all of them have ended
	waitpid($self->{pid}, 0);
	return;
}

sub cached_of
{
	my $sum = 0;
	$sum += cached($_) // 0 foreach @_;
	return $sum;
}

# Takes files out of the page cache.
sub drop_cached
{
	foreach my $path (@_)
	{
		system('dd', "of=$path", 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none') == 0
		  or die "dd of $path";
	}
	return;
}

1;
