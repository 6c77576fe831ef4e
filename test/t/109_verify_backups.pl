# verify_backups: every backup below a directory, each remembered, so that what is
# new or has changed is read, and nothing else.
use strict;
use warnings;
use Accel;
use File::Path qw(make_path remove_tree);
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $root = "$dir/all";
mkdir $root;
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => "autovacuum = off\nmax_parallel_workers = 8\n");
my $incremental = Accel::summarize_wal($node);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g AS id, repeat('x', 500) AS filler FROM generate_series(1, 2000) g;
	VACUUM FREEZE t;
	CHECKPOINT});
my $table = sql(q{SELECT pg_relation_filepath('t')});
my $system = sql('SELECT system_identifier FROM pg_control_system()');

# psql's words, and in $main::status its exit status.
our $status;
sub call
{
	my ($arguments, $where, $directory) = @_;
	my ($out, $err);

	$directory //= $root;
	$status = ($where // $node)->psql('postgres', "CALL verify_backups('$directory'" . ($arguments ? ", $arguments" : '') . ')',
		stdout => \$out, stderr => \$err, on_error_stop => 1);
	return $err;
}

# How many were read.
sub reads
{
	my ($said) = @_;
	return $said =~ /^psql:\S+: INFO:  \w+: (\d+ backups?, \d+ read), .*; (\d+ bad, \d+ not verifiable, \d+ gone)$/m ? "$1; $2" : $said;
}

sub rows
{
	my ($what, $where) = @_;
	return sql("SELECT coalesce(string_agg(concat_ws(' ', $what), ', ' ORDER BY backup), '') FROM verify_backup_verdicts WHERE directory = '$root' AND " . ($where // 'true'));
}

sub backup
{
	my ($name, @options) = @_;
	Accel::base_backup($node, "$root/$name", '-l', "label of $name", @options);
	return;
}

sub flip
{
	my ($path, $offset) = @_;
	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $offset, 0;
	read $file, my $byte, 1;
	seek $file, $offset, 0;
	print $file chr(ord($byte) ^ 1);
	close $file or die $!;
	return;
}

# --- nothing, then backups of all kinds ----------------------------------------------

my $said = call();
like($said, qr/WARNING:  there is no backup below directory "\Q$root\E"/, 'an empty directory is told');
is(reads($said), '0 backups, 0 read; 0 bad, 1 not verifiable, 0 gone', 'and counted');

my @compressions = grep { $_->[0] eq 'gzip' } [ gzip => 'gz' ];
backup('plain');
backup('deep/er/tar', '-Ft');
backup('deep/er/tgz', '-Ft', '-z');
symlink 'plain', "$root/latest";
symlink '/', "$root/outside";
make_path("$root/empty/folder");
append_to_file("$root/a file", 'x');

$said = call('verbose => true');
is(reads($said), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'all kinds are found') or diag $said;
is($status, 0, 'which is no error');
like($said, qr/INFO:  read backup "$_": ok/, "$_ is told of") foreach 'plain', 'deep/er/tar', 'deep/er/tgz';
like($said, qr/NOTICE:  symbolic link "outside" is not followed/, 'a link that leads out is told');
unlike($said, qr/latest/, 'one to a backup is not');
is(rows('backup, format, status'), 'deep/er/tar tar ok, deep/er/tgz tar ok, plain plain ok', 'they are remembered');
is(rows('label', "backup = 'plain'"), 'label of plain', 'with their label');
is(sql("SELECT bool_and(system_identifier = $system AND start_lsn < end_lsn AND files > 500 AND read_bytes > 1000000 AND findings = 0
		AND length(manifest_checksum) = 64 AND gone_at IS NULL AND prior_backups IS NULL) FROM verify_backup_verdicts"), 't', 'and what they are');
my %of = map { split /\|/ } split /\n/, sql("SELECT backup, end_lsn FROM verify_backup_verdicts");
my $manifest = slurp_file("$root/plain/backup_manifest");
is($of{plain}, $manifest =~ /"End-LSN": "([^"]+)"/ ? $1 : '', 'the end is that of the manifest');
is(sql("SELECT bool_and(taken_at BETWEEN now() - interval '1 hour' AND now()) FROM verify_backup_verdicts"), 't', 'they were taken lately');

# --- when it was taken ---------------------------------------------------------------

my ($newest) = sort { $b cmp $a } $manifest =~ /"Last-Modified": "([^"]+)"/g;
utime time + 50, time + 50, "$root/plain/backup_manifest";
call();
is(rows(q(taken_at AT TIME ZONE 'GMT' || ' GMT'), "backup = 'plain'"), $newest, 'a copy is as old as the newest file of its manifest');
utime 1000000000, 1000000000, "$root/plain/backup_manifest";
call();
is(rows('extract(epoch FROM taken_at)::bigint', "backup = 'plain'"), '1000000000', 'or as the manifest, if that is older');
utime time - 100, time - 100, "$root/plain/backup_manifest";

# --- what is not read again ----------------------------------------------------------

is(reads(call()), '3 backups, 1 read; 0 bad, 0 not verifiable, 0 gone', 'a time that changed');
is(reads(call()), '3 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'nothing has changed');
flip("$root/plain/$table", 9000);
Accel::age("$root/plain");
is(reads($said = call()), '3 backups, 1 read; 1 bad, 0 not verifiable, 0 gone', 'a file that was changed') or diag $said;
like($said, qr/WARNING:  invalid backup "plain"\nDETAIL:  damaged: \Q$table\E: (checksum_mismatch|corrupt): .*Directory "\Q$root\E"\.\nHINT:  verify_backup\(\)/, 'is told');
is($status, 0, 'which is no error');
is(rows('status, is_finding, findings', "backup = 'plain'"), 'damaged t 2', 'and remembered');
is(reads($said = call('fail_on_findings => true')), '3 backups, 0 read; 1 bad, 0 not verifiable, 0 gone', 'it is not read again');
like($said, qr/WARNING:  invalid backup "plain"/, 'but told again');
like($said, qr/ERROR:  1 bad backup in directory "\Q$root\E"/, 'as an error, if that is wanted');
is($status, 3, 'which a job sees');
is(sql('SELECT bad_backups, newest_good_backup_seconds < 3600 FROM verify_metrics'), '1|t', 'the metrics tell of it');
is(sql("SELECT backups, bad_backups, unverified_backups, newest_good_seconds < 3600, oldest_good_seconds >= newest_good_seconds
	FROM verify_backup_metrics WHERE directory = '$root' AND system_identifier = $system"), '3|1|0|t|t', 'by directory and cluster, too');
my @before = map { (stat "$root/deep/er/tar/base.tar")[$_] } 8, 9;
flip("$root/deep/er/tar/base.tar", 3000000);
utime @before, "$root/deep/er/tar/base.tar";
is(reads(call()), '3 backups, 0 read; 1 bad, 0 not verifiable, 0 gone', 'rot leaves the times as they are');
is(reads(call(q{reverify_after => '1 hour'})), '3 backups, 0 read; 1 bad, 0 not verifiable, 0 gone', 'before its time nothing is read again');
is(reads(call(q{reverify_after => '0'})), '3 backups, 3 read; 2 bad, 0 not verifiable, 0 gone', 'then all is');
flip("$root/deep/er/tar/base.tar", 3000000);
flip("$root/plain/$table", 9000);
Accel::age("$root/$_") foreach 'plain', 'deep/er/tar';
is(reads(call()), '3 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'all is well again');
is(reads(call('check_pages => false')), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'another way of verification excuses nothing');
is(reads(call()), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'nor back again');
is(reads(call(q{workers => 2, reverify_after => '0', direct_io => false})), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'two workers');
is(reads(call(undef, undef, "$root/../all/latest/..")), '3 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'the same directory by another name');
$said = call(undef, undef, "$root/plain");
is(reads($said), '1 backup, 1 read; 0 bad, 0 not verifiable, 0 gone', 'the directory is a backup');
is(sql("SELECT backup, status FROM verify_backup_verdicts WHERE directory = '$root/plain'"), '.|ok', 'by the name of a period');

# --- one that is being made ------------------------------------------------------------

make_path("$root/new");
system_or_bail('cp', '-a', "$root/plain/.", "$root/new");
unlink "$root/new/backup_manifest", "$root/new/global/pg_control";
is(reads($said = call()), '4 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'one that is being made is not judged');
like($said, qr/NOTICE:  backup "new" is not judged yet\nDETAIL:  unfinished: /, 'which is told');
is(rows('status, is_finding, unfinished, taken_at IS NULL', "backup = 'new'"), 'not_verifiable f t t', 'and remembered');
is(sql("SELECT count(*), sum(unverified_backups) FROM verify_backup_metrics WHERE directory = '$root'"), '1|0', 'it is no cluster of its own');
is(reads($said = call(q{settled_after => '0'})), '4 backups, 1 read; 1 bad, 0 not verifiable, 0 gone', 'when it is left as it is, it is judged');
like($said, qr/invalid backup "new"/, 'as damaged');
system_or_bail('cp', '-a', "$root/plain/global/pg_control", "$root/new/global/pg_control");
is(reads(call()), '4 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'when it goes on, it is not');
is(reads($said = call(q{settled_after => '0'})), '4 backups, 1 read; 0 bad, 0 not verifiable, 0 gone', 'one without a manifest is sound in the end');
is(rows('status, message', "backup = 'new'"), 'ok there is no manifest: files were compared with nothing', 'which its row says');
$said = call(q{reverify_after => '0'});
is(reads($said), '4 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'a call that waits longer does not read it again');
is(rows('status, unfinished', "backup = 'new'"), 'ok f', 'and leaves the verdict, since it is what was judged');
unlike($said, qr/not judged yet/, 'which is not taken back');
call(q{check_pages => false, settled_after => '1 day'});
is(rows('status, unfinished', "backup = 'new'"), 'ok f', 'nor by a call that verifies in another way');
system_or_bail('touch', '-r', "$root/plain/global/pg_control", "$root/new/global/pg_control");
call(q{check_pages => false, settled_after => '1 day'});
is(rows('status, unfinished', "backup = 'new'"), 'not_verifiable t', 'but by one after a change');
call(q{settled_after => '0'});
call();
system_or_bail('cp', '-a', "$root/plain/backup_manifest", "$root/new/backup_manifest");
is(reads(call()), '4 backups, 1 read; 0 bad, 0 not verifiable, 0 gone', 'with a manifest it needs no waiting');

# one that changes while it is read, though it has a manifest
my $shim = Accel::fault_shim();
sql("CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C");
$node->stop;
Accel::start_under($shim, $node);
(undef, $said) = Accel::stopped_at($node, 'read', 1, "new/$table", "CALL verify_backups('$root', reverify_after => '0')",
	sub { unlink "$root/new/PG_VERSION" or die $!; });
like($said, qr/NOTICE:.*backup "new" is not judged yet\s+DETAIL:  unfinished: its files changed while they were read/s, 'one that is removed while it is read is not judged');
is(rows('status, unfinished', "backup = 'new'"), 'not_verifiable t', 'which is remembered');
# one that lacks a file when it is found, by somebody who is about to remove the rest:
# its files are looked up twice, then once after it was read, and then again
(undef, $said) = Accel::stopped_at($node, 'stat', 4, 'new/postgresql.conf', "CALL verify_backups('$root', reverify_after => '0')",
	sub { unlink "$root/new/postgresql.conf" or die $!; });
like($said, qr/NOTICE:.*backup "new" is not judged yet/s, 'what is damaged is looked at for a while');
is(reads($said = call()), '4 backups, 1 read; 1 bad, 0 not verifiable, 0 gone', 'the next call judges what is left') or diag $said;

# --- one that is gone ------------------------------------------------------------------

remove_tree("$root/new");
is(reads($said = call()), '3 backups, 0 read; 0 bad, 0 not verifiable, 1 gone', 'one that was removed is gone');
is(rows('status, gone_at > verified_at', "backup = 'new'"), 'damaged t', 'its row stays');
is(sql('SELECT bad_backups FROM verify_metrics'), '0', 'and does not count');
is(reads(call()), '3 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'which is told once');
system_or_bail('cp', '-a', "$root/plain/.", "$root/new");
is(reads(call()), '4 backups, 1 read; 0 bad, 0 not verifiable, 0 gone', 'one that is back is read');
is(rows('status, gone_at IS NULL', "backup = 'new'"), 'ok t', 'and there');
remove_tree("$root/new");
call();
is(rows('backup', 'gone_at IS NOT NULL'), 'new', 'its row stays');
sql("LOAD 'crc32c_accel'; SET crc32c_accel.history_keep_time = 0; CALL verify_backups('$root')");
is(rows('backup', 'gone_at IS NOT NULL'), '', 'until it is of the age of the history');
rename $root, "$root.away" or die $!;
mkdir $root;
$said = call();
like($said, qr/WARNING:  there is no backup below directory/, 'a directory that is not mounted');
is(sql("SELECT backups, newest_good_seconds IS NULL FROM verify_backup_metrics WHERE directory = '$root'"), '0|t', 'has no good backup');
rmdir $root;
rename "$root.away", $root or die $!;
is(reads(call()), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'when it is back, all is read');

# --- what is none, and what cannot be read ---------------------------------------------

system_or_bail('cp', '-a', "$root/plain/.", "$root/restored");
append_to_file("$root/restored/postmaster.pid", '1');
$said = call();
like($said, qr/NOTICE:  data directory "restored" is no backup\n/, 'a restored backup in which a server works is none');
is(reads($said), '3 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'and is not read');
remove_tree("$root/restored");
SKIP:
{
	skip 'root reads all', 4 if !$>;
	chmod 0, "$root/deep";
	$said = call();
	like($said, qr/WARNING:  could not look for backups in "deep": Permission denied/, 'a folder that may not be read');
	is(reads($said), '1 backup, 0 read; 0 bad, 1 not verifiable, 0 gone', 'nothing in it is gone');
	chmod 0700, "$root/deep";
	chmod 0, "$root/plain/base";
	$said = call();
	is(reads($said), '3 backups, 1 read; 1 bad, 0 not verifiable, 0 gone', 'a backup with a folder that may not be read');
	chmod 0700, "$root/plain/base";
	is(reads(call()), '3 backups, 1 read; 0 bad, 0 not verifiable, 0 gone', 'and may again');
}
($status, undef, $said) = $node->psql('postgres', "SET temp_file_limit = '1kB'; CALL verify_backups('$root', reverify_after => '0')");
is(reads($said), '3 backups, 1 read; 0 bad, 2 not verifiable, 0 gone', 'an error in one ends no run') or diag $said;
like($said, qr{WARNING:  could not verify backup "deep/er/tar"\nDETAIL:  not_verifiable: temporary file size exceeds}, 'it is told');
is(sql("SELECT unverified_backups, bad_backups FROM verify_backup_metrics WHERE directory = '$root'"), '2|0', 'and counts');
is(reads(call()), '3 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'what was not verifiable is read again');

# --- time, rate, sessions, standbys ------------------------------------------------------

$said = call(q{reverify_after => '0', max_duration => '1 microsecond'});
like($said, qr/INFO:  stopped: 3 backups, 1 read.*\nHINT:  To go on, call the procedure again\./, 'max_duration ends it between two');
my $first = rows('backup', 'verified_at = (SELECT max(verified_at) FROM verify_backup_verdicts)');
call(q{reverify_after => '0', max_duration => '1 microsecond'});
isnt(rows('backup', 'verified_at = (SELECT max(verified_at) FROM verify_backup_verdicts)'), $first, 'the next call takes the stalest');

# A bound on all of them: two turns of half a second each for one.  Were it anew for
# each, its first would not wait.
foreach my $small (map { "$dir/small/$_" } 1 .. 8)
{
	make_path($small);
	append_to_file("$small/$_->[0]", $_->[1]) foreach [ backup_manifest => '{}' ], [ 'base.tar' => 'x' x 512 ];
}
my $began = time;
is(reads(call('max_rate => 1', undef, "$dir/small")), '8 backups, 8 read; 8 bad, 0 not verifiable, 0 gone', 'small backups');
cmp_ok(time - $began, '>=', 6, 'max_rate bounds all of them together');
sql("DELETE FROM verify_backup_verdicts WHERE directory = '$dir/small'");

my $out = '';
my $other = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL verify_backups('$root', reverify_after => '0', max_rate => 1000)" ],
	'<', \undef, '>', \$out, '2>', \my $err);
Accel::seen_in($node, $other, q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 5 AND granted}) or fail('it never began');
like(call(), qr/ERROR:  directory "\Q$root\E" is being verified by another session/, 'one session at a time');
my $bytes = 0;
$bytes += $_ foreach split /\n/, qx(find '$root' -type f -printf '%s\n');
Accel::seen_in($node, $other, 'SELECT count(*) > 0 FROM verify_progress WHERE bytes_done > 0') or fail('it shows no progress');
is(sql("SELECT abs(bytes_total - $bytes) < 10000, bytes_done BETWEEN 1 AND $bytes - 1, backup IN (SELECT v.backup FROM verify_backup_verdicts v WHERE directory = '$root'),
	estimated_end_at > now(), relations_total, relid FROM verify_progress"), "t|t|t|t||", 'its progress');
sql(q{SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 5});
$other->finish;
like($err, qr/INFO:  cancelled: .*ERROR:  canceling statement due to user request/s, 'which can be cancelled');
is(sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}) . sql('SELECT count(*) FROM verify_progress'), '00', 'and leaves no lock, nor a row of its progress');

for my $in ("BEGIN; CALL verify_backups('$root')", "SET default_transaction_isolation = serializable; CALL verify_backups('$root')")
{
	($status, undef, $said) = $node->psql('postgres', $in);
	is($status, $in =~ /BEGIN/ ? 3 : 0, "in a transaction, or of another isolation: $in");
}

$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $rows = rows('verified_at');
$said = call(undef, $standby);
like($said, qr/NOTICE:  nothing is remembered of directory "\Q$root\E" during recovery\nDETAIL:  Every backup is read\./, 'a standby remembers nothing');
is(reads($said), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'and verifies all');
is(rows('verified_at'), $rows, 'its primary keeps what it has');
$standby->psql('postgres', "SELECT * FROM verify_backup_windows('$root')", stderr => \$said);
like($said, qr/ERROR:  recovery is in progress\nDETAIL:  The verdicts that are remembered here are those of the primary/, 'so it knows no windows');
is($standby->safe_psql('postgres', 'SELECT bad_backups, of_primary FROM verify_metrics'), '0|t', 'it shows the verdicts of its primary');
$standby->stop;

# the table: damaged, restored elsewhere, dropped meanwhile
sql(q{CREATE FUNCTION no() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
	ALTER TABLE verify_backup_verdicts ADD CHECK (no()) NOT VALID});
$said = call(q{reverify_after => '0'});
is(scalar(() = $said =~ /WARNING:  could not record this run any further: not now/g), 1, 'a table that cannot be written is told once');
is(reads($said), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'and ends no run');
sql('DROP FUNCTION no() CASCADE; ALTER TABLE verify_backup_verdicts RENAME TO elsewhere');
$said = call();
like($said, qr/WARNING:  could not read what is remembered of directory "\Q$root\E": .*\nDETAIL:  Every backup is read, and nothing is remembered\./, 'a table that is not there');
is(reads($said), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'excuses nothing');
sql('ALTER TABLE elsewhere RENAME TO verify_backup_verdicts');
my ($dump) = run_command([ 'pg_dump', '-d', $node->connstr('postgres') ]);
like($dump, qr/COPY public\.verify_backup_verdicts .*?^\Q$root\E\t/ms, 'a dump takes it along');
my $elsewhere = Accel::new_node('elsewhere');
$elsewhere->start;
append_to_file("$dir/dump.sql", $dump =~ s/^CREATE FUNCTION public\.fault_arm.*?;\n//msr =~ s/^ALTER FUNCTION public\.fault_arm.*?;\n//msr);
$elsewhere->psql('postgres', "\\i $dir/dump.sql");
is($elsewhere->safe_psql('postgres', "SELECT count(*) FROM verify_backup_verdicts WHERE directory = '$root'"), '3', 'to another server');
is(reads(call(undef, $elsewhere)), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'which has not seen these files');
$elsewhere->stop;

# --- WAL in an archive ------------------------------------------------------------------

mkdir "$dir/archive";
backup('without', '-X', 'none');
is(reads($said = call()), '4 backups, 1 read; 1 bad, 0 not verifiable, 0 gone', 'a backup without its WAL') or diag $said;
my $wal = ", wal_directory => '$dir/archive'";
is(reads(call("wal_directory => '$dir/archive'")), '4 backups, 4 read; 4 bad, 0 not verifiable, 0 gone', 'all, by an archive that has none');
sql('SELECT pg_switch_wal()');
system_or_bail('sh', '-c', "cp '" . $node->data_dir . "'/pg_wal/0000* '$dir/archive/'");
is(reads(call("wal_directory => '$dir/archive'")), '4 backups, 4 read; 0 bad, 0 not verifiable, 0 gone', 'when the WAL is there, they are read again');
is(reads(call("wal_directory => '$dir/archive'")), '4 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'and then no more');

# --- incremental ones --------------------------------------------------------------------

SKIP:
{
	skip 'incremental backups came with 17', 12 if !$incremental;
	$root = "$dir/chain";
	mkdir $root;
	backup('c full', '-Ft');
	sql("UPDATE t SET filler = repeat('y', 500) WHERE id < 100");
	backup('b first', "--incremental=$root/c full/backup_manifest");
	sql("UPDATE t SET filler = repeat('z', 500) WHERE id < 100");
	backup('a/second', '-Ft', '-z', "--incremental=$root/b first/backup_manifest");
	is(reads($said = call()), '3 backups, 3 read; 0 bad, 0 not verifiable, 0 gone', 'a chain') or diag $said;
	is(rows(q(backup, status, coalesce(array_to_string(prior_backups, '+'), 'none'))), 'a/second ok c full+b first, b first ok c full, c full ok none', 'each finds those before it');
	is(reads(call()), '3 backups, 0 read; 0 bad, 0 not verifiable, 0 gone', 'which is remembered');
	utime 1000000000, 1000000000, glob "'$root/b first/pg_xact/0000'";
	is(reads(call()), '3 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'what is incremental to one that changed is read again');
	rename "$root/b first", "$dir/aside" or die $!;
	is(reads($said = call()), '2 backups, 1 read; 1 bad, 0 not verifiable, 1 gone', 'one of the chain is gone');
	is(rows('status, message', "backup = 'a/second'"), 'undecided a backup that it is incremental to is not below the directory; by itself it is sound', 'the row says so');
	rename "$dir/aside", "$root/b first" or die $!;
	is(reads($said = call()), '3 backups, 2 read; 0 bad, 0 not verifiable, 0 gone', 'and back');
	flip("$root/c full/base.tar", 3000000);
	Accel::age("$root/c full");
	is(reads($said = call()), '3 backups, 3 read; 3 bad, 0 not verifiable, 0 gone', 'damage of the full one is that of all') or diag $said;
	like($said, qr{invalid backup "a/second"\nDETAIL:  damaged: \Q$root\E/c full/}, 'told where it is');

	# another cluster, with a backup that begins at the same LSN
	is(sql("SELECT count(*) FROM verify_backup_metrics WHERE directory = '$root'"), '1', 'one cluster');
	rename "$root/c full", "$root/z" or die $!;
	flip("$root/z/base.tar", 3000000);
	Accel::age("$root/z");
	system_or_bail('cp', '-a', "$root/z", "$root/d");
	my $text = slurp_file("$root/d/backup_manifest");
	unlink "$root/d/backup_manifest";
	append_to_file("$root/d/backup_manifest", $text =~ s/("System-Identifier": \d*)(\d)/$1 . (9 - $2)/er);
	is(reads($said = call()), '4 backups, 4 read; 1 bad, 0 not verifiable, 1 gone', 'a chain is of one cluster') or diag $said;
	is(rows(q(backup, coalesce(array_to_string(prior_backups, '+'), 'none')), "backup LIKE 'a/%'"), 'a/second z+b first', 'it finds its own');
}

$node->stop;
done_testing();
