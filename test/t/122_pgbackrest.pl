# Backups in the repository of pgBackRest, as it leaves them: plain, compressed,
# in bundles, and incremental ones, whose files lie in those before.  Then what
# may be damaged of them, and what is not read: encrypted repositories, other
# compressions, files stored block by block.  A page that changed while it was
# copied is judged by the WAL of the repository.
#
# A program that is not installed, or does not know this server, is skipped.  What is
# the same whatever the server is left to 15, which Debian's pgbackrest knows.
use strict;
use warnings;
use Accel;
use AccelWal;
use AccelProgram;
use Digest::SHA qw(sha1_hex);
use File::Copy;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

plan(skip_all => 'no program pgbackrest') if system('command -v pgbackrest >/dev/null') != 0;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	conf => "archive_mode = on\nwal_level = replica\nmax_wal_senders = 4\nautovacuum = off\n");
my ($host, $port, $data, $user) = ($node->host, $node->port, $node->data_dir, scalar getpwuid($<));

my $all = $ENV{LONG} || $node->pg_version < 18;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# --- repositories ---------------------------------------------------------------------

# name => options of its configuration
my %repositories = (
	plain => 'compress-type=none',
	gzip => 'compress-type=gz',
	bundle => "compress-type=zst\nrepo1-bundle=y\nrepo1-bundle-limit=64KiB",
	encrypted => "compress-type=none\nrepo1-cipher-type=aes-256-cbc\nrepo1-cipher-pass=secret\narchive-check=n");
my @names = sort keys %repositories;

sub pgbackrest
{
	my ($name, @command) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'pgbackrest', "--config=$tmp/$name.conf", '--stanza=main', @command ],
		'<', \undef, '>', \$out, '2>', \$err);
	return ($ok, $out . $err);
}

foreach my $name (@names)
{
	AccelWal::put("$tmp/$name.conf", "[global]\nlog-level-file=off\nlog-level-console=warn\nlock-path=$tmp/lock\nspool-path=$tmp/spool\n"
		  . "repo1-path=$tmp/$name\nrepo1-retention-full=9\nstart-fast=y\narchive-timeout=600\n$repositories{$name}\n"
		  . "[main]\npg1-path=$data\npg1-port=$port\npg1-socket-path=$host\npg1-user=$user\n");
	mkdir "$tmp/$name";
}
$node->start;
sql('CREATE EXTENSION crc32c_accel');
foreach my $name (@names)
{
	my ($ok, $said) = pgbackrest($name, 'stanza-create');
	plan(skip_all => 'this pgbackrest does not know this server') if !$ok && $said =~ /unexpected control version/;
	die "stanza-create: $said" if !$ok;
}
sql(q{
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 5000) g;
	CREATE TABLE same AS SELECT * FROM t;
	CREATE UNLOGGED TABLE unlogged AS SELECT * FROM t LIMIT 10;
	CREATE TABLE churn AS SELECT 1 AS a;
	CREATE TABLE stop ()});
mkdir "$tmp/ts";
sql($_) foreach "CREATE TABLESPACE ts LOCATION '$tmp/ts'", 'CREATE TABLE placed TABLESPACE ts AS SELECT * FROM t LIMIT 500';
my ($table, $same, $placed, $churn) = map { sql("SELECT pg_relation_filepath('$_')") } qw(t same placed churn);
sql("ALTER SYSTEM SET archive_command = '"
	  . join(' && ', map { "pgbackrest --config=$tmp/$_.conf --stanza=main archive-push \"%p\"" } grep { $_ ne 'encrypted' } @names) . "'");
$node->reload;

my (%full, %later);
sub backup
{
	my ($name, $type, @more) = @_;
	my ($ok, $said) = pgbackrest($name, "--type=$type", @more, 'backup');
	ok($ok, "$name: pgbackrest makes a backup, $type @more") or diag $said;
	my ($newest) = reverse sort grep { -d } glob("$tmp/$name/backup/main/2*");
	return $newest;
}
$full{$_} = backup($_, 'full') foreach @names;
sql(q{UPDATE t SET filler = 'y' WHERE g < 100; CREATE TABLE new AS SELECT 1 AS a});
$later{gzip} = backup('gzip', 'incr', '--repo1-hardlink');
$later{bundle} = backup('bundle', 'incr');

# One whose table is written to while it is made.
my $writer = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	'DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM stop) LOOP UPDATE churn SET a = a + 1; COMMIT; PERFORM pg_sleep(0.2); END LOOP; END $$' ]);
$full{lz4} = backup('plain', 'full', '--compress-type=lz4');
sql('INSERT INTO stop DEFAULT VALUES');
$writer->finish;

# --- intact ---------------------------------------------------------------------------

# What is found, a line each.
sub findings
{
	my ($backup, $more) = @_;
	return sql("SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('$backup'" . ($more // '') . ') ORDER BY 1');
}

foreach (map({ [ "$_, full", $full{$_} ] } qw(plain gzip bundle lz4)), map({ [ "$_, incr", $later{$_} ] } sort keys %later))
{
	my ($what, $backup) = @$_;
	is(findings($backup), '', "$what: intact");
	is(findings($backup, ', workers => 2'), '', "$what: by workers");
}
is(findings("$tmp/gzip/backup/main/latest"), '', 'the link to the newest one');
is(findings($full{plain}, ', direct_io => true'), '', 'from the device');
is(findings($full{gzip}, ", wal_directory => '" . (glob("$tmp/plain/archive/main/*-1"))[0] . q{'}), '', 'by WAL of another folder');
is(sql("SELECT label ~ 'pgBackRest', format, start_lsn IS NOT NULL, end_lsn > start_lsn, files > 900, blocks > 300, wal_records > 0,
		status, message IS NULL, system_identifier = (SELECT system_identifier FROM pg_control_system())
	FROM verify_backup_summary('$later{bundle}')"), 't|pgbackrest|t|t|t|t|t|ok|t|t', 'what a backup is');
is(sql("SELECT concat_ws('|', path, status, message) FROM verify_backup('$full{encrypted}')"),
	'backup.manifest|not_verifiable|the repository is encrypted; nothing of the backup is verified', 'an encrypted one is told');

# --- damaged --------------------------------------------------------------------------

# Changes a file, calls the rest, and puts the file back.
sub with_file
{
	my ($path, $change, $test) = @_;
	copy($path, "$tmp/kept") or die "$path: $!";
	$change->($path);
	$test->();
	unlink $path;
	copy("$tmp/kept", $path) or die "$path: $!";
	return;
}

# The same of what a compressed file holds.
sub packed
{
	my ($how, $change) = @_;
	return sub
	{
		my ($path) = @_;
		system_or_bail('sh', '-c', "$how -dc <\"\$1\" >\"\$2\"", '-', $path, "$tmp/unpacked");
		$change->("$tmp/unpacked");
		system_or_bail('sh', '-c', "$how -c <\"\$1\" >\"\$2\"", '-', "$tmp/unpacked", $path);
	};
}

my $spoil = sub { AccelWal::poke($_[0], 8192 * 5 + 4000, 'damage') };
my $cut = sub { truncate $_[0], -s $_[0] > 9000 ? (-s $_[0]) - 8192 : (-s $_[0]) / 2 };
my $grow = sub { append_to_file($_[0], "\0" x 8192) };
my $gone = sub { unlink $_[0] };

# [ what, backup, file, change, findings ]
my $stored = "$full{plain}/pg_data";
my $packed = "$full{gzip}/pg_data";
foreach (
	[ 'plain: a page', $full{plain}, "$stored/$table", $spoil, "$table 5 corrupt\n$table checksum_mismatch" ],
	[ 'plain: a page of a tablespace', $full{plain}, "$full{plain}/$placed", $spoil, "$placed 5 corrupt\n$placed checksum_mismatch" ],
	[ 'plain: a file is cut off', $full{plain}, "$stored/$table", $cut, "$table size_mismatch" ],
	[ 'plain: a file is longer', $full{plain}, "$stored/$table", $grow, "$table size_mismatch" ],
	[ 'plain: a file is gone', $full{plain}, "$stored/$table", $gone, "$table missing" ],
	[ 'plain: its configuration', $full{plain}, "$stored/postgresql.conf", sub { AccelWal::poke($_[0], 10, '!') }, 'postgresql.conf checksum_mismatch' ],
	[ 'gzip: a page', $full{gzip}, "$packed/$table.gz", packed('gzip', $spoil), "$table 5 corrupt\n$table checksum_mismatch" ],
	[ 'gzip: a file is cut off inside', $full{gzip}, "$packed/$table.gz", packed('gzip', $cut), "$table size_mismatch" ],
	[ 'gzip: a file is longer inside', $full{gzip}, "$packed/$table.gz", packed('gzip', $grow), "$table size_mismatch" ],
	[ 'gzip: backup_label is longer inside', $full{gzip}, "$packed/backup_label.gz", packed('gzip', $grow), 'backup_label size_mismatch' ],
	[ 'gzip: compressed data', $full{gzip}, "$packed/$same.gz", $cut, "$same bad_format" ],
	[ 'gzip: a file that a later backup needs', $later{gzip}, "$packed/$same.gz", $gone, "$same missing" ],
	[ 'gzip: a file that a later backup has', $later{gzip}, "$packed/$table.gz", $gone, '' ],
	[ 'gzip: pg_control is gone', $full{gzip}, "$packed/global/pg_control.gz", $gone, qr/^global\/pg_control missing$/m ],
	[ 'gzip: backup_label is gone', $full{gzip}, "$packed/backup_label.gz", $gone, qr/^backup_label missing$/m ])
{
	my ($what, $backup, $file, $change, $expected) = @$_;
	next unless $all || $what =~ /a page|backup_label|pg_control/;
	with_file($file, $change, sub
	{
		my $found = findings($backup);
		ref $expected ? like($found, $expected, $what) : is($found, $expected, $what);
		is(findings($backup, ', workers => 2'), $found, "$what: by workers") if $what =~ /a page|compressed/;
	});
}
is(findings($full{gzip}), '', 'the files are as they were');

# What the manifest does not name, but WAL.
foreach (grep { $all } (
	[ 'plain', 'pg_data/base/1/99999', 1 ],
	[ 'plain', "pg_data/$table.gz", 1 ],
	[ 'plain', 'notes', 1 ],
	[ 'plain', 'bundle/1', 1 ],
	[ 'plain', 'pg_data/pg_wal/notes', 0 ],
	[ 'gzip', "pg_data/$table", 1 ],
	[ 'bundle', 'bundle/99', 1 ],
	[ 'bundle', 'bundle/01', 1 ]))
{
	my ($name, $path, $is_extra) = @$_;
	my $made = $path =~ m{^(bundle)/} && !-d "$full{$name}/$1" ? "$full{$name}/$1" : undef;
	mkdir $made if defined $made;
	AccelWal::put("$full{$name}/$path", 'x');
	is(findings($full{$name}), $is_extra ? "$path extra" : '', "$name: a file more, $path");
	unlink "$full{$name}/$path";
	rmdir $made if defined $made;
}
symlink $tmp, "$stored/base/away";
is(findings($full{plain}), 'pg_data/base/away extra', 'plain: a link to a folder elsewhere');
unlink "$stored/base/away";

# What is damaged in a bundle is damage of the file that lies there.
my $manifest = slurp_file("$full{bundle}/backup.manifest");
my ($version_line) = $manifest =~ /^pg_data\/base\/1\/PG_VERSION=(.*)$/m;
my ($bundle, $at) = ($version_line =~ /"bni":(\d+)/, $version_line =~ /"bno":(\d+)/ ? $version_line =~ /"bno":(\d+)/ : 0);
with_file("$full{bundle}/bundle/$bundle", sub { AccelWal::poke($_[0], $at, 'XXXX') }, sub
{
	like(findings($full{bundle}), qr{\Abase/1/PG_VERSION bad_format\z}, 'bundle: a file in it');
	like(findings($later{bundle}), qr{\Abase/1/PG_VERSION bad_format\z}, 'bundle: as a later backup has it');
});
with_file("$full{bundle}/bundle/$bundle", $gone, sub
{
	like(findings($full{bundle}), qr{^base/1/PG_VERSION missing$}m, 'bundle: it is gone');
});

# --- WAL ------------------------------------------------------------------------------

# A page as if it had been copied while it was written: the manifest knows it so.
SKIP:
{
	skip 'no program lz4', 2 if system('command -v lz4 >/dev/null') != 0;
	packed('lz4', sub { AccelWal::poke($_[0], 4000, 'damage') })->("$full{lz4}/pg_data/$churn.lz4");
	my $sum = sha1_hex(scalar slurp_file("$tmp/unpacked"));
	my $known = slurp_file("$full{lz4}/backup.manifest");
	$known =~ s/^(pg_data\/\Q$churn\E=\{"checksum":")\w+/$1$sum/m or die "no $churn";
	AccelWal::put("$full{lz4}/$_", $known) foreach 'backup.manifest', 'backup.manifest.copy';
	is(findings($full{lz4}), '', 'lz4: a page that changed while it was copied');
	is(findings($full{lz4}, ', include_healed => true'), "$churn 0 ok_healed_by_wal", 'lz4: the WAL of the repository restores it');
}

my ($archive) = glob("$tmp/gzip/archive/main/*-1");
rename $archive, "$archive.away";
like(findings($full{gzip}), qr/^pg_wal\S* missing$/m, 'the archive of the repository is gone');
with_file("$packed/$table.gz", packed('gzip', $spoil), sub
{
	is(findings($full{gzip}) =~ s/^pg_wal.*\n?//mgr, "$table 5 undecided\n$table checksum_mismatch\n", 'without WAL no page is decided');
	is(findings($full{gzip}, ", wal_directory => '$archive.away'"), "$table 5 corrupt\n$table checksum_mismatch", 'with it all are');
});
rename "$archive.away", $archive;

# --- the manifest ---------------------------------------------------------------------

sub told { return sql("SELECT concat_ws(' ', path, status, message) FROM verify_backup('$full{plain}') ORDER BY 1"); }

# [ what, both, old, new, findings ]
my $nothing = '; nothing of the backup is verified';
foreach (grep { $all } (
	[ 'a size, in one of both', 0, qr/^(pg_data\/PG_VERSION=.*"size":)3/m, '"${1}4"',
		"PG_VERSION size_mismatch file has 3 bytes, but the manifest says 4\nbackup.manifest bad_format differs from its copy \"backup.manifest.copy\"" ],
	[ 'a checksum', 1, qr/^(pg_data\/PG_VERSION=\{"checksum":")../m, '"${1}00"', 'PG_VERSION checksum_mismatch SHA1 of the file is not that of the manifest' ],
	[ 'a checksum that is none', 1, qr/^(pg_data\/PG_VERSION=\{"checksum":")../m, '"${1}xy"', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'a path out of the backup', 1, qr/^pg_data\/PG_VERSION=/m, '"pg_data/../PG_VERSION="', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'a file twice', 1, qr/^(pg_data\/PG_VERSION=.*)$/m, '"$1\n$1"', "backup.manifest bad_format duplicate path name in backup manifest$nothing" ],
	[ 'a file that is not there', 1, qr/^(pg_data\/PG_VERSION)(=.*)$/m, '"$1$2\n${1}S$2"', 'PG_VERSIONS missing present in the manifest but not on disk' ],
	[ 'a reference out of the repository', 1, qr/^(pg_data\/PG_VERSION=\{)/m, '"$1\"reference\":\"../x\","', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'a reference to the folder above', 1, qr/^(pg_data\/PG_VERSION=\{)/m, '"$1\"reference\":\"..\","', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'a place after all bytes', 1, qr/^(pg_data\/PG_VERSION=\{)/m, '"$1\"bni\":7,\"bno\":9223372036854775807,"', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'a byte of zero', 1, qr/^(pg_data\/PG_VERSION)=/m, '"$1\0="', qr/^backup.manifest bad_format invalid line \d+\Q$nothing\E$/ ],
	[ 'another format', 1, qr/^backrest-format=5/m, '"backrest-format=6"', "backup.manifest unsupported_version format 6 of the repository is not supported$nothing" ],
	[ 'no manifest at all', 1, qr/\A.*\z/s, '"x\n"', qr/^backup.manifest bad_format invalid line 1\Q$nothing\E$/ ],
	[ 'another cluster', 1, qr/^db-system-id=\d/m, '"db-system-id=1"', qr/^global\/pg_control foreign_system /m ],
	[ 'another end', 1, qr/^backup-lsn-stop="0\/\w+"/m, '"backup-lsn-stop=\"7\/0\""', qr/^\S*0\w+ missing /m ],
	[ 'bzip2', 1, qr/^option-compress-type="none"/m, '"option-compress-type=\"bz2\""', '. not_verifiable files are in format bzip2, which is not read here' ],
	[ 'blocks of a file', 1, qr/^(pg_data\/\Q$same\E=\{)/m, '"$1\"bi\":1,\"bim\":99,"', '. not_verifiable 1 files are stored block by block, which is not read here' ]))
{
	my ($what, $copied, $old, $new, $expected) = @$_;
	my $path = "$full{plain}/backup.manifest";
	my $changed = slurp_file($path);
	$changed =~ s/$old/$new/ee or die "no $old";
	copy($path, "$tmp/manifest");
	AccelWal::put($path, $changed);
	AccelWal::put("$path.copy", $changed) if $copied;
	my $found = told();
	ref $expected ? like($found, $expected, "manifest: $what") : is($found, $expected, "manifest: $what");
	copy("$tmp/manifest", "$path.copy");
	copy("$tmp/manifest", $path);
}
is(findings($full{plain}), '', 'the manifest is as it was');
$node->stop;
done_testing();
