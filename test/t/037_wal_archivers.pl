# WAL as real archivers leave it: pgBackRest, barman, pg_receivewal.  Each
# archives the same short pgbench run, and every segment has the verdict of the
# plain one; after damage it has not.
#
# The oracle: each archiver's own way back gives the bytes of the segment, and a
# server restored from the archive reaches the end.
#
# An archiver that is not installed is skipped.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Basename;
use File::Copy;
use IO::Uncompress::Gunzip qw(gunzip);
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tmp = PostgreSQL::Test::Utils::tempdir();
my $plain = "$tmp/plain";
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "archive_mode = on\nautovacuum = off\nwal_compression = on\n");
my $data = $node->data_dir;
my ($host, $port) = ($node->host, $node->port);

sub has_program { return system("command -v $_[0] >/dev/null") == 0; }
sub sql { return $node->safe_psql('postgres', $_[0]); }

# Whether a command ended well, and what it printed.
sub run_of
{
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([@_], '<', \undef, '>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

# --- the archivers -------------------------------------------------------------

my $config = "$tmp/pgbackrest.conf";
AccelWal::put($config, "[global]\narchive-timeout=600\nlog-level-file=off\nlock-path=$tmp/lock\nspool-path=$tmp/spool\n"
	  . "[main]\npg1-path=$data\npg1-port=$port\npg1-socket-path=$host\npg1-user=" . getpwuid($<) . "\n");

# A command of pgBackRest on the repository of a compression; one is encrypted.
sub pgbackrest
{
	my ($type, @command) = @_;
	my @cipher = $type eq 'encrypted' ? ('PGBACKREST_REPO1_CIPHER_TYPE=aes-256-cbc', 'PGBACKREST_REPO1_CIPHER_PASS=secret') : ();
	return ('env', @cipher, 'pgbackrest', "--config=$config", '--stanza=main', "--repo1-path=$tmp/pgbackrest_$type", @command);
}

# Makes the repositories; returns why there are none, or nothing.
sub no_pgbackrest
{
	return 'no program pgbackrest' unless has_program('pgbackrest');
	foreach my $type (@_)
	{
		my ($ok, $out, $err) = run_of(pgbackrest($type, 'stanza-create'));
		next if $ok;
		# a release older than this server
		return 'this pgbackrest does not know this server' if "$out$err" =~ /unexpected control version/;
		die "pgbackrest stanza-create: $out$err";
	}
	return;
}

my @barman = ('barman', '-q', '-c', "$tmp/barman.conf");
AccelWal::put("$tmp/barman.conf", "[barman]\nbarman_user = " . getpwuid($<) . "\nbarman_home = $tmp/barman\nlog_file = $tmp/barman.log\n"
	  . "[main]\ndescription = main\nconninfo = host=$host port=$port dbname=postgres\nbackup_method = postgres\n"
	  . "archiver = on\ncompression = gzip\nincoming_wals_directory = $tmp/incoming\n");

$node->start;
sql('CREATE EXTENSION crc32c_accel');
mkdir $_ foreach $plain, "$tmp/incoming", "$tmp/barman";
my @types = ('gz', 'lz4', 'zst', 'encrypted');
my $no_pgbackrest = no_pgbackrest(@types);
@types = () if $no_pgbackrest;
AccelWal::put("$tmp/archive.sh", join("\n", 'set -e',
		"for to in $plain $tmp/incoming; do cp \"\$1\" \"\$to/\$2.new\"; mv \"\$to/\$2.new\" \"\$to/\$2\"; done",
		map({ join(' ', pgbackrest($_, '--compress-type=' . ($_ eq 'encrypted' ? 'gz' : $_), 'archive-push', '"$1"')) } @types), ''));
sql('SELECT pg_switch_wal()');
sql("SELECT pg_create_physical_replication_slot('$_', true)") foreach 'gzip', 'lz4';
my $first = sql('SELECT pg_walfile_name(restart_lsn + 1) FROM pg_replication_slots LIMIT 1');
sql("ALTER SYSTEM SET archive_command = 'sh $tmp/archive.sh %p %f'");
$node->reload;

# --- WAL -----------------------------------------------------------------------

$node->backup('base', backup_options => [ '--wal-method=none', '--no-manifest' ]);
my @client = ('-h', $host, '-p', $port, 'postgres');
system_or_bail('pgbench', '-i', '-q', '-s', '1', @client);
system_or_bail('pgbench', '-n', '-c', '2', '-t', '300', @client);
sql('CHECKPOINT');
system_or_bail('pgbench', '-n', '-c', '2', '-t', '300', @client);
my $state = q{SELECT count(*), sum(delta), (SELECT sum(abalance) FROM pgbench_accounts) FROM pgbench_history};
my $reached = sql($state);
my $last = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
sql('SELECT pg_switch_wal()');
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver")
  or die 'the archiver does not reach the end';
my $end = sql('SELECT pg_current_wal_insert_lsn()');
sql(q{SELECT pg_logical_emit_message(true, 'past', 'the end')});

my $columns = q{substring(segment FROM '(?:.*/)?(\w{24})'), status, records, fpi_bytes, crc32c, findings};
my $expected = sql("SELECT $columns FROM (SELECT * FROM verify_wal('$plain') WHERE segment !~ '[.]backup') w");
my @names = $expected =~ /^(\w{24})/mg;
is($names[-1], $last, 'plain: up to the end');
is(sql("SELECT count(*) FILTER (WHERE status LIKE 'ok%'), count(DISTINCT segment) > 10, sum(findings) FROM (SELECT * FROM verify_wal('$plain') WHERE segment !~ '[.]backup') w"),
	scalar(@names) . '|t|0', 'plain: every segment is whole');
my ($later) = $expected =~ /^($first\|.*)/ms;

# --- what each archive must show -------------------------------------------------

# The rows of an archive are those of the plain segments; a flipped bit in the
# middle of a file is found.  False: this build cannot read it.
sub whole
{
	my ($what, $directory, $compression, $rows) = @_;
	if (sql("SELECT count(*) FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w WHERE message LIKE 'this build of crc32c_accel cannot read $compression%'"))
	{
		is(sql("SELECT string_agg(DISTINCT status || ' ' || compression, ', ') FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w"),
			"not_verifiable $compression", "$what: no library, and each file says so");
		diag "SKIP $what: this build has no library for it";
		return 0;
	}
	is(sql("SELECT $columns FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w WHERE status <> 'ok_partial'"), $rows, "$what: the rows of the plain segments");
	is(sql("SELECT $columns FROM (SELECT * FROM verify_wal('$directory', workers => 2) WHERE segment !~ '[.]backup') w WHERE status <> 'ok_partial'"), $rows, "$what: by workers");
	is(sql("SELECT DISTINCT status FROM verify_wal('$directory') WHERE segment ~ '[.]backup'"), $what =~ /pgbackrest|barman/ ? 'ok' : '', "$what: the backup file");
	is(sql("SELECT string_agg(DISTINCT compression, ' ') FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w"), $compression, "$what: $compression");

	my $file = sql("SELECT segment FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w WHERE status <> 'ok_partial' ORDER BY start_lsn DESC OFFSET 3 LIMIT 1");
	my $at = int((-s "$directory/$file") / 2);
	my $byte = AccelWal::peek("$directory/$file", $at, 1);
	AccelWal::poke("$directory/$file", $at, $byte ^ "\x10");
	# a record over a border is reported with both of its segments
	like(sql("SELECT string_agg(segment || ' ' || status, ', ') FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w WHERE status NOT LIKE 'ok%'"),
		qr/\Q$file\E corrupt/, "$what: a flipped bit is found");
	AccelWal::poke("$directory/$file", $at, $byte);
	return 1;
}

# The names of segments whose bytes a way back does not give.
sub differing
{
	my ($get, @segments) = @_;
	return join(' ', grep { my $bytes = $get->($_); ($bytes // '') ne slurp_file("$plain/$_") } @segments);
}

# A damaged segment in pgBackRest's archive is put in order as docs/corruption.md
# says, and by nothing less.
sub push_again
{
	my ($directory) = @_;
	my ($damaged) = (glob "$directory/*/*-*.gz")[4];
	my $segment = substr basename($damaged), 0, 24;
	my ($recipe) = slurp_file('docs/corruption.md') =~ /^```sh\n(mv [^`]*archive-push[^`]*)^```$/m;
	my $push = join ' ', pgbackrest('gz', '--log-level-console=off');
	my $folder = dirname($damaged);
	$recipe =~ s{/repo/archive/main/15-1/0{7}10{8}}{$folder};
	$recipe =~ s{/repo/archive/main/15-1}{$directory};
	$recipe =~ s{0{7}10{15}1}{$segment}g;
	$recipe =~ s{/archive2/}{$plain/};
	$recipe =~ s{/spare/}{$tmp/};
	$recipe =~ s{pgbackrest --stanza=main}{$push};
	AccelWal::poke($damaged, int((-s $damaged) / 2), 'damage');
	run_of(pgbackrest('gz', 'archive-push', "$plain/$segment"));
	my $bad = "SELECT string_agg(status, ', ') FROM verify_wal('$directory') WHERE status NOT LIKE 'ok%'";
	isnt(sql($bad), '', 'pgbackrest: archive-push leaves a damaged segment as it is');
	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($host, $port, 'postgres');
	is_deeply([ (run_of('sh', '-c', $recipe))[ 0, 1 ] ], [ 1, "0\n" ], 'pgbackrest: a good one takes its place');
	return;
}

sub from_pgbackrest
{
	my ($type, $name) = @_;
	my ($ok, $out, $err) = run_of(pgbackrest($type, 'archive-get', $name, "$tmp/got"));
	die "archive-get $name: $out$err" unless $ok;
	return slurp_file("$tmp/got");
}

SKIP:
{
	skip $no_pgbackrest, 1 if $no_pgbackrest;
	my %compression = (gz => 'gzip', lz4 => 'lz4', zst => 'zstd');
	foreach my $type (sort keys %compression)
	{
		my ($directory) = glob("$tmp/pgbackrest_$type/archive/main/*-1");
		whole("pgbackrest, $type", $directory, $compression{$type}, $expected);
		push_again($directory) if $type eq 'gz';
		is(differing(sub { from_pgbackrest($type, @_) }, @names), '', "pgbackrest, $type: archive-get gives the bytes");
	}
	my ($directory) = glob("$tmp/pgbackrest_encrypted/archive/main/*-1");
	is(sql("SELECT string_agg(DISTINCT status || ' ' || compression, ', '), count(*) FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w"),
		'not_verifiable encrypted|' . @names, 'pgbackrest, encrypted: said of every segment');

	my $restored = PostgreSQL::Test::Cluster->new('restored');
	$restored->init_from_backup($node, 'base');
	$restored->append_conf('postgresql.conf', "archive_mode = off\nrestore_command = '" . join(' ', pgbackrest('zst', '--pg1-path=' . $restored->data_dir, 'archive-get', '%f', '"%p"')) . "'\n");
	$restored->set_recovery_mode;
	$restored->start;
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	is($restored->safe_psql('postgres', $state), $reached, 'pgbackrest: a restored server reaches the end');
	$restored->stop('immediate');
}

SKIP:
{
	skip 'no program barman', 1 unless has_program('barman');
	my ($ok, $out, $err) = run_of(@barman, 'archive-wal', 'main');
	ok($ok, 'barman archives') or diag "$out$err";
	my $directory = "$tmp/barman/main/wals";
	whole('barman', $directory, 'gzip', $expected);
	is(differing(sub { (run_of(@barman, 'get-wal', 'main', @_))[1] }, @names[0, -1]), '', 'barman: get-wal gives the bytes');
}

# --- pg_receivewal ---------------------------------------------------------------

sub ungzipped
{
	my ($file) = @_;
	my $bytes;
	gunzip($file => \$bytes, MultiStream => 1) or return;
	return $bytes;
}

foreach my $method ('gzip', 'lz4')
{
  SKIP:
	{
		my $directory = "$tmp/receivewal_$method";
		mkdir $directory;
		my ($ok, $out, $err) = run_of('pg_receivewal', '-D', $directory, '-d', $node->connstr('postgres'), "--slot=$method", "--compress=$method",
			"--endpos=$end", '--no-loop', '--no-sync');
		skip "pg_receivewal was built without $method", 1 if $err =~ /not supported by this build|build does not support/;
		ok($ok, "pg_receivewal, $method: receives") or diag "$out$err";
		# of the one that it still writes to only the beginning is there
		is(sql("SELECT string_agg(status || ' ' || findings, ', ') FROM (SELECT * FROM verify_wal('$directory') WHERE segment !~ '[.]backup') w WHERE segment LIKE '%.partial'"),
			'ok_partial 0', "pg_receivewal, $method: the last one is partial")
		  if whole("pg_receivewal, $method", $directory, $method, $later);
		my @received = grep { $_ ge $first } @names;
		is(differing(sub { ungzipped("$directory/$_[0].gz") }, @received), '', 'pg_receivewal: gunzip gives the bytes') if $method eq 'gzip';
		is(differing(sub { (run_of('lz4', '-dc', "$directory/$_[0].lz4"))[1] }, @received), '', 'pg_receivewal: lz4 gives the bytes')
		  if $method eq 'lz4' && has_program('lz4');
	}
}

$node->stop;
done_testing();
