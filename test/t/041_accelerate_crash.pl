# The server's own CRC through crashes: kill -9 in the middle of work, recovery
# in turn by a stock server and by an accelerated one, with prepared
# transactions and a logical slot.
#
#	ACCEL_CRASH_LOOPS=n	how many crashes (default 5, for a release 100)
use strict;
use warnings;
use Accel;
use ServerCrc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

Accel::need_modules('test_decoding');
my $loops = $ENV{ACCEL_CRASH_LOOPS} // 5;
my $accelerated = $ServerCrc::accelerated;
my $stock = $ServerCrc::stock;

my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	conf => "wal_level = logical\nmax_prepared_transactions = 10\n"
	  . "fsync = on\nfull_page_writes = on\nwal_keep_size = 4GB\n"
	  . "checkpoint_timeout = 30s\n$accelerated");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE work (id bigserial PRIMARY KEY, filler text);
	CREATE TABLE prepared (gid text PRIMARY KEY);
	SELECT pg_create_logical_replication_slot('slot', 'test_decoding');
});
my $refused = ServerCrc::wait_accelerated($node, 1);
if ($refused ne '')
{
	diag("SKIPPED: all crashes, $refused");
	is($node->safe_psql('postgres', 'SELECT accelerated FROM crc32c_server()'),
		'f', 'refused');
	$node->stop;
	done_testing();
	exit;
}
my $start = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');

# A client that prints every id that it was told is committed.
my $inserts = $node->basedir . '/inserts.sql';
append_to_file($inserts,
	join('', map { "INSERT INTO work (filler) SELECT string_agg(md5(i::text), '') FROM generate_series(1, " . (1 + $_ % 90) . ") AS i RETURNING id;\n" } 1 .. 20000));

my %decoded;
my %wrong;
my $acknowledged_total = 0;

for my $loop (1 .. $loops)
{
	my $crash_accelerated = $loop % 2;
	my ($out, $err) = ('', '');

	# one prepared transaction in a state file, one in WAL only
	$node->safe_psql('postgres', qq{
		BEGIN; INSERT INTO prepared VALUES ('file-$loop');
		PREPARE TRANSACTION 'file-$loop'; });
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->safe_psql('postgres', qq{
		BEGIN; INSERT INTO prepared VALUES ('wal-$loop');
		PREPARE TRANSACTION 'wal-$loop'; });

	my $client = IPC::Run::start(
		[
			'psql', '-XAtq', '-h', $node->host, '-p', $node->port,
			'-f', $inserts, 'postgres'
		],
		'>', \$out, '2>', \$err);
	my $wait = 50 + int(rand(400));
	select(undef, undef, undef, 0.01) while Accel::still_runs($client) && ($out =~ tr/\n//) <= $wait;
	my $owner = ServerCrc::owners($node, qr/postmaster|checkpointer/);
	$wrong{owner}{$owner} = 1
	  if $owner !~ /^unreadable/
	  && $owner ne ($crash_accelerated
		? 'checkpointer: accel, postmaster: accel'
		: 'checkpointer: server, postmaster: server');
	my @pids = keys %{ ServerCrc::processes($node) };
	$node->kill9;
	eval { $client->finish };
	for (1 .. 3000)    # the children notice
	{
		last if !grep { kill(0, $_) } @pids;
		select(undef, undef, undef, 0.1);
	}

	# the other kind of server recovers
	$node->append_conf('postgresql.conf', $crash_accelerated ? $stock : $accelerated);
	$node->start;
	my $name = "crash $loop, "
	  . ($crash_accelerated
		? 'written accelerated, recovered by a stock server'
		: 'written by a stock server, recovered accelerated');
	my @ids = $out =~ /^(\d+)\n/mg;
	my $found = @ids
	  ? $node->safe_psql('postgres',
		'SELECT count(*) FROM work WHERE id = ANY (ARRAY[' . join(',', @ids) . '])')
	  : 0;
	$acknowledged_total += @ids;
	is($found, scalar @ids, "$name: all " . scalar(@ids) . ' acknowledged rows');
	is( $node->safe_psql('postgres',
			'SELECT string_agg(gid, \',\' ORDER BY gid) FROM pg_prepared_xacts'),
		"file-$loop,wal-$loop", "$name: both prepared transactions");
	$node->safe_psql('postgres', "COMMIT PREPARED 'file-$loop'");
	$node->safe_psql('postgres', "COMMIT PREPARED 'wal-$loop'");

	# the slot goes on: what it gives now and gave before is all that there is
	$decoded{$_} = 1 for split /\n/, $node->safe_psql('postgres', q{
		SELECT substring(data FROM 'id\[bigint\]:(\d+)')
		FROM pg_logical_slot_get_changes('slot', NULL, NULL)
		WHERE data LIKE 'table public.work: INSERT%'});
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM work'),
		scalar(keys %decoded), "$name: the slot has given every row");
}
is(join('; ', keys %{ $wrong{owner} }), '', 'the pointer, seen from outside at each crash');
cmp_ok($acknowledged_total, '>', 50 * $loops, 'there was work at each crash');
is($node->safe_psql('postgres', 'SELECT count(*) FROM prepared'),
	2 * $loops, 'every prepared transaction was committed');

ServerCrc::waldump_reads($node, $start, 'a stock pg_waldump reads all WAL, of all crashes');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	'a stock pg_checksums finds the cluster clean');

done_testing();
