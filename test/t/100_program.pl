# crc32c_verify: options, exit statuses, formats, state file, hooks of real servers.
# That its rows are those of SQL is proven beside it, by each script of AccelWal.
use strict;
use warnings;
use Accel;
use AccelWal;
use Fcntl qw(:flock);
use File::Copy;
use PostgreSQL::Test::Utils;
use SwitchedWal;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $made = PostgreSQL::Test::Utils::tempdir();
my $report = "$made/report";
my $program = AccelProgram::path();
mkdir "$made/wal";
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => qq{
archive_mode = on
archive_command = '$program segment -q --report=$report %p ; cp %p $made/wal/%f'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CREATE TABLE t (id int)');
$node->backup('base');

sub sql { return $node->safe_psql('postgres', $_[0]); }

foreach my $i (1 .. 8)
{
	sql("INSERT INTO t VALUES ($i); SELECT pg_logical_emit_message(true, 'fill', repeat('f', 300000)), pg_switch_wal()");
}
my $last = sql('SELECT pg_walfile_name(pg_switch_wal() - 1)');
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die 'not archived';
my $system = sql('SELECT system_identifier FROM pg_control_system()');
my @wal = sort map { m{/([0-9A-F]{24})$} ? $1 : () } glob("$made/wal/*");
cmp_ok(scalar @wal, '>=', 8, 'archive_command with segment: ' . @wal . ' segments archived');
ok(!-s $report, 'and nothing to report') or diag slurp_file($report);

# A copy of the archive, to damage.
my $n = 0;
sub archive
{
	my $dir = "$made/" . $n++;
	AccelWal::copy_files("$made/wal", $dir);
	unlink glob("$dir/*.backup");
	return $dir;
}

sub ends
{
	my ($title, $expected, $pattern, @arguments) = @_;
	my ($status, $out, $err) = AccelProgram::verify(@arguments);
	like($status, qr/^$expected$/, "$title: exit status") or diag "$out$err";
	like("$out$err", $pattern, $title) if defined $pattern;
	return ($out, $err);
}

sub rot    # with the same size and modification time
{
	my ($path, $offset) = @_;
	# a number of perl's has no room for nanoseconds
	system_or_bail('touch', '-r', $path, "$made/time");
	AccelWal::poke($path, $offset, 'damage');
	system_or_bail('touch', '-r', "$made/time", $path);
	return;
}

# --- help, wrong use ----------------------------------------------------------------

my ($help) = ends('help', 0, qr/Usage/, '--help');
is($help, slurp_file('src/program/help.txt'), 'help is its text');
ends('version', 0, qr/^crc32c_verify 1\.0$/, '--version');
ends('kernels', 0, qr/^crc32c \w+ .*: in use, \d+ tests, 0 failed$/m, 'kernels');
my $page = slurp_file('crc32c_verify.1');
foreach my $line (grep { /^  \S/ } split /\n/, $help)
{
	my ($word) = $line =~ /(\S+)/;
	(my $escaped = $word) =~ s/-/\\-/g;
	like($page, qr/\Q$escaped\E/, "manual page: $word");
}
my $dir = archive();
foreach my $use (
	[], ['nothing'], ['wal'], [ 'wal', $dir, $dir ], [ 'wal', '--to=x', $dir ], [ 'wal', '--system-identifier=0', $dir ],
	[ 'wal', '--system-identifier=x', $dir ], [ 'wal', '-j', '0', $dir ], [ 'wal', '--jobs', '99999', $dir ], [ 'wal', '--max-rate=-1', $dir ],
	[ 'wal', '--format=xml', $dir ], [ 'wal', '--since=x', $dir ], [ 'wal', "--since=$wal[2]", "--until=$wal[1]", $dir ],
	[ 'wal', '--timeline=0', $dir ], [ 'wal', '--timeline=4294967296', $dir ], [ 'wal', "--until=$wal[2]", '--timeline=1', $dir ],
	[ 'wal', '--state' ], [ 'wal', "--state=$made/x", "--since=$wal[0]", $dir ], [ 'wal', '--reverify-after=30d', $dir ],
	[ 'wal', "--state=$made/x", '--reverify-after=30', $dir ], [ 'wal', '--nothing', $dir ], [ 'wal', '--server-version=14', $dir ], [ 'wal', '--segment-size=3', $dir ],
	['images'], [ 'images', $dir, $dir ], [ 'images', '--block-size=3', $dir ], [ 'wal', '--block-size=8', $dir ], [ 'images', "--state=$made/x", $dir ],
	['segment'], [ 'segment', '--on-finding=x', "$dir/$wal[0]" ], [ 'fetch', "$dir/$wal[0]" ], [ 'fetch', "--to=$made/x" ], [ 'kernels', 'x' ],
	['cluster'], [ 'cluster', $dir, $dir ], [ 'cluster', "--state=$made/x", $dir ], [ 'cluster', '-P', $dir ],
	['backup'], [ 'backup', $dir, $dir ], [ 'backup', "--wal=$dir", "--wal=$dir", $dir ], [ 'backup', "--state=$made/x", $dir ], [ 'wal', '--no-pages', $dir ], [ 'cluster', "--prior=$dir", $dir ])
{
	ends("wrong use: @$use", 1, qr/^crc32c_verify: .*\nTry/, @$use);
}
ends('no directory', 1, qr/No such file/, 'wal', "$made/none");
ends('a file', 1, qr/is not a directory/, 'wal', "$dir/$wal[0]");

# --- formats and exit statuses -------------------------------------------------------

my $files = @wal;
ends('sound', 0, qr/^\Q$dir\E: $files files, $files read, \d+ records, \d+ bytes of WAL verified in [\d.]+ s: 0 with findings, 0 not verifiable\n$/, 'wal', $dir);
ends('quiet', 0, qr/^$/, 'wal', '-q', $dir);
my ($out) = ends('verbose', 0, qr/^$wal[1]: ok_switched/m, 'wal', '-vq', $dir);
is($out =~ tr/\n//, $files, 'verbose: a line each');
ends('nagios', 0, qr/^WAL OK - 0 of $files files with findings, 0 not verifiable \| files=$files read=$files findings=0;;0 /, 'wal', '--format=nagios', $dir);
ends('nagios, no directory', 3, qr/^WAL UNKNOWN - .*No such file/, 'wal', '--format=nagios', "$made/none");
AccelWal::poke("$dir/$wal[3]", 100, 'damage');
unlink "$dir/$wal[5]";
ends('findings', 2, qr/^$wal[3]: corrupt: .*\n$wal[5]: missing: the segment is not there\n.*: 2 with findings/s, 'wal', $dir);
ends('nagios, findings', 2, qr/^WAL CRITICAL - 2 of .*: $wal[3]: corrupt: .* findings=2;;0/, 'wal', '--format=nagios', $dir);
ends('json', 2, qr/^\{"segment":"$wal[3]",.*\}\n\{"segment":"$wal[5]","timeline_id":1,.*\}\n$/, 'wal', '--format=json', $dir);
mkdir "$made/empty";
ends('nothing to verify', 3, qr/not_verifiable/, 'wal', "$made/empty");
ends('nagios, nothing to verify', 3, qr/^WAL UNKNOWN - /, 'wal', '--format=nagios', "$made/empty");
ends('metrics', 2, qr//, 'wal', '-q', "--metrics=$made/wal.prom", $dir);
like(slurp_file("$made/wal.prom"), qr/^crc32c_verify_findings\{command="wal",subject="\Q$dir\E"\} 2$/m, 'metrics: findings');
like(slurp_file("$made/wal.prom"), qr/^crc32c_verify_exit_status\{.*\} 2$/m, 'metrics: exit status');
$dir = archive();
ends('metrics that cannot be written', 1, qr/could not write/, 'wal', "--metrics=$made/none/x", $dir);
ends('standard output that cannot be written', 0, undef, 'wal', '-q', $dir);
is(system("$program wal -v $dir >/dev/full 2>/dev/null") >> 8, 1, 'standard output that is full');

# --- full-page images: t/078 compares what is found with SQL -----------------------------

ends('images', 0, qr/^\Q$dir\E: \d+ full-page images of \d\d+ records held against the record before, \d+ bytes of WAL read in [\d.]+ s: 0 with findings, 0 not verifiable\n$/, 'images', $dir);
ends('images, a part', 0, qr/ $MB bytes of WAL read /, 'images', "--since=$wal[-5]", "--until=$wal[-5]", $dir);
ends('images, nothing to verify', 3, qr/^\Q$made\E\/empty: not_verifiable: there is no segment of WAL$/m, 'images', "$made/empty");
ends('images, another block size', 3, qr/^[0-9A-F]{24}: not_verifiable: \d+ records from here on do not decode with blocks of 16384 bytes$/m, 'images', '--block-size=16', $dir);
ends('images, nagios', 0, qr/^WAL OK - 0 of \d+ images with findings, .*\| images=\d+ /, 'images', '--format=nagios', $dir);
unlink "$dir/$wal[4]";
ends('images, a gap', 3, qr/^$wal[4]: not_verifiable: /m, 'images', $dir);
$dir = archive();

# --- a data directory: t/043 and t/066 compare what is found with SQL --------------------

my $data = $node->data_dir;
my ($words) = ends('cluster, of a running server', 0, qr/^global\/pg_control: ok\nglobal\/pg_filenode\.map: ok\nbase\/1\/.*\n\Q$data\E: (\d+) files, \g1 read, \d+ bytes verified in [\d.]+ s: 0 with findings, 0 not verifiable\n$/s, 'cluster', '-v', $data);
is($words =~ tr/\n// - 1, sql('SELECT count(*) FROM verify_cluster_files()'), 'cluster: the files of SQL');
my $cluster = "$made/cluster";
system_or_bail('cp', '-a', $node->backup_dir . '/base', $cluster);
ends('cluster, quiet', 0, qr/^$/, 'cluster', '-q', $cluster);
{
	# a summary, then WAL that a start without backup_label would begin with
	my $summary = "$cluster/pg_wal/summaries/" . '0' x 40 . '.summary';
	mkdir "$cluster/pg_wal/summaries";
	AccelWal::put($summary, pack('L', 0x652B137B) . "\0" x 1024 x 384);
	my $verify = sub
	{
		my $begin = time;
		AccelProgram::verify('cluster', '-q', @_, $cluster);
		return time - $begin;
	};
	cmp_ok($verify->('--max-rate=512'), '>', 1.5, 'cluster, the rate of a file');
	unlink $summary;
	rename "$cluster/backup_label", "$made/label";
	cmp_ok($verify->('--max-rate=512'), '>', 1, 'cluster, the rate of WAL');
	rename "$made/label", "$cluster/backup_label";
}
ends('cluster, nagios', 0, qr/^CLUSTER OK - 0 of \d+ files with findings, 0 not verifiable \| files=\d+ /, 'cluster', '--format=nagios', $cluster);
AccelWal::poke("$cluster/global/pg_filenode.map", 100, 'damage');
ends('cluster, a finding', 2, qr/^global\/pg_filenode\.map: checksum_mismatch: [^\n]*\n$/, 'cluster', '-q', $cluster);
ends('cluster, json', 2, qr/^\{"path":"global\/pg_filenode\.map","kind":"relation_map","status":"checksum_mismatch","is_finding":true,"stored_crc":\d+,"computed_crc":\d+,"size":\d+,"message":"calculated [^"]*"\}\n$/, 'cluster', '--format=json', $cluster);
ends('cluster, nagios, a finding', 2, qr/^CLUSTER CRITICAL - 1 of \d+ files with findings, 0 not verifiable: global\/pg_filenode\.map: checksum_mismatch: /, 'cluster', '--format=nagios', $cluster);
ends('cluster, metrics', 2, qr//, 'cluster', '-q', "--metrics=$made/cluster.prom", $cluster);
like(slurp_file("$made/cluster.prom"), qr/^crc32c_verify_findings\{command="cluster",subject="\Q$cluster\E"\} 1$/m, 'cluster, metrics: findings');
mkdir "$cluster/pg_replslot/two\nlines";
ends('cluster, a name of two lines', 2, qr/^pg_replslot\/two\?lines\/state: missing: /m, 'cluster', '-q', $cluster);
ends('cluster, no directory', 1, qr/No such file/, 'cluster', "$made/none");
ends('cluster, a file', 1, qr/is not a directory/, 'cluster', "$cluster/PG_VERSION");
ends('cluster, another folder', 1, qr/is not a data directory: file "PG_VERSION" is missing/, 'cluster', $dir);
ends('cluster, another folder, nagios', 3, qr/^CLUSTER UNKNOWN - .* is not a data directory/m, 'cluster', '--format=nagios', $dir);

# --- backups: t/080 to t/089 compare what is found with SQL -------------------------------

my $base = "$made/backup";
system_or_bail('cp', '-a', $node->backup_dir . '/base', $base);
my $relation = sql(q{SELECT pg_relation_filepath('pg_class')});
my $counts = qr/\d+ files, \d+ pages, \d+ bytes and \d+ records of WAL verified in [\d.]+ s/;
ends('backup', 0, qr/^\Q$base\E: \d{3,} files, [1-9]\d+ pages, \d+ bytes and [1-9]\d* records of WAL verified in [\d.]+ s: 0 findings, 0 not verifiable\n$/, 'backup', $base);
ends('backup, quiet', 0, qr/^$/, 'backup', '-q', $base);
ends('backup, nagios', 0, qr/^BACKUP OK - 0 findings in \d+ files, 0 not verifiable \| files=\d+ /, 'backup', '--format=nagios', $base);
ends('backup, no pages', 0, qr/ files, 0 pages, /, 'backup', '--no-pages', $base);
foreach my $jobs (1, 2)
{
	my (undef, $said, $shown) = AccelProgram::verify('backup', '-P', '--max-rate=12000', '-j', $jobs, $base);
	my ($bytes) = $said =~ /, (\d+) bytes and /;
	like($shown, qr{\A\d+/$bytes bytes \(\d\d? %\), 0 with findings\n(?:.*\n)*$bytes/$bytes bytes \(100 %\), 0 with findings\n\z}, "backup, progress of $jobs");
}
like((AccelProgram::verify('backups', '-qP', '--settled-after=0s', $node->backup_dir))[2], qr{^backup 1/1: (\d+)/\g1 bytes \(100 %\), 0 with findings$}m, 'backups, progress');
ends('backup, past the page cache or refused', '[01]', qr/: 0 findings|does not read past its page cache/, 'backup', '--direct-io', $base);
AccelWal::poke("$base/$relation", 8192 + 100, 'damage');
my $bad_rows = qr/\Q$relation\E: checksum_mismatch: CRC32C of the file is not that of the manifest\n\Q$relation\E, block 1: corrupt: checksum is \d+, but should be \d+; no WAL of the backup restores it\n/;
ends('backup, findings', 2, qr/^$bad_rows\Q$base\E: $counts: 2 findings, 0 not verifiable\n$/, 'backup', $base);
ends('backup, findings, quiet', 2, qr/^$bad_rows$/, 'backup', '-q', $base);
ends('backup, findings, nagios', 2, qr/^BACKUP CRITICAL - 2 findings in \d+ files, 0 not verifiable: \Q$relation\E: checksum_mismatch: .* findings=2;;0/, 'backup', '--format=nagios', $base);
ends('backup, json', 2, qr/^\{"path":"\Q$relation\E","blkno":null,"status":"checksum_mismatch","stored":"[0-9a-f]{8}","computed":"[0-9a-f]{8}","lsn":null,"message":"[^"]+"\}\n\{"path":"\Q$relation\E","blkno":1,"status":"corrupt","stored":"\d+","computed":"\d+","lsn":"[0-9A-F]+\/[0-9A-F]+",/, 'backup', '--format=json', $base);
ends('backup, damage without pages', 2, qr/: 1 findings, /, 'backup', '--no-pages', $base);
ends('backup, metrics', 2, qr//, 'backup', '-q', "--metrics=$made/backup.prom", $base);
like(slurp_file("$made/backup.prom"), qr/^crc32c_verify_findings\{command="backup",subject="\Q$base\E"\} 2$/m, 'backup, metrics: findings');

sub fresh_backup
{
	system_or_bail('rm', '-rf', $base);
	system_or_bail('cp', '-a', $node->backup_dir . '/base', $base);
	return;
}

sub change    # a file's contents
{
	my ($path, $by) = @_;
	my $contents = slurp_file($path);
	open my $file, '>', $path or die;
	print $file $by->($contents);
	close $file or die;
	return;
}

AccelWal::poke($_, 100, 'damage') foreach grep { -s $_ >= 8192 } glob "$base/base/*/[1-9]*";
my ($alone) = ends('backup, many findings', 2, qr/(?:, block \d+: .*\n.*){50}/, 'backup', '-q', $base);
foreach my $jobs (2, 5)
{
	my ($together) = ends("backup, $jobs processes", 2, qr/(?:, block \d+: .*\n.*){50}/, 'backup', '-q', "--jobs=$jobs", $base);
	is($together, $alone, "$jobs processes: the same rows in the same order");
}
fresh_backup();
ends('backup, two processes', 0, qr/^\Q$base\E: \d{3,} files, [1-9]\d+ pages, \d+ bytes and [1-9]\d* records of WAL verified in [\d.]+ s: 0 findings, 0 not verifiable\n$/, 'backup', '-j2', $base);
{
	my $messages = '';
	my $run = IPC::Run::start([ $program, 'backup', '-j3', '--max-rate=400', $base ], '<', \undef, '>', '/dev/null', '2>', \$messages);
	my $parent = $run->{KIDS}[0]{PID};
	my @workers;
	my $until = time + 60;
	sleep 0.05 until (@workers = split ' ', `ps -o pid= --ppid $parent`) == 3 || time > $until;
	is(scalar @workers, 3, 'three processes read');
	kill KILL => $workers[0];
	kill TERM => @workers[ 1, 2 ];
	$run->finish;
	is($? >> 8, 1, 'processes that are killed: the program fails');
	like($messages, qr/a process that reads ended/, 'processes that are killed: and says so');
	is_deeply([ grep { kill 0 => $_ } @workers ], [], 'processes that are killed: none is left');
}
fresh_backup();
system_or_bail('mv', "$base/pg_wal", "$made/backup.wal");
mkdir "$base/pg_wal";
ends('backup, without its WAL', 2, qr/^pg_wal\/[0-9A-F]{24}: missing: /m, 'backup', $base);
ends('backup, its WAL elsewhere', 0, qr/ [1-9]\d* records of WAL verified .*: 0 findings/, 'backup', "--wal=$made/backup.wal", $base);
ends('backup, its WAL in the archive', 0, qr/ [1-9]\d* records of WAL verified .*: 0 findings/, 'backup', "--wal=$made/wal", $base);
ends('backup, another archive', 2, qr/missing/, 'backup', "--wal=$made/empty", $base);
fresh_backup();
ends('backup, of a chain that is none', 2, qr/^backup_label: bad_format: full backup, but backups before it were named$/m, 'backup', '--prior=' . $node->backup_dir . '/base', $base);
unlink "$base/backup_manifest";
my $no_manifest = qr/backup_manifest: ok_no_manifest: there is no manifest; [^\n]*\n/;
ends('backup, no manifest', 0, qr/^$no_manifest\Q$base\E: $counts: 0 findings, 0 not verifiable\n$/, 'backup', $base);
ends('backup, no manifest, quiet', 0, qr/^$/, 'backup', '-q', $base);
fresh_backup();
change("$base/backup_manifest", sub { $_[0] =~ s/(Manifest-Version": )\d/${1}9/r });
ends('backup, an unknown manifest', 2, qr/^backup_manifest: unsupported_version: /m, 'backup', $base);
fresh_backup();
change("$base/PG_VERSION", sub { "9.1\n" });
ends('backup, an unknown version', 2, qr/^PG_VERSION: /m, 'backup', $base);
fresh_backup();
change("$base/PG_VERSION", sub { "17\n" }) if $node->pg_version < 17;
change("$base/PG_VERSION", sub { "15\n" }) if $node->pg_version >= 17;
ends('backup, a damaged version makes no damage of WAL', 2, qr/\A(?!.*^pg_wal)(?=.*^PG_VERSION: checksum_mismatch: )/ms, 'backup', $base);
fresh_backup();
chmod 0, "$base/$relation";
ends('backup, an unreadable file', 2, qr/^\Q$relation\E: io_error: could not open file: Permission denied$/m, 'backup', $base);
chmod oct 600, "$base/$relation";
truncate "$base/$relation", 8192;
ends('backup, a file that is cut off', 2, qr/^\Q$relation\E: size_mismatch: file has 8192 bytes, but the manifest says \d+$/m, 'backup', $base);
ends('backup, no directory', 1, qr/could not open directory "\Q$made\E\/none": No such file/, 'backup', "$made/none");
ends('backup, no directory of WAL', 1, qr/could not open directory "\Q$made\E\/none"/, 'backup', "--wal=$made/none", $base);
ends('backup, no directory before it', 1, qr/could not open directory "\Q$made\E\/none"/, 'backup', "--prior=$made/none", $base);
ends('backup, a file in the place of a directory', 1, qr/PG_VERSION" is not a directory/, 'backup', "$base/PG_VERSION");
ends('backup, no directory, nagios', 3, qr/^BACKUP UNKNOWN - could not open directory/m, 'backup', '--format=nagios', "$made/none");
ends('backup, an empty directory', 2, qr/^PG_VERSION: missing: not a data directory: /m, 'backup', "$made/empty");

# archives: files that are read again are in TMPDIR meanwhile
fresh_backup();
my $tar = "$made/tar";
mkdir $tar;
system_or_bail('cp', "$base/backup_manifest", $tar);
system_or_bail('tar', '-C', $base, '--exclude=./backup_manifest', '-czf', "$tar/base.tar.gz", '.');
mkdir "$made/tmp";
{
	local $ENV{TMPDIR} = "$made/tmp";
	ends('backup, archives', 0, qr/ [1-9]\d* records of WAL verified .*: 0 findings/, 'backup', $tar);
	is_deeply([ glob "$made/tmp/*" ], [], 'archives: nothing is left in TMPDIR');
	foreach my $signal (qw(TERM INT))
	{
		my $run = IPC::Run::start([ $program, 'backup', '--max-rate=400', $tar ], '<', \undef, '>', '/dev/null');
		my $until = time + 60;
		sleep 0.05 until glob("$made/tmp/*") || time > $until;
		ok(scalar(my @there = glob("$made/tmp/*/*")) || time <= $until, "$signal: a temporary folder is there");
		$run->signal($signal);
		$run->finish;
		is($? & 127, $signal eq 'TERM' ? 15 : 2, "$signal: ends by it");
		is_deeply([ glob "$made/tmp/*" ], [], "$signal: nothing is left in TMPDIR");
	}
	$ENV{TMPDIR} = "$made/none";
	ends('backup, no TMPDIR', 1, qr/could not create a temporary directory in "\Q$made\E\/none": No such file/, 'backup', $tar);
}
change("$tar/base.tar.gz", sub { substr $_[0], 0, length($_[0]) / 2 });
ends('backup, an archive that is cut off', 2, qr/^base\.tar\.gz: bad_format: /m, 'backup', $tar);
unlink "$tar/base.tar.gz";
ends('backup, no archive', 2, qr/missing/, 'backup', $tar);

# --- parts of an archive, workers, the rate -------------------------------------------

sub same_rows
{
	my ($title, $arguments, @options) = @_;
	my ($status, $rows) = AccelProgram::verify('wal', '-v', '--format=json', "--system-identifier=$system", @options, $dir);
	my $sql = sql("SELECT row_to_json(w) FROM verify_wal('$dir', $arguments) w");
	$sql =~ s{(_lsn":"[0-9A-F]+/)0+(?=[0-9A-F])}{$1}g;
	chomp $rows;
	is($rows, $sql, "$title: as SQL");
	return;
}
same_rows('since', "'$wal[3]'", "--since=$wal[3]");
same_rows('until', "last_segment => '$wal[3]'", "--until=$wal[3]");
same_rows('since, until', "'$wal[2]', '$wal[4]'", "--since=$wal[2]", "--until=$wal[4]");
my $start = sql("SELECT start_lsn FROM verify_wal('$dir', '$wal[2]', '$wal[2]')");
same_rows('timeline, since', "start_lsn => '$start', timeline_id => 1", '--timeline=1', "--since=$wal[2]");
$start = sql("SELECT min(start_lsn) FROM verify_wal('$dir')");
same_rows('timeline', "start_lsn => '$start', timeline_id => 1", '--timeline=1');
same_rows('workers', 'NULL', '-j', 3);
AccelWal::poke("$dir/$wal[3]", 100, 'damage');
same_rows('workers, damage', 'NULL', '-j', 3);
my $before = time;
ends('rate', 2, qr//, 'wal', '-q', '--max-rate=4096', '-j', 2, $dir);
cmp_ok(time - $before, '>', 0.6 * @wal / 4, 'the rate of two workers together');
like((AccelProgram::verify('wal', '-qP', $dir))[2], qr{^$files/$files segments \(100 %\)}m, 'progress');

# --- whose WAL it is -------------------------------------------------------------------

my $other = Accel::new_node('other', extra => ['--wal-segsize=1']);
$other->start;
my $foreign = sprintf('0000000100000000%08X', hex(substr($wal[-1], 16)) + 1);
my $other_system = $other->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()');
while ($other->safe_psql('postgres',
		q{SELECT pg_logical_emit_message(true, '', ''); SELECT pg_walfile_name(pg_switch_wal() - 1)}) !~ /$foreign$/)
{
}
$dir = archive();
copy($other->data_dir . "/pg_wal/$foreign", "$dir/$foreign") or die $!;
$other->stop;
ends('a foreign segment', 2, qr/^$foreign: foreign_system: [^\n]*\n$/, 'wal', '-q', $dir);
ends('the cluster that is given', 2, qr/^$foreign: foreign_system: [^\n]*\n$/, 'wal', '-q', "--system-identifier=$system", $dir);
ends('the other one that is given', 2, qr/^(?:\w+: foreign_system: .*\n){$files}$/, 'wal', '-q', "--system-identifier=$other_system", $dir);
$dir = archive();
ends('all of another cluster', 2, qr/^(?:\w+: foreign_system: .*\n){$files}$/, 'wal', '-q', '--system-identifier=1', $dir);
ends('a segment, of another cluster', 2, qr/foreign_system/, 'segment', '--on-finding=fail', '--system-identifier=1', "$dir/$wal[0]");
# the first one is damaged where it says whose it is
AccelWal::poke("$dir/$wal[0]", 24, pack('Q', 1234567890));
ends('a damaged first segment does not say it', 2, qr/^$wal[0]: [^\n]*\n$/, 'wal', '-q', $dir);

# --- state ------------------------------------------------------------------------------

my $state = "$made/state";
$dir = archive();

sub reads
{
	my ($title, $read, $findings, @more) = @_;
	my ($out, $err) = ends($title, $findings ? 2 : 0, undef, 'wal', "--state=$state", @more, $dir);
	like($out, qr/ $read read, .* $findings with findings/, "$title: reads $read");
	return "$out$err";
}
sleep 2.1;    # what was written right now is read again
reads('state', $files, 0);
reads('state: nothing new', 0, 0);
is(slurp_file($state) =~ tr/\n//, $files + 4, 'state: a line each');
reads('state: old enough', $files, 0, '--reverify-after=0s');
reads('state: not old enough', 0, 0, '--reverify-after=1d');
rot("$dir/$wal[2]", 5000);
reads('state: rot is not read', 0, 0);
like(reads('state: rot is read', $files, 1, '--reverify-after=0s'), qr/^$wal[2]: corrupt: .*it was sound at .* UTC and was not written since/m, 'state: rot');
like(reads('state: a finding is read again', 1, 1), qr/^$wal[2]: corrupt/m, 'state: rot again');
copy("$made/wal/$wal[2]", "$dir/$wal[2]");
unlink "$dir/$wal[4]";
like(reads('state: missing', 1, 1), qr/^$wal[4]: missing: the file is gone; it was sound at/m, 'state: missing');
sleep 2.1;
copy("$made/wal/$wal[4]", "$dir/$wal[4]");
unlink "$dir/$wal[0]";
reads('state: expired', qr/[1-3]/, 0);
unlike(slurp_file($state), qr/^$wal[0]/m, 'state: forgotten');

# attacks
sleep 2.1;
reads('state: to be attacked', qr/[0-3]/, 0);
my $sound = slurp_file($state);
foreach my $damage (
	[ 'a bit', sub { substr($_[0], 200, 1) ^= "\1" } ],
	[ 'a digit', sub { $_[0] =~ s/^(\w{24} \d+ \d+)(\d) /$1 . ($2 + 1) % 10 . ' '/me } ],
	[ 'cut', sub { $_[0] = substr($_[0], 0, 300) } ],
	[ 'zeros', sub { $_[0] = "\0" x length $_[0] } ],
	[ 'lines twice', sub { $_[0] .= $_[0] } ],
	[ 'a line more', sub { $_[0] =~ s/(crc32c \w+\n)$/more\n$1/ } ],
	[ 'noise', sub { $_[0] = join '', map { chr rand 256 } 1 .. 10000 } ])
{
	my $bytes = $sound;
	$damage->[1]->($bytes);
	AccelWal::put($state, $bytes);
	like(reads("state: $damage->[0]", $files - 1, 0), qr/is damaged: every file is read/, "state: $damage->[0]: told");
	reads("state: after $damage->[0]", 0, 0);
}
AccelWal::put($state, '');
reads('state: empty', $files - 1, 0);
my $here = $dir;
$dir = archive();
ends('state: of another archive', 1, qr/is of another archive, "\Q$here\E"/, 'wal', "--state=$state", $dir);
is(slurp_file($state) =~ tr/\n//, $files + 3, 'state: left alone');
$dir = $here;
{
	open(my $held, '+<', $state) or die $!;
	flock($held, LOCK_EX);
	ends('state: another run has it', 1, qr/another run has state file/, 'wal', "--state=$state", $dir);
}
ends('state: a directory', 1, qr/is not a regular file/, 'wal', "--state=$made/wal", $dir);
ends('state: in no directory', 1, qr/could not open state file/, 'wal', "--state=$made/none/x", $dir);
reads('state: of another cluster', $files - 1, $files - 1, '--system-identifier=1');
reads('state: of this one again', $files - 1, 0, "--system-identifier=$system");

# no room: the old one stays
$sound = slurp_file($state);
copy("$made/wal/$wal[0]", "$dir/$wal[0]");
is(system("trap '' XFSZ; ulimit -f 1; exec $program wal -q --state=$state $dir 2>$made/err") >> 8, 1, 'state: no room');
like(slurp_file("$made/err"), qr/could not write "\Q$state\E": File too large/, 'state: no room, told');
is(slurp_file($state), $sound, 'state: the old one stays');
is_deeply([ glob("$state.*") ], [], 'state: nothing is left beside it');

# a signal: what was verified is kept
foreach my $signal (qw(TERM INT))
{
	foreach my $jobs (1, 2)
	{
		unlink $state;
		my $run = IPC::Run::start([ $program, 'wal', '-qP', "--state=$state", '-j', $jobs, '--max-rate=1024', $dir ], '<', \undef, '>', \my $o, '2>', \my $e);
		sleep(0.001) while $e !~ m{^(?:[2-9]|1\d)/}m && Accel::still_runs($run);
		$run->signal($signal);
		$run->finish;
		is($? & 127, $signal eq 'TERM' ? 15 : 2, "$signal, $jobs jobs: ends by it");
		my $kept = (slurp_file($state) =~ tr/\n//) - 4;
		ok($kept > 0 && $kept < $files, "$signal, $jobs jobs: $kept files are known");
		my $rest = $files - $kept;
		my $border = $rest + 1;    # the last one's record goes on in the next one
		reads("after $signal, $jobs jobs", qr/(?:$rest|$border)/, 0);
	}
}

# many segments: the second run does not open them
{
	my $count = $ENV{LONG} ? 10000 : 1000;
	my $many = "$made/many";
	mkdir $many;
	SwitchedWal::make($many, $count, size => $MB, magic => unpack('S', AccelWal::peek("$made/wal/$wal[0]", 0, 2)), system => $system);
	ends("state, $count segments", 0, qr/ $count files, $count read, $count records, /, 'wal', '-j2', "--state=$made/many.state", $many);
	chmod 0, glob("$many/*");
	ends("state, $count segments that cannot be read any more", 0, qr/ $count files, 0 read, 0 records, .* 0 with findings, 0 not verifiable/, 'wal', "--state=$made/many.state", $many);
	is(system("trap '' XFSZ; ulimit -f 64; exec $program wal -q --state=$made/many.state $many 2>$made/err") >> 8, 1, 'state: room for its beginning alone');
	like(slurp_file("$made/err"), qr/could not write "\Q$made\E\/many.state": File too large/, 'state: why a write failed that was not the last');
	ends('without the state they are asked for', 3, qr/Permission denied/, 'wal', '-q', $many);
	system_or_bail('rm', '-rf', $many);
}

# --- segment ------------------------------------------------------------------------------

$dir = archive();
# of one record, a message, that begins there; the first ones are of initdb
my $bad = "$dir/$wal[-5]";
AccelWal::poke($bad, 5000, 'damage');
ends('segment', 0, qr/^\Q$dir\E\/$wal[2]: ok_switched\n$/, 'segment', "$dir/$wal[2]");
ends('segment: quiet', 0, qr/^$/, 'segment', '-q', "$dir/$wal[0]");
ends('segment: a finding is reported', 0, qr/^\Q$bad\E: corrupt/, 'segment', $bad);
ends('segment: a finding fails, if asked', 2, qr/^\Q$bad\E: corrupt/, 'segment', '--on-finding=fail', $bad);
ends('segment: into a file', 0, qr/^$/, 'segment', '-q', "--report=$made/r", $bad) foreach 1, 2;
is(slurp_file("$made/r") =~ s/^\Q$bad\E: corrupt: .*\n//mgr, '', 'segment: a line each time');
is(slurp_file("$made/r") =~ tr/\n//, 2, 'segment: two lines');
ends('segment: report that cannot be opened', 0, qr/could not open report.*corrupt/s, 'segment', "--report=$made/none/r", $bad);
ends('segment: report on a full disk', 0, qr/could not write report/, 'segment', '--report=/dev/full', $bad);
ends('segment: no file', 0, qr/No such file/, 'segment', "$dir/000000010000000000000FFF");
ends('segment: no file, asked', 1, qr/No such file/, 'segment', '--on-finding=fail', "$dir/000000010000000000000FFF");
ends('segment: another name', 1, qr/has not the name of a file of WAL/, 'segment', '--on-finding=fail', "$state");
AccelWal::put("$dir/00000002.history", "1\t0/3000000\tno reason\n");
AccelWal::put("$dir/00000003.history", "garbage\n");
ends('segment: history', 0, qr/^\S+: ok$/, 'segment', "$dir/00000002.history");
ends('segment: damaged history', 2, qr/^\S+: corrupt: /, 'segment', '--on-finding=fail', "$dir/00000003.history");
my ($backup) = glob("$made/wal/*.backup");
ends('segment: backup file', 0, qr/^\S+: ok$/, 'segment', $backup);
ends('segment: json', 0, qr/^\{"segment":"\Q$bad\E",/, 'segment', '--format=json', $bad);
# one byte changed anywhere: found, but where nothing covers it
my $undetected = 0;
srand(33);
foreach my $i (1 .. 200)
{
	my $bytes = slurp_file("$made/wal/$wal[-5]");
	my $place = int rand 250000;
	substr($bytes, $place, 1) ^= chr(1 + int rand 255);
	AccelWal::put("$dir/$wal[-5]", $bytes);
	my $both = sql("SELECT status FROM verify_wal_segment(pg_read_binary_file('$dir/$wal[-5]'), '$wal[-5]')");
	my ($status, $words) = AccelProgram::verify('segment', "--system-identifier=$system", "$dir/$wal[-5]");
	my ($mine) = $words =~ /: (\w+)/;
	is($mine, $both, "byte $place changed") if $mine ne $both;
	$undetected++ if $both =~ /^ok/;
}
cmp_ok($undetected, '<', 200, "segment: 200 mutations as SQL says, $undetected of bytes that nothing covers");

# --- fetch ---------------------------------------------------------------------------------

mkdir "$made/second";
copy("$made/wal/$wal[-5]", "$made/second/$wal[-5]");
system_or_bail('gzip', '-k', "$made/second/$wal[-5]");
my $to = "$made/fetched";
ends('fetch: a sound one', 0, qr/^$/, 'fetch', '-q', "--to=$to", "$made/wal/$wal[-5]", $bad);
ok(slurp_file($to) eq slurp_file("$made/wal/$wal[-5]"), 'fetch: its bytes');
AccelWal::put($to, 'before');
AccelWal::poke($bad, 5000, 'damage');
ends('fetch: only a damaged one', 2, qr/^\Q$bad\E: corrupt/, 'fetch', "--to=$to", $bad, "$made/none/$wal[-5]");
ok(slurp_file($to) eq 'before', 'fetch: what was there is left');
ends('fetch: the second one', 0, qr/^\Q$bad\E: corrupt/, 'fetch', "--to=$to", $bad, "$made/second/$wal[-5].gz");
ok(slurp_file($to) eq slurp_file("$made/wal/$wal[-5]"), 'fetch: decompressed');
ends('fetch: none', 1, qr/^$/, 'fetch', "--to=$to", "$made/none/$wal[-5]");
ends('fetch: no room', 1, qr/could not write/, 'fetch', "--to=$made/none/x", "$made/wal/$wal[-5]");
ends('fetch: of another cluster', 2, qr/foreign_system/, 'fetch', '--system-identifier=1', "--to=$to", "$made/wal/$wal[-5]");
ends('fetch: a history', 0, qr/^$/, 'fetch', '-q', "--to=$to", "$dir/00000003.history" =~ s/3(?=\.)/2/r);
is_deeply([ glob("$to.*") ], [], 'fetch: nothing is left beside it');

# --- recovery over a damaged archive and a good one ------------------------------------------

my $damaged = archive();
AccelWal::poke("$damaged/$wal[-4]", 5000, 'damage');
my %recovered;
foreach my $case ([ 'cp', "cp $damaged/%f %p" ], [ 'fetch', "$program fetch -q --to=%p $damaged/%f $made/wal/%f" ],
	[ 'stop', "$program fetch -q --to=%p $damaged/%f || { test \$? = 2 && exit 126 ; exit 1 ; }" ])
{
	my ($name, $command) = @$case;
	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($node, 'base');
	$copy->append_conf('postgresql.conf', "archive_mode = off\nhot_standby = off\nrestore_command = '$command'\n");
	$copy->append_conf('recovery.signal', '');
	if ($name eq 'stop')
	{
		# not by start(), which does not bear a server that ends while it starts
		append_to_file($copy->logfile, '');
		system_log('pg_ctl', '-D', $copy->data_dir, '-l', $copy->logfile, '-W', 'start');
		$copy->wait_for_log(qr/could not restore file|selected new timeline/);
		like(slurp_file($copy->logfile), qr/FATAL:.*could not restore file "$wal[-4]" from archive/, 'a status above 125 stops recovery');
		system_log('pg_ctl', '-D', $copy->data_dir, '-m', 'immediate', 'stop');
		next;
	}
	$copy->start;
	$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'still in recovery';
	$recovered{$name} = $copy->safe_psql('postgres', 'SELECT max(id) FROM t');
	$copy->stop;
}
cmp_ok($recovered{cp}, '<', 8, 'cp: recovery ends at the damage, without an error');
is($recovered{fetch}, 8, 'fetch: recovery goes on');

# a report on a disk that is full holds archiving up no more than a missing one
sql("ALTER SYSTEM SET archive_command = '$program segment -q --report=/dev/full %p && cp %p $made/wal/%f'; SELECT pg_reload_conf()");
my $next = sql("SELECT pg_logical_emit_message(true, 'more', 'x'); SELECT pg_walfile_name(pg_switch_wal() - 1)") =~ s/.*\n//sr;
ok($node->poll_query_until('postgres', "SELECT last_archived_wal >= '$next' FROM pg_stat_archiver"), 'archiving goes on');
$node->stop;

done_testing();
