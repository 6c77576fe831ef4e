# pg_upgrade in each of its ways: history and ledger come along row for row, every page
# is proven copied, and a page is named that was spoiled on the way.
#
#	ACCEL_UPGRADES=1	every way that pg_upgrade has (else --link alone: t/104 copies)
#
# test/matrix/upgrades.sh runs it from each major version to the next.
#
# Next: a server of the next major version, where there is one
# Devices: a file system that shares blocks, for --clone
use strict;
use warnings;
use Accel;
use AccelWal;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no server of another major version' if !$ENV{ACCEL_NEXT_BINDIR};
my $conf = "autovacuum = off\nbgwriter_lru_maxpages = 0\njit = off\n";
my $options = `"$ENV{ACCEL_NEXT_BINDIR}/pg_upgrade" --help`;
# undef: as it does by itself, which is to copy
my @ways = $ENV{ACCEL_UPGRADES} || $ENV{LONG} ? (undef, grep { $options =~ /$_\b/ } qw(--link --clone --copy-file-range --swap)) : '--link';

# What a user has: a table with an index of each kind, values out of line, a partition,
# a tablespace, a sequence, and relations that WAL does not carry.
my $contents = <<'SQL';
CREATE MATERIALIZED VIEW summary AS SELECT k, count(*) FROM t GROUP BY k;
CREATE TABLE parts (i int, f text) PARTITION BY RANGE (i);
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9000);
INSERT INTO parts SELECT g, repeat('p', 90) FROM generate_series(1, 5000) g;
CREATE TABLE elsewhere TABLESPACE space AS SELECT * FROM parts;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM parts;
CREATE SEQUENCE s;
SELECT nextval('s') FROM generate_series(1, 50);
SQL
my @judged = qw(t t_btree t_hash t_gin t_gist t_spgist t_brin summary part elsewhere);
my @databases = qw(postgres shop);

# Every row of every table of the extension, as one digest a table.  PostgreSQL 19 writes
# LSNs with leading zeros.
sub rows
{
	my ($node, $database) = @_;
	my @tables = split /\n/, $node->safe_psql($database, q{SELECT objid::regclass FROM pg_depend JOIN pg_class c ON c.oid = objid
		WHERE refclassid = 'pg_extension'::regclass AND classid = 'pg_class'::regclass AND deptype = 'e' AND relkind = 'r' ORDER BY 1});

	return $node->safe_psql($database, join ' UNION ALL ',
		map { "SELECT '$_', count(*), md5(string_agg(line, '|' ORDER BY line)) FROM $_ x,
			regexp_replace(x::text, '([0-9A-F]+/)0+([0-9A-F])', '\\1\\2', 'g') AS line" } @tables);
}

sub found
{
	my ($node) = @_;

	return $node->safe_psql('postgres', "SELECT database, relation_name, blkno, status FROM verify_page_digests(after_pg_upgrade => true)
		WHERE status <> 'not_verifiable' ORDER BY 1, 2, 3");
}

# A server with a past: a block that was bad and is mended, and all of it recorded.
sub make_old
{
	my ($name) = @_;
	my $node = Accel::new_node($name, allows_streaming => 1, conf => $conf);
	my $space = PostgreSQL::Test::Utils::tempdir();

	$node->start;
	$node->safe_psql('postgres', "CREATE TABLESPACE space LOCATION '$space'");
	$node->safe_psql('postgres', 'CREATE DATABASE shop');
	foreach my $database (@databases)
	{
		$node->safe_psql($database, "CREATE EXTENSION crc32c_accel; $Ledger::relations $contents");
	}
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $path = Ledger::path($node, 't');
	my $page = Ledger::page($node, $path, 9);
	Ledger::put($node, $path, 9, AccelWal::spoiled($page));
	$node->psql('postgres', 'CALL verify_cluster(report_failures => false)');
	Ledger::put($node, $path, 9, $page);
	my $before = Ledger::page($node, $path, 5);
	$node->safe_psql('postgres', "UPDATE t SET k = k + 1 WHERE ctid < '(40,0)'; VACUUM; CHECKPOINT");
	$node->safe_psql('postgres', 'CALL verify_cluster(record_digests => true)');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM verify_bad_blocks WHERE healed_at IS NOT NULL'), 1, "$name: a block was bad, and is mended");
	return ($node, $before);
}

sub spoil
{
	my ($node, $before) = @_;
	my %path = map { $_ => Ledger::path($node, $_) } qw(t t_btree elsewhere summary);
	my $blocks = (-s $node->data_dir . "/$path{t_btree}") / 8192;
	my $page = Ledger::page($node, $path{elsewhere}, 3);
	my $other = Ledger::sealed($node, substr($page, 0, 8000) . "\x55" . substr($page, 8001), 3);

	Ledger::while_stopped($node, sub {
		Ledger::put($node, $path{t}, 5, $before);
		Ledger::put($node, $path{t}, 6, "\0" x 8192);
		Ledger::cut($node, $path{t_btree}, $blocks - 1);
		Ledger::put($node, $path{elsewhere}, 3, $other);
		Ledger::cut($node, $path{summary}, 0);
	});
	return join "\n", 'postgres|elsewhere|3|diverged', 'postgres|summary|0|gone', 'postgres|t|5|stale_page', 'postgres|t|6|gone',
	  'postgres|t_btree|' . ($blocks - 1) . '|gone';
}

sub try
{
	my ($how) = @_;
	my $name = ($how // 'default') =~ s/^--//r =~ tr/-/_/r;
	my ($old, $before) = make_old("old_$name");
	my %rows = map { $_ => rows($old, $_) } @databases;
	my $path = Ledger::path($old, 't');
	my $inode = (stat $old->data_dir . "/$path")[1];
	my $node = Accel::upgrade($old, $conf, name => "new_$name", how => $how);
	return if !$node;

	is((stat $node->data_dir . "/$path")[1] == $inode ? 1 : 0, $name =~ /link|swap/ ? 1 : 0, '... whose files are the old ones, or are not');
	$node->start;
	note 'upgraded to ' . $node->safe_psql('postgres', 'SHOW server_version');
	foreach my $database (@databases)
	{
		is($node->safe_psql($database, "SELECT installed_version = default_version FROM pg_available_extensions WHERE name = 'crc32c_accel'"), 't', "... $database has the extension");
		is($node->safe_psql($database, "SELECT crc32c('123456789')"), 3808858755, '... which works');
		is(rows($node, $database), $rows{$database}, '... every row of its tables came along');
	}
	is(found($node), '', '... nothing is found');
	my $not = $node->safe_psql('postgres', "SELECT DISTINCT relation_name FROM verify_page_digests(after_pg_upgrade => true) WHERE status = 'not_verifiable'");
	my $pattern = join '|', @judged;
	unlike($not, qr/^($pattern)$/m, '... where all that a user has was judged');
	my $wanted = spoil($node, $before);
	is(found($node), $wanted, '... what was spoiled on the way is named');
	$node->stop;
	return;
}

foreach my $how (@ways)
{
	if (($how // '') =~ /clone/)
	{
		my $folder = ($ENV{ACCEL_DEVICES} // '') . '/xfs';
	  SKIP:
		{
			skip "no file system that shares blocks: $how", 1 if !-d $folder || -e "$folder.missing";
			local $PostgreSQL::Test::Utils::tmp_check = $folder;
			try($how);
		}
		next;
	}
	try($how);
}
done_testing();
