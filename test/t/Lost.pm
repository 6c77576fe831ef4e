# Lost.pm: what the tests of verify_lost_writes share.
#
# A shim (test/fault/lost.c) loses writes and says which.  What was lost in the
# end is read off the disk; what WAL knows of it, off pg_waldump.
package Lost;

use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More ();

# Builds the shim; returns its path.
sub shim
{
	my $shim = PostgreSQL::Test::Utils::tempdir() . '/lost.so';
	system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', '-fno-builtin',
		'-U_FORTIFY_SOURCE', "-DBLOCK=$blcksz", '-o', $shim, 'test/fault/lost.c', '-ldl');
	return $shim;
}

sub lose
{
	my ($node, $order) = @_;
	my $file = $node->data_dir . '/fault_lose';

	if (defined $order)
	{
		PostgreSQL::Test::Utils::append_to_file("$file.new", "$order\n");
		rename("$file.new", $file) or die $!;
	}
	else
	{
		unlink $file or die $!;
	}
	return;
}

sub lsn_on_disk
{
	my ($path, $block) = @_;
	my $page;

	open(my $file, '<:raw', $path) or return undef;
	seek($file, $block * $blcksz, 0);
	return undef if (read($file, $page, 8) // 0) != 8;
	my ($high, $low) = unpack('LL', $page);
	return $high << 32 | $low;
}

# The blocks whose newest lost write is not on disk: "path block" => LSN.
sub lost
{
	my ($node) = @_;
	my %newest;
	my %lost;

	open(my $log, '<', $node->data_dir . '/fault_lost') or return {};
	while (<$log>)
	{
		my ($path, $block, $lsn) = split;
		my $name = "$path $block";
		$newest{$name} = hex $lsn if hex $lsn > ($newest{$name} // 0);
	}
	foreach my $name (keys %newest)
	{
		my ($path, $block) = split / /, $name;
		my $disk = lsn_on_disk($path, $block);
		next if !defined $disk || $disk >= $newest{$name};
		my $relative = $path;
		$relative =~ s{^.*?/(?=(?:base|global)/)}{};
		my ($segment) = $relative =~ /\.(\d+)$/;
		$relative =~ s/\.\d+$//;
		$lost{ $relative . ' ' . ($block + ($segment // 0) * $relseg_size) } = $disk;
	}
	return \%lost;
}

# Start of the newest record, of those that give a page its LSN, that restores
# each block from an image: "path block" => LSN.  Second, the same of records that
# prove no more than that the block is not all zeros.
sub images
{
	my ($node, $from) = @_;
	my %images;
	my %pages;
	my $wal = $node->data_dir . '/pg_wal';
	# (without names it takes any file's word for their size: one made ahead has none)
	my ($first, $last) = split /\|/, $node->safe_psql('postgres', "SELECT pg_walfile_name('$from'), pg_walfile_name(pg_current_wal_lsn())");
	my $out = `pg_waldump --bkp-details --path=$wal --start=$from $first $last 2>/dev/null`;
	my ($lsn, $usable, $kind) = (0, 0, '');

	foreach my $line (split /\n/, $out)
	{
		if ($line =~ /^rmgr: (\S+).*lsn: ([0-9A-F]+)\/([0-9A-F]+),.*desc: (\w+)/)
		{
			$lsn = hex($2) << 32 | hex($3);
			$kind = "$1 $4";
			$usable = $kind ne 'XLOG FPI_FOR_HINT';
		}
		# what was cut off proves nothing any more; a block of the map stands for many
		if ($kind eq 'Storage TRUNCATE' && $line =~ m{TRUNCATE (\S+) to (\d+) blocks})
		{
			my ($path, $blocks) = ($1, $2);
			foreach my $proved (\%images, \%pages)
			{
				delete $proved->{$_} foreach grep { /^\Q$path\E(_vm)? (\d+)$/ && $2 * ($1 ? 4 * ($blcksz - 24) : 1) >= $blocks } keys %$proved;
			}
		}
		next if !$usable;
		while ($line =~ m{blkref #(\d+): rel (\d+)/(\d+)/(\d+) (?:fork|forknum)? ?(\w*) ?blk (\d+)( \(FPW\))}g)
		{
			my ($id, $space, $db, $rel, $fork, $block) = ($1, $2, $3, $4, $5, $6);
			next if $kind eq 'Heap2 VISIBLE' && $id == 1;
			# records about rows name the map, too, from 17.11, 18.6 and 19 on: see lost/witness.c
			my $proved = $fork eq 'vm' && $kind !~ /^(?:Heap2 VISIBLE|XLOG FPI)$/ ? \%pages : \%images;
			my $path = $space == 1664 ? 'global' : "base/$db";
			$proved->{"$path/$rel" . ($fork && $fork ne 'main' ? "_$fork" : '') . " $block"} = $lsn;
		}
	}
	return (\%images, \%pages);
}

# What the function names: "path block" => "status expected".
sub named
{
	my ($node, $call) = @_;
	my %named;

	foreach my $db (split /\n/, $node->safe_psql('postgres', "SELECT datname FROM pg_database WHERE datallowconn AND datname <> 'template1'"))
	{
		my $rows = $node->safe_psql($db,
			"SELECT regexp_replace(path, '\\.\\d+\$', ''), blkno, status, expected_lsn, disk_lsn, message FROM $call WHERE status <> 'not_verifiable'");
		foreach (split /\n/, $rows)
		{
			my @row = split /\|/;
			$named{"$row[0] $row[1]"} = join(' ', @row[ 2 .. $#row ]);
		}
	}
	return \%named;
}

1;
