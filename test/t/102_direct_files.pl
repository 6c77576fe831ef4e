# Devices: WAL, archives, backups and files of the cluster on them, which
# direct_io reads below the page cache (094 does so with relations).
#
# Each is damaged on the device under good bytes in the page cache: nothing is
# found without direct_io, and each place with it.
use strict;
use warnings;
use Accel;
use AccelProgram;
use AccelWal;
use Device;
use File::Copy;
use File::Find;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $none = Device::missing('ext4');
plan(skip_all => $none) if defined $none;

my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1,
	conf => "autovacuum = off\nfsync = on\nmax_worker_processes = 8\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql('CREATE EXTENSION crc32c_accel');
sql("CREATE TABLE t AS SELECT g, md5(g::text) AS m, repeat(md5(g::text), 20) AS b FROM generate_series(1, 30000) g");
sql('SELECT pg_switch_wal()');

$AccelProgram::comparing = 1;	# it would read them into the page cache

my $seed = $ENV{ACCEL_SEED} || time;
srand($seed);
note("seed $seed");

sub err
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

# Writes a file and has it on its device.
sub put_file
{
	my ($from, $to) = @_;
	copy($from, $to) or die "$to: $!";
	system('sync', $to) == 0 or die 'sync';
	return;
}

# --- archives ------------------------------------------------------------------------

my $pg_wal = $node->data_dir . '/pg_wal';
my @segments = map { m{([0-9A-F]{24})$} } sort glob("$pg_wal/0000000100000000????????");
my ($last) = sql("SELECT pg_walfile_name(pg_current_wal_lsn())");
@segments = grep { $_ lt $last } @segments;
cmp_ok(scalar(@segments), '>', 20, 'segments');
splice(@segments, 20);

foreach my $fs ('ext4', 'xfs')
{
  SKIP:
	{
		my $why = Device::missing($fs);
		skip("$fs: $why", 1) if defined $why;
		foreach my $format ('plain', 'gzip')
		{
			my $archive = Device::folder($fs) . "/archive_$format";
			mkdir $archive;
			foreach my $name (@segments)
			{
				put_file("$pg_wal/$name", "$archive/$name");
				system('gzip', '-1', "$archive/$name") == 0 or die 'gzip' if $format eq 'gzip';
			}
			my @files = sort glob("$archive/*");
			system('sync', @files) == 0 or die 'sync';
			my %pieces = map { $_ => [ Device::pieces($_) ] } @files;
			my $direct = "verify_wal('$archive', direct_io => true%s)";
			my $bad = "SELECT count(*) FROM %s WHERE is_finding";
			is(sql(sprintf($bad, sprintf($direct, ''))), '0', "$fs: a healthy archive, $format");
			Device::drop_cached(@files);
			my $before = Device::cached_of(@files);
			is(sql(sprintf($bad, sprintf($direct, ''))), '0', '... that is not in the page cache');
			is(Device::cached_of(@files), $before, '... where it does not come by that');

			my ($name) = $files[3] =~ m{([^/]+)$};
			my $program = AccelProgram::path();
			my $segments = "SELECT string_agg(DISTINCT left(segment, 24), ' ' ORDER BY left(segment, 24)) FROM %s WHERE is_finding";
			my $run = sub {
				my ($code, $out, $err) = $node->psql('postgres', "CALL verify_wal_archive('$archive', reverify_after => '0 s'$_[0])");
				return sql("SELECT count(*) FROM verify_wal_files WHERE status = 'corrupt' AND directory LIKE '%/$fs/archive_$format'");
			};
			my $kept = Device::keep(@files);
			foreach my $file (@files)
			{
				# places in the first half of each, which no end of WAL leaves out
				my %at = map { 1 + int(rand(@{ $pieces{$file} } / 2 - 1)) => 1 } 1 .. 13;
				Device::damage($fs, Device::place_of($file, $_ * 4096) + 64 + int(rand(3000))) foreach sort keys %at;
			}
			is(sql(sprintf($bad, "verify_wal('$archive')")), '0', "... all $format files damaged below the page cache: nothing without direct_io");
			is(sql(sprintf($segments, sprintf($direct, ''))), join(' ', @segments), '... each with it');
			is(sql(sprintf($segments, sprintf($direct, ', workers => 2, max_rate => 100000'))), join(' ', @segments), '... by workers, with a bound on the rate');
			is(sql("SELECT count(*) FROM verify_wal_findings('$archive', '$name')"), '0', '... one file: nothing without');
			is(sql("SELECT count(*) > 0 FROM verify_wal_findings('$archive', '$name', direct_io => true)"), 't', '... and findings with it');
			is(sql("SELECT crc32c_file('$files[3]') = crc32c_file('$files[3]', direct_io => true)"), 'f', '... another CRC-32C of the file');
			is($run->(''), '0', '... a run over the archive: nothing without');
			is($run->(', direct_io => true'), '20', '... and all of them with it');
			is(system("$program wal -q $archive >/dev/null 2>&1") >> 8, 0, '... the program: nothing without');
			is(system("$program wal -q --direct-io -j 2 $archive >/dev/null 2>&1") >> 8, 2, '... and findings with it');
			my $to = $node->basedir . '/fetched';
			is(system("$program segment -q --on-finding=fail $files[3] >/dev/null 2>&1") >> 8, 0, '... of one file: nothing without');
			is(system("$program segment -q --on-finding=fail --direct-io $files[3] >/dev/null 2>&1") >> 8, 2, '... and findings with it');
			is(system("$program fetch --to=$to $files[3] >/dev/null 2>&1") >> 8, 0, '... a copy is given without');
			is(system("$program fetch --direct-io --to=$to $files[3] >/dev/null 2>&1") >> 8, 2, '... and not with it');
			undef $kept;
			Device::drop_cached(@files);
			is(sql(sprintf("SELECT count(DISTINCT left(segment, 24)) FROM %s WHERE is_finding", "verify_wal('$archive')")), '20',
				'... the page cache forgot them: all without direct_io');
			system('rm', '-rf', $archive);
		}
	}
}

# The server's own WAL, with the segment that is being written.
is(sql("SELECT count(*) FROM verify_wal(direct_io => true) WHERE is_finding"), '0', "the server's own WAL");
{
	sql('SELECT pg_switch_wal()');
	sql("INSERT INTO t SELECT g, md5(g::text), repeat(md5(g::text), 20) FROM generate_series(1, 600) g");
	my ($now, $ago) = map { "$pg_wal/$_" } split /\|/, sql("SELECT pg_walfile_name(pg_current_wal_lsn()), pg_walfile_name(pg_current_wal_lsn() - 1048576)");
	Device::drop_cached($now, $ago);
	is(sql("SELECT count(*) FROM verify_wal(direct_io => true) WHERE is_finding"), '0', '... once more');
	cmp_ok(Device::cached($now), '>', 50, '... whose newest segment is read through the page cache, since it is being written');
	is(Device::cached($ago), 0, '... and no other');
}

# crc32c_file at any place
my $odd = Device::folder('ext4') . '/odd';
append_to_file($odd, join('', map { chr(rand(256)) } 1 .. 100_003));
foreach my $range ('', ', 1', ', 4095, 2', ', 4096, 4096', ', 99999', ', 5000, 70000', ', 100003', ', 200000')
{
	is(sql("SELECT crc32c_file('$odd'$range, direct_io => true)"), sql("SELECT crc32c_file('$odd'$range)"), "a file of an odd size$range");
}
like(err("SELECT crc32c_file('" . Device::folder('ext4') . "/nothing', direct_io => true)"), qr/No such file/, 'no file');
is(sql("SELECT crc32c_file('" . Device::folder('ext4') . "/nothing', missing_ok => true, direct_io => true)"), '', '... which may be');

# --- backups -------------------------------------------------------------------------

foreach my $format ('plain', 'tar')
{
	my $backup = Device::folder('ext4') . "/backup_$format";
	command_ok([ 'pg_basebackup', '-D', $backup, '-d', $node->connstr('postgres'), '-F', $format eq 'tar' ? 't' : 'p', '-c', 'fast', '-X', 'fetch' ], "a backup, $format");
	my @files;
	find(sub { push @files, $File::Find::name if -f $_ && -s $_ >= 8192 && $_ ne 'backup_manifest' && $File::Find::name !~ m{/pg_wal/}; }, $backup);
	system('sync', @files) == 0 or die 'sync';
	my (%of, %times);
	foreach my $file (@files)
	{
		my $n = 0;
		foreach my $piece (Device::pieces($file))
		{
			$times{$piece}++;
			$of{$piece} = $file;
		}
	}
	my @once = grep { $times{$_} == 1 && length $_ == 4096 && !/^\0+$/ } sort keys %of;
	# sparse enough that a folder of the file system holds no copy
	my @chosen = map { $once[ int(rand(@once)) ] } 1 .. 1000;
	my $places = Device::places('ext4', @chosen);
	@chosen = grep { defined $places->{$_} } @chosen;
	is(sql("SELECT count(*) FROM verify_backup('$backup', direct_io => true)"), '0', "$format: a healthy backup");
	my %bad = map { $of{$_} => 1 } @chosen;
	my $expected = join(' ', sort map { s{^\Q$backup\E/}{}r } keys %bad);
	$expected = '' if $format eq 'tar';
	my $kept = Device::keep(@files);
	my %damaged;
	foreach my $piece (@chosen)
	{
		Device::damage('ext4', $places->{$piece} + 100 + int(rand(3900))) if !$damaged{$piece}++;
	}
	note(scalar(keys %damaged) . ' places in ' . scalar(keys %bad) . ' files');
	is(sql("SELECT count(*) FROM verify_backup('$backup')"), '0', '... damaged below the page cache: nothing without direct_io');
	my %found = map { $_ => 1 } split /\n/, sql("SELECT DISTINCT path FROM verify_backup('$backup', direct_io => true)");
	is(join(' ', grep { $found{$_} } split / /, $expected), $expected, '... each file with it');
	is(sql("SELECT status FROM verify_backup_summary('$backup', direct_io => true, workers => 2, max_rate => 1000000)"), 'damaged', '... by workers');
	undef $kept;
	Device::mend();
	system('rm', '-rf', $backup);
}

# --- recover -------------------------------------------------------------------------

{
	my $top = Device::folder('ext4') . '/recover';
	my $program = AccelProgram::path();
	chomp(my $bindir = `pg_config --bindir`);
	mkdir $_ foreach $top, "$top/wal";
	sql("CREATE TABLE cold AS SELECT g, md5(g::text) AS m FROM generate_series(1, 1000) g");
	sql('CREATE TABLE warm AS SELECT g FROM generate_series(1, 1000) g');
	sql('VACUUM FREEZE cold, warm');
	my $database = sql('SELECT oid FROM pg_database WHERE datname = current_database()');
	my ($cold, $warm) = map { sql("SELECT pg_relation_filepath('$_')") } 'cold', 'warm';
	command_ok([ 'pg_basebackup', '-D', "$top/base", '-d', $node->connstr('postgres'), '-c', 'fast', '-X', 'none', '--no-manifest' ], 'a backup to recover from');
	sql('UPDATE warm SET g = g + 1');
	my $end = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
	sql('SELECT pg_switch_wal()');
	my ($start) = slurp_file("$top/base/backup_label") =~ /file ([0-9A-F]{24})/;
	my @names = grep { $_ ge $start && $_ le $end } map { m{([0-9A-F]{24})$} } sort glob("$pg_wal/0000000100000000????????");
	put_file("$pg_wal/$_", "$top/wal/$_") foreach @names;
	my @base;
	find(sub { push @base, $File::Find::name if -f $_; }, "$top/base");
	system('sync', @base) == 0 or die 'sync';

	# Status and what was said, with a count of what the folder for it holds then.
	my $tries = 0;
	my $recover = sub {
		my ($wal, @options) = @_;
		my $out = $node->basedir . '/recovered' . ++$tries;
		my $said = '';
		IPC::Run::run([ $program, 'recover', "--backup=$top/base", "--wal=$wal", "--bindir=$bindir", "--out=$out", @options ], '>', \$said, '2>&1');
		my $status = $? >> 8;
		my @left;
		for (1 .. 1000)			# what ends at once leaves the folder to the process that keeps it
		{
			@left = glob("$out/*") or last;
			last if $status == 0;
			usleep(20_000);
		}
		return "$status left: " . scalar(@left) . " $said";
	};
	my @block = ("--block=$warm:0");
	my @tables = ("--database=$database", "--relation=$cold");
	like($recover->("$top/wal", @block, '--direct-io'), qr/^0 .*recovered at/s, 'recover, with direct-io');
	ok(Device::leaves_cache("$top/wal/$names[0]", sub { $recover->("$top/wal", @block, '--direct-io') }), '... which leaves the page cache as it was');
	ok(Device::leaves_cache("$top/wal/$names[0]", sub { system("$program wal -q --direct-io $top/wal >/dev/null 2>&1") }), '... as does wal');
	ok(Device::leaves_cache("$top/wal/$names[0]", sub { sql("SELECT count(*) FROM verify_wal('$top/wal', direct_io => true)") }), '... and verify_wal');
	ok(Device::leaves_cache("$top/base/$cold", sub { sql("SELECT crc32c_file('$top/base/$cold', direct_io => true)") }), '... and crc32c_file');
	my @wal = map { "$top/wal/$_" } @names;
	Device::drop_cached(@wal, "$top/base/$cold");
	like($recover->("$top/wal", @tables, '--direct-io'), qr/^0 .*recovered up to/s, '... of tables');
	is(Device::cached_of(@wal, "$top/base/$cold"), 0, '... which brings nothing into the page cache');

	my @pages = Device::pieces("$top/base/$cold");
	my $kept = Device::keep(@wal, "$top/base/$cold");
	Device::damage('ext4', Device::places('ext4', $pages[4])->{ $pages[4] } + 200);
	like($recover->("$top/wal", @tables), qr/^0 /, 'a page of the backup damaged below the page cache: nothing without direct-io');
	like($recover->("$top/wal", @tables, '--direct-io'), qr/^1 left: 0 .*block 2 of "\Q$cold\E" has a wrong checksum, as it has in the backup/s, '... and refused with it');

	my @bytes = Device::pieces("$top/wal/$names[0]");
	my ($at) = grep { $bytes[$_] !~ /^\0/ && substr($bytes[$_], 3000, 3) ne "\0\0\0" } reverse(0 .. $#bytes - 1);
	Device::damage('ext4', Device::places('ext4', $bytes[$at])->{ $bytes[$at] } + 64);
	like($recover->("$top/wal", @block), qr/^0 /, 'WAL damaged below the page cache: nothing without direct-io');
	like($recover->("$top/wal", @block, '--direct-io'), qr/^1 left: 0 .*WAL (?:has a gap|ends at).*/s, '... and refused with it');
	undef $kept;
	Device::mend();
	my $why = Device::missing('tmpfs');
  SKIP:
	{
		skip("tmpfs: $why", 1) if defined $why;
		my $folder = Device::folder('tmpfs') . '/wal';
		mkdir $folder;
		copy("$top/wal/$_", "$folder/$_") foreach @names;
		like($recover->($folder, @block), qr/^0 /, 'WAL on tmpfs is recovered from without direct-io');
		like($recover->($folder, @block, '--direct-io'),
			qr{^1 left: 0 .*file system of "[^"]*/wal/[0-9A-F]+" does not read past its page cache: its type is tmpfs$}s, '... and refused with it');
		system('rm', '-rf', $folder);
	}
	system('rm', '-rf', $top);
}

# --- the cluster ---------------------------------------------------------------------

is(sql("SELECT count(*) FROM verify_cluster_files(direct_io => true) WHERE is_finding"), '0', 'files of the cluster');
my ($code, $out, $err) = $node->psql('postgres', 'CALL verify_database(direct_io => true, workers => 2)');
like($err, qr/; 0 findings/, 'a database');

# a data directory of its own on the device, with a damaged pg_control below a good one
my $copy = Device::folder('ext4') . '/copy';
$node->stop;
system('cp', '-a', $node->data_dir, $copy) == 0 or die 'cp';
$node->start;
my $control = "$copy/global/pg_control";
system('sync', $control) == 0 or die 'sync';
my ($first) = Device::pieces($control);
my $kept = Device::keep($control);
Device::damage('ext4', Device::places('ext4', $first)->{$first} + 40);
is(sql("SELECT count(*) FROM verify_cluster_files('$copy') WHERE is_finding"), '0', 'pg_control damaged below the page cache: nothing without direct_io');
is(sql("SELECT kind, status FROM verify_cluster_files('$copy', direct_io => true) WHERE is_finding"), 'control|checksum_mismatch', '... with it');

# The same server, with all of it on the device: its own WAL
undef $kept;
Device::mend();
$node->stop;
system('rm', '-rf', $copy);
system('cp', '-a', $node->data_dir, $copy) == 0 or die 'cp';
command_ok([ 'pg_ctl', '-D', $copy, '-w', '-l', $node->logfile . '.copy', 'start' ], 'the server, on the device');
{
	sql('SELECT pg_switch_wal()') if sql('CREATE TABLE IF NOT EXISTS more (i int)') eq '';
	my $of_now = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
	my @own = grep { /([0-9A-F]{24})$/ && $1 lt $of_now } sort glob("$copy/pg_wal/0000000100000000????????");
	splice(@own, 0, @own - 25) if @own > 25;
	system('sync', @own) == 0 or die 'sync';
	my $found = "SELECT string_agg(DISTINCT segment, ' ' ORDER BY segment) FROM verify_wal(%s) WHERE is_finding";
	is(sql(sprintf($found, 'direct_io => true')), '', 'nothing is wrong with its WAL');
	my $held = Device::keep(@own);
	my @used = grep { AccelWal::peek($_, 16384, 8) ne "\0" x 8 && AccelWal::peek($_, 20000, 8) ne "\0" x 8 } @own;
	cmp_ok(scalar(@used), '>', 15, 'segments that are full of WAL');
	Device::damage('ext4', Device::place_of($_, 20000)) foreach @used;
	is(sql(sprintf($found, '')), '', '... damaged below the page cache: nothing without direct_io');
	is(sql(sprintf($found, 'direct_io => true')), join(' ', map { /([0-9A-F]{24})$/ } @used), '... each segment with it');
	undef $held;
	Device::drop_cached(@used);
	is(sql(sprintf($found, '')), join(' ', map { /([0-9A-F]{24})$/ } @used), '... the page cache forgot them: each without it');
	Device::mend();
}
command_ok([ 'pg_ctl', '-D', $copy, '-w', '-m', 'immediate', 'stop' ], '... ends');
$node->start;

# --- refused -------------------------------------------------------------------------

SKIP:
{
	my $why = Device::missing('tmpfs');
	skip("tmpfs: $why", 1) if defined $why;
	my $folder = Device::folder('tmpfs') . '/archive';
	mkdir $folder;
	copy("$pg_wal/$_", "$folder/$_") foreach @segments[0 .. 1];
	foreach my $sql ("SELECT verify_wal('$folder', direct_io => true)", "SELECT verify_wal('$folder', direct_io => true, workers => 1)",
		"SELECT verify_wal_findings('$folder', '$segments[0]', direct_io => true)", "CALL verify_wal_archive('$folder', direct_io => true)",
		"SELECT crc32c_file('$folder/$segments[0]', direct_io => true)")
	{
		like(err($sql), qr/ERROR:  file system of "\Q$folder\E\/$segments[0]" does not read past its page cache\nDETAIL:  Its type is tmpfs/, "tmpfs: $sql");
	}
	my $said = `@{[ AccelProgram::path() ]} wal --direct-io $folder 2>&1`;
	like($said, qr/file system of .* does not read past its page cache: its type is tmpfs/, 'tmpfs: the program');
	command_ok([ 'pg_basebackup', '-D', Device::folder('tmpfs') . '/backup', '-d', $node->connstr('postgres'), '-c', 'fast', '-X', 'none' ], 'a backup there');
	like(err("SELECT verify_backup('" . Device::folder('tmpfs') . "/backup', direct_io => true)"), qr/does not read past its page cache/, '... is refused');
	like(err("SELECT verify_cluster_files('" . Device::folder('tmpfs') . "/backup', direct_io => true)"), qr/does not read past its page cache/, '... and its files');
}

$node->stop;
done_testing();
