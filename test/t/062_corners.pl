# What the other tests leave out: log_directory and tablespaces for users
# without the role, many findings in one segment, foreign partitions, dirty
# buffers over damage, no worker to be had, and other libraries that hook into
# the same places.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $space = PostgreSQL::Test::Utils::tempdir();
my $logs = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\njit = off\nmax_wal_size = 1GB\nmax_worker_processes = 1\nlog_directory = '$logs'\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

sub refused
{
	my ($query, $state, $title) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");
	like($err, qr/ERROR:  $state/, $title);
	return;
}

sql(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLESPACE elsewhere LOCATION '$space';
	CREATE TABLE t TABLESPACE elsewhere AS SELECT i, repeat('x', 500) AS x FROM generate_series(1, 1000) i;
	CREATE ROLE reader;
	GRANT EXECUTE ON FUNCTION crc32c_file(text, bigint, bigint, boolean) TO reader;
	CHECKPOINT;
});
my $data = $node->data_dir;
my $path = sql(q{SELECT pg_relation_filepath('t')});

# --- files that belong to the cluster wherever they are ----------------------

append_to_file("$logs/server.log", 'logged');
symlink('/etc/passwd', "$logs/out.log");
my $right = sql("SELECT crc32c_file('$path') || ' ' || crc32c_accel('logged')");
is(sql("SET ROLE reader; SELECT crc32c_file('$path') || ' ' || crc32c_file('$logs/server.log')"),
	$right, 'a tablespace and log_directory, without the role');
is(sql("SET ROLE reader; SELECT crc32c_file('$data/$path') || ' ' || crc32c_file('$logs/./server.log')"),
	$right, 'by absolute names');
refused("SET ROLE reader;\nSELECT crc32c_file('$logs/out.log');", '42501', 'a link that leads out of log_directory');
refused("SET ROLE reader;\nSELECT crc32c_file('$logs/../x');", '42501', 'the folder above log_directory');
refused("SET ROLE reader;\nSELECT crc32c_file('pg_tblspc/1/x');", '58P01', 'a tablespace that is not there');

# --- relations ----------------------------------------------------------------

my $tuples = q{SELECT string_agg(DISTINCT status || ' ' || coalesce(buffer_state, ''), ', ') FROM verify_relation_checksums('t')};
sql(q{CREATE TABLE forked WITH (fillfactor = 10) AS SELECT i, repeat('x', 1000) AS x FROM generate_series(1, 1200) i});
sql('VACUUM forked');
sql('CHECKPOINT');
is(sql(q{SELECT count(*), crc32c_agg(p::text::bytea ORDER BY blkno) FROM relation_page_crcs('forked', NULL) p}),
	sql(q{SELECT count(*), crc32c_agg(p::text::bytea ORDER BY blkno) FROM relation_page_crcs('forked', 'main') p}),
	'no fork named is the main one, of three');
is(sql(q{SELECT blocks > 1024, verified, bad FROM verify_relation_summary('forked', 'main', workers => 4)}),
	sql(q{SELECT true, verified, bad FROM verify_relation_summary('forked', 'main')}), 'no worker to be had: pages');
system_or_bail('cp', '-r', "$data/pg_wal", "$logs/wal");	# the server's own moves on
is(sql(qq{SELECT count(*), sum(errors), sum(records) > 0 FROM verify_wal_directory('$logs/wal', workers => 4)}),
	sql(qq{SELECT count(*), sum(errors), true FROM verify_wal_directory('$logs/wal')}),
	'no worker to be had: WAL');
sql(q{
	CREATE FOREIGN DATA WRAPPER nothing;
	CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
	CREATE TABLE parted (i int) PARTITION BY LIST (i);
	CREATE TABLE part PARTITION OF parted FOR VALUES IN (1);
	CREATE FOREIGN TABLE away PARTITION OF parted FOR VALUES IN (2) SERVER nowhere;
});
is(sql(q{SELECT relation, status, message FROM verify_relation_checksums('parted')}),
	'away|not_verifiable|a foreign table has no storage here', 'a foreign partition');
is(sql(q{SELECT count(*) FROM relation_segments('parted')}), '1', 'a foreign partition has no files');

my (undef, undef, $warning) = $node->psql('postgres', q{CREATE TEMPORARY TABLE mine AS SELECT 1; SELECT * FROM relation_page_crcs('mine')});
like($warning, qr/WARNING:  no digest of any block: not_verifiable/, 'a temporary table has no digests');

# many partitions: no memory for each of them, once the server knows them
sql(q{CREATE TABLE many (i int) PARTITION BY LIST (i);
	DO $$BEGIN
		FOR g IN 1 .. 1500 LOOP
			EXECUTE format('CREATE TABLE many%s PARTITION OF many FOR VALUES IN (%1$s)', g);
		END LOOP;
	END$$});
my $peak = q{SELECT 'peak=' || (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\s+(\d+) kB'))[1]};
my ($before, $after) = sql("SELECT count(pg_relation_size(inhrelid)) FROM pg_inherits; $peak;
	SELECT count(*) FROM verify_relation_summary('many'); $peak") =~ /^peak=(\d+)$/mg;
note('1500 partitions: grew by ' . ($after - $before) . ' kB');
cmp_ok($after - $before, '<=', 8 * 1024, '1500 partitions');

AccelWal::poke("$data/$path", 8192 + 3000, 'damage');
$node->restart;
AccelWal::poke("$data/$path", 3 * 8192 + 3000, 'damage');
is(sql($tuples), 'checksum_mismatch uncached', 'damaged, not in shared buffers');
AccelWal::poke("$data/$path", 5 * 8192 + 3000, 'x' x 6);
AccelWal::poke("$data/$path", 3 * 8192 + 3000, 'x' x 6);
AccelWal::poke("$data/$path", 8192 + 3000, 'x' x 6);
is(sql('SELECT count(*) FROM t; ' . $tuples), "1000\n", 'mended');
sql(q{UPDATE t SET i = -i WHERE ctid = '(5,1)'});
AccelWal::poke("$data/$path", 5 * 8192 + 3000, 'damage');
is(sql($tuples), 'bad_on_disk_cached_ok dirty', 'damaged below a dirty buffer');
sql('CHECKPOINT');
is(sql($tuples), '', 'and written over');

my $file = "$data/$path";
rename($file, "$file.away");
mkdir $file;
refused("SELECT read_disk_page('t', 'main', 0);", '58030', 'a folder in the place of a file');
rmdir $file;
rename("$file.away", $file);

# ten files, all but the first without content
foreach my $number (1 .. 9)
{
	append_to_file("$file.$number", '');
	truncate("$file.$number", 2**30);
}
is(sql(q{SELECT count(*), max(segment), string_agg(status, ',') FILTER (WHERE status <> 'ok') FROM relation_segments('t') WHERE fork = 'main'}),
	'10|9|short_segment', 'more segments than are allocated at first');
unlink "$file.$_" foreach 1 .. 9;

# the last block that there can be is 4294967294
my $size = -s $file;
append_to_file("$file.$_", '') foreach 32766, 32767;
truncate($_, 2**30) foreach $file, "$file.32766", "$file.32767";
AccelWal::poke("$file.32767", 131070 * 8192 + 24, 'damage');
is(sql(q{SELECT status, blkno FROM verify_relation_checksums('t', 'main', 4294836224)}),
	"zero_header|4294967294\npartial_block|4294967295", 'the last segment that there can be, a block too long');
is(sql(q{SELECT blocks, new, bad FROM verify_relation_summary('t', 'main', 4294705152)}), '262143|262142|1', 'with the one before');
unlink "$file.$_" foreach 32766, 32767;
truncate($file, $size);

sql('CREATE ACCESS METHOD unknown TYPE TABLE HANDLER heap_tableam_handler; CREATE TABLE u USING unknown AS SELECT 1; CHECKPOINT');
is(sql(q{SELECT verified, bad FROM verify_relation_summary('u', 'main')}), '1|0', 'a table of another access method');
is(sql(q{SELECT crc32c = crc32c_accel(overlay(read_disk_page('u', 'main', 0) PLACING '\x00000000000000000000' FROM 1))
	FROM relation_page_crcs('u', masked => true)}), 't', 'of which LSN and checksum are masked');

my ($rc, $out, $err) = $node->psql('postgres', 'CALL verify_database_checksums(include_catalogs => false, verbose => true)');
like($err, qr/INFO: .*INFO: /s, 'verbose');

# --- WAL ----------------------------------------------------------------------

my $segment = sql('SELECT pg_walfile_name(pg_switch_wal())');
sql('INSERT INTO t SELECT * FROM t; INSERT INTO t SELECT * FROM t');
$segment = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn() - 1024 * 1024)');
my $copy = PostgreSQL::Test::Utils::tempdir();
system_or_bail('cp', "$data/pg_wal/$segment", $copy);
AccelWal::poke("$copy/$segment", $_ * 8192 + 3, "\xff") foreach map { 3 * $_ } 2 .. 40;
my $findings = sql("SELECT count(*) FROM wal_findings('$segment', '$copy', 100000)");
cmp_ok($findings, '>', 20, 'many findings');
is(sql("SELECT count(*) FROM wal_findings('$segment', '$copy', 5)"), '5', 'no more than asked for');
is(sql("SELECT status, errors = $findings, message ~ 'and [0-9]+ more' FROM verify_wal_segment('$segment', '$copy')"),
	'corrupt|t|t', 'the message says that there are more');
is(sql("SELECT status, message FROM verify_wal_segment(pg_read_binary_file('pg_wal/$segment'), '00000001000000000000FFFF')"),
	'corrupt|no segment of this size has this name', 'a name beyond the segment size');
my $future = '0000000100000000000000F0';
append_to_file("$data/pg_wal/$future", "\0" x (1024 * 1024));
is(sql("SELECT status, errors FROM verify_wal_segment('$future')"), 'unused|0', 'allocated and not used yet');
unlink "$data/pg_wal/$future";

# --- other libraries ------------------------------------------------------------

my $other = PostgreSQL::Test::Utils::tempdir() . '/other';
my $headers = `pg_config --includedir-server`;
chomp $headers;
append_to_file("$other.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "port/pg_crc32c.h"
#include "storage/ipc.h"

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
SKIP:
{
	skip "the server has no pointer", 6
	  if system("cc -O1 -shared -fPIC -I$headers -o $other.so $other.c") != 0
	  || sql('SELECT swappable FROM crc32c_server()') ne 't';
	$node->append_conf('postgresql.conf', "crc32c_accel.accelerate_server = on\n");
	my $server = 'SELECT accelerated, active_kernel IS NULL, reason FROM crc32c_server()';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'crc32c_accel, $other.so'\n");
	$node->restart;
	is(sql($server), "f|t|another library has replaced the server's CRC-32C function", 'a library that came after us');
	$node->append_conf('postgresql.conf', "crc32c_accel.accelerate_server = off\n");
	$node->reload;
	$node->poll_query_until('postgres', q{SELECT current_setting('crc32c_accel.accelerate_server') = 'off'});
	is(sql($server), "f|t|another library has replaced the server's CRC-32C function", 'what it put there is left alone');
	sql('INSERT INTO t SELECT * FROM t LIMIT 100; CHECKPOINT');

	my @neighbour = Accel::missing_modules('pg_stat_statements') ? () : ('pg_stat_statements');
	$node->append_conf('postgresql.conf', "crc32c_accel.accelerate_server = on\nshared_preload_libraries = '"
		  . join(', ', @neighbour, "$other.so", 'crc32c_accel') . "'\n");
	$node->restart;
	is(sql($server), "f|t|another library has replaced the server's CRC-32C function", 'a library that came before us');
	is(sql('SELECT count(*) FROM checksum_progress'), '0', 'shared memory beside that of another library');
	SKIP:
	{
		skip 'this installation lacks pg_stat_statements', 1 if !@neighbour;
		is(sql('CREATE EXTENSION pg_stat_statements; SELECT count(*) > 0 FROM pg_stat_statements'), 't', 'which has its own');
	}
	is(sql(q{SELECT sum(errors) FROM verify_wal_directory() WHERE status NOT IN ('recycled', 'unused')}), '0', 'what was written is right');
}
$node->stop;
done_testing();
