# Backups in tar format: what is found is what is found in the same backup
# extracted; damage of archives is found, and what came before it is judged.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nmax_parallel_workers = 8\nwal_level = logical\nmax_prepared_transactions = 5\n");
$node->start;
mkdir "$dir/ts";
$node->safe_psql('postgres', qq{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
	CREATE TABLESPACE ts LOCATION '$dir/ts';
	CREATE TABLE in_ts TABLESPACE ts AS SELECT g FROM generate_series(1, 1000) g;
	SELECT pg_create_physical_replication_slot('physical');
	VACUUM FULL pg_class;
	CREATE TABLE prepared ();
	UPDATE pg_database SET datistemplate = false});
# small backups
$node->safe_psql('postgres', "DROP DATABASE $_") foreach qw(template0 template1);
$node->safe_psql('postgres', "BEGIN; INSERT INTO prepared DEFAULT VALUES; PREPARE TRANSACTION 'one'");

sub sql { return $node->safe_psql('postgres', $_[0]); }

# All of what is found but its words.
sub rows
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status, stored, computed, lsn) FROM verify_backup('} . $backup . "'"
		  . ($more // '') . ') ORDER BY path, blkno, status');
}

sub findings
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('} . $backup . "'" . ($more // '') . ') ORDER BY 1');
}

sub messages { return sql("SELECT concat_ws(': ', path, message) FROM verify_backup('$_[0]') ORDER BY 1"); }

my $columns = 'label, system_identifier, start_lsn, end_lsn, timelines, files, read_bytes, blocks, bad_blocks, healed_blocks, wal_records, findings, status';
sub summary { return sql("SELECT $columns FROM verify_backup_summary('$_[0]')"); }

sub backup
{
	my ($name, @options) = @_;
	my $path = "$dir/$name";
	my ($out, $err) = run_command([ 'pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port,
			'-Ft', '--checkpoint=fast', '--no-sync', '-l', "label of $name", @options ]);
	return -e "$path/backup_manifest" ? $path : undef;
}

my $copies = 0;
# A copy of a backup with one archive changed.
sub changed
{
	my ($backup, $name, $change) = @_;
	my $copy = "$dir/changed" . ++$copies;
	mkdir $copy;
	foreach my $file (grep { !/^\./ } slurp_dir($backup))
	{
		if ($file eq $name)
		{
			my $bytes = $change->(BackupTar::bytes_of("$backup/$file"));
			BackupTar::put_bytes("$copy/$file", $bytes) if defined $bytes;
		}
		else { link("$backup/$file", "$copy/$file") or die $!; }
	}
	return $copy;
}

sub poke
{
	my ($bytes, $at, $with) = @_;
	substr($bytes, $at, length $with) = $with;
	return $bytes;
}

my $temporary = $node->data_dir . '/base/pgsql_tmp';
sub is_tidy { is(join(' ', grep { !/^\./ } -d $temporary ? slurp_dir($temporary) : ()), '', "$_[0]: no temporary file is left"); return; }

# --- intact, in every form ----------------------------------------------------------

my $backup = backup('plain');
my $extracted = BackupTar::extract($backup, "$dir/extracted");
is(findings($extracted), '', 'the extracted backup is intact');
is(findings($backup), '', 'an intact backup in tar format');
is(summary($backup), summary($extracted), 'its summary is that of the extracted one');
is(sql("SELECT format FROM verify_backup_summary('$backup')"), 'tar', 'its format');
is(findings($backup, ', workers => 2'), '', 'two workers');
is(sql("SELECT blocks, read_bytes FROM verify_backup_summary('$backup', check_pages => false)"),
	sql("SELECT blocks, read_bytes FROM verify_backup_summary('$extracted', check_pages => false)"), 'without pages');
is_tidy('an intact backup');

my @forms = ([ 'fetched', '-X', 'fetch' ], [ 'gz', '-z' ], [ 'sha', '--manifest-checksums=SHA256' ]);
push @forms, map { [ $_, "--compress=$_:1", '-X', 'fetch' ] } qw(server-gzip server-lz4 client-lz4 server-zstd client-zstd)
  if $node->pg_version >= 15;
foreach (@forms)
{
	my ($name, @options) = @$_;
  SKIP:
	{
		my $path = backup($name, @options);
		skip "the server does not make $name", 2 unless $path;
		if (messages($path) =~ /this build of crc32c_accel cannot read/)
		{
			like(findings($path), qr{^base.tar.\w+ not_verifiable$}m, "$name: this build cannot");
			next;
		}
		is(findings($path), '', "$name: intact");
		is(summary($path), summary(BackupTar::extract($path, "$dir/ex_$name")), "$name: as extracted");
	}
}
my $none = backup('none', '-X', 'none');
my ($tablespace) = map { /^(\d+)\.tar$/ } slurp_dir($backup);
mkdir "$dir/wal";
system_or_bail('sh', '-c', "cp $dir/extracted/pg_wal/0* $dir/wal");
is(findings($none) =~ /missing/ ? 1 : 0, 1, 'without WAL: it is missing');
is(findings($backup, ", '$dir/wal'"), '', 'WAL of a directory');

# --- damage: the same rows as of the extracted backup ---------------------------------

my $base = BackupTar::bytes_of("$backup/base.tar");
my $table = sql(q{SELECT pg_relation_filepath('t')});
my $index = sql(q{SELECT pg_relation_filepath('pg_proc_oid_index')});
my @table = BackupTar::member($base, $table);
my ($in_tablespace) = map { $_->[0] } grep { $_->[3] >= 8192 } BackupTar::members(BackupTar::bytes_of("$backup/$tablespace.tar"));
my ($wal) = map { $_->[0] } grep { $_->[3] == 1048576 } BackupTar::members(BackupTar::bytes_of("$backup/pg_wal.tar"));
my ($prepared) = map { $_->[0] } grep { $_->[0] =~ m{^pg_twophase/.} } BackupTar::members($base);
my ($start, $stop) = slurp_file("$backup/backup_manifest") =~ m{"Start-LSN": "([0-9A-F/]+)", "End-LSN": "([0-9A-F/]+)"};
my $within = int((AccelWal::number($start) + AccelWal::number($stop)) / 2) % (1024 * 1024);
# A member replaced by one in another form.
sub reformed
{
	my ($tar, $name, $form) = @_;
	my $contents = BackupTar::contents($tar, $name);
	return BackupTar::with(BackupTar::without($tar, $name), $form->($contents));
}
# each: what, archives => change, findings
my @damages = (
	[ 'contents', { 'base.tar' => sub {
				my $tar = BackupTar::poked($_[0], $table, 8192 * 3 + 4000, 'damage');
				$tar = BackupTar::poked($tar, $table, 8192 * 5, "\xff" x 24);
				$tar = BackupTar::poked($tar, 'pg_xact/0000', 0, 'x');
				$tar = BackupTar::poked($tar, 'base/5/pg_filenode.map', 20, 'x');
				$tar = BackupTar::poked($tar, $prepared, 50, 'x');
				return BackupTar::with($tar, BackupTar::made('base/extra', 'x' x 1000)) },
			"$tablespace.tar" => sub { BackupTar::poked($_[0], $in_tablespace, 4000, 'damage') } },
		qr{^\Q$table\E 3 corrupt}m, qr{^\Q$table\E 5 (corrupt|bad_header|lsn_in_future)}m, qr{^pg_xact/0000 checksum_mismatch}m,
		qr{^base/5/pg_filenode.map }m, qr{^\Q$prepared\E checksum_mismatch}m, qr{^base/extra extra$}m, qr{^pg_tblspc/$tablespace/\Q$in_tablespace\E 0 corrupt}m ],
	[ 'members', { 'base.tar' => sub {
				my $tar = BackupTar::without($_[0], 'pg_multixact/offsets/0000');
				$tar = BackupTar::without($tar, $index);
				$tar = BackupTar::without($tar, 'backup_label');
				$tar = reformed($tar, 'pg_xact/0000', sub { BackupTar::made('pg_xact/0000', "\0" x 10000) });
				return reformed($tar, $table, sub { BackupTar::made($table, substr($_[0], 0, 12000)) }) },
			'pg_wal.tar' => sub { BackupTar::without($_[0], $wal) } },
		qr{^\Q$index\E missing$}m, qr{^pg_multixact/offsets/0000 missing$}m, qr{^backup_label missing$}m, qr{^pg_xact/0000 size_mismatch 8192 10000$}m,
		qr{^\Q$table\E size_mismatch}m, qr{^\Q$table\E 1 undecided}m, qr{^pg_wal/$wal missing}m ],
	[ 'a map of another kind, and WAL', { 'base.tar' => sub { BackupTar::poked($_[0], 'base/5/pg_filenode.map', 0, BackupTar::contents($_[0], 'global/pg_filenode.map')) },
			'pg_wal.tar' => sub { BackupTar::poked($_[0], $wal, $within, 'damage' x 5) } },
		qr{^base/5/pg_filenode.map (bad_format|undecided)}m, qr{^pg_wal/$wal corrupt}m ],
	[ 'pg_control', { 'base.tar' => sub { BackupTar::poked($_[0], 'global/pg_control', 8, 'xxxx') } }, qr{^global/pg_control bad_format}m ],
	[ 'neither PG_VERSION nor pg_control', { 'base.tar' => sub { BackupTar::without(BackupTar::without($_[0], 'PG_VERSION'), 'global/pg_control') } },
		qr{^PG_VERSION missing}m, qr{^global/pg_control missing}m ],
	[ 'other forms of members', { 'base.tar' => sub {
				my $tar = reformed($_[0], 'pg_xact/0000', sub { BackupTar::made('././@LongLink', "./pg_xact/0000\0", type => 'L') . BackupTar::made('pg_xact/0001', $_[0]) });
				$tar = reformed($tar, 'pg_multixact/offsets/0000', sub { BackupTar::made('offsets/0000', $_[0], prefix => 'pg_multixact', size => "\x80" . pack('x3Q>', 8192)) });
				return reformed($tar, 'PG_VERSION', sub { BackupTar::made('PaxHeader', "19 path=PG_VERSION\n", type => 'x') . BackupTar::made('other', $_[0]) }) } },
		qr{^$} ],
	[ 'a tablespace', { "$tablespace.tar" => sub { undef } }, qr{^pg_tblspc/$tablespace missing\n(pg_tblspc/$tablespace/\S+ missing\n?)+$} ],
);
foreach (@damages)
{
	my ($what, $changes, @like) = @$_;
	my $copy = $backup;
	$copy = changed($copy, $_, $changes->{$_}) foreach sort keys %$changes;
	my $plain = BackupTar::extract($copy, "$copy.plain");
	my $rows = rows($copy);
	like($rows, $_, "$what: found") foreach @like;
	is($rows, rows($plain), "$what: what is found is what is found in the extracted backup");
	is(summary($copy), summary($plain), "$what: the summary, too");
	system('rm', '-rf', $copy, $plain);
}

# --- damage of archives ---------------------------------------------------------------

my $end = (BackupTar::members($base))[-1];
$end = $end->[2] + 512 * int(($end->[3] + 511) / 512);
my @archives = (
	[ 'a flip in a header', 'base.tar', sub { poke($_[0], $table[1] + 10, 'x') },
		qr{^base.tar: no valid header at offset $table[1]; \d+ bytes are passed over\n\Q$table\E: present in the manifest but in no archive$} ],
	[ 'an archive that is cut off', 'base.tar', sub { substr($_[0], 0, $table[2] + 8192 * 5 + 100) },
		qr{^\Q$table\E: archive ends or breaks off within the file, at offset 41060$}m ],
	[ 'the same', 'base.tar', sub { substr($_[0], 0, $table[2] + 8192 * 5 + 100) },
		qr{^base.tar: archive ends within a member, at offset @{[ $table[2] + 8192 * 5 + 100 ]}$}m ],
	[ 'an archive without an end', 'base.tar', sub { substr($_[0], 0, $end) }, qr{^base.tar: archive ends without two blocks of zeros, at offset $end$} ],
	[ 'half an end', 'base.tar', sub { substr($_[0], 0, $end) . "\0" x 512 }, qr{^base.tar: archive ends without two blocks of zeros, at offset $end$} ],
	[ 'blanks after the end', 'base.tar', sub { $_[0] . "\0" x 9216 }, qr{^$} ],
	[ 'garbage after the end', 'base.tar', sub { $_[0] . 'garbage' }, qr{^base.tar: unexpected data after the end of the archive, at offset @{[ length $base ]}$} ],
	[ 'a block of zeros within', 'base.tar', sub { poke($_[0], $table[1], '') && substr($_[0], 0, $table[1]) . "\0" x 512 . substr($_[0], $table[1]) },
		qr{^base.tar: no valid header at offset $table[1]; 512 bytes are passed over$} ],
	[ 'a member twice', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('PG_VERSION', 'x')) }, qr{^PG_VERSION: another file of this name in "base.tar"$} ],
	[ 'a name with ..', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('../../x', 'x')) }, qr{^\.\./\.\./x: name that no file of a backup can have, in "base.tar"$} ],
	[ 'an absolute name', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('/tmp/x', 'x')) }, qr{^/tmp/x: name that no file} ],
	[ 'a symbolic link', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('x', '', type => '2', link => '/')) }, qr{^x: neither a file nor a directory in "base.tar"$} ],
	[ 'a device', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('x', '', type => '3')) }, qr{^x: neither a file nor a directory} ],
	[ 'WAL that is a folder', 'pg_wal.tar', sub { BackupTar::with($_[0], BackupTar::made('summaries', 'x') . BackupTar::made('summaries/x', 'x')) },
		qr{^pg_wal/summaries/x: name that contradicts others in "pg_wal.tar"$} ],
	[ 'a size beyond the archive', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('pg_xact/0009', 'x', size => '77777777777 ')) },
		qr{^base.tar: archive ends within a member, at offset \d+\npg_xact/0009: present but not in the manifest, in "base.tar"$} ],
	[ 'a negative size', 'base.tar', sub { BackupTar::with($_[0], BackupTar::made('x', '', size => "\xff" x 12)) }, qr{^base.tar: no valid header} ],
	[ 'no archive', 'base.tar', sub { undef }, qr{^base.tar: the archive of the data directory is not there$}m ],
	[ 'an empty one', 'base.tar', sub { '' }, qr{^base.tar: archive ends without two blocks of zeros, at offset 0$}m ],
	[ 'zeros', 'base.tar', sub { "\0" x 100000 }, qr{^PG_VERSION: present in the manifest but in no archive$}m ],
);
foreach (@archives)
{
	my ($what, $archive, $change, $like) = @$_;
	my $copy = changed($backup, $archive, $change);
	like(messages($copy), $like, $what);
	system('rm', '-rf', $copy);
}
is_tidy('damage');
append_to_file("$backup/extra", 'x');
copy("$backup/pg_wal.tar", "$backup/pg_wal.tar.gz");
is(messages($backup), "extra: not an archive of a backup in tar format\npg_wal.tar.gz: another archive of the same directory", 'other files');
unlink "$backup/extra", "$backup/pg_wal.tar.gz";
mkdir "$backup/1.tar";
is(findings($backup), '1.tar io_error', 'a directory in the place of an archive');
rmdir "$backup/1.tar";
is(findings($backup), '', 'all undone');

# --- compressed -----------------------------------------------------------------------

foreach my $format (qw(gz lz4 zst))
{
  SKIP:
	{
		my $path = "$dir/all_$format";
		skip "no program for $format", 1 unless BackupTar::compress($backup, $path, $format);
		if (messages($path) =~ /this build of crc32c_accel cannot read/)
		{
			like(findings($path), qr{^base.tar.$format not_verifiable$}m, "$format: this build cannot");
			next;
		}
		is(findings($path), '', "$format: intact");
		my $size = -s "$path/base.tar.$format";
		# lz4 gives blocks of 4 MB as a whole, of which the first may be most of the file
		my $cut_at = int($size * ($format eq 'lz4' ? 0.98 : 0.5));
		my $cut = changed($path, "base.tar.$format", sub { substr($_[0], 0, $cut_at) });
		my $found = messages($cut);
		like($found, qr{^base.tar.$format: the compressed data ends early, at offset $cut_at$}m, "$format: cut off");
		unlike($found, qr{backup_label: }, "$format: what came before is judged");
		foreach my $at (map { int($size * $_ / 10) } $ENV{LONG} ? 1 .. 9 : (1, 4, 9))
		{
			my $flipped = changed($path, "base.tar.$format", sub { poke($_[0], $at, chr(ord(substr($_[0], $at, 1)) ^ 0x10)) });
			# where bytes repeat, other compressed data may mean the same
			ok(findings($flipped) ne '' || BackupTar::unpacked("$flipped/base.tar.$format") eq $base, "$format: a flip at $at");
			system('rm', '-rf', $flipped);
		}
		my $more = changed($path, "base.tar.$format", sub { $_[0] . 'garbage' });
		is(messages($more), "base.tar.$format: unexpected data after the end of the compressed data, at offset $size", "$format: garbage after it");
		my $page = changed($backup, 'base.tar', sub { poke($_[0], $table[2] + 8192 * 3 + 4000, 'damage') });
		BackupTar::compress($page, "$page.$format", $format);
		is(rows("$page.$format"), rows($page), "$format: a damaged page");
		is(findings(changed($path, "pg_wal.tar.$format", sub { substr($_[0], 0, 100) })) =~ m{^pg_wal.tar.$format bad_format$}m ? 1 : 0, 1, "$format: WAL that is cut off");
	}
}
my $xz = changed($backup, 'base.tar', sub { "\xfd7zXZ\0" . 'x' x 1000 });
like(messages($xz), qr{^base.tar: archive is in format xz, which is not read here$}m, 'a format that is not read');
is(join(' ', findings($xz) =~ m{^(\S+ (?:undecided|missing))$}mg), '. undecided', 'its files are one row');

# --- without a manifest; without checksums; limits -----------------------------------------

my $bare = changed($backup, 'backup_manifest', sub { undef });
is(findings($bare), 'backup_manifest ok_no_manifest', 'no manifest: one row');
my $bad = changed($bare, 'base.tar', sub { poke(BackupTar::with($_[0], BackupTar::made('twice', 'x') x 2), $table[2] + 8192 * 3 + 4000, 'damage') });
is(findings($bad), "backup_manifest ok_no_manifest\n$table 3 corrupt\ntwice extra", 'no manifest: pages are judged');

my ($out, $err);
$node->psql('postgres', "SET temp_file_limit = 1000; SELECT * FROM verify_backup('$backup')", stderr => \$err);
like($err, qr/temporary file size exceeds "temp_file_limit"/, 'WAL in archives counts for temp_file_limit');
is_tidy('an error');
$node->psql('postgres', "SET statement_timeout = 300; SELECT * FROM verify_backup('$backup', max_rate => 100)", stderr => \$err);
like($err, qr/canceling statement due to statement timeout/, 'it can be cancelled');
is_tidy('a cancel');
$node->psql('postgres', "SELECT count(*), pg_terminate_backend(pg_backend_pid(), 0) FROM verify_backup('$backup')", stderr => \$err);
is_tidy('a session that ends');
sql("ROLLBACK PREPARED 'one'");

# what checksums are is seen at pages before pg_control says it: where they
# contradict it, pages are judged again
my $forged = changed($bare, 'base.tar', sub {
	my $tar = $_[0];
	my ($first) = grep { $_->[0] =~ m{^base/\d+/\d+$} && $_->[3] > 0 } BackupTar::members($tar);
	return poke($tar, $first->[2] + 8, "\0\0");
});
my $forged_plain = BackupTar::extract($forged, "$forged.plain");
is(rows($forged), rows($forged_plain), 'a first page that lacks its checksum');
is(summary($forged), summary($forged_plain), 'and the summary');

my $unsummed = Accel::new_node('unsummed', checksums => 0, extra => ['--wal-segsize=1'], allows_streaming => 1);
$unsummed->start;
$node->stop;
{
	my $main = $node;
	$node = $unsummed;
	sql('CREATE EXTENSION crc32c_accel; CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g');
	my $path = backup('unsummed');
	my $file = sql(q{SELECT pg_relation_filepath('t')});
	is(findings($path), '', 'data checksums off');
	my $copy = changed($path, 'base.tar', sub { poke($_[0], (BackupTar::member($_[0], $file))[2] + 12, "\xff" x 8) });
	is(rows($copy), rows(BackupTar::extract($copy, "$copy.plain")), 'data checksums off: a bad header');
	$node->stop;
}

done_testing();
