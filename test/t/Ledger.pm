# Ledger.pm: what the tests of the page ledger share.
package Ledger;

use strict;
use warnings;
use PostgreSQL::Test::Utils;

# One block of a file, or undef.
sub page
{
	my ($node, $path, $block) = @_;
	my $page;

	open(my $file, '<:raw', $node->data_dir . "/$path") or return undef;
	sysseek($file, $block * 8192, 0);
	return (sysread($file, $page, 8192) // 0) == 8192 ? $page : undef;
}

# Puts a page over a block, of a server that is stopped.
sub put
{
	my ($node, $path, $block, $page) = @_;

	open(my $file, '+<:raw', $node->data_dir . "/$path") or die "$path: $!";
	sysseek($file, $block * 8192, 0);
	syswrite($file, $page) == length $page or die $!;
	close $file;
	return;
}

sub cut
{
	my ($node, $path, $blocks) = @_;

	truncate($node->data_dir . "/$path", $blocks * 8192) or die $!;
	return;
}

# The page with the checksum that it should have as a block, asked of a server.
sub sealed
{
	my ($node, $page, $block) = @_;
	my $sum = $node->safe_psql('postgres',
		"SELECT computed_checksum FROM verify_page('\\x" . unpack('H*', $page) . "', $block)");

	substr($page, 8, 2) = pack('S', $sum) if $sum ne '';
	return $page;
}

# The same with another LSN.
sub with_lsn
{
	my ($page, $lsn) = @_;

	substr($page, 0, 8) = pack('LL', $lsn >> 32, $lsn & 0xffffffff);
	return $page;
}

sub lsn
{
	my ($high, $low) = unpack('LL', $_[0]);

	return $high << 32 | $low;
}

sub path
{
	my ($node, $relation) = @_;

	return $node->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

sub record
{
	my ($node, $more) = @_;

	$node->psql('postgres', 'CALL verify_database(record_digests => true, cluster_files => false'
		  . ($more ? ", $more" : '') . ')');
	return;
}

# What is found: "relation block status", one a line.
sub findings
{
	my ($node, $arguments) = @_;

	return $node->safe_psql('postgres', 'SELECT relation, blkno, status FROM verify_page_digests('
		  . ($arguments // '') . ") WHERE status <> 'not_verifiable' ORDER BY relation::text, blkno");
}

# Why blocks are not verifiable, of some relations.
sub reasons
{
	my ($node, $relation) = @_;

	return $node->safe_psql('postgres',
		"SELECT message FROM verify_page_digests('$relation') WHERE status = 'not_verifiable' ORDER BY message");
}

# Stops a server, does something to its files, and starts it again.
sub while_stopped
{
	my ($node, $what) = @_;

	$node->stop;
	$what->();
	$node->start;
	return;
}

1;
