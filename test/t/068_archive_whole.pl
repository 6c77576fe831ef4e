# An archive as what a restore needs: backup files that agree with themselves, the
# newest end, WAL that was dropped between two backups by design; and what is
# remembered of archives that are gone, have two names, or are another cluster's.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Path qw(remove_tree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tmp = PostgreSQL::Test::Utils::tempdir();
my $archive = "$tmp/archive";
mkdir $archive;
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1,
	conf => "autovacuum = off\nmax_wal_size = 1GB\ncheckpoint_timeout = 1h\narchive_mode = on\narchive_command = 'cp \"%p\" \"$archive/%f\"'\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }
$node->start;
sql('CREATE EXTENSION crc32c_accel; CREATE TABLE t (i int)');

sub fill { return sql('INSERT INTO t SELECT g FROM generate_series(1, 1000) g; SELECT pg_switch_wal(); ' x 4); }

# Until all of the log so far is archived; returns the last name.
sub archived
{
	my $switched = (split /\n/, sql('CREATE TABLE IF NOT EXISTS s (); DROP TABLE s; SELECT pg_walfile_name(pg_switch_wal())'))[-1];
	$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$switched' FROM pg_stat_archiver") or die 'not archived';
	return $switched;
}

# Three backups, with segments before, between and after them.
foreach my $n (1 .. 3)
{
	fill();
	$node->backup("b$n");
}
fill();
my $newest = archived();
my @backups;
foreach my $file (sort map { s{.*/}{}r } glob("$archive/*.backup"))
{
	my ($start, $stop) = slurp_file("$archive/$file") =~ /\(file ([0-9A-F]{24})\)/g;
	push @backups, { file => $file, start => $start, stop => $stop };
}
is(scalar(@backups), 3, 'three backups');
my @all = map { s{.*/}{}r } glob("$archive/*[0-9A-F]");

# --- the archive of this server ------------------------------------------------

sub call
{
	my ($dir, $more, $server) = @_;
	my (undef, undef, $err) = ($server // $node)->psql('postgres', "CALL verify_wal_archive('$dir'" . ($more // '') . ')');
	my ($verdict) = $err =~ /INFO:  (\w+: .*)/;
	return ($verdict // $err, join("\n", $err =~ /^.*?((?:WARNING|ERROR):  .*(?:\n.*?DETAIL:  .*)?)$/mg));
}
sub finds
{
	my ($dir, $count, $title, $more) = @_;
	my ($verdict, $warnings) = call($dir, $more);
	like($verdict, qr/^completed: .*; \Q$count\E finding/, $title) or diag $warnings;
	return $warnings;
}
sub rows { return sql("SELECT coalesce(string_agg($_[1], ', ' ORDER BY segment), '') FROM verify_wal_files WHERE directory = '$_[0]' AND " . ($_[2] // 'true')); }

is(finds($archive, 0, 'whole'), '', 'whole: nothing is said');
is(rows($archive, "segment || ' ' || status", "segment LIKE '%backup'"), join(', ', map { "$_->{file} ok" } @backups), 'a row of each backup file');
my @end = @all[-2, -1];
is($end[1], $newest, 'the last segment is the newest');
rename("$archive/$_", "$tmp/$_") or die $! foreach @end;
like(finds($archive, 2, 'the newest end is gone'), qr/missing WAL segment "$end[0]".*missing WAL segment "$end[1]"/s, 'the newest end is gone: both are missing');
sql('DELETE FROM verify_wal_files');
like(finds($archive, 2, 'the newest end was never seen'), qr/missing WAL segment "$end[0]".*missing WAL segment "$end[1]"/s, 'the newest end was never seen: both are missing');
is(rows($archive, "segment || ' ' || status", 'is_finding'), "$end[0] missing, $end[1] missing", 'recorded');
finds($archive, 2, 'told each time');
rename("$tmp/$_", "$archive/$_") or die $! foreach @end;
finds($archive, 0, 'they are back');
system_or_bail('gzip', "$archive/$end[1]");
finds($archive, 0, 'the newest is compressed');
system_or_bail('gunzip', "$archive/$end[1].gz");

# Since the configuration was read nothing was archived: who knows where it was
# put before?
rename("$archive/$_", "$tmp/$_") or die $! foreach @end;
sql('DELETE FROM verify_wal_files');
$node->append_conf('postgresql.conf', "archive_command = 'cp \"%p\" \"nowhere:$archive/%f\"'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('archive_command') LIKE '%nowhere%'") or die 'not reloaded';
finds($archive, 0, 'archived elsewhere');
$node->append_conf('postgresql.conf', "archive_command = 'cp \"%p\" \"$archive/%f\"'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('archive_command') NOT LIKE '%nowhere%'") or die 'not reloaded';
finds($archive, 0, 'nothing archived since the configuration was read');
rename("$tmp/$_", "$archive/$_") or die $! foreach @end;

# --- copies: backup files, and what is dropped between backups ------------------

my $copies = 0;
sub copy_of_archive
{
	my $copy = "$tmp/copy" . ++$copies;
	AccelWal::copy_files($archive, $copy);
	utime(time - 1000, time - 1000, glob("$copy/*"));	# of now, they would be read again
	return $copy;
}
sub edit
{
	my ($path, $what) = @_;
	local $_ = slurp_file($path);
	$what->();
	AccelWal::put($path, $_);
	return;
}
my $second = $backups[1]{file};
foreach my $case (
	[ 'cut off', sub { edit($_[0], sub { $_ = substr($_, 0, 80) }) }, 'corrupt', qr/line 2 of the backup file is not the one of a START or STOP WAL LOCATION/ ],
	[ 'empty', sub { edit($_[0], sub { $_ = '' }) }, 'corrupt', qr/line 1 of the backup file/ ],
	[ 'zeros', sub { edit($_[0], sub { $_ = "\0" x length }) }, 'corrupt', qr/line 1 of the backup file/ ],
	[ 'another start', sub { edit($_[0], sub { s{START WAL LOCATION: \d+/\K\S+}{1000028} }) }, 'corrupt', qr/the backup file says that its backup starts at 0\/1000028, its name/ ],
	[ 'another one\'s', sub { edit($_[0], sub { $_ = slurp_file("$archive/$backups[0]{file}") }) }, 'corrupt', qr/the backup file says that its backup starts at/ ],
	[ 'a stop in another segment', sub { edit($_[0], sub { s{STOP WAL LOCATION: \S+ \(file \K[0-9A-F]+}{$backups[0]{stop}} }) }, 'corrupt', qr/the backup file says that its backup stops at/ ],
	[ 'a stop before the start', sub { edit($_[0], sub { s{STOP WAL LOCATION: \S+ \(file [0-9A-F]+}{STOP WAL LOCATION: 0/1000028 (file 000000010000000000000010} }) }, 'corrupt', qr/the backup file says that its backup stops at 0\/1000028/ ],
	[ 'a directory', sub { unlink $_[0]; mkdir $_[0] }, 'not_verifiable', qr/not a regular file/ ],
	[ 'compressed', sub { system_or_bail('gzip', $_[0]) }, 'ok', undef ])
{
	my ($title, $change, $status, $words) = @$case;
	my $copy = copy_of_archive();
	$change->("$copy/$second");
	is(sql("SELECT string_agg(status, ' ' ORDER BY segment) FROM verify_wal('$copy') WHERE segment LIKE '%.backup%'"), "ok $status ok", "backup file: $title");
	like(sql("SELECT message FROM verify_wal('$copy') WHERE segment LIKE '$second%'"), $words, "backup file: $title: its words") if $words;
	like((call($copy))[1], qr/ backup file "$second"/, "backup file: $title: told") if $words;
}

# The segments between two names.
sub between { return grep { $_ gt $_[0] && $_ lt $_[1] } @all; }
my @dropped = map { [ between($backups[$_]{stop}, $backups[ $_ + 1 ]{start}) ] } 0, 1;
cmp_ok(scalar(@{ $dropped[$_] }), '>=', 2, "segments between backups $_") foreach 0, 1;
my $both = between($backups[0]{stop}, $backups[2]{start});
foreach my $case (
	[ 'all before the first backup', sub { grep { $_ lt $backups[0]{start} } @all }, 0 ],
	[ 'between two backups', sub { @{ $dropped[0] } }, 0 ],
	[ 'between three backups', sub { map { @$_ } @dropped }, 0 ],
	[ 'the end of a backup, too', sub { @{ $dropped[0] }, $backups[0]{stop} }, @{ $dropped[0] } + 1 ],
	[ 'the start of a backup, too', sub { @{ $dropped[0] }, $backups[1]{start} }, @{ $dropped[0] } + 1 ],
	[ 'one less at its beginning', sub { @{ $dropped[0] }[ 1 .. $#{ $dropped[0] } ] }, $#{ $dropped[0] } ],
	[ 'one less at its end', sub { @{ $dropped[0] }[ 0 .. $#{ $dropped[0] } - 1 ] }, $#{ $dropped[0] } ],
	[ 'a backup whose file is there', sub { between($backups[0]{stop}, $backups[2]{start}) }, $both ],
	[ 'a backup and its file', sub { between($backups[0]{stop}, $backups[2]{start}), $second }, 0 ],
	[ 'between two, and the file of the first', sub { @{ $dropped[0] }, $backups[0]{file} }, scalar(@{ $dropped[0] }) ],
	[ 'between two, and the file of the second', sub { @{ $dropped[0] }, $backups[1]{file} }, scalar(@{ $dropped[0] }) ])
{
	my ($title, $names, $missing) = @$case;
	my $fresh = copy_of_archive();
	my $seen = copy_of_archive();
	my @gone = $names->();
	finds($seen, 0, "$title: before");
	unlink(map { ("$fresh/$_", "$seen/$_") } @gone);
	is(sql("SELECT count(*) FROM verify_wal('$fresh') WHERE status = 'missing'"), $missing, "$title: missing");
	finds($fresh, $missing, "$title: an archive that was never seen");
	finds($seen, $missing, "$title: an archive that was whole");
	is(rows($seen, "segment", "NOT is_finding AND status = 'ok_expired'"), $missing ? '' : join(', ', grep { /^[0-9A-F]{24}$/ } sort @gone), "$title: expired");
}

# a backup that is not readable: nobody knows what it needs
my $unknown = copy_of_archive();
unlink(map { "$unknown/$_" } @{ $dropped[0] });
edit("$unknown/$backups[2]{file}", sub { $_ = '' });
is(sql("SELECT count(*) FROM verify_wal('$unknown') WHERE status = 'missing'"), scalar(@{ $dropped[0] }), 'with a backup file that cannot be read, all is missing');

# --- the same archive, and one that is gone -------------------------------------

my $copy = copy_of_archive();
symlink($copy, "$tmp/link") or die $!;
like((call($copy))[0], qr/^completed: \d+ segments, [1-9]\d* read/, 'an archive');
like((call("$tmp/link"))[0], qr/^completed: \d+ segments, 0 read/, 'by a symbolic link it is the same one');
is(sql("SELECT count(*) FROM verify_wal_files WHERE directory LIKE '%/link'"), '0', 'with one set of rows');
unlink "$copy/$all[3]";
finds($copy, 1, 'with a finding');
rename($copy, "$copy.away") or die $!;
finds($archive, 0, 'it is gone');
cmp_ok(rows($copy, 'status', 'is_finding'), 'eq', 'missing', 'its finding stays for a while: a storage may be away');
sql("SELECT prune_history('1 hour')");
isnt(rows($copy, 'status'), '', 'as long as the history is kept');
sql("SELECT prune_history('0')");
is(rows($copy, 'status'), '', 'then it goes');
isnt(rows($archive, 'status'), '', 'those of an archive that is there stay');
$node->append_conf('postgresql.conf', 'crc32c_accel.history_keep_time = 0');
$node->reload;
rename("$copy.away", $copy) or die $!;
finds($copy, 1, 'it is back');
rename($copy, "$copy.away") or die $!;
$node->poll_query_until('postgres', "SELECT current_setting('crc32c_accel.history_keep_time', true) = '0'") or die 'not reloaded';
finds($archive, 0, 'a run');
is(rows($copy, 'status'), '', 'a run does it, too');

# --- an archive of another cluster ------------------------------------------------

my $other = Accel::new_node('other', extra => ['--wal-segsize=1']);
$other->start;
$other->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
my $system = sql('SELECT system_identifier FROM pg_control_system()');
utime(time - 1000, time - 1000, glob("$archive/*"));
my ($verdict, $warnings) = call($archive, undef, $other);
like($verdict, qr/^completed: .*; @{[scalar @all]} findings/, 'elsewhere it is foreign');
like($warnings, qr/foreign_system/, 'and says so');
($verdict, $warnings) = call($archive, ", system_identifier => $system", $other);
like($verdict, qr/^completed: @{[scalar @all]} segments, @{[scalar @all]} read, .*; 0 findings, 0 not/, 'with its identifier it is not, and is read again');
is($warnings, '', 'nothing is said');
like((call($archive, ", system_identifier => $system", $other))[0], qr/^completed: @{[scalar @all]} segments, 0 read, .*; 0 findings, 0 not/, 'it is remembered');
is($other->safe_psql('postgres', "SELECT DISTINCT system_identifier = $system FROM verify_wal_files"), 't', 'for that identifier');
like((call($archive, ", system_identifier => $system, workers => 2, reverify_after => '0'", $other))[0], qr/; 0 findings, 0 not/, 'with workers, too');
like((call($archive, undef, $other))[0], qr/^completed: .*, @{[scalar @all]} read, .*; @{[scalar @all]} findings/, 'without it is foreign again');
$other->stop;

# --- a folder that cannot be read ------------------------------------------------

my $deep = "$tmp/deep";
my $folder = substr($all[0], 0, 16);
mkdir $_ foreach $deep, "$deep/$folder";
AccelWal::copy_files($archive, "$deep/$folder");
chmod 0, "$deep/$folder";
foreach my $what ("CALL verify_wal_archive('$deep')", "SELECT * FROM verify_wal('$deep')")
{
	my (undef, undef, $err) = $node->psql('postgres', $what);
	like($err, qr/ERROR:  could not read directory "\Q$deep\E\/$folder": Permission denied\nHINT:/, "an unreadable folder is named: $what");
}
chmod 0700, "$deep/$folder";
$node->stop;
done_testing();
