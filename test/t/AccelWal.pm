# AccelWal.pm: what the TAP tests of WAL share.
package AccelWal;

use strict;
use warnings;
use Accel;
use AccelProgram;
use File::Copy;
use IPC::Run ();
use PostgreSQL::Test::Utils;

# LSN in text to a number and back.
sub number
{
	my ($lsn) = @_;
	my ($high, $low) = split m{/}, $lsn;
	return hex($high) * 2**32 + hex($low);
}

# Where the n-th byte (from 0) of a record lies that starts at lsn: page headers
# lie between.
sub record_byte
{
	my ($lsn, $n, $segment_size) = @_;
	while (1)
	{
		my $room = $wal_blcksz - $lsn % $wal_blcksz;
		return $lsn + $n if $n < $room;
		$n -= $room;
		$lsn += $room;
		$lsn += $lsn % $segment_size == 0 ? 40 : 24;
	}
}

# Where a record ends that starts at lsn and has len bytes: the next one is aligned.
sub record_end
{
	my ($lsn, $len, $segment_size) = @_;
	return int((record_byte($lsn, $len - 1, $segment_size) + 8) / 8) * 8;
}

# Where the log in a folder ends for pg_waldump, which reads from lsn on: behind
# the last record that it shows.
sub waldump_end
{
	my ($node, $folder, $lsn, $timeline, $segment_size) = @_;
	my ($out, $err);
	# by name, since the first file that it meets may be zeros yet
	my $tells = sprintf '%08X', $timeline;
	my @names = map { m{([0-9A-F]{24})$} ? $1 : () } sort glob("$folder/$tells????????????????");
	my $number = int(number($lsn) / $segment_size);
	my $first = sprintf '%s%08X%08X', $tells, int($number * $segment_size / 2**32), $number % (2**32 / $segment_size);
	IPC::Run::run([ $node->installed_command('pg_waldump'),
			'-p', $folder, '-s', $lsn, '-t', $timeline, $first, $names[-1] ], '>', \$out, '2>', \$err);
	$out =~ m{len \(rec/tot\):\s*\d+/\s*(\d+),.*lsn: ([0-9A-F]+/[0-9A-F]+), prev [^\n]*?desc: (\S+)[^\n]*\n\z}
	  or die "pg_waldump shows nothing: $err";
	my ($len, $at, $what) = ($1, number($2), $3);
	return int($at / $segment_size + 1) * $segment_size if $what eq 'SWITCH';
	return record_end($at, $len, $segment_size);
}

# Copies a folder's files (not its folders).
sub copy_files
{
	my ($from, $to) = @_;
	mkdir $to;
	foreach my $file (glob("$from/*"))
	{
		copy($file, $to) if -f $file;
	}
	return;
}

# Makes a file of these bytes.
sub put
{
	my ($path, $bytes) = @_;
	open(my $file, '>:raw', $path) or die "$path: $!";
	print $file $bytes;
	close $file;
	return;
}

# Writes bytes into a file at an offset.
sub poke
{
	my ($path, $offset, $bytes) = @_;
	open(my $file, '+<:raw', $path) or die "$path: $!";
	seek($file, $offset, 0);
	print $file $bytes;
	close $file;
	return;
}

sub peek
{
	my ($path, $offset, $len) = @_;
	my $bytes;
	open(my $file, '<:raw', $path) or die "$path: $!";
	seek($file, $offset, 0);
	read($file, $bytes, $len);
	close $file;
	return $bytes;
}

# The same from within a block of a relation on, which has segment files.
sub poke_block
{
	my ($path, $block, $offset, $bytes) = @_;
	while ($bytes ne '')
	{
		my ($file, $start) = Accel::place($path, $block);
		poke($file, $start + $offset, substr($bytes, 0, $relseg_size * $blcksz - $start - $offset, ''));
		$block += $relseg_size - $block % $relseg_size;
		$offset = 0;
	}
	return;
}

sub peek_block
{
	my ($path, $block, $offset, $len) = @_;
	my ($file, $start) = Accel::place($path, $block);
	return peek($file, $start + ($offset // 0), $len // $blcksz);
}

# A page with a damage that is certain to be seen.  The checksum alone misses one in
# 65,536, which a test of many blocks meets; flags that no page has are never missed.
sub spoiled
{
	my ($page) = @_;
	my $behind = int(length($page) * 6000 / 8192);	# in the second half
	return $page ^ ("\0" x 10 . "\xff\xff" . "\0" x ($behind - 12) . "\x55" x 100 . "\0" x (length($page) - $behind - 100));
}

# Another segment that is as sound: [offset, record of it with other contents and
# the CRC-32C that belongs to them].  The record is a logical message that is
# MARK, a number and 60 dashes.
sub variant
{
	my ($node, $bytes) = @_;
	while ($bytes =~ /MARK\d+-{60}/g)
	{
		my ($mark, $end) = ($-[0], $+[0]);
		for (my $at = $mark - $mark % 8; $at > $mark - 200; $at -= 8)
		{
			next if unpack('L', substr($bytes, $at, 4)) != $end - $at;
			my $record = substr($bytes, $at, $end - $at);
			substr($record, -1) = '+';
			my $covered = unpack('H*', substr($record, 24) . substr($record, 0, 20));
			substr($record, 20, 4) = pack('L', $node->safe_psql('postgres', "SELECT public.crc32c('\\x$covered')"));
			return ($at, $record);
		}
	}
	die 'no record to change';
}

1;
