# Every function gives way to a cancel on large input, refuses what is no
# regular file at once, and needs no more memory for more input.
#
# The functions are read from the catalog: one that has neither a large input
# here nor a reason to need none fails the test.  Times are printed, not
# asserted, but for a bound that only a function that never looks exceeds.
use strict;
use warnings;
use Accel;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $bound = 5;		# seconds
my $gigabytes = $ENV{LONG} ? 10 : 4;

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
	SELECT pg_switch_wal();
	CREATE TABLE value (v bytea);
	ALTER TABLE value ALTER v SET STORAGE EXTERNAL;
	INSERT INTO value SELECT decode(repeat('ab', 100000000), 'hex');
	SELECT lo_from_bytea(4711, v) FROM value});
my $start = $q->('SELECT pg_current_wal_lsn() - 64::numeric * 1024 * 1024 * 2');

# A function's large input.  '-' and a reason: it needs no cancel of its own.
my $slow = q{SET crc32c_accel.kernel = 'bitwise'; };
my %input = (
	crc32c => 'SELECT public.crc32c(v) FROM value',
	crc32c_accel => 'SELECT crc32c_accel(v) FROM value',
	crc32 => 'SELECT public.crc32(v) FROM value',
	crc32c_extend => 'SELECT crc32c_extend(0, v) FROM value',
	crc32_extend => 'SELECT crc32_extend(0, v) FROM value',
	crc32c_with_kernel => q{SELECT crc32c_with_kernel('bitwise', v) FROM value},
	crc32c_file => "SELECT crc32c_file('$dir/big')",
	crc32c_lo => 'SELECT crc32c_lo(4711)',
	crc32c_agg => 'SELECT crc32c_agg(v) FROM value, generate_series(1, 10)',
	checksum_self_test => 'SELECT count(*) FROM checksum_self_test(), generate_series(1, 3)',
	drive_crc32c => 'SELECT drive_crc32c(2000000000, 8192)',
	crc32c_bench => q{SELECT count(*) FROM crc32c_bench(min_time => '10 minutes')},
	page_checksum_bench => q{SELECT count(*) FROM page_checksum_bench(min_time => '10 minutes')},
	verify_relation_summary => q{SELECT count(*) FROM verify_relation_summary('big')},
	verify_relation_checksums => q{SELECT count(*) FROM verify_relation_checksums('big')},
	relation_page_crcs => q{SELECT count(*) FROM relation_page_crcs('big')},
	verify_database_checksums => q{CALL verify_database_checksums()},
	verify_wal_segment => "SELECT * FROM verify_wal_segment('$segment')",
	wal_findings => "SELECT * FROM wal_findings('$segment')",
	verify_wal_directory => 'SELECT * FROM verify_wal_directory()',
	verify_wal_range => "SELECT * FROM verify_wal_range('$start')",
	crc32c_combine => '- constant time', crc32_combine => '- constant time',
	crc32c_bytes => '- four bytes', crc32c_kernel => '- no input',
	checksum_kernels => '- no input', crc32c_server => '- no input',
	verify_page => '- one page', read_disk_page => '- one page',
	relation_segments => '- one row a gigabyte',
	checksum_progress => '- no input');

sub functions
{
	return split /\n/, $q->(q{
		SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
		WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
			AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel')
		ORDER BY 1});
}

my @functions = functions();
is(join(' ', grep { !exists $input{$_} && !/^(checksum_progress|accel_)/ } @functions), '',
	'every function has a large input here, or a reason');

# One that ends before it is cancelled is told from one that does not look.
for my $function (@functions)
{
	my $query = $input{$function} // next;
	next if $query =~ /^- /;
	my ($out, $err) = ('', '');
	my $timeout = 25;
	my $begin = time;
	$node->psql('postgres', "${slow}SET statement_timeout = $timeout; $query;",
		stdout => \$out, stderr => \$err, on_error_stop => 0, timeout => 120);
	my $took = time - $begin;
	my $cancelled = $err =~ /canceling statement due to statement timeout/;
	ok($cancelled || $err eq '', "$function: ends by the timeout or by itself")
	  or diag($err);
	cmp_ok($took, '<', $bound, "$function: within the bound");
	note(sprintf "%-28s %s after %.0f ms (timeout %d ms, connection included)", $function,
		$cancelled ? 'cancelled' : 'finished', $took * 1000, $timeout);
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
		"SELECT status FROM verify_wal_segment('$second', '$odd')",
		"SELECT status FROM wal_findings('$second', '$odd')",
		"SELECT status FROM verify_wal_directory('$odd')")
	{
		my ($function) = $query =~ /(\w+)\(/;
		next unless grep { $_ eq $function } @functions;
		my ($out, $err) = ('', '');
		my $begin = time;
		$node->psql('postgres', "SET statement_timeout = '${bound}s'; $query",
			stdout => \$out, stderr => \$err, timeout => 60);
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
	$node->psql('postgres', "SELECT crc32c_file('$device')", stdout => \$out, stderr => \$err, timeout => 60);
	like($err, qr/ERROR/, "crc32c_file, $device: refused");
}

# Memory: the second run over everything needs what the first needed
my $rss = q{SELECT 'rss=' || (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1];};
for my $query ("SELECT crc32c_file('$dir/big')",
	(map { $input{$_} } grep { exists $input{$_} && /^verify_(relation_summary|relation_checksums|wal_directory)$/ } @functions),
	'SELECT crc32c_accel(v) FROM value')
{
	my $out = $q->("$rss $query; $rss");
	my ($before, $after) = $out =~ /rss=(\d+)/g;
	cmp_ok($after - $before, '<=', 32 * 1024, "at most 32 MiB more memory: " . ($query =~ /(\w+)\(/)[0]);
	note("grew by " . ($after - $before) . " kB: $query");
}
$node->stop;
done_testing();
