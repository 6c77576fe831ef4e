# Torn pages in a backup in tar format: WAL that comes after them, in another
# archive, decides about them as it does in the extracted backup, for which
# t/081 asks recovery itself.
use strict;
use warnings;
use Accel;
use BackupTar;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $shim = "$dir/torn.so";
system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', "-DBLOCK=$blcksz", '-o', $shim, 'test/fault/torn.c', '-ldl');
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => <<'CONF');
autovacuum = off
shared_buffers = 2MB
max_connections = 60
max_wal_size = 1GB
checkpoint_timeout = 1h
max_wal_senders = 4
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

mkdir "$dir/ts";
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE ts LOCATION '$dir/ts'", q{
	CREATE TABLE hot (id int, v int, filler text) TABLESPACE ts;
	INSERT INTO hot SELECT g, 0, repeat('x', 800) FROM generate_series(1, 10000) g;
	CREATE INDEX ON hot (id);
	VACUUM FREEZE hot;
	CREATE TABLE cold AS SELECT g, repeat('c', 800) AS filler FROM generate_series(1, 500) g;
	CHECKPOINT};
my ($hot, $cold) = map { sql("SELECT pg_relation_filepath('$_')") } qw(hot cold);
append_to_file("$dir/update.sql", "\\set id random(1, 10000)\nUPDATE hot SET v = v + 1 WHERE id = :id;\n");
$node->stop;
Accel::start_under($shim, $node);

my ($load_out, $load_err) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', 40, '-j', 2, '-T', 600, '-f', "$dir/update.sql", 'postgres' ],
	'<', \undef, '>', \$load_out, '2>', \$load_err);
usleep(500000);
my $backup = "$dir/backup";
my (undef, $err) = run_command([ 'pg_basebackup', '-D', $backup, '-Ft', '-z', '-h', $node->host, '-p', $node->port, '--checkpoint=fast',
		'--no-sync', '--no-verify-checksums', '--max-rate=10M' ]);
$load->signal('TERM');
$load->finish;
ok(-e "$backup/backup_manifest", 'pg_basebackup') or diag $err;
my $extracted = BackupTar::extract($backup, "$dir/extracted");

# All that is found, healed pages too, words and all.
sub rows { return sql("SELECT * FROM verify_backup('$_[0]', include_healed => true) ORDER BY path, blkno, status"); }
my $columns = 'bad_blocks, healed_blocks, findings, blocks, files, read_bytes, wal_records, status';
sub summary { return sql("SELECT $columns FROM verify_backup_summary('$_[0]')"); }

my ($bad, $healed, $findings) = split /\|/, summary($backup);
# a machine at work elsewhere may tear none; what is damaged below is certain
note("torn pages: $bad");
is("$healed $findings", "$bad 0", 'every one is restored by WAL');
is(summary($backup), summary($extracted), 'the summary of the extracted backup is the same');
is(rows($backup), rows($extracted), 'and so is what is found');

# every page of both tables damaged
my $damaged = "$dir/damaged";
system_or_bail('cp', '-a', $backup, $damaged);
my ($tablespace, $in_ts) = $hot =~ m{^pg_tblspc/(\d+)/(.*)$};
system_or_bail('gzip', '-d', "$damaged/base.tar.gz", "$damaged/$tablespace.tar.gz");
foreach ([ 'base.tar', $cold ], [ "$tablespace.tar", $in_ts ])
{
	my ($archive, $name) = @$_;
	my $tar = BackupTar::bytes_of("$damaged/$archive");
	my (undef, undef, $at, $size) = BackupTar::member($tar, $name);
	substr($tar, $at + $_ * 8192 + 5000, 4) = 'torn' foreach 0 .. $size / 8192 - 1;
	BackupTar::put_bytes("$damaged/$archive", $tar);
}
my $rows = rows($damaged);
my %count;
$count{ $1 eq $hot ? 'hot' : $1 eq $cold ? 'cold' : 'other' }{$2}++ while $rows =~ /^([^|]+)\|\d+\|(\w+)\|/mg;
# as many as WAL of the backup refers to, fewer where the machine is slow
my ($start, $end) = slurp_file("$backup/backup_manifest") =~ m{"Start-LSN": "([0-9A-F/]+)", "End-LSN": "([0-9A-F/]+)"};
my ($dump) = run_command([ 'pg_waldump', '-p', "$extracted/pg_wal", '-s', $start, '-e', $end ]);
my ($number) = $hot =~ m{(\d+)$};
my %changed = map { $_ => 1 } grep { $_ < -s("$extracted/$hot") / 8192 } $dump =~ m{rel \d+/\d+/$number blk (\d+)}g;
my $changed = keys %changed;
cmp_ok($count{hot}{ok_healed_by_wal} // 0, '>=', $changed < 100 ? $changed : 100, "changed pages are healed, of $changed: " . ($count{hot}{ok_healed_by_wal} // 0));
is(join(' ', sort keys %{ $count{cold} }), 'corrupt', 'those that no WAL names are not: ' . ($count{cold}{corrupt} // 0));
BackupTar::extract($damaged, "$damaged.plain");
is($rows, rows("$damaged.plain"), 'what is found is what is found in the extracted backup');
is(summary($damaged), summary("$damaged.plain"), 'the summary, too');

# without WAL nothing is decided; another directory has it
unlink "$damaged/pg_wal.tar.gz";
unlike(rows($damaged), qr/ok_healed_by_wal/, 'without pg_wal.tar nothing is healed');
is(sql("SELECT count(*) FROM verify_backup('$damaged', '$extracted/pg_wal', include_healed => true)"), ($rows =~ tr/\n//) + 1, 'WAL of a directory decides');

$node->stop;
done_testing();
