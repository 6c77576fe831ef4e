# Backups that other programs leave as plain directories: pgBackRest without
# compression and bundles, whose manifest is not PostgreSQL's, and barman.  Then
# what is left of pg_verifybackup's own cases, incremental backups made by hand,
# and manifests that are too large.
#
# A program that is not installed, or does not know this server, is skipped.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use Digest::SHA qw(sha256_hex);
use File::Copy;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "archive_mode = on\nautovacuum = off\n");
my $data = $node->data_dir;
my ($host, $port) = ($node->host, $node->port);
my $user = getpwuid($<);

sub has_program { return system("command -v $_[0] >/dev/null") == 0; }
sub sql { return $node->safe_psql('postgres', $_[0]); }

sub run_of
{
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([@_], '<', \undef, '>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

# What is found, a line each.
sub findings
{
	my ($backup, $more) = @_;
	return sql("SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('$backup'" . ($more // '') . ') ORDER BY 1');
}

my $config = "$tmp/pgbackrest.conf";
my @pgbackrest = ('pgbackrest', "--config=$config", '--stanza=main');
AccelWal::put($config, "[global]\nlog-level-file=off\nlock-path=$tmp/lock\nspool-path=$tmp/spool\nrepo1-path=$tmp/repo\n"
	  . "compress-type=none\nstart-fast=y\narchive-timeout=600\n[main]\npg1-path=$data\npg1-port=$port\npg1-socket-path=$host\npg1-user=$user\n");
my @barman = ('barman', '-q', '-c', "$tmp/barman.conf");
AccelWal::put("$tmp/barman.conf", "[barman]\nbarman_user = $user\nbarman_home = $tmp/barman\nlog_file = $tmp/barman.log\n"
	  . "[main]\ndescription = main\nconninfo = host=$host port=$port user=$user dbname=postgres\nstreaming_conninfo = host=$host port=$port user=$user\n"
	  . "backup_method = postgres\nimmediate_checkpoint = true\narchiver = on\nincoming_wals_directory = $tmp/incoming\n");
mkdir $_ foreach "$tmp/incoming", "$tmp/barman", "$tmp/repo";

$node->start;
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
	CREATE INDEX ON t (g)});
my $table = sql("SELECT pg_relation_filepath('t')");
mkdir "$tmp/ts";
sql($_) foreach "CREATE TABLESPACE ts LOCATION '$tmp/ts'", 'CREATE TABLE placed TABLESPACE ts AS SELECT * FROM t LIMIT 500';
my $placed = sql("SELECT pg_relation_filepath('placed')");
my ($tablespace) = $placed =~ m{^pg_tblspc/(\d+)/};

my $archive = "cp \"%p\" \"$tmp/new.%f\" && mv \"$tmp/new.%f\" \"$tmp/incoming/%f\"";
my $no_pgbackrest = has_program('pgbackrest') ? '' : 'no program pgbackrest';
if (!$no_pgbackrest)
{
	my ($ok, $out, $err) = run_of(@pgbackrest, 'stanza-create');
	# a release older than this server
	$no_pgbackrest = 'this pgbackrest does not know this server' if !$ok && "$out$err" =~ /unexpected control version/;
	die "pgbackrest stanza-create: $out$err" if !$ok && !$no_pgbackrest;
	$archive .= ' && ' . join(' ', @pgbackrest, 'archive-push', '"%p"') if $ok;
}
sql("ALTER SYSTEM SET archive_command = '$archive'");
$node->reload;

# A page of the table is damaged, and the WAL is elsewhere.
sub judged
{
	my ($what, $backup, $wal, $intact, @damaged) = @_;
	is(findings($backup, ", '$wal'"), $intact, "$what: intact");
	AccelWal::poke("$backup/$table", 8192 * 5 + 4000, 'damage');
	is(findings($backup, ", '$wal'"), join("\n", sort(split(/\n/, $intact), @damaged)), "$what: a page is damaged");
	return;
}

SKIP:
{
	skip $no_pgbackrest, 1 if $no_pgbackrest;
	my ($ok, $out, $err) = run_of(@pgbackrest, '--type=full', 'backup');
	ok($ok, 'pgbackrest makes a backup') or diag "$out$err";
	my ($backup) = glob("$tmp/repo/backup/main/*F/pg_data");
	my ($wal) = glob("$tmp/repo/archive/main/*-1");
	sql('SELECT pg_switch_wal()');
	ok(-e "$backup/../backup.manifest" && !-e "$backup/backup_manifest", 'pgbackrest: a manifest of its own');
	judged('pgbackrest', $backup, $wal, 'backup_manifest ok_no_manifest', "$table 5 corrupt");
	is(findings($backup, ", '$wal', workers => 2"), "backup_manifest ok_no_manifest\n$table 5 corrupt", 'pgbackrest: workers');
	like(sql("SELECT message FROM verify_backup('$backup', '$wal') WHERE status = 'ok_no_manifest'"),
		qr/^there is no manifest; files have nothing to be compared with, but pages and WAL are verified$/, 'pgbackrest: it is said');
	is(sql("SELECT label ~ 'pgBackRest', format, start_lsn IS NOT NULL, end_lsn > start_lsn, blocks > 300, bad_blocks, wal_records > 0, status,
			system_identifier = (SELECT system_identifier FROM pg_control_system()) FROM verify_backup_summary('$backup', '$wal')"),
		't|plain|t|t|t|1|t|damaged|t', 'pgbackrest: what it is');
	like(findings($backup), qr/^pg_wal\S* missing$/m, 'pgbackrest: WAL is not in it');
	like(findings($backup), qr/^$table 5 undecided$/m, 'pgbackrest: without WAL nothing is decided');
	# its tablespaces lie beside pg_data, and links lead there
	ok(-l "$backup/pg_tblspc/$tablespace" && -e "$backup/../pg_tblspc/$tablespace", 'pgbackrest: a tablespace');
	AccelWal::poke("$backup/$placed", 8192 + 4000, 'damage');
	is(findings($backup, ", '$wal'"), "backup_manifest ok_no_manifest\n$table 5 corrupt\n$placed 1 corrupt", 'pgbackrest: a page of a tablespace is damaged');
	rename "$backup/../pg_tblspc/$tablespace", "$tmp/kept_tablespace";
	like(findings($backup, ", '$wal'"), qr/^pg_tblspc\/$tablespace missing$/m, 'pgbackrest: a tablespace is missing');
}

# pg_basebackup would want another place for it
sql($_) foreach 'DROP TABLE placed', 'DROP TABLESPACE ts';

SKIP:
{
	skip 'no program barman', 1 unless has_program('barman');
	sql('SELECT pg_switch_wal()');
	run_of(@barman, 'cron');
	run_of(@barman, 'archive-wal', 'main');
	my ($ok, $out, $err) = run_of(@barman, 'backup', 'main');
	skip "barman makes no backup of this server: $out$err", 1 unless $ok;
	sql('SELECT pg_switch_wal()');
	$node->poll_query_until('postgres', q{SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver});
	run_of(@barman, 'archive-wal', 'main');
	my ($backup) = glob("$tmp/barman/main/base/*/data");
	judged('barman', $backup, "$tmp/barman/main/wals", '', "$table 5 corrupt", "$table checksum_mismatch");
	copy("$backup/backup_manifest", "$tmp/kept");
	unlink "$backup/backup_manifest";
	is(findings($backup, ", '$tmp/barman/main/wals'"), "backup_manifest ok_no_manifest\n$table 5 corrupt", 'barman: without the manifest');
}

# --- what is left of pg_verifybackup's cases -------------------------------------------

sub accepted { return !system("pg_verifybackup $_[0] >/dev/null 2>&1"); }

sub backup
{
	my ($name, $from) = @_;
	system_or_bail('pg_basebackup', '-D', "$tmp/$name", '-h', $from->host, '-p', $from->port, '--checkpoint=fast', '--no-sync');
	return "$tmp/$name";
}

my $backup = backup('base', $node);
my $manifest = slurp_file("$backup/backup_manifest");
is(findings($backup), '', 'an intact backup');

# A manifest with its own checksum made right.
sub put_manifest
{
	my ($to, $lines) = @_;
	$lines =~ s/^"Manifest-Checksum".*\n\z//m;
	mkdir $to;
	unlink "$to/backup_manifest";
	append_to_file("$to/backup_manifest", $lines . '"Manifest-Checksum": "' . sha256_hex($lines) . "\"}\n");
	return $to;
}

sub manifest_verdict { return sql("SELECT status, split_part(message, ';', 1) FROM verify_backup('$_[0]') WHERE path = 'backup_manifest'"); }

put_manifest($backup, $manifest);
is(findings($backup), '', 'its manifest, made again');
# [ what, old, new, finding ]
my @changes = (
	[ 'a file twice', qr/^(\{ "Path": "PG_VERSION".*)$/m, sub { "$_[0]\n$_[0]" }, 'backup_manifest bad_format' ],
	[ 'a file more', qr/^(\{ "Path": )"PG_VERSION"(.*)$/m, sub { "$_[0]\"PG_VERSIO\"$_[1]\n$_[0]\"PG_VERSION\"$_[1]" }, 'PG_VERSIO missing' ],
	[ 'a file less', qr/^(\{ "Path": "PG_VERSION".*)\n/m, sub { '' }, 'PG_VERSION extra' ],
	[ 'another size', qr/("PG_VERSION", "Size": )3/, sub { "$_[0]4" }, 'PG_VERSION size_mismatch' ],
	[ 'another checksum', qr/("PG_VERSION".*"Checksum": ")../, sub { "$_[0]00" }, 'PG_VERSION checksum_mismatch' ],
	[ 'a timeline that was not', qr/("Timeline": )1/, sub { "$_[0]7" }, qr/^pg_wal\/00000007\w+ missing$/m ],
	[ 'another version', qr/(Manifest-Version": )\d/, sub { "$_[0]3" }, 'backup_manifest unsupported_version' ]);
push @changes, [ 'another system identifier', qr/("System-Identifier": )\d/, sub { "$_[0]1" }, qr/^global\/pg_control foreign_system$/m ]
  if $node->pg_version >= 17;
foreach (@changes)
{
	my ($what, $old, $new, $expected) = @$_;
	my $changed = $manifest;
	ok($changed =~ s/$old/$new->($1, $2)/e, "$what: it is there");
	put_manifest($backup, $changed);
	my $found = findings($backup);
	ref $expected ? like($found, $expected, $what) : is($found, $expected, $what);
	ok(!accepted($backup), "$what: pg_verifybackup reports it, too");
}

# --- incremental backups made by hand -----------------------------------------------------

# t/085 has real ones, of 17 and later; these are for every server that verifies.
put_manifest($backup, $manifest);
my $blocks = (-s "$backup/$table") / 8192;
my $part = $table =~ s{([^/]+)$}{INCREMENTAL.$1}r;
my ($start) = slurp_file("$backup/backup_label") =~ m{START WAL LOCATION: (\S+)};
my ($full, $first, $last) = map { "$tmp/$_" } qw(full first last);
foreach ($full, $first, $last)
{
	system_or_bail('cp', '-a', $backup, $_);
	unlink "$_/backup_manifest";
}

# Of a mapped relation there is a part without blocks; the map knows its file.
my $class = sql("SELECT pg_relation_filepath('pg_class')");
unlink "$last/$class";
append_to_file("$last/" . ($class =~ s{([^/]+)$}{INCREMENTAL.$1}r), pack('L*', 0xd3ae1f0d, 0, (-s "$backup/$class") / 8192));

# These blocks of the table, and no others.
sub make_part
{
	my ($to, $truncation, @numbers) = @_;
	my $header = pack('L*', 0xd3ae1f0d, scalar(@numbers), $truncation, @numbers);
	$header .= "\0" x (8192 - length $header) if @numbers;
	unlink "$to/$table", "$to/$part";
	append_to_file("$to/$part", $header . join('', map { AccelWal::peek("$backup/$table", $_ * 8192, 8192) } @numbers));
	return;
}

foreach ($first, $last)
{
	append_to_file("$_/backup_label", "INCREMENTAL FROM LSN: $start\nINCREMENTAL FROM TLI: 1\n");
}
make_part($first, $blocks, 2, 3, 4, 9);
make_part($last, $blocks - 5, 3);

# What is found but for the manifests that are not there.
sub chain
{
	my ($more, @backups) = @_;
	my $newest = pop @backups;
	my $found = findings($newest, ', prior_backups => ARRAY[' . join(', ', map { "'$_'" } @backups) . "]::text[]$more");
	return join("\n", sort grep { !/backup_manifest ok_no_manifest$/ } map { s{^$tmp/}{}r } split /\n/, $found);
}

sub whole { return chain('', $full, $first, $last); }
is(chain('', $first), '', 'an incremental backup alone');
is(whole(), '', 'a chain of three');
is(chain(', workers => 2', $full, $first, $last), '', 'a chain by workers');
is(sql("SELECT format, status FROM verify_backup_summary('$first', prior_backups => ARRAY['$full'])"), 'incremental|ok', 'what it is; that manifests are missing is no finding');

# [ what, file, offset, bytes, findings ]
my $number = 12 + 4;
my @damages = (
	[ 'a page', "$first/$part", 8192 + 4000, 'damage', "first/$part 2 corrupt" ],
	[ 'a page with a gap before it', "$first/$part", 4 * 8192 + 4000, 'damage', "first/$part 9 corrupt" ],
	[ 'a page that the last one has', "$first/$part", 2 * 8192 + 4000, 'damage', '' ],
	[ 'a page of the last one', "$last/$part", 8192 + 4000, 'damage', "$part 3 corrupt" ],
	[ 'a page that the second one has', "$full/$table", 4 * 8192 + 4000, 'damage', '' ],
	[ 'a page that no other has', "$full/$table", 5 * 8192 + 4000, 'damage', "full/$table 5 corrupt" ],
	[ 'a page beyond the end', "$full/$table", ($blocks - 5) * 8192 + 4000, 'damage', '' ],
	[ 'the last page before the end', "$full/$table", ($blocks - 6) * 8192 + 4000, 'damage', "full/$table " . ($blocks - 6) . ' corrupt' ],
	[ 'a header', "$first/$part", 0, 'damage', "first/$part bad_format" ],
	[ 'an order', "$first/$part", $number, pack('L', 2), "first/$part bad_format" ],
	[ 'a number', "$first/$part", $number + 8, pack('L', 131072), "first/$part bad_format" ],
	[ 'an LSN', "$last/backup_label", 0, 'STOP!', "backup_label bad_format\nbackup_label not_verifiable" ],
	[ 'another cluster', "$full/global/pg_control", 0, 'cluster', 'full/global/pg_control foreign_system' ]);
foreach (@damages)
{
	my ($what, $path, $at, $bytes, $expected) = @$_;
	my $kept = AccelWal::peek($path, $at, length $bytes);
	AccelWal::poke($path, $at, $bytes);
	is(whole(), $expected, "$what is damaged");
	AccelWal::poke($path, $at, $kept);
}

# The same in archives, which t/087 takes from pg_basebackup.
sub tarred
{
	my @archived = map { "$_.archived" } @_;
	system_or_bail('sh', '-c', 'rm -rf "$1.archived" && mkdir "$1.archived" && tar -C "$1" -cf "$1.archived/base.tar" .', '-', $_) foreach @_;
	return @archived;
}
is(chain('', tarred($full, $first, $last)), '', 'archives: a chain of three');
my @planted = map { [ "$full/$table", $_ * 8192 + 4000 ] } 3, 4, 5, $blocks - 5;
push @planted, [ "$first/$part", 4 * 8192 + 4000 ], [ "$last/$part", 8192 + 4000 ];
my @before = map { AccelWal::peek(@$_, 6) } @planted;
AccelWal::poke(@$_, 'damage') foreach @planted;
my $verbose = chain(', include_healed => true', $full, $first, $last);
is($verbose, join("\n", sort("$part 3 corrupt", "first/$part 9 corrupt", "full/$table 5 corrupt",
	(map { "full/$table $_ ok_replaced" } 3, 4, $blocks - 5))), 'pages of all three');
my @archived = tarred($full, $first, $last);
is(chain(', include_healed => true', @archived) =~ s/\.archived//gr, $verbose, 'archives: pages of all three');
is(chain(', include_healed => true', $full, $archived[1], $last) =~ s/\.archived//gr, $verbose, 'archives: the second one alone');
is(chain(', check_pages => false', @archived), '', 'archives: no pages');
AccelWal::poke(@{ $planted[$_] }, $before[$_]) foreach 0 .. $#planted;
# pg_control may come after an incremental file, and says what it may have
my $control = "$first/global/pg_control";
my $sizes_at = index(slurp_file($control), pack('L2', 8192, 131072));
my $truncation = AccelWal::peek("$first/$part", 8, 4);
AccelWal::poke("$first/$part", 8, pack('L', 200000));
foreach ([ 'segments of 1 GB', 8192, 131072, 1 ], [ 'segments of 2 GB', 8192, 262144, 0 ], [ 'blocks of 16 kB', 16384, 65536, 0 ])
{
	my ($what, $block_size, $segment, $bad) = @$_;
	AccelWal::poke($control, $sizes_at, pack('L2', $block_size, $segment));
	my $expected = findings($first);
	is($expected =~ /^\Q$part\E bad_format$/m ? 1 : 0, $bad, "$what: an incremental file");
	is(findings(tarred($first)), $expected, "$what: archives");
}
AccelWal::poke($control, $sizes_at, pack('L2', 8192, 131072));
AccelWal::poke("$first/$part", 8, $truncation);
AccelWal::poke("$full/$table", 4 * 8192 + 4000, 'damage');
is(chain(', include_healed => true', $full, $first, $last), "full/$table 4 ok_replaced", 'a page that is replaced');
AccelWal::poke("$first/$part", 0, 'damage');
is(whole(), "first/$part bad_format\nfull/$table 4 corrupt", 'a header that does not say what it replaces');
unlink "$first/$part";
is(whole(), "$part missing", 'a part that the second one lacks');
unlink "$last/$part";
is(whole(), '', 'a table that is no more');
make_part($first, 0);
make_part($last, 0);
is(whole(), '', 'a table that became empty');
truncate "$last/$part", 11;
is(whole(), "$part bad_format\nfull/$table 4 corrupt", 'a file that ends within its header');
truncate "$last/$part", 0;
is(whole(), "$part bad_format\nfull/$table 4 corrupt", 'an empty one');
unlink "$last/$part";
is(chain('', $first, $last), 'first/backup_label bad_format', 'no full one');
is(chain('', $full, $backup), 'backup_label bad_format', 'a full one at the end');
AccelWal::poke("$last/backup_label", index(slurp_file("$last/backup_label"), "TLI: 1") + 5, '2');
is(whole(), 'backup_label bad_format', 'another timeline');
# servers from 19 on print an LSN with eight digits after the slash
my $lsn = $start =~ s{/0*}{/}r;
is(sql("SELECT stored, computed FROM verify_backup('$last', prior_backups => ARRAY['$full', '$first']) WHERE status = 'bad_format'"),
	"$lsn on timeline 2|$lsn on timeline 1", 'what was expected');
foreach ([ 'ARRAY[NULL]::text[]', '22004', 'a null' ], [ "array_fill('$full'::text, ARRAY[1001])", '22023', 'too many' ])
{
	my ($argument, $state, $what) = @$_;
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT * FROM verify_backup('$last', prior_backups => $argument)");
	like($err, qr/ERROR:\s+$state/, "$what in prior");
}

# --- manifests that are too large ---------------------------------------------------------

my $head = "{\"PostgreSQL-Backup-Manifest-Version\": 1,\n";
my $ranges = join(',', ('{"Timeline":1,"Start-LSN":"0/1","End-LSN":"0/2"}') x 100000);
is(manifest_verdict(put_manifest("$tmp/ranges", "$head\"Files\": [],\n\"WAL-Ranges\": [$ranges],\n")),
	'unsupported_version|manifest has too many WAL ranges', '100,000 WAL ranges');
mkdir "$tmp/long";
append_to_file("$tmp/long/backup_manifest", '{');
truncate "$tmp/long/backup_manifest", 512 * 1024 * 1024 + 1;
like(manifest_verdict("$tmp/long"), qr/^unsupported_version\|manifest has 536870913 bytes/, 'more than 512 MB');
SKIP:
{
	skip 'LONG=1', 1 unless $ENV{LONG};
	my $files = join(',', ('{"Path":"a","Size":0}') x (4 * 1024 * 1024));
	put_manifest("$tmp/files", "$head\"Files\": [$files,{\"Path\":\"b\",\"Size\":0}],\n");
	my $peak = q{(regexp_match(pg_read_file('/proc/self/status', 0, 4000), 'VmHWM:\s+(\d+)'))[1]::int / 1024};
	my $said = sql("SELECT status, split_part(message, ';', 1) FROM verify_backup('$tmp/files') WHERE path = 'backup_manifest'; SELECT $peak");
	like($said, qr/^unsupported_version\|manifest has too many files$/m, '4,194,305 files');
	my ($megabytes) = $said =~ /^(\d+)$/m;
	cmp_ok($megabytes, '<', 1024, "memory is bounded: $megabytes MB");
	put_manifest("$tmp/files", "$head\"Files\": [$files],\n");
	is(manifest_verdict("$tmp/files"), 'bad_format|duplicate path name in backup manifest', '4,194,304 files, all the same');

	# as many in an archive without a manifest
	mkdir "$tmp/many";
	open(my $archive, '|-', "gzip -1 >$tmp/many/base.tar.gz") or die $!;
	my ($name, $rest) = unpack('a8a504', BackupTar::made('00000000', ''));
	my $sum = unpack('%32C*', substr($name, 0, 8)) - oct(unpack('x140a6', $rest));
	foreach my $number (0 .. 4 * 1024 * 1024 + 1)
	{
		$name = sprintf('%08d', $number);
		substr($rest, 140, 6) = sprintf('%06o', unpack('%32C*', $name) - $sum);
		print $archive $name, $rest;
	}
	print $archive "\0" x 1024;
	close($archive) or die $!;
	is(sql("SELECT count(*) FROM verify_backup('$tmp/many') WHERE path = 'base.tar.gz' AND status = 'not_verifiable'"), 1, '4,194,306 files in an archive');
}

$node->stop;
done_testing();
