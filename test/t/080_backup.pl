# Base backups: every checksum algorithm of a manifest; each change of a file or
# of the manifest that pg_verifybackup reports is reported, with its name.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nmax_parallel_workers = 8\n");
$node->start;
my $version = $node->pg_version;
mkdir "$dir/ts";
$node->safe_psql('postgres', qq{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
	CREATE INDEX ON t (g);
	CREATE TABLESPACE ts LOCATION '$dir/ts';
	CREATE TABLE in_ts TABLESPACE ts AS SELECT g FROM generate_series(1, 1000) g});

sub sql { return $node->safe_psql('postgres', $_[0]); }

# What is found, a line each; the arguments after the directory as given.
sub findings
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('} . $backup . "'"
		  . ($more // '') . ') ORDER BY 1');
}

sub message { return sql("SELECT message FROM verify_backup('$_[0]')"); }

# Does the server's own program accept the backup?
sub accepted { return !system("pg_verifybackup $_[0] >$dir/said 2>&1"); }

sub backup
{
	my ($name, @options) = @_;
	my $path = "$dir/$name";
	system_or_bail('pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '-l', "label of $name", "--tablespace-mapping=$dir/ts=$dir/ts_$name",
		@options);
	return $path;
}

# --- intact ------------------------------------------------------------------------

my @algorithms = $ENV{LONG} ? qw(SHA224 SHA256 SHA384 SHA512 NONE) : qw(SHA256 NONE);
my $backup = backup('crc32c');
my %of = map { $_ => backup(lc $_, "--manifest-checksums=$_") } @algorithms;
is(findings($backup), '', 'an intact backup');
is(findings($of{$_}), '', "an intact backup with $_") foreach @algorithms;
ok(accepted($backup), 'pg_verifybackup agrees') or diag slurp_file("$dir/said");

my $manifest = slurp_file("$backup/backup_manifest");
my $files = () = $manifest =~ /"Path": "(?!postgresql\.auto\.conf)/g;
my ($start, $end) = $manifest =~ m{"Start-LSN": "([0-9A-F/]+)", "End-LSN": "([0-9A-F/]+)"};
is(sql("SELECT label, format, start_lsn, end_lsn, timelines, files, bad_blocks, findings, status, message IS NULL,
		system_identifier = (SELECT system_identifier FROM pg_control_system()), wal_records > 0
		FROM verify_backup_summary('$backup')"),
	"label of crc32c|plain|$start|$end|1|$files|0|0|ok|t|t|t", 'its summary');
is(sql("SELECT read_bytes = (SELECT sum(size) FROM (SELECT (regexp_matches(pg_read_file('$backup/backup_manifest'),
			'\"Path\": \"(?!postgresql.auto.conf)[^\"]*\", \"Size\": ([0-9]+)', 'g'))[1]::bigint AS size) s),
		blocks * $blcksz < read_bytes, blocks * $blcksz > read_bytes / 2
		FROM verify_backup_summary('$backup')"), 't|t|t', 'every byte was read once');
is(sql("SELECT (s).files, (s).blocks, (s).findings FROM verify_backup_summary('$backup', workers => 2) s"),
	sql("SELECT (s).files, (s).blocks, (s).findings FROM verify_backup_summary('$backup') s"), 'two workers');
is(sql("SELECT blocks FROM verify_backup_summary('$backup', check_pages => false)"), 0, 'no pages if they are not wanted');

# --- files ---------------------------------------------------------------------------

my $table = sql(q{SELECT pg_relation_filepath('t')});
my ($in_ts) = glob "$backup/pg_tblspc/*/PG_*/*/";
my $space = substr($in_ts, length("$backup/"));
my ($space_file) = map { substr($_, length("$backup/")) } grep { -s $_ } glob "$in_ts*";
my ($space_link) = $space =~ m{^(pg_tblspc/\d+)};
my @space_files = $manifest =~ m{"Path": "($space_link/[^"]*)"}g;
my @base_files = $manifest =~ m{"Path": "(base/[^"]*)"}g;

sub poke
{
	my ($path, $offset, $bytes) = @_;
	open(my $file, '+<', $path) or die "$path: $!";
	seek($file, $offset, 0);
	print $file $bytes;
	close($file);
	return;
}

sub lines { return join("\n", sort @_); }

# [ what, change, undo, findings ]; each undone before the next.
my @mutations = (
	[ 'an extra file', sub { append_to_file("$backup/extra", 'x') }, sub { unlink "$backup/extra" }, 'extra extra' ],
	[ 'an extra file in a tablespace',
		sub { append_to_file("$backup/${space}extra", 'x') }, sub { unlink "$backup/${space}extra" }, "${space}extra extra" ],
	[ 'a missing file', sub { rename "$backup/pg_xact/0000", "$dir/kept" },
		sub { rename "$dir/kept", "$backup/pg_xact/0000" }, 'pg_xact/0000 missing' ],
	[ 'a missing tablespace', sub { rename "$backup/$space_link", "$dir/kept" },
		sub { rename "$dir/kept", "$backup/$space_link" }, lines(map { "$_ missing" } @space_files) ],
	[ 'a tablespace that leads nowhere', sub { rename "$dir/ts_crc32c", "$dir/kept" },
		sub { rename "$dir/kept", "$dir/ts_crc32c" }, lines("$space_link missing", map { "$_ missing" } @space_files) ],
	[ 'a file with more', sub { append_to_file("$backup/global/pg_filenode.map", 'x') },
		sub { my $size = -s "$backup/global/pg_filenode.map"; truncate "$backup/global/pg_filenode.map", $size - 1 },
		'global/pg_filenode.map size_mismatch' ],
	[ 'a truncated file', sub { copy("$backup/$table", "$dir/kept"); truncate "$backup/$table", $blcksz },
		sub { move("$dir/kept", "$backup/$table") }, "$table size_mismatch" ],
	[ 'an empty file', sub { move("$backup/PG_VERSION", "$dir/kept"); append_to_file("$backup/PG_VERSION", '') },
		sub { move("$dir/kept", "$backup/PG_VERSION") }, 'PG_VERSION size_mismatch' ],
	[ 'other contents of the same length', sub { copy("$backup/pg_xact/0000", "$dir/kept"); poke("$backup/pg_xact/0000", 100, 'y') },
		sub { move("$dir/kept", "$backup/pg_xact/0000") }, 'pg_xact/0000 checksum_mismatch' ],
	[ 'a file of a tablespace with other contents', sub { copy("$backup/$space_file", "$dir/kept"); poke("$backup/$space_file", 8000, 'y') },
		sub { move("$dir/kept", "$backup/$space_file") }, lines("$space_file checksum_mismatch", "$space_file 0 PAGE") ],
	[ 'a file that may not be read', sub { chmod 0, "$backup/PG_VERSION" }, sub { chmod 0600, "$backup/PG_VERSION" },
		'PG_VERSION io_error' ],
	[ 'a directory that may not be read', sub { chmod 0, "$backup/pg_subtrans" }, sub { chmod 0700, "$backup/pg_subtrans" },
		'pg_subtrans io_error' ],
	[ 'a directory that may not be searched', sub { chmod 0600, "$backup/base" }, sub { chmod 0700, "$backup/base" },
		undef ],
	[ 'a directory in the place of a file', sub { move("$backup/PG_VERSION", "$dir/kept"); mkdir "$backup/PG_VERSION" },
		sub { rmdir "$backup/PG_VERSION"; move("$dir/kept", "$backup/PG_VERSION") }, 'PG_VERSION io_error' ],
	[ 'a manifest with more', sub { copy("$backup/backup_manifest", "$dir/kept"); append_to_file("$backup/backup_manifest", 'x') },
		sub { move("$dir/kept", "$backup/backup_manifest") }, 'backup_manifest bad_format' ],
	[ 'a manifest that was changed', sub { copy("$backup/backup_manifest", "$dir/kept"); poke("$backup/backup_manifest", index($manifest, '"Size": ') + 8, '9') },
		sub { move("$dir/kept", "$backup/backup_manifest") }, 'backup_manifest checksum_mismatch' ],
	[ 'no manifest', sub { move("$backup/backup_manifest", "$dir/kept") },
		sub { move("$dir/kept", "$backup/backup_manifest") }, 'backup_manifest ok_no_manifest' ],
);
foreach (@mutations)
{
	my ($what, $change, $undo, $expected) = @$_;
	$change->();
	my $found = findings($backup);
	my $accepted = accepted($backup);
	$undo->();
	if (defined $expected)
	{
		$found =~ s/^(\S+ \d+) (undecided|corrupt)$/$1 PAGE/mg;
		is($found, $expected, $what);
	}
	else
	{
		like($found, qr{^base/1/\S+ io_error$}m, $what);
	}
	ok(!$accepted, "$what: pg_verifybackup reports it, too");
}
is(findings($backup), '', 'all undone');

# What restoring writes, and what others own, is neither extra nor changed.
append_to_file("$backup/$_", "\n") foreach qw(standby.signal recovery.signal postgresql.auto.conf pg_wal/other);
is(findings($backup), '', 'files that are nobody\'s business');
unlink map { "$backup/$_" } qw(standby.signal recovery.signal pg_wal/other);

# Each algorithm sees a changed byte; without any, pages are judged all the same.
foreach my $algorithm (grep { $_ ne 'NONE' } @algorithms)
{
	poke("$of{$algorithm}/PG_VERSION", 0, '7');
	like(sql("SELECT path, status, length(stored), stored <> computed, message FROM verify_backup('$of{$algorithm}')"),
		qr{^PG_VERSION\|checksum_mismatch\|@{[ substr($algorithm, 3) / 4 ]}\|t\|$algorithm of the file}, "$algorithm: a changed byte");
	ok(!accepted($of{$algorithm}), "$algorithm: pg_verifybackup reports it, too");
}
poke("$of{NONE}/$table", $blcksz * 3 + 4000, 'damage');
like(findings($of{NONE}), qr{^$table 3 (undecided|corrupt)$}, 'NONE: a changed page');
ok(accepted($of{NONE}), 'NONE: pg_verifybackup sees nothing');

# --- WAL ---------------------------------------------------------------------------

my ($segment) = grep { /^[0-9A-F]{24}$/ } slurp_dir("$backup/pg_wal");
rename "$backup/pg_wal", "$dir/pg_wal_moved";
is(findings($backup), 'pg_wal missing', 'no pg_wal');
is(findings($backup, ", '$dir/pg_wal_moved'"), '', 'pg_wal elsewhere');
rename "$dir/pg_wal_moved", "$backup/pg_wal";
rename "$backup/pg_wal/$segment", "$dir/kept";
is(findings($backup), "pg_wal/$segment missing", 'a missing segment');
ok(!accepted($backup), 'pg_verifybackup reports it, too');
copy("$dir/kept", "$backup/pg_wal/$segment");
# not its first record: pg_waldump passes over that
poke("$backup/pg_wal/$segment", int((AccelWal::number($start) + AccelWal::number($end)) / 2) % (1024 * 1024), 'damage' x 5);
is(findings($backup), "pg_wal/$segment corrupt", 'a damaged segment');
ok(!accepted($backup), 'pg_verifybackup reports it, too');
# up to the file's end it looks like the end of the WAL, but the backup needs more
my ($last) = reverse sort grep { /^[0-9A-F]{24}$/ } slurp_dir("$backup/pg_wal");
rename "$dir/kept", "$backup/pg_wal/$segment";
copy("$backup/pg_wal/$last", "$dir/kept");
my $into = (AccelWal::number($end) - 1) % (1024 * 1024) + 1;
foreach ([ $into - 16, 'zeros from within its last record', "\0" ], [ $into - 16, 'garbage from there', 'x' ],
	[ int($into / 2), 'zeros from the middle', "\0" ])
{
	my ($from, $what, $byte) = @$_;
	poke("$backup/pg_wal/$last", $from, $byte x (1024 * 1024 - $from));
	is(findings($backup), "pg_wal/$last missing", $what);
	# servers from 19 on print an LSN with eight digits after the slash
	like(message($backup), qr{^WAL ends at \S+, but the backup needs it up to ${\ ($end =~ s!/0*!/0*!r)}$}, "$what: why");
	is(sql("SELECT status FROM verify_backup_summary('$backup')"), 'damaged', "$what: the summary");
	ok(!accepted($backup), "$what: pg_verifybackup reports it, too");
	copy("$dir/kept", "$backup/pg_wal/$last");
}
poke("$backup/pg_wal/$last", $into, "\0" x (1024 * 1024 - $into)) if $into < 1024 * 1024;
is(findings($backup), '', 'zeros from the end of the backup');
rename "$dir/kept", "$backup/pg_wal/$last";
is(findings($backup), '', 'WAL restored');

# --- manifests ---------------------------------------------------------------------

my $head = '{"PostgreSQL-Backup-Manifest-Version": 1, ';
my $crc = '"Checksum-Algorithm": "CRC32C"';
my $tail = '"Manifest-Checksum": "' . '0' x 64 . '"}';
# [ contents, message, status if not bad_format ]
my @manifests = (
	[ '', 'could not parse manifest' ],
	[ '{', 'could not parse manifest' ],
	[ '{}', 'unexpected object end' ],
	[ '[]', 'unexpected array start' ],
	[ 'null', 'unexpected scalar' ],
	[ '{"not-expected": 1}', 'expected version indicator' ],
	[ '{"PostgreSQL-Backup-Manifest-Version": "phooey"}', 'manifest version is not an integer' ],
	[ '{"PostgreSQL-Backup-Manifest-Version": 9876599}', 'unexpected manifest version', 'unsupported_version' ],
	[ $head . '"Files": true}', 'unexpected scalar' ],
	[ $head . '"Oops": 1}', 'unrecognized top-level field' ],
	[ $head . '"Files": {}}', 'unexpected object start' ],
	[ $head . '"Files": [[]]}', 'unexpected array start' ],
	[ $head . '"Files": [1]}', 'unexpected scalar' ],
	[ $head . '"Files": [{}]}', 'missing path name' ],
	[ $head . '"Files": [{"Path": "x", "Encoded-Path": "1234"}]}', 'both path name and encoded path name' ],
	[ $head . '"Files": [{"Oops": 1}]}', 'unexpected file field' ],
	[ $head . '"Files": [{"Path": "x"}]}', 'missing size' ],
	[ $head . '"Files": [{"Path": "x", "Size": "Oops"}]}', 'file size is not an integer' ],
	[ $head . '"Files": [{"Path": {}}]}', 'unexpected object start' ],
	[ $head . '"Files": [{"Encoded-Path": "123", "Size": 0}]}', 'could not decode file name' ],
	[ $head . '"Files": [{"Encoded-Path": "12zz", "Size": 0}]}', 'could not decode file name' ],
	[ $head . '"Files": [{"Path": "x", "Size": 0}, {"Path": "x", "Size": 0}], ' . "\n$tail\n", 'manifest checksum mismatch', 'checksum_mismatch' ],
	[ $head . '"Files": [{"Path": "x", "Size": 100, "Checksum": "Oops"}]}', 'checksum without algorithm' ],
	[ $head . '"Files": [{"Path": "x", "Size": 100, "Checksum-Algorithm": "Oops", "Checksum": "00"}]}', 'unrecognized checksum algorithm' ],
	[ $head . '"Files": [{"Path": "x", "Size": 100, ' . $crc . ', "Checksum": "0"}]}', 'invalid checksum for file' ],
	[ $head . '"WAL-Ranges": [{"Oops": 1}]}', 'unexpected WAL range field' ],
	[ $head . '"WAL-Ranges": [{}]}', 'missing timeline' ],
	[ $head . '"WAL-Ranges": [{"Timeline": 1}]}', 'missing start LSN' ],
	[ $head . '"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "0/0"}]}', 'missing end LSN' ],
	[ $head . '"WAL-Ranges": [{"Timeline": true, "Start-LSN": "0/0", "End-LSN": "0/0"}]}', 'timeline is not an integer' ],
	[ $head . '"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "oops", "End-LSN": "0/0"}]}', 'could not parse start LSN' ],
	[ $head . '"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "0/0", "End-LSN": "oops"}]}', 'could not parse end LSN' ],
	[ $head . '"Files": []}', 'backup manifest has no checksum' ],
	[ $head . '"Files": [], "Manifest-Checksum": "nothex"}' . "\n", 'invalid manifest checksum' ],
	[ $head . '"Files": [], ' . "$tail\n", 'expected at least 2 lines in the manifest' ],
	[ $head . '"Files": [], ' . "\n$tail", 'last line of the manifest does not end with a newline' ],
	[ $head . '"Files": [], ' . "\n$tail\n", 'manifest checksum mismatch', 'checksum_mismatch' ],
);
push @manifests, [ '{"PostgreSQL-Backup-Manifest-Version": 2, "System-Identifier": "x"}', 'system identifier in manifest is not an integer' ]
  if $version >= 17;
mkdir "$dir/bad_$_" foreach 0 .. $#manifests;
append_to_file("$dir/bad_$_/backup_manifest", $manifests[$_][0]) foreach 0 .. $#manifests;
my @rows = split /\n/, sql("SELECT n, b.status, split_part(b.message, ';', 1)
	FROM generate_series(0, $#manifests) n, verify_backup('$dir/bad_' || n) b WHERE b.path = 'backup_manifest' ORDER BY n");
foreach my $n (0 .. $#manifests)
{
	my ($contents, $message, $status) = @{ $manifests[$n] };
	$status //= 'bad_format';
	like($rows[$n] // '', qr{^$n\|$status\|\Q$message\E}, "manifest $n: $message");
	ok(!accepted("$dir/bad_$n"), "manifest $n: pg_verifybackup refuses it, too");
}
unlike($_, qr/\.$/, 'no sentence within a message') foreach grep { /could not parse/ } @rows;

# --- arguments -------------------------------------------------------------------------

foreach ([ 'NULL', '22004', 'no directory' ], [ "'$dir/nowhere'", '58P01', 'a directory that is not there' ],
	[ "'$backup/PG_VERSION'", '42809', 'a file' ], [ "''", '22023', 'an empty name' ],
	[ "'$backup', '$dir/nowhere'", '58P01', 'a WAL directory that is not there' ],
	[ "'$backup', workers => -1", '22023', 'workers' ], [ "'$backup', max_rate => -1", '22023', 'a rate' ])
{
	my ($arguments, $state, $what) = @$_;
	foreach my $function (qw(verify_backup verify_backup_summary))
	{
		my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT * FROM $function($arguments)");
		like($err, qr/ERROR:\s+$state/, "$function: $what");
	}
}

done_testing();
