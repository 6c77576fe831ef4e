# The server's own CRC and other servers: backups, standbys and subscribers,
# accelerated beside stock ones in every pairing.
use strict;
use warnings;
use Accel;
use ServerCrc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $accelerated = $ServerCrc::accelerated;
my $stock = $ServerCrc::stock;

my $primary = Accel::new_node(
	'primary',
	allows_streaming => 1,
	conf => "wal_level = logical\nmax_prepared_transactions = 10\n"
	  . "wal_keep_size = 4GB\nautovacuum = off\n"
	  . "cluster_name = ''\n$accelerated");
my $modern = Accel::summarize_wal($primary);    # incremental backups
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
my $refused = ServerCrc::wait_accelerated($primary, 1);
if ($refused ne '')
{
	diag("SKIPPED: all replication, $refused");
	is( $primary->safe_psql('postgres',
			'SELECT accelerated FROM crc32c_server()'),
		'f', 'refused');
	$primary->stop;
	done_testing();
	exit;
}

# What is replicated: narrow and wide rows, full-page images, TOAST.
my $digest = q{SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t};
sub work
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		CREATE TABLE IF NOT EXISTS t (id bigserial PRIMARY KEY, filler text);
		INSERT INTO t (filler) SELECT repeat(md5(i::text), i % 40) FROM generate_series(1, 4000) AS i;
		INSERT INTO t (filler) SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 20) AS i, generate_series(1, 900) AS j GROUP BY i;
		CHECKPOINT;
		UPDATE t SET filler = filler || 'x' WHERE id % 7 = 0;
	});
	return;
}
work($primary);
my $start = $primary->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');

# Backups by stock tools, of an accelerated server, while it works.
sub backup_is_accepted
{
	my ($node, $name, @options) = @_;
	my $directory = $node->backup_dir . "/$name";

	command_ok(
		[
			'pg_basebackup', '-D', $directory, '-h', $node->host, '-p',
			$node->port, '--checkpoint', 'fast', '--no-sync', @options
		],
		"$name: pg_basebackup");
	command_ok([ 'pg_verifybackup', '--quiet', $directory ],
		"$name: a stock pg_verifybackup accepts it");
	return $directory;
}
my $full = backup_is_accepted($primary, 'full');
cmp_ok(() = slurp_file("$full/backup_manifest") =~ /"Checksum-Algorithm": "CRC32C"/g,
	'>', 500, 'its manifest is of CRC-32C');

# A stock server gives the same checksums for the same files.
$primary->append_conf('postgresql.conf', 'crc32c_accel.accelerate_server = off');
$primary->reload;
ServerCrc::wait_accelerated($primary, 0);
my $other = backup_is_accepted($primary, 'stock');
my %sums;
for my $directory ($full, $other)
{
	my $manifest = slurp_file("$directory/backup_manifest");
	$sums{$1}{$2} = 1
	  while $manifest =~ /"Path": "(base\/[^"]+)", "Size": \d+, "Last-Modified": "[^"]+", "Checksum-Algorithm": "CRC32C", "Checksum": "([0-9a-f]+)"/g;
}
my @differ = grep { keys %{ $sums{$_} } > 1 } keys %sums;
my $same = keys(%sums) - @differ;
cmp_ok($same, '>', 500, "both give the same checksum for $same files");
cmp_ok(scalar @differ, '<', 20, 'only files that were written in between differ');
$primary->append_conf('postgresql.conf', 'crc32c_accel.accelerate_server = on');
$primary->reload;
ServerCrc::wait_accelerated($primary, 1);

# Two standbys of one primary: one stock, one accelerated.
my %standby;
for my $kind ('stock', 'accelerated')
{
	my $node = PostgreSQL::Test::Cluster->new($kind);
	$node->init_from_backup($primary, 'full', has_streaming => 1);
	$node->append_conf('postgresql.conf', $kind eq 'stock' ? $stock : $accelerated);
	$node->start;
	$standby{$kind} = $node;
}

sub standbys_agree
{
	my ($title) = @_;
	my $expected = $primary->safe_psql('postgres', $digest);

	for my $kind (sort keys %standby)
	{
		$primary->wait_for_catchup($kind, 'replay',
			$primary->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()'));
		is($standby{$kind}->safe_psql('postgres', $digest),
			$expected, "$title: the $kind standby has everything");
	}
	return;
}

sub owners_are
{
	my ($node, $title, $expected) = @_;
	my $wanted = join(', ', @$expected);
	my $got;

  SKIP:
	{
		for (1 .. 3000)
		{
			$got = ServerCrc::owners($node,
				qr/postmaster|startup|walreceiver|walsender|checkpointer|logical replication(?: apply)? worker/);
			last if $got eq $wanted || $got =~ /^unreadable/;
			select(undef, undef, undef, 0.1);
		}
		if ($got =~ /^unreadable/)
		{
			diag("SKIPPED: $title: $got");
			skip $got, 1;
		}
		is($got, $wanted, $title);
	}
	return;
}

work($primary);
standbys_agree('accelerated primary');
owners_are($primary, 'the primary\'s processes',
	[ 'checkpointer: accel', 'postmaster: accel', 'walsender: accel' ]);
owners_are($standby{accelerated}, 'the accelerated standby\'s, startup process too',
	[ map { "$_: accel" } qw(checkpointer postmaster startup walreceiver) ]);
owners_are($standby{stock}, 'the stock standby\'s',
	[ map { "$_: server" } qw(checkpointer postmaster startup walreceiver) ]);

# The other way round, by restart of the primary as a stock server.
$primary->append_conf('postgresql.conf', $stock);
$primary->restart;
work($primary);
standbys_agree('stock primary');
owners_are($primary, 'the stock primary\'s processes',
	[ 'checkpointer: server', 'postmaster: server', 'walsender: server' ]);

# A backup of the accelerated standby.
backup_is_accepted($standby{accelerated}, 'of_standby');

# Accelerated again; incremental backups where the server has them.
$primary->append_conf('postgresql.conf', $accelerated);
$primary->restart;
work($primary);
SKIP:
{
	if (!$modern)
	{
		diag('SKIPPED: incremental backups, they came with 17');
		skip 'no incremental backups', 4;
	}
	my $incremental = backup_is_accepted($primary, 'incremental',
		"--incremental=$full/backup_manifest");
	my $combined = $primary->backup_dir . '/combined';
	command_ok([ 'pg_combinebackup', $full, $incremental, '-o', $combined, '--no-sync' ],
		'a stock pg_combinebackup takes it');
	command_ok([ 'pg_verifybackup', '--quiet', $combined ], 'and the result verifies');
}

# Logical replication: the apply worker computes as the rest does.
$primary->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE t');
$primary->safe_psql('postgres', 'CREATE DATABASE subscriber');
$primary->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
$primary->safe_psql('subscriber',
	'CREATE TABLE t (id bigserial PRIMARY KEY, filler text)');
my $connection = $primary->connstr . ' dbname=postgres';
$primary->safe_psql('subscriber', "
	CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p
	WITH (create_slot = false, slot_name = 's', copy_data = false)");
my $before = $primary->safe_psql('postgres', 'SELECT max(id) FROM t');
work($primary);
$primary->poll_query_until('subscriber',
	'SELECT count(*) = 4020 FROM t WHERE id > ' . $before)
  or die 'subscriber does not catch up';
$primary->wait_for_catchup('s');
my $both = $digest . " WHERE id > $before";
is( $primary->safe_psql('subscriber', $both),
	$primary->safe_psql('postgres', $both),
	'logical replication, accelerated at both ends');
like(ServerCrc::owners($primary, qr/logical replication(?: apply)? worker/),
	qr/worker: accel$|^unreadable/, 'its apply worker too');

# A prepared transaction crosses the promotion of the accelerated standby.
$primary->safe_psql('postgres', q{
	BEGIN; INSERT INTO t (filler) VALUES ('prepared'); PREPARE TRANSACTION 'crossing'});
standbys_agree('once more');
$primary->stop;
$standby{accelerated}->promote;
$standby{accelerated}->safe_psql('postgres', q{COMMIT PREPARED 'crossing'});
is($standby{accelerated}->safe_psql('postgres', q{SELECT count(*) FROM t WHERE filler = 'prepared'}),
	'1', 'a transaction prepared before the promotion, committed after it');
work($standby{accelerated});

# All that WAL by a stock pg_waldump, all those pages by a stock pg_checksums.
sub wal_reads
{
	my ($node, $from, $timeline) = @_;
	my $to = $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()');
	# Segments by name: of a folder alone, pg_waldump reads the segment size
	# from the first file that it meets, which may be zeros yet.
	my @segments = split /\|/, $node->safe_psql('postgres',
		"SELECT pg_walfile_name('$from'::pg_lsn + 1), pg_walfile_name('$to')");
	substr($_, 0, 8) = sprintf('%08X', $timeline) foreach @segments;
	my ($out, $err);
	ok( IPC::Run::run(
			[
				'pg_waldump', '--quiet', '--path', $node->data_dir . '/pg_wal',
				'--start', $from, '--end', $to, @segments
			],
			'>', \$out, '2>', \$err),
		'a stock pg_waldump reads the WAL of ' . $node->name)
	  or diag($err);
	return;
}
my ($switch) = slurp_file($standby{accelerated}->data_dir . '/pg_wal/00000002.history') =~ /\t(\S+)\t/;
wal_reads($standby{accelerated}, $switch, 2);
$primary->start;
wal_reads($primary, $start, 1);
for my $node ($primary, values %standby)
{
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		'a stock pg_checksums finds ' . $node->name . ' clean');
}

done_testing();
