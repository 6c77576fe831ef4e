# Mutation.pm: random damage of files.
package Mutation;

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use PostgreSQL::Test::Utils;

sub one_of { return $_[ rand @_ ]; }

sub noise { return join '', map { chr int rand 256 } 1 .. $_[0]; }

# A place within the bytes; half of them in the header of a page.
sub place
{
	my ($bytes) = @_;
	my $len = length $$bytes;
	my $page = 8192 * int(rand($len) / 8192);

	return 0 if !$len;
	return $page + int rand 40 if rand() < 0.5 && $page + 40 <= $len;
	return int rand $len;
}

# How many bytes from a place on: few, or up to some pages.
sub some
{
	my ($bytes, $at, $most) = @_;
	my $left = length($$bytes) - $at;
	my $wanted = 1 + int rand one_of(1, 8, 64, 8192, $most // 65536);
	return $wanted < $left ? $wanted : $left;
}

sub flip
{
	my ($bytes) = @_;
	for (1 .. one_of(1, 1, 1, 2, 8))
	{
		my $at = place($bytes);
		substr($$bytes, $at, 1) ^= chr(1 << int rand 8) if $at < length $$bytes;
	}
	return;
}

# Replaces bytes by what a function makes of so many.
sub overwrite
{
	my ($bytes, $with) = @_;
	my $at = place($bytes);
	my $len = some($bytes, $at);
	substr($$bytes, $at, $len) = $with->($len);
	return;
}

sub swap
{
	my ($bytes) = @_;
	my ($first, $second) = sort { $a <=> $b } place($bytes), place($bytes);
	my $len = some($bytes, $second, 8192);
	$len = $second - $first if $len > $second - $first;
	my $kept = substr($$bytes, $first, $len);
	substr($$bytes, $first, $len) = substr($$bytes, $second, $len);
	substr($$bytes, $second, $len) = $kept;
	return;
}

# Each changes the bytes that it is given a reference to.
my @ways = (
	\&flip, \&flip, \&flip, \&swap,
	sub { overwrite($_[0], sub { "\0" x $_[0] }) },
	sub { overwrite($_[0], \&noise) },
	sub { overwrite($_[0], sub { pack('L', one_of(0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, int rand 2**32)) }) if length ${ $_[0] } },
	sub { substr(${ $_[0] }, place($_[0])) = '' },
	sub { my $at = place($_[0]); substr(${ $_[0] }, $at) = "\0" x (length(${ $_[0] }) - $at) },
	sub { ${ $_[0] } .= one_of(noise(1 + int rand 100), "\0" x int rand 9000, substr(${ $_[0] }, 0, 8192)) },
	sub { substr(${ $_[0] }, place($_[0]), 0) = noise(1 + int rand 16) },
	sub { my $at = place($_[0]); substr(${ $_[0] }, $at, some($_[0], $at)) = '' });

# Damages bytes.
sub damage
{
	my ($bytes) = @_;
	one_of(@ways)->(\$bytes);
	return $bytes;
}

# Changes what a text says; its lines mostly stay lines.
sub damage_text
{
	my ($text) = @_;
	my @lines = split /(?<=\n)/, $text;
	my $i = int rand @lines;
	my $way = int rand 6;

	return damage($text) if $way == 0 || !@lines;
	if ($way == 1) { splice @lines, $i, 1 }
	elsif ($way == 2) { splice @lines, $i, 0, one_of(@lines) }
	elsif ($way == 3) { $lines[$i] =~ s/(\d)(?=\D*$)/int rand 10/e }
	elsif ($way == 4) { $lines[$i] =~ s/\d+/one_of(0, 1, 2**31, '18446744073709551615', -1)/e }
	else { @lines[ $i, -1 ] = @lines[ -1, $i ] }
	return join '', @lines;
}

# A manifest that was changed by somebody who knows how its end is made.
sub sealed
{
	my ($manifest) = @_;
	$manifest =~ s/("Manifest-Checksum": ")[0-9a-f]{64}"\}\n\z// or return $manifest;
	return "$manifest$1" . sha256_hex($manifest) . "\"}\n";
}

# Damages a file, which may have other names that keep what it was.  Whatever is
# text is changed as text.
sub damage_file
{
	my ($path) = @_;
	my @stat = stat $path;
	my $bytes = slurp_file($path);
	my $text = $bytes !~ /[^\t\n\x20-\x7E]/;

	$bytes = $text ? damage_text($bytes) : damage($bytes);
	$bytes = sealed($bytes) if $path =~ /backup_manifest$/ && rand() < 0.8;
	unlink $path or die "$path: $!";
	open(my $file, '>:raw', $path) or die "$path: $!";
	print $file $bytes;
	close $file;
	utime $stat[8], $stat[9], $path;
	return;
}

# Changes what leads to a file, or its kind.  Others are files beside it.
sub rename_file
{
	my ($path, @others) = @_;
	my $other = @others ? one_of(@others) : "$path.other";
	my $way = int rand 7;

	if ($way == 0) { unlink $path }
	elsif ($way == 1) { rename $path, $other }
	elsif ($way == 2) { rename $path, "$path.kept"; rename $other, $path; rename "$path.kept", $other }
	elsif ($way == 3) { unlink $path; mkdir $path }
	elsif ($way == 4) { unlink $path; symlink 'nowhere', $path }
	elsif ($way == 5) { rename $path, "$path.kept"; symlink "$path.kept", $path }
	else
	{
		# not of the file's other names
		system_or_bail('cp', '-p', $path, "$path.kept");
		rename "$path.kept", $path;
		chmod 0, $path;
	}
	return;
}

1;
