# BackupTar.pm: tar archives of backups, taken apart and changed.
package BackupTar;

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use PostgreSQL::Test::Utils;

my %unpack = (gz => 'gzip -dc', lz4 => 'lz4 -dc', zst => 'zstd -dc');
my %pack = (gz => 'gzip -1', lz4 => 'lz4 -q', zst => 'zstd -q');

sub bytes_of
{
	my ($path) = @_;
	open(my $file, '<:raw', $path) or die "$path: $!";
	local $/ = undef;
	my $bytes = <$file>;
	close($file);
	return $bytes;
}

sub put_bytes
{
	my ($path, $bytes) = @_;
	open(my $file, '>:raw', $path) or die "$path: $!";
	print $file $bytes;
	close($file);
	return;
}

# A program's output for a file as its input.
sub through
{
	my ($command, $from, $to) = @_;
	return !system("$command <'$from' >'$to' 2>/dev/null");
}

# What is in a compressed file.
sub unpacked
{
	my ($path) = @_;
	my ($format) = $path =~ /\.(\w+)$/;
	return through($unpack{$format}, $path, "$path.unpacked") ? bytes_of("$path.unpacked") : '';
}

# Compresses the archives of a directory into another; false: it cannot be done.
sub compress
{
	my ($from, $to, $format) = @_;
	mkdir $to;
	foreach my $name (slurp_dir($from))
	{
		next if $name =~ /^\./;
		my ($command, $suffix) = $name =~ /\.tar$/ ? ($pack{$format}, ".$format") : ('cat', '');
		return 0 unless through($command, "$from/$name", "$to/$name$suffix");
	}
	return 1;
}

# Extracts all archives of a backup into a plain one, as the manual says.
sub extract
{
	my ($from, $to) = @_;
	mkdir $to;
	# base.tar first
	foreach my $name (sort { ($b =~ /^base/) <=> ($a =~ /^base/) } grep { !/^\./ } slurp_dir($from))
	{
		my ($stem, $format) = $name =~ /^(\w+)\.tar(?:\.(\w+))?$/;
		if (!defined $stem)
		{
			system_or_bail('cp', "$from/$name", "$to/$name");
			next;
		}
		my $into = $stem eq 'base' ? $to : $stem eq 'pg_wal' ? "$to/pg_wal" : "$to/pg_tblspc/$stem";
		system_or_bail('mkdir', '-p', $into);
		my $command = $format ? $unpack{$format} : 'cat';
		# what is damaged is extracted as far as it goes
		system("$command <'$from/$name' 2>/dev/null | tar -xf - -C '$into' 2>/dev/null");
	}
	chmod 0700, $to;
	return $to;
}

# The manifest of a plain backup says of a file what it is now, by its new name if
# it has another; crc is a function of its path.
sub relist
{
	my ($root, $crc, $path, $new) = @_;
	$new //= $path;
	my ($text) = slurp_file("$root/backup_manifest") =~ /^(.*)"Manifest-Checksum"/s;
	my ($size, $sum) = (-s "$root/$new", $crc->("$root/$new"));
	$text =~ s/("Path": ")\Q$path\E(", "Size": )\d+(.*?"Checksum": ")[0-9a-f]+/$1$new$2$size$3$sum/ or die "no file $path";
	unlink "$root/backup_manifest";
	put_bytes("$root/backup_manifest", $text . '"Manifest-Checksum": "' . sha256_hex($text) . "\"}\n");
	return;
}

# [ name, offset of the header, offset of the data, size ] of each member
sub members
{
	my ($tar) = @_;
	my @members;
	for (my $at = 0; $at + 512 <= length($tar) && substr($tar, $at, 1) ne "\0";)
	{
		my $field = substr($tar, $at + 124, 12);
		my $size = $field =~ /^\x80/ ? unpack('x4Q>', $field) : oct(unpack('Z12', $field));
		push @members, [ unpack('Z100', substr($tar, $at, 100)), $at, $at + 512, $size ];
		$at += 512 + 512 * int(($size + 511) / 512);
	}
	return @members;
}

sub member
{
	my ($tar, $name) = @_;
	my ($found) = grep { $_->[0] eq $name } members($tar);
	die "no member $name" unless $found;
	return @$found;
}

# A member as the server writes it.
sub made
{
	my ($name, $contents, %more) = @_;
	my $header = pack('a100a8a8a8a12a12a8a1a100a6a2a32a32a8a8a155a12', $name, "0000600 ", "0000000 ", "0000000 ",
		$more{size} // sprintf('%011o ', length $contents), '00000000000 ', ' ' x 8, $more{type} // '0', $more{link} // '',
		"ustar\0", '00', 'postgres', 'postgres', "0000000 ", "0000000 ", $more{prefix} // '', '');
	substr($header, 148, 8) = sprintf("%06o\0 ", unpack('%32C*', $header));
	return $header . $contents . "\0" x (-length($contents) % 512);
}

# The same archive without a member.
sub without
{
	my ($tar, $name) = @_;
	my (undef, $header, $data, $size) = member($tar, $name);
	substr($tar, $header, $data - $header + 512 * int(($size + 511) / 512)) = '';
	return $tar;
}

# The same archive, the contents of a member changed.
sub poked
{
	my ($tar, $name, $at, $with) = @_;
	substr($tar, (member($tar, $name))[2] + $at, length $with) = $with;
	return $tar;
}

sub contents
{
	my ($tar, $name) = @_;
	my (undef, undef, $data, $size) = member($tar, $name);
	return substr($tar, $data, $size);
}

# The same archive with more at its end.
sub with
{
	my ($tar, $more) = @_;
	my $last = (members($tar))[-1];
	my $end = $last->[2] + 512 * int(($last->[3] + 511) / 512);
	return substr($tar, 0, $end) . $more . "\0" x 1024;
}

1;
