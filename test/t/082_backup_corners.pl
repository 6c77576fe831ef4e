# Backups at the corners: what CRC-32C says nothing of, hostile manifests,
# standbys and timelines, workers, rates, cancels, directories without a
# manifest, data checksums off.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node('main', extra => [ '--wal-segsize=1', '--encoding=UTF8' ], allows_streaming => 1,
	conf => "autovacuum = off\nmax_parallel_workers = 8\nwal_keep_size = 64MB\n");
$node->start;
my $new_manifest = $node->pg_version >= 17;
sub sql { return $node->safe_psql('postgres', $_[0]); }
my $wide = 100 * $blcksz / 8192;
sql(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', $wide) AS filler FROM generate_series(1, 20000) g});

sub findings
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('} . $backup . "'" . ($more // '') . ') ORDER BY 1');
}

sub backup
{
	my ($name, $from, @options) = @_;
	my $path = "$dir/$name";
	system_or_bail('pg_basebackup', '-D', $path, '-h', $from->host, '-p', $from->port, '--checkpoint=fast', '--no-sync', @options);
	return $path;
}

sub accepted { return !system("pg_verifybackup $_[0] >/dev/null 2>&1"); }

# --- four substitutions that CRC-32C does not see -----------------------------------

my $first = backup('first', $node);
sql('VACUUM FULL pg_class; CHECKPOINT; SELECT pg_switch_wal()');
my $backup = backup('backup', $node);
sql('INSERT INTO t SELECT g FROM generate_series(1, 1000) g; CHECKPOINT');
my $other = Accel::new_node('other', extra => ['--wal-segsize=1']);
my $base = sql("SELECT 'base/' || oid FROM pg_database WHERE datname = 'postgres'");
is(findings($backup), '', 'an intact backup');

my @substitutions = (
	[ "$base/pg_filenode.map", "$backup/global/pg_filenode.map", 'a map by that of the shared catalogs' ],
	[ "$base/pg_filenode.map", "$backup/base/1/pg_filenode.map", 'a map by that of another database' ],
	[ 'global/pg_control', $node->data_dir . '/global/pg_control', 'pg_control by a later one' ],
	[ 'global/pg_control', "$first/global/pg_control", 'pg_control by an earlier one' ],
	[ 'global/pg_control', $other->data_dir . '/global/pg_control', 'pg_control by that of another cluster' ]);
foreach (@substitutions)
{
	my ($path, $by, $what) = @$_;
	copy("$backup/$path", "$dir/kept");
	is(-s $by, -s "$dir/kept", "$what: of the same size");
	copy($by, "$backup/$path");
	my $found = findings($backup);
	my $accepted = accepted($backup);
	copy("$dir/kept", "$backup/$path");
	like($found, qr{^\Q$path\E (bad_format|missing|foreign)|^pg_wal/\S+ foreign_system}m, "$what is found") or diag $found;
	unlike($found, qr{checksum_mismatch|size_mismatch}, "$what: its checksum says nothing");
	ok($accepted, "$what: pg_verifybackup says nothing")
	  unless $what =~ /another cluster/ && $new_manifest || $what =~ /control/ && $node->pg_version >= 17;
}
is(findings($backup), '', 'all undone');

# no finding but an error: nothing of the backup was read
chmod 0, $backup or die $!;
my (undef, undef, $refused) = $node->psql('postgres', "SELECT * FROM verify_backup('$backup')");
like($refused, qr/ERROR:  could not open directory "\Q$backup\E": Permission denied/, 'an unreadable backup');
chmod 0700, $backup or die $!;

# --- hostile manifests ----------------------------------------------------------------

my $head = '{"PostgreSQL-Backup-Manifest-Version": 1, ';
my $deep = 100000;
my @hostile = (
	[ '..', $head . '"Files": [{"Path": "../x", "Size": 0}]}', 'file path' ],
	[ '.. within', $head . '"Files": [{"Path": "base/../../x", "Size": 0}]}', 'file path' ],
	[ 'an absolute path', $head . '"Files": [{"Path": "/etc/hostname", "Size": 0}]}', 'file path' ],
	[ 'an empty path', $head . '"Files": [{"Path": "", "Size": 0}]}', 'file path' ],
	[ 'a path with //', $head . '"Files": [{"Path": "a//b", "Size": 0}]}', 'file path' ],
	[ 'a long path', $head . '"Files": [{"Path": "' . 'x' x 1024 . '", "Size": 0}]}', 'file path' ],
	[ '.. in hexadecimal', $head . '"Files": [{"Encoded-Path": "2e2e2f78", "Size": 0}]}', 'file path' ],
	[ 'a zero byte', $head . '"Files": [{"Encoded-Path": "610062", "Size": 0}]}', 'could not decode' ],
	[ 'a zero character', $head . '"Files": [{"Path": "a\u0000b", "Size": 0}]}', 'could not parse manifest' ],
	[ 'a field twice', $head . '"Files": [{"Path": "x", "Path": "y", "Size": 0}]}', 'a field comes twice' ],
	[ 'files twice', $head . '"Files": [], "Files": []}', 'a field comes twice' ],
	[ 'a negative size', $head . '"Files": [{"Path": "x", "Size": -1}]}', 'file size is not an integer' ],
	[ 'a size beyond 64 bits', $head . '"Files": [{"Path": "x", "Size": 18446744073709551616}]}', 'file size is not an integer' ],
	[ 'a size beyond 63 bits', $head . '"Files": [{"Path": "x", "Size": 9223372036854775808}]}', 'file size is not an integer' ],
	[ 'a size with an exponent', $head . '"Files": [{"Path": "x", "Size": 1e3}]}', 'file size is not an integer' ],
	[ 'timeline 0', $head . '"WAL-Ranges": [{"Timeline": 0}]}', 'timeline is not an integer' ],
	[ 'a timeline beyond 32 bits', $head . '"WAL-Ranges": [{"Timeline": 4294967296}]}', 'timeline is not an integer' ],
	[ 'an LSN beyond 32 bits', $head . '"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "123456789/0"}]}', 'could not parse start LSN' ],
	[ 'a range backwards', $head . '"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "0/2", "End-LSN": "0/1"}]}', 'start LSN is after end LSN' ],
	[ 'many ranges', $head . '"Files": [], "WAL-Ranges": [' . join(',', ('{"Timeline": 1, "Start-LSN": "0/1", "End-LSN": "0/2"}') x 2000) . ']}', '', '(unsupported_version|bad_format)' ],
	[ 'deep arrays', '[' x $deep, 'unexpected array start' ],
	[ 'deep objects', '{"a":' x $deep, 'expected version indicator' ],
	[ 'a long string', $head . '"' . 'x' x 10_000_000 . '": 1}', 'string too long' ],
	[ 'a string without end', '{"' . '\\"' x 5_000_000, 'string too long' ],
	[ 'bytes that are no text', "{\"\xff\xfe\": 1}", '' ],
	[ 'zeros', "\0" x 1_000_000, 'could not parse manifest' ]);
mkdir "$dir/hostile_$_" foreach 0 .. $#hostile;
append_to_file("$dir/hostile_$_/backup_manifest", $hostile[$_][1]) foreach 0 .. $#hostile;
foreach my $n (0 .. $#hostile)
{
	my ($what, undef, $message, $status) = @{ $hostile[$n] };
	$status //= 'bad_format';
	my ($out, $err);
	$node->psql('postgres', "SELECT status, message FROM verify_backup('$dir/hostile_$n') WHERE path = 'backup_manifest'", stdout => \$out, stderr => \$err);
	like($out, qr/^$status\|.*$message/, "$what: a finding") or diag $err;
}
# a sparse file of a terabyte is not read
mkdir "$dir/huge";
append_to_file("$dir/huge/backup_manifest", '{');
truncate "$dir/huge/backup_manifest", 2**40;
like(findings("$dir/huge"), qr/^backup_manifest unsupported_version/m, 'a manifest of a terabyte');
# memory follows the files, not what they are said to be
my $many = $head . '"Files": [' . join(",\n", map { qq({"Path": "f$_", "Size": 9223372036854775807}) } 1 .. 20000) . "],\n";
mkdir "$dir/many";
append_to_file("$dir/many/backup_manifest", $many . '"Manifest-Checksum": "' . sql("SELECT encode(sha256('" . ($many =~ s/'/''/gr) . "'), 'hex')") . "\"}\n");
is(sql("SELECT count(*) FROM verify_backup('$dir/many') WHERE status = 'missing' AND path LIKE 'f%'"), 20000, 'many files that are not there');
# an encoding without the character: a finding all the same
mkdir "$dir/foreign";
append_to_file("$dir/foreign/backup_manifest", $head . '"Files": [{"Path": "\u20ac", "Size": 0}]}');
$node->safe_psql('postgres', q{CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'});
is($node->safe_psql('ascii', "CREATE EXTENSION crc32c_accel; SELECT path, status FROM verify_backup('$dir/foreign') LIMIT 1"),
	'backup_manifest|bad_format', 'a character that the encoding does not have');
$node->safe_psql('postgres', 'DROP DATABASE ascii');
# without WAL ranges there is no end of the backup to be after
mkdir "$dir/unranged";
mkdir "$dir/unranged/$_" foreach qw(global pg_wal);
copy("$backup/global/pg_control", "$dir/unranged/global/pg_control");
append_to_file("$dir/unranged/backup_manifest", $head . '"Files": [{"Path": "global/pg_control", "Size": ' . (-s "$backup/global/pg_control") . "}],\n");
append_to_file("$dir/unranged/backup_manifest", '"Manifest-Checksum": "' . sql("SELECT encode(sha256(pg_read_binary_file('$dir/unranged/backup_manifest')), 'hex')") . "\"}\n");
unlike(findings("$dir/unranged"), qr/^(global|backup_manifest)/m, 'a manifest without WAL ranges');
# special files are neither opened nor followed
my $strange = backup('strange', $node);
system_or_bail('mkfifo', "$strange/fifo");
symlink '/', "$strange/root";
symlink 'loop', "$strange/loop";
unlink "$strange/PG_VERSION";
system_or_bail('mkfifo', "$strange/PG_VERSION");
is(findings($strange), "PG_VERSION extra\nPG_VERSION io_error\nfifo extra\nloop io_error\nroot extra", 'FIFOs and links');
# names that are no text
my $name = "caf\xe9\x01\\";
append_to_file("$backup/$name", 'x');
is(sql("SELECT path FROM verify_backup('$backup')"), "caf\\xe9\x01\\x5c", 'a name that is no text');
unlink "$backup/$name";

# --- without a manifest ----------------------------------------------------------------

my $table = sql("SELECT pg_relation_filepath('t')");
my $bare = backup('bare', $node, '--no-manifest');
is(findings($bare), 'backup_manifest ok_no_manifest', 'no manifest: one row');
AccelWal::poke_block("$bare/$table", 5, 4000, 'damage');
is(findings($bare), "backup_manifest ok_no_manifest\n$table 5 corrupt", 'no manifest: pages are judged');
my ($segment) = sort grep { /^[0-9A-F]{24}$/ } slurp_dir("$bare/pg_wal");
unlink "$bare/pg_wal/$segment";
like(findings($bare), qr{^$table 5 undecided}m, 'no manifest: without WAL nothing is decided');

# --- a standby, and timelines -------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('standby');
$node->backup('for_standby');
$standby->init_from_backup($node, 'for_standby', has_streaming => 1);
$standby->start;
sql("INSERT INTO t SELECT g FROM generate_series(1, 2000) g; CHECKPOINT; SELECT pg_switch_wal()");
$node->wait_for_catchup($standby);
my $of_standby = backup('of_standby', $standby);
is(findings($of_standby), '', 'a backup of a standby');
$node->stop;
$standby->promote;
$standby->safe_psql('postgres', "SET default_transaction_read_only = off; INSERT INTO t SELECT g FROM generate_series(1, 2000) g");
my $promoted = backup('promoted', $standby);
$node = $standby;
is(findings($promoted), '', 'a backup of timeline 2');
is(sql("SELECT timelines, status FROM verify_backup_summary('$promoted')"), '2|ok', 'its timeline');
is(findings($of_standby), '', 'a backup of timeline 1, verified by another server');

# --- workers, rates, cancels -------------------------------------------------------------

AccelWal::poke_block("$promoted/$table", $_, 4000, 'damage') foreach 1, 7, 10;
my $expected = findings($promoted);
like($expected, qr{^$table 1 corrupt\n$table 10 corrupt\n$table 7 corrupt\n$table checksum_mismatch$}m, 'damaged pages');
is(findings($promoted, ", workers => $_"), $expected, "$_ workers: the same") foreach 1, 3;
my $bytes = sql("SELECT read_bytes FROM verify_backup_summary('$promoted')");
my $begun = time();
sql("SELECT * FROM verify_backup_summary('$promoted', max_rate => " . int($bytes / 1024 / 1.5) . ", workers => 1)");
my $took = time() - $begun;
cmp_ok($took, '>', 1, sprintf('max_rate bounds the rate: %.1f s', $took));

# of WAL, too: no run can be faster, and a page that WAL decides has it read twice
my $rated = "$dir/rated";
mkdir "$rated$_" foreach '', '/global', '/base', "/$base", '/pg_wal';
# without the label it is read as far as there is any
copy("$promoted/$_", "$rated/$_") or die "$_: $!" foreach 'global/pg_control';
my ($begin_wal) = slurp_file("$promoted/backup_label") =~ /\(file ([0-9A-F]{24})\)/;
sql("SELECT count(pg_logical_emit_message(true, 'm', repeat('y', 700000))) FROM generate_series(1, 8); SELECT pg_switch_wal()");
my $end_wal = sql('SELECT pg_walfile_name(pg_current_wal_lsn() + 1)');
my $pg_wal = $node->data_dir . '/pg_wal';
my @rated_wal = grep { /^[0-9A-F]{24}$/ && $_ ge $begin_wal && $_ lt $end_wal } slurp_dir($pg_wal);
copy("$pg_wal/$_", "$rated/pg_wal/$_") or die "$_: $!" foreach @rated_wal;
my $whole = @rated_wal - 1;	# where recovery begins may not be where a segment does
cmp_ok($whole, '>=', 5, "$whole whole segments of 1 MB");
foreach ([ 'WAL', '', 1 ], [ 'WAL and workers', ', workers => 2', 1 ], [ 'a page that WAL decides', '', 2 ])
{
	my ($what, $more, $times) = @$_;
	AccelWal::put("$rated/$table", substr(slurp_file("$promoted/$table"), 0, 2 * $blcksz)) if $times == 2;
	my $found = findings($rated);
	$begun = time();
	is(findings($rated, ", max_rate => 8192$more"), $found, "max_rate, $what: the same");
	$took = time() - $begun;
	like($found, qr{^$table 1 corrupt$}m, "max_rate, $what: by all of it") if $times == 2;
	cmp_ok($took, '>', 0.85 * $times * $whole / 8, sprintf("max_rate, $what: %d MB at 8 MB/s: %.1f s", $times * $whole, $took));
}
my (undef, undef, $err) = $node->psql('postgres', "SET statement_timeout = 300; SELECT * FROM verify_backup('$promoted', max_rate => 100)");
like($err, qr/canceling statement due to statement timeout/, 'it can be cancelled');
is(findings($promoted), $expected, 'and asked again');

# --- data checksums off -------------------------------------------------------------------

my $plain = Accel::new_node('plain', checksums => 0, extra => ['--wal-segsize=1'], allows_streaming => 1);
$plain->start;
my $unsummed = backup('unsummed', $plain);
$plain->stop;
is(findings($unsummed), '', 'data checksums off, another cluster');
(undef, undef, $err) = $node->psql('postgres', "SELECT FROM verify_backup('$unsummed')");
like($err, qr/WARNING:  data checksums are disabled in the cluster of this backup/, 'data checksums off: said so');
is(sql("SELECT status, message FROM verify_backup_summary('$unsummed')"),
	'ok|data checksums are disabled: of pages, only headers were verified', 'data checksums off: so does the summary');
open(my $file, '+<', "$unsummed/base/1/1259") or die $!;
seek($file, $blcksz + 12, 0);
print $file "\xff\xff\xff\xff";
close($file);
is(findings($unsummed), "base/1/1259 1 bad_header\nbase/1/1259 checksum_mismatch", 'their headers are judged');

$node->stop;
done_testing();
