# The server's own CRC: on and off by reload in every process, the cap, and the
# refusals.
use strict;
use warnings;
use Accel;
use ServerCrc;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	conf => "autovacuum_naptime = 1s\nwal_level = logical\nwal_keep_size = 4GB\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

sub server
{
	my ($columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM crc32c_server()");
}

# Only loaded, not preloaded: told, never done.
$node->append_conf('postgresql.conf', 'crc32c_accel.accelerate_server = on');
$node->reload;
is(server('preloaded, accelerated, active_kernel = server_kernel, reason'),
	'f|f|t|crc32c_accel is not in shared_preload_libraries',
	'merely loaded: the parameter does nothing');

# Preloaded, off.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'crc32c_accel'\n"
	  . 'crc32c_accel.accelerate_server = off');
$node->restart;
is(server('preloaded, accelerated, active_kernel = server_kernel, reason'),
	'f' eq server('swappable')
	? server(q{'t', 'f', null, reason})
	: 't|f|t|crc32c_accel.accelerate_server is off',
	'preloaded, off: the server\'s own function');

if (server('swappable') eq 'f')
{
	diag('SKIPPED: the rest, ' . server('reason'));
	$node->stop;
	done_testing();
	exit;
}
like(server('self_test'), qr/^ok, \d{5} cases$/, 'compared at load');

# Every process as seen from outside, until all agree or time is up.
sub owners_become
{
	my ($wanted, $title) = @_;
	my ($processes, @wrong);
	my $unreadable = ServerCrc::unreadable(ServerCrc::postmaster($node));

  SKIP:
	{
		if (defined $unreadable)
		{
			diag("SKIPPED: $title: $unreadable");
			skip $unreadable, 1;
		}
		for (1 .. 3000)
		{
			$processes = ServerCrc::processes($node);
			@wrong = ();
			for my $pid (keys %$processes)
			{
				my $owner = ServerCrc::owner($pid) // next;    # gone
				push @wrong, "$processes->{$pid}: $owner" if $owner ne $wanted;
			}
			last if !@wrong;
			select(undef, undef, undef, 0.1);
		}
		is(join(', ', sort @wrong), '', $title);
		note(join(', ', sort values %$processes));
	}
	return $processes // {};
}

# A session that is there before the switch.
my $session = $node->background_psql('postgres');
$session->set_query_timer_restart(1);
my $in_session = sub {
	my $row = $session->query_safe('SELECT accelerated, active_kernel FROM crc32c_server()');
	chomp $row;
	return $row;
};
my $own = server('server_kernel');
is($in_session->(), "f|$own", 'off in a session');

# A kernel that is better than the server's own function?  On a CPU without one
# the refusal is all there is to see.
$node->append_conf('postgresql.conf', 'crc32c_accel.accelerate_server = on');
my $logged = -s $node->logfile;
$node->reload;
$node->poll_query_until('postgres',
	q{SELECT setting = 'on' FROM pg_settings WHERE name = 'crc32c_accel.accelerate_server'});
if (server('accelerated') eq 'f')
{
	like(server('reason'), qr/^kernel "\w+" is not known to be better than the server's own pg_comp_crc32c_/,
		'no better kernel here: refused with a reason');
	diag('SKIPPED: all switching, ' . server('reason'));
	$session->quit;
	owners_become('server', 'refused: every process keeps the server\'s function');
	$node->stop;
	done_testing();
	exit;
}

my $kernel = server('active_kernel');
diag("kernel $kernel in the place of $own");
is(server(q{accelerated, active_kernel = (SELECT kernel FROM checksum_kernels()
		WHERE algorithm = 'crc32c' AND (selected OR reason LIKE 'for the server%') ORDER BY selected LIMIT 1), reason IS NULL}),
	't|t|t', 'on by reload: new sessions');
like(slurp_file($node->logfile, $logged),
	qr/LOG:  crc32c_accel: the server's CRC-32C is now computed by kernel "?$kernel/,
	'the postmaster logs the switch');
is(() = slurp_file($node->logfile, $logged) =~ /is now computed by/g,
	1, 'no other process does');

# An idle session reads its configuration with its next command, all other
# processes when they are signalled.
session_becomes("t|$kernel", 'on in the session from before, with its next command');

my ($rate_out, $rate_err) = ('', '');
my $walsender = IPC::Run::start(
	[
		'pg_receivewal', '-D', $node->basedir, '-h', $node->host,
		'-p', $node->port, '--no-loop'
	],
	'>', \$rate_out, '2>', \$rate_err);
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_replication');

my $seen = owners_become('accel',
	'on: postmaster, checkpointer, walwriter, walsender, sessions: all use the kernel');
SKIP:
{
	skip 'processes cannot be read', 1 if !%$seen;
	my $titles = join("\n", values %$seen);
	my @missing = grep { $titles !~ /$_/m }
	  qw(postmaster checkpointer walwriter walsender launcher postgres);
	is("@missing", '', 'and they were all there');
}

# The signal is on its way when pg_ctl returns, so the session may need a second
# look.
sub session_becomes
{
	my ($wanted, $title) = @_;
	my $got;

	for (1 .. 3000)
	{
		$got = $in_session->();
		last if $got eq $wanted;
		select(undef, undef, undef, 0.1);
	}
	return is($got, $wanted, $title);
}

sub switch
{
	my ($setting) = @_;
	$node->append_conf('postgresql.conf', $setting);
	$node->reload;
	return;
}

switch('crc32c_accel.accelerate_server = off');
session_becomes("f|$own", 'off in the session, by its own name');
owners_become('server', 'off: every process has the server\'s own function back');

# The cap.
switch("crc32c_accel.accelerate_server = on\ncrc32c_accel.kernel = slicing8");
session_becomes("f|$own", 'capped in the session');
owners_become('server', 'capped at a kernel that is not better: the server\'s own function');
like(server('reason'), qr/^kernel "slicing8" is not known to be better/, 'with its reason');
switch('crc32c_accel.kernel = bitwise');
$node->poll_query_until('postgres', q{SELECT kernel = 'bitwise' FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected});
like(server('reason'), qr/^kernel "bitwise" is not known to be better/,
	'the reference is never taken');
switch('crc32c_accel.kernel = auto');
session_becomes("t|$kernel", 'uncapped in the session');
owners_become('accel', 'uncapped: the kernel is back');

# Every kernel of this CPU by reload: taken exactly when it ranks above the
# server's function, and right in any case (WAL is read back below).
for my $name (split /\n/, $node->safe_psql('postgres',
		q{SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND available}))
{
	switch("crc32c_accel.kernel = $name");
	$node->poll_query_until('postgres', "SELECT kernel = '$name' FROM checksum_kernels() WHERE algorithm = 'crc32c' AND selected");
	is(server(qq{accelerated = (active_kernel = '$name'), active_kernel IN ('$name', '$own')}),
		't|t', "kernel $name: used, or refused: " . server(q{coalesce(reason, 'used')}));
	$node->safe_psql('postgres', "CREATE TABLE t_$name AS SELECT repeat('x', i) AS x FROM generate_series(1, 2000) AS i");
}
switch('crc32c_accel.kernel = auto');

# A session's own SET, and its way back through an aborted transaction.
is( $node->safe_psql('postgres', q{
	SET crc32c_accel.kernel = slicing8;
	SELECT accelerated FROM crc32c_server();
	RESET crc32c_accel.kernel;
	SELECT accelerated FROM crc32c_server();
	BEGIN;
	SET LOCAL crc32c_accel.kernel = slicing8;
	SELECT accelerated FROM crc32c_server();
	ROLLBACK;
	SELECT accelerated FROM crc32c_server();
}), "f\nt\nf\nt", 'SET, RESET, SET LOCAL and ROLLBACK in a session');

# A parallel worker computes as its leader does.
is( $node->safe_psql('postgres', q{
	CREATE FUNCTION active() RETURNS text LANGUAGE sql PARALLEL SAFE
	AS 'SELECT active_kernel FROM crc32c_server()';
	ALTER FUNCTION crc32c_server() PARALLEL SAFE;
	CREATE TABLE many AS SELECT i FROM generate_series(1, 20000) AS i;
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
	SET parallel_leader_participation = off;
	SELECT DISTINCT active() FROM many WHERE i % 5000 = 0;
}), $kernel, 'parallel workers');

# Toggled under load: every record is read back by a stock pg_waldump.
my $start = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
$node->safe_psql('postgres', 'CREATE TABLE load (id int PRIMARY KEY, filler text)');
my ($load_out, $load_err) = ('', '');
my $load_script = $node->basedir . '/load.sql';
append_to_file($load_script, q{
\set id random(1, 5000)
INSERT INTO load VALUES (:id, repeat(md5(:id::text), (:id % 60) + 1))
ON CONFLICT (id) DO UPDATE SET filler = reverse(load.filler);
});
my $load = IPC::Run::start(
	[
		'pgbench', '-n', '-f', $load_script, '-c', '4', '-T', '6',
		'-h', $node->host, '-p', $node->port, 'postgres'
	],
	'>', \$load_out, '2>', \$load_err);
my $toggles = 0;
while (Accel::still_runs($load))
{
	switch('crc32c_accel.accelerate_server = ' . ($toggles++ % 2 ? 'on' : 'off'));
	select(undef, undef, undef, 0.2);
}
$load->finish;
is($load->result(0), 0, "pgbench while switched $toggles times") or diag($load_err);
switch('crc32c_accel.accelerate_server = on');
ServerCrc::waldump_reads($node, $start, 'a stock pg_waldump reads all of that WAL');

$session->quit;
$walsender->kill_kill;
eval { $walsender->finish };

# A kernel that this CPU lacks, by reload and from the start.
my $foreign = $node->safe_psql('postgres',
	q{SELECT kernel FROM checksum_kernels() WHERE algorithm = 'crc32c' AND NOT compiled LIMIT 1});
$logged = -s $node->logfile;
switch("crc32c_accel.kernel = $foreign");
$node->wait_for_log(qr/kernel "$foreign" cannot run here/, $logged);
is(server('accelerated, active_kernel'), "t|$kernel",
	'a kernel for another CPU, by reload: refused, nothing changes');
$node->restart;
is(server('accelerated, active_kernel'), "t|$kernel",
	'at a start: refused, the server chooses for itself');
switch('crc32c_accel.kernel = auto');

# Other libraries that hook into the same places, before us and after us.
my $other = PostgreSQL::Test::Utils::tempdir() . '/other';
chomp(my $headers = `pg_config --includedir-server`);
append_to_file("$other.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "port/pg_crc32c.h"

PG_MODULE_MAGIC;
void		_PG_init(void);
static pg_crc32c (*before) (pg_crc32c crc, const void *data, size_t len);

static pg_crc32c
other(pg_crc32c crc, const void *data, size_t len)
{
	return before(crc, data, len);
}

void
_PG_init(void)
{
	before = pg_comp_crc32c;
	pg_comp_crc32c = other;
}
C
system_or_bail('cc', '-O1', '-shared', '-fPIC', "-I$headers", '-o', "$other.so", "$other.c");
my $replaced = "f|t|another library has replaced the server's CRC-32C function";
my $state = 'accelerated, active_kernel IS NULL, reason';
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'crc32c_accel, $other.so'");
$node->restart;
is(server($state), $replaced, 'a library that came after us');
switch('crc32c_accel.accelerate_server = off');
$node->poll_query_until('postgres', q{SELECT current_setting('crc32c_accel.accelerate_server') = 'off'});
is(server($state), $replaced, 'what it put there is left alone');
$node->safe_psql('postgres', 'CREATE TABLE written AS SELECT generate_series(1, 1000); CHECKPOINT');

my @neighbour = Accel::missing_modules('pg_stat_statements') ? () : ('pg_stat_statements');
$node->append_conf('postgresql.conf', "crc32c_accel.accelerate_server = on\nshared_preload_libraries = '"
	  . join(', ', @neighbour, "$other.so", 'crc32c_accel') . "'");
$node->restart;
is(server($state), $replaced, 'a library that came before us');
is($node->safe_psql('postgres', 'SELECT count(*) FROM verify_progress'), '0', 'shared memory beside that of another library');
SKIP:
{
	skip 'this installation lacks pg_stat_statements', 1 if !@neighbour;
	is($node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements; SELECT count(*) > 0 FROM pg_stat_statements'),
		't', 'which has its own');
}
is($node->safe_psql('postgres', q{SELECT sum(findings) FROM verify_wal() WHERE status NOT IN ('ok_recycled', 'ok_unused')}),
	'0', 'what was written is right');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'crc32c_accel'");

# Single-user mode preloads too.
$node->stop;
my ($single_out, $single_err);
IPC::Run::run(
	[ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ],
	'<', \"SELECT accelerated FROM crc32c_server()\n",
	'>', \$single_out, '2>', \$single_err);
like($single_out, qr/accelerated = "t"/, 'single-user mode');
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	'a stock pg_checksums finds the cluster clean');
command_like([ 'pg_controldata', $node->data_dir ],
	qr/^(?!.*WARNING)/s, 'pg_control is whole');

done_testing();
