# Ledger.pm: what the tests of the page ledger share.
package Ledger;

use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;

# A table with an index of every access method.
our $relations = <<'SQL';
CREATE TABLE t (id int, k int, word text, p point, tags int[], filler text) WITH (fillfactor = 80);
ALTER TABLE t ALTER filler SET STORAGE EXTERNAL;
INSERT INTO t SELECT g, g % 100, 'word' || g % 500, point(g % 300, g % 77), ARRAY[g % 7, g % 50],
	CASE WHEN g % 50 = 0 THEN repeat('x', 5000) ELSE repeat('y', 50) END FROM generate_series(1, 6000) g;
CREATE INDEX t_btree ON t (id);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (tags);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (id);
SQL

# One block of a file, or undef.
sub page
{
	my ($node, $path, $block) = @_;
	my ($name, $offset) = Accel::place($node->data_dir . "/$path", $block);
	my $page;

	open(my $file, '<:raw', $name) or return undef;
	sysseek($file, $offset, 0);
	return (sysread($file, $page, $blcksz) // 0) == $blcksz ? $page : undef;
}

# Puts pages over blocks from one on, of a server that is stopped.
sub put
{
	my ($node, $path, $block, $pages) = @_;

	while ($pages ne '')
	{
		my ($name, $offset) = Accel::place($node->data_dir . "/$path", $block);
		my $part = substr($pages, 0, $relseg_size * $blcksz - $offset, '');

		PostgreSQL::Test::Utils::append_to_file($name, '') if $block >= $relseg_size;
		open(my $file, '+<:raw', $name) or die "$name: $!";
		sysseek($file, $offset, 0);
		syswrite($file, $part) == length $part or die $!;
		close $file;
		$block += $relseg_size - $block % $relseg_size;
	}
	return;
}

sub cut
{
	my ($node, $path, $blocks) = @_;

	Accel::resize($node->data_dir . "/$path", $blocks);
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

# Starts an old primary that pg_rewind has made fit for the new one, as its standby,
# with all of the new one's changes on disk.
sub follow
{
	my ($old, $new) = @_;

	$old->append_conf('postgresql.conf', 'port = ' . $old->port . "\nprimary_conninfo = '" . $new->connstr . "'\nunix_socket_directories = '" . $old->host . "'");
	$old->set_standby_mode;
	$old->start;
	$new->safe_psql('postgres', 'CHECKPOINT');
	$new->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()") or die;
	$old->safe_psql('postgres', 'CHECKPOINT');
	return;
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
