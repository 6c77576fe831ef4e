# SwitchedWal.pm: segments of WAL with nothing but a switch to the next one, as many
# as wanted, without a server.  Their files have holes, so they take little room.
package SwitchedWal;

use strict;
use warnings;

my @crc_of_byte = map {
	my $crc = $_;
	$crc = $crc & 1 ? ($crc >> 1) ^ 0x82F63B78 : $crc >> 1 foreach 1 .. 8;
	$crc
} 0 .. 255;

sub crc32c
{
	my $crc = 0xFFFFFFFF;
	$crc = ($crc >> 8) ^ $crc_of_byte[ ($crc ^ $_) & 0xFF ] foreach unpack 'C*', $_[0];
	return $crc ^ 0xFFFFFFFF;
}

# What is not zero in a segment: the header of its first page, and the record.
sub contents
{
	my ($number, %of) = @_;
	my $header = pack('S2 L Q L x4 Q L2', $of{magic}, 2, 1, $number * $of{size}, 0, $of{system}, $of{size}, 8192);
	my $record = pack('L2 Q C2 x2', 24, 0, ($number - 1) * $of{size} + length $header, 0x40, 0);
	# of the body, which is empty, then of the header
	return $header . $record . pack('L', crc32c($record));
}

# Makes the segments 1 to count in a directory, written long ago; of says their
# size in bytes, and the magic number and system identifier in them.
sub make
{
	my ($directory, $count, %of) = @_;
	my $in_one = 2**32 / $of{size};

	foreach my $number (1 .. $count)
	{
		my $path = sprintf '%s/%08X%08X%08X', $directory, 1, $number / $in_one, $number % $in_one;
		open(my $file, '>:raw', $path) or die "$path: $!";
		print $file contents($number, %of);
		truncate $file, $of{size} or die "$path: $!";
		close $file or die "$path: $!";
		utime 1e9, 1e9, $path;
	}
	return;
}

1;
