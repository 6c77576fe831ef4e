# Every function gives way to a cancel on large input, refuses what is no
# regular file at once, and needs no more memory for more input.
#
# The functions are read from the catalog: one that has neither a large input
# here nor a reason to need none fails the test.  How long a cancel takes is
# printed.  Asserted is a bound that only a function that never looks exceeds,
# and in the long form that 99 of 100 cancels take effect within 100 ms, given
# the longest time that this machine needed to cancel a mere pg_sleep().
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use File::Copy;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $bound = 20;		# seconds
my $gigabytes = $ENV{LONG} ? 10 : 4;
my $cancels = $ENV{LONG} ? 100 : 5;		# of each function
my $limit = 100;	# milliseconds

my $node = Accel::new_node('main', extra => ['--wal-segsize=64'],
	conf => "autovacuum = off\njit = off\nmax_wal_size = 1GB\nmin_wal_size = 256MB\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->('CREATE EXTENSION crc32c_accel');

# A table of some gigabytes that takes no space: files with holes are pages of
# zeroes, healthy and new.
$q->(q{CREATE TABLE big (x text); INSERT INTO big VALUES ('first page'); CHECKPOINT});
my $file = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('big')");
$node->stop;
for my $segment (0 .. $gigabytes - 1)
{
	my $name = $segment ? "$file.$segment" : $file;
	open my $fh, '>>', $name or die "$name: $!";
	truncate $fh, 1 << 30 or die "$name: $!";
	close $fh;
}
$node->start;

# A file with holes, a full WAL segment, a large object and a value
my $dir = $node->basedir . '/files';
mkdir $dir or die $!;
open my $fh, '>', "$dir/big" or die $!;
truncate $fh, $gigabytes << 30;
close $fh;
my $segment = $q->('SELECT pg_walfile_name(pg_current_wal_lsn())');
$q->(q{CREATE TABLE fill AS SELECT i, repeat('x', 2000) FROM generate_series(1, 60000) i;
	SELECT pg_switch_wal()});
# the server may recycle it
copy($node->data_dir . "/pg_wal/$segment", "$dir/$segment") or die "$segment: $!";
$q->(q{CREATE TABLE value (v bytea);
	ALTER TABLE value ALTER v SET STORAGE EXTERNAL;
	INSERT INTO value SELECT decode(repeat('ab', 100000000), 'hex');
	SELECT lo_from_bytea(4711, v) FROM value;
	CREATE TABLE damaged AS SELECT FROM generate_series(1, 4000000);
	CREATE TABLE parted (n int) PARTITION BY RANGE (n);
	SELECT format('CREATE TABLE parted%s PARTITION OF parted FOR VALUES FROM (%1$s) TO (%1$s + 1)', g)
	FROM generate_series(1, 100) g \gexec
	INSERT INTO parted SELECT generate_series(1, 100);
	CHECKPOINT});
$file = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('damaged')");
$node->stop;
open $fh, '+<:raw', $file or die $!;
for (my $at = 5000; $at < -s $file; $at += 8192)
{
	sysseek $fh, $at, 0;
	syswrite $fh, 'damage';
}
close $fh;
my $backup = $node->basedir . '/copy';
system('cp', '-r', $node->data_dir, $backup) == 0 or die 'no copy';
$node->start;
$q->(q{CALL verify_database(relations => '{big}', record_digests => true, cluster_files => false)});
my $start = $q->('SELECT pg_current_wal_lsn() - 64::numeric * 1024 * 1024 * 2');

# A function's large input.  '-' and a reason: it needs no cancel of its own.
my $slow = q{SET crc32c_accel.kernel = 'bitwise'; };
my %input = (
	crc32c => 'SELECT public.crc32c(v) FROM value',
	crc32 => 'SELECT public.crc32(v) FROM value',
	crc32c_extend => 'SELECT crc32c_extend(0, v) FROM value',
	crc32_extend => 'SELECT crc32_extend(0, v) FROM value',
	crc32c_file => "SELECT crc32c_file('$dir/big')",
	crc32c_lo => 'SELECT crc32c_lo(4711)',
	crc32c_agg => 'SELECT crc32c_agg(v) FROM value, generate_series(1, 10)',
	checksum_self_test => 'SELECT count(*) FROM checksum_self_test(), generate_series(1, 3)',
	drive_crc32c => 'SELECT drive_crc32c(2000000000, 8192)',
	checksum_bench => q{SELECT count(*) FROM checksum_bench(min_time => '10 minutes')},
	verify_relation_summary => q{SELECT count(*) FROM verify_relation_summary('big')},
	verify_relation => q{SELECT count(*) FROM verify_relation('big')},
	page_digests => q{SELECT count(*) FROM page_digests('big')},
	verify_database => '- no timeout ends it; t/019 and t/020 cancel it',
	verify_cluster => '- no timeout ends it; t/107 cancels it',
	verify_wal => 'SELECT * FROM verify_wal()',
	'verify_wal, one' => "SELECT * FROM verify_wal('$dir', '$segment', '$segment')",
	verify_wal_segment => "SELECT status FROM verify_wal_segment(pg_read_binary_file('$dir/$segment'), '$segment'), generate_series(1, 100)",
	verify_wal_findings => "SELECT * FROM verify_wal_findings('$dir', '$segment')",
	verify_wal_archive => "CALL verify_wal_archive('$dir', reverify_after => '0')",
	'verify_wal, a range' => "SELECT * FROM verify_wal(start_lsn => '$start')",
	verify_cluster_files => 'SELECT count(*) FROM generate_series(1, 10000) g, verify_cluster_files(CASE WHEN g > 0 THEN NULL END)',
	verify_lost_writes => 'SELECT * FROM verify_lost_writes()',
	'verify_lost_writes, the device' => 'SELECT * FROM verify_lost_writes(direct_io => true)',
	verify_page_digests => q{SELECT count(*) FROM generate_series(1, 5) g, verify_page_digests(CASE WHEN g > 0 THEN 'big'::regclass END)},
	verify_wal_images => 'SELECT * FROM verify_wal_images()',
	wal_block_history => "SELECT count(*) FROM wal_block_history('big', 'main', 0, start_lsn => '$start')",
	wal_page_image => '- one record',
	verify_backup => "SELECT count(*) FROM verify_backup('$backup')",
	'verify_backup, the device' => "SELECT count(*) FROM verify_backup('$backup', direct_io => true)",
	'verify_wal, the device' => "SELECT * FROM verify_wal('$dir', direct_io => true)",
	verify_backups => "CALL verify_backups('$backup', reverify_after => '0')",
	verify_backup_summary => "SELECT * FROM verify_backup_summary('$backup')",
	verify_backup_windows => '- WAL, read as verify_backup does',
	crc32c_combine => '- constant time', crc32_combine => '- constant time',
	crc32c_bytes => '- four bytes',
	checksum_kernels => '- no input', crc32c_server => '- no input',
	verify_page => '- one page', read_disk_page => '- one page',
	heal_block => '- one page',
	restore_block => '- one page; what it reads of the WAL is read as wal_block_history does',
	relation_files => '- one row a gigabyte',
	prune_history => '- six statements of the server');

sub functions
{
	return split /\n/, $q->(q{
		SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
		WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
			AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel')
		ORDER BY 1});
}

my @functions = functions();
is(join(' ', grep { !exists $input{$_} && !/^internal_/ } @functions), '',
	'every function has a large input here, or a reason');

# More of the same, in other ways
my %more = (
	'crc32c_file, small file over and over' => "SELECT sum(crc32c_file('PG_VERSION')) FROM generate_series(1, 1000000)",
	'verify_relation_summary, 2 workers' => q{SELECT count(*) FROM verify_relation_summary('big', workers => 2)},
	'verify_relation, 2 workers' => q{SELECT count(*) FROM verify_relation('big', workers => 2)},
	'verify_relation_summary, the device, slowly' => q{SELECT count(*) FROM verify_relation_summary('big', max_rate => 10, direct_io => true)},
	'verify_relation_summary, slowly' => q{SELECT count(*) FROM verify_relation_summary('big', max_rate => 10)},
	'verify_relation_summary, slowly, 2 workers' =>
		q{SELECT count(*) FROM verify_relation_summary('big', workers => 2, max_rate => 10)},
	'verify_relation, all damaged' => q{SELECT count(*) FROM verify_relation('damaged')},
	'verify_relation, all damaged, 2 workers' =>
		q{SELECT count(*) FROM verify_relation('damaged', workers => 2)},
	'verify_relation, many partitions' =>
		q{SELECT count(*) FROM generate_series(1, 100) g, verify_relation(CASE WHEN g > 0 THEN 'parted'::regclass END)},
	'page_digests, masked' => q{SELECT count(*) FROM page_digests('fill', masked => true), generate_series(1, 10)},
	'verify_wal, 2 workers' => q{SELECT * FROM verify_wal(workers => 2)});

# The milliseconds that each of a number of timeouts took to take effect.  They
# come at random moments; a query that ended before its own is left out.
sub cancel_times
{
	my ($query, $n) = @_;
	my $script = $slow;
	my @timeouts = map { 5 + int rand 40 } 1 .. $n;

	foreach my $timeout (@timeouts)
	{
		$script .= "SET statement_timeout = $timeout;\n\\timing on\n$query;\n\\timing off\n"
		  . "\\echo state= :SQLSTATE\nRESET statement_timeout;\n";
	}
	my ($out, $err) = ('', '');
	$node->psql('postgres', $script, stdout => \$out, stderr => \$err,
		on_error_stop => 0, timeout => 600);
	$err = join "\n", grep { /ERROR|FATAL|PANIC|server closed/ && !/canceling statement due to statement timeout/ }
	  split /\n/, $err;
	my @runs = $out =~ /^Time: ([\d.]+) ms.*\nstate= (\w+)$/mg;
	my @times;
	while (my ($time, $state) = splice @runs, 0, 2)
	{
		my $timeout = shift @timeouts;
		push @times, $time - $timeout if $state eq '57014';
	}
	return ($err, scalar(@timeouts), sort { $a <=> $b } @times);
}

# the time within which 99 of 100 are, or all of fewer
sub percentile
{
	my (@times) = @_;
	return @times ? $times[ POSIX::ceil(@times * 0.99) - 1 ] : 0;
}

my %queries = ((map { $_ => $input{$_} } grep { ($input{$_} // '- ') !~ /^- / } @functions), %more);
my @noise;
my %times;
for my $name (sort keys %queries)
{
	my (undef, undef, @sleep) = cancel_times('SELECT pg_sleep(10)', $cancels / 4);
	push @noise, @sleep;
	my ($err, $lost, @times) = cancel_times($queries{$name}, $cancels);
	$times{$name} = \@times;
	is($err, '', "$name: ends by the timeout or by itself");
	is($lost, 0, "$name: an answer each time");
	cmp_ok($times[-1] // 0, '<', $bound * 1000, "$name: within the bound");
}
my $noise = (sort { $a <=> $b } @noise)[-1];
note(sprintf 'pg_sleep: %d cancels, slowest %.1f ms', scalar(@noise), $noise);
for my $name (sort keys %times)
{
	my @times = @{ $times{$name} };
	note(sprintf "%-50s %3d cancels, median %5.1f ms, 99 of 100 within %5.1f ms, slowest %5.1f ms", $name,
		scalar(@times), @times ? ($times[ $#times / 2 ], percentile(@times), $times[-1]) : (0, 0, 0));
	cmp_ok(percentile(@times), '<=', $limit + $noise, "$name: 99 of 100 cancels within $limit ms and the noise")
	  if $ENV{LONG};
}

# What is no regular file
my $odd = "$dir/odd";
mkdir $odd or die $!;
my $second = substr($segment, 0, 16) . '000000AA';
my %odd = (
	fifo => sub { POSIX::mkfifo($_[0], 0600) },
	directory => sub { mkdir $_[0] },
	'symbolic link loop' => sub { symlink $_[0], $_[0] },
	'link to a device' => sub { symlink '/dev/zero', $_[0] },
	'unreadable file' => sub { open my $f, '>', $_[0] or die; close $f; chmod 0, $_[0] });
for my $kind (sort keys %odd)
{
	my $path = "$odd/$second";
	$odd{$kind}->($path) or die "$kind: $!";
	for my $query ("SELECT crc32c_file('$path')",
		"SELECT status FROM verify_wal('$odd', '$second', '$second')",
		"SELECT status FROM verify_wal_findings('$odd', '$second')",
		"SELECT status FROM verify_wal('$odd')")
	{
		my ($function) = $query =~ /(\w+)\(/;
		next unless grep { $_ eq $function } @functions;
		my ($out, $err) = ('', '');
		my $begin = time;
		$node->psql('postgres', "SET statement_timeout = '${bound}s'; $query",
			stdout => \$out, stderr => \$err);
		cmp_ok(time - $begin, '<', $bound, "$function, $kind: at once");
		unlike($err, qr/statement timeout|server closed/, "$function, $kind: refused");
		isnt("$out$err", '', "$function, $kind: says so");
		unlike($out, qr/^ok/m, "$function, $kind: not ok");
	}
	-d $path && !-l $path ? rmdir $path : unlink $path;
}
for my $device ('/dev/zero', '/dev/null', '/dev/stdin')
{
	my ($out, $err) = ('', '');
	$node->psql('postgres', "SELECT crc32c_file('$device')", stdout => \$out, stderr => \$err);
	like($err, qr/ERROR/, "crc32c_file, $device: refused");
}

# Memory: the second run over everything needs what the first needed
my $rss = q{SELECT 'rss=' || (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1];};
for my $query ("SELECT crc32c_file('$dir/big')",
	(map { $input{$_} } grep { exists $input{$_} && /^verify_(relation_summary|relation_checksums|wal_directory)$/ } @functions),
	'SELECT public.crc32c(v) FROM value')
{
	my $out = $q->("$rss $query; $rss");
	my ($before, $after) = $out =~ /rss=(\d+)/g;
	cmp_ok($after - $before, '<=', 32 * 1024, "at most 32 MiB more memory: " . ($query =~ /(\w+)\(/)[0]);
	note("grew by " . ($after - $before) . " kB: $query");
}
$node->stop;
done_testing();
