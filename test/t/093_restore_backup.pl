# restore_block() with a base backup: pages that WAL has no image of any more are
# proven by the backup they are of, if its WAL is this server's, its manifest
# holds, and WAL since its start names none of them.  A backup of a clone, a file
# that was exchanged and missing WAL prove nothing, and nothing is written.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $archive = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
jit = off
fsync = off
bgwriter_lru_maxpages = 0
shared_buffers = 64MB
wal_keep_size = 4MB
min_wal_size = 2MB
max_wal_size = 4MB
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql($_) foreach split /\n/, <<'SQL';
CREATE EXTENSION crc32c_accel
CREATE TABLE t (id int, a int[], p point, b text, big text)
ALTER TABLE t ALTER big SET STORAGE EXTERNAL
CREATE INDEX t_gist ON t USING gist (p)
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 200 = 0 THEN repeat('b', 9000) END FROM generate_series(1, 3000) g
CREATE INDEX t_btree ON t (id)
CREATE INDEX t_hash ON t USING hash (id)
CREATE INDEX t_gin ON t USING gin (a)
CREATE INDEX t_sorted ON t USING gist (p)
CREATE INDEX t_spgist ON t USING spgist (p)
CREATE INDEX t_brin ON t USING brin (id)
CREATE SEQUENCE s
SELECT nextval('s') FROM generate_series(1, 5)
DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('COMMENT ON OPERATOR +(int, int) IS %L', repeat('c', i)); END LOOP; END $$
UPDATE t SET b = repeat('y', 200) WHERE id % 7 = 0
VACUUM FREEZE t
VACUUM FREEZE pg_description
SELECT count(*) FROM t
CHECKPOINT
SQL
my $toast = sql("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");
my @relations = ('t', $toast, qw(t_btree t_hash t_gin t_gist t_sorted t_spgist t_brin s pg_description));
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } @relations;
sub path { return $node->data_dir . "/$file{ $_[0] }"; }
sub page { return AccelWal::peek(path($_[0]), $_[1] * 8192, 8192); }
my $digest = "SELECT crc32c_agg((blkno, crc32c)::text::bytea ORDER BY blkno) FROM page_digests('%s', masked => true)";

# Segments that begin with many small records
sub pass_wal
{
	my ($where, $times) = @_;
	$where->safe_psql('postgres', "SELECT count(pg_logical_emit_message(false, 'x', 'x')) FROM generate_series(1, 50); SELECT pg_switch_wal()") for 1 .. $times;
	return;
}

# WAL of before the backup is not kept
pass_wal($node, 3);
sql('CHECKPOINT');
unlink glob("$archive/*");
$node->backup('base');
my $base = $node->backup_dir . '/base';
pass_wal($node, 3);

# Some blocks are changed after it.
sql("DELETE FROM t WHERE ctid IN ('(3,1)', '(9,1)'); CHECKPOINT");
pass_wal($node, 12);
sql('CHECKPOINT');
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $truth = sql($rows);
$node->stop;
my %truth = map { $_ => AccelWal::peek(path($_), 0, -s path($_)) } @relations;
$node->start;
my %digest = map { $_ => sql(sprintf $digest, $_) } @relations;
$node->stop;

my (%lost, $damaged);
sub damage
{
	%lost = ();
	foreach my $relation (@relations)
	{
		my @blocks = grep { substr($truth{$relation}, $_ * 8192, 8192) ne "\0" x 8192 } 0 .. length($truth{$relation}) / 8192 - 1;
		foreach my $block (@blocks)
		{
			AccelWal::poke(path($relation), $block * 8192, $block % 3 ? AccelWal::spoiled(page($relation, $block)) : "\0" x 8192);
			$lost{"$relation/$block"} = page($relation, $block);
		}
	}
	return scalar keys %lost;
}
sub written { return join ' ', sort grep { my ($relation, $block) = split m{/}; page($relation, $block) ne $lost{$_} } keys %lost; }

# Restores all blocks, or the first ones of a relation, returns how many of which
# status, and the first words.
sub restore_all
{
	my ($backup, $directory, $relation, $most) = @_;
	my (%count, %words);
	foreach my $one ($relation // @relations)
	{
		my $blocks = $most // length($truth{$one}) / 8192;
		foreach my $row (split /\n/, sql("SELECT status, b, message FROM generate_series(0, $blocks - 1) b, restore_block('$one', 'main', b, backup => '$backup', directory => $directory)"))
		{
			my ($status, $block, $message) = split /\|/, $row;
			next if !exists $lost{"$one/$block"};
			$count{$status}++;
			$words{$status} = $message;
			$words{"$one/$block"} = $status;
		}
	}
	return (\%count, \%words);
}

$damaged = damage();
cmp_ok($damaged, '>', 200, "$damaged blocks are damaged");
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $since = PostgreSQL::Test::Utils::tempdir();
my (%good, %bad);

# The archives that a plain backup would have been
sub packed
{
	my ($from, $name) = @_;
	mkdir "$dir/$name";
	system_or_bail('tar', '-C', $from, '--exclude=./pg_wal/*', '--exclude=./backup_manifest', '-cf', "$dir/$name/base.tar", '.');
	system_or_bail('tar', '-C', "$from/pg_wal", '-cf', "$dir/$name/pg_wal.tar", '.');
	system_or_bail('cp', "$from/backup_manifest", "$dir/$name");
	return "$dir/$name";
}

# Another backup, with one archive changed
my $variants = 0;
sub variant
{
	my ($from, $archive, $change) = @_;
	my $to = "$dir/variant" . ++$variants;
	system_or_bail('cp', '-r', $from, $to);
	if (defined $change)
	{
		BackupTar::put_bytes("$to/$archive", $change->(BackupTar::bytes_of("$to/$archive")));
	}
	else
	{
		unlink "$to/$archive" or die;
	}
	return $to;
}

sub restored
{
	my ($relation, $block, $backup) = @_;
	my $wal = $relation eq 'placed' ? $since : $archive;
	return sql("SELECT status, message FROM restore_block('$relation', 'main', $block, backup => '$backup', directory => '$wal')");
}

sub gives
{
	my ($what, $relation, $block, $backup) = @_;
	my $found = restored($relation, $block, $backup);
  SKIP:
	{
		skip "$what is not read by this build", 2 if $found =~ /this build of crc32c_accel cannot read/;
		like($found, qr/^restored\|.*: the backup is of this server/, "in archives: $what");
		ok(substr(page($relation, $block), 24) eq substr($good{"$relation/$block"}, 24), '... the page is what it was, but for its LSN');
	}
	return;
}
# --- what proves nothing -----------------------------------------------------------------------

sub copy_of_base
{
	my ($name) = @_;
	my $copy = PostgreSQL::Test::Utils::tempdir() . "/$name";
	system_or_bail('cp', '-a', $base, $copy);
	return $copy;
}

# Ten blocks, as each call that meets a gap waits for it to close.
sub proves_nothing
{
	my ($title, $backup, $directory, $status, $words) = @_;
	my ($count, $message) = restore_all($backup, $directory, 't', 10);
	is(join(' ', grep { $_ ne 'outdated' } sort keys %$count), $status, $title);
	like($message->{$status}, $words, '... in words');
	is(written(), '', '... nothing was written');
	return;
}

my $other = copy_of_base('exchanged');
system_or_bail('cp', "$other/$file{t_btree}", "$other/$file{t}");
proves_nothing('another file', $other, "'$archive'", 'not_proven', qr/is not the one that its manifest lists/);
$other = copy_of_base('changed');
AccelWal::poke("$other/$file{t}", 8192 * 5 + 6000, 'forged');
proves_nothing('a changed file', $other, "'$archive'", 'not_proven', qr/is not the one that its manifest lists/);
$other = copy_of_base('unlisted');
unlink "$other/backup_manifest" or die;
proves_nothing('no manifest', $other, "'$archive'", 'not_proven', qr/backup_manifest: /);
$other = copy_of_base('manifest');
my $manifest = slurp_file("$other/backup_manifest");
$manifest =~ s/("Start-LSN": "\d+\/)/${1}F/ or die;
AccelWal::put("$other/backup_manifest", $manifest);
proves_nothing('a changed manifest', $other, "'$archive'", 'not_proven', qr/backup_manifest: /);
$other = copy_of_base('without');
unlink glob("$other/pg_wal/0*");
proves_nothing('a backup without WAL', $other, "'$archive'", 'not_proven', qr/nothing tells whose it is/);
$other = copy_of_base('away');
unlink "$other/$file{t}" or die;
proves_nothing('a backup without the file', $other, "'$archive'", 'not_proven', qr/file "base\S+" of the backup is missing/);
proves_nothing('no backup', '/nowhere', "'$archive'", 'not_proven', qr/backup_manifest: /);
proves_nothing('WAL since the backup is not there', $base, 'NULL', 'not_proven', qr/^WAL is missing from /);
my $gap = PostgreSQL::Test::Utils::tempdir();
AccelWal::copy_files($archive, $gap);
my @segments = sort grep { /\/[0-9A-F]{24}$/ } glob("$gap/*");
unlink $segments[5] or die;
proves_nothing('a gap since the backup', $base, "'$gap'", 'not_proven', qr/^WAL is missing from /);

# a clone of before the backup, that has its own since
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'base');
Accel::configure($clone);
$clone->append_conf('postgresql.conf', "archive_mode = off");
$clone->start;
pass_wal($clone, 7);
$clone->backup('theirs');
my $theirs = $clone->backup_dir . '/theirs';
$clone->stop;
is(AccelWal::peek("$theirs/$file{t}", 8192 * 5, 8192), substr($truth{t}, 8192 * 5, 8192), 'a clone has the same page');
proves_nothing('its backup', $theirs, "'$archive'", 'invalid_page', qr/the WAL in the backup differs from this server's/);

like(restored('t', 5, packed($theirs, 'clone')), qr/^invalid_page\|.*the WAL in the backup differs from this server's/, 'its backup in archives');
my $packed = packed($base, 'packed');
like(restored('t', 5, variant($packed, 'pg_wal.tar', sub { BackupTar::bytes_of("$dir/clone/pg_wal.tar") })),
	qr/^not_proven\|.*nothing tells whose it is/, 'archives with the WAL of a clone');
is(written(), '', '... nothing was written');
$good{'t/5'} = substr($truth{t}, 8192 * 5, 8192);
gives('the data directory', 't', 5, $packed);
delete $lost{'t/5'};

# --- what is proven -------------------------------------------------------------------------------

my ($count, $message) = restore_all($base, "'$archive'");
is(join(' ', sort keys %$count), 'outdated restored', "$count->{restored} blocks are restored out of the backup");
is(join(' ', sort grep { /\/\d/ && $message->{$_} eq 'outdated' } keys %$message), 't/3 t/9', '... but those that were changed since');
like($message->{restored}, qr/^the page was written and read back: the backup is of this server, and WAL has no change of the block since its start at /, '... in words');
my $n = sql("SELECT count(*) FROM generate_series(0, 9) b, restore_block('t', 'main', b, backup => '$base', directory => '$archive') WHERE status = 'healthy' OR b IN (3, 9)");
is($n, '10', '... and then they are good');
is(sql("SELECT status FROM wal_block_history('t', 'main', 3, '$archive') h, restore_block('t', 'main', 3, wal_page_image('t', 'main', 3, '$archive', h.lsn), directory => '$archive') WHERE is_page"),
	'restored', 'the others are in WAL');
is(sql("SELECT status FROM wal_block_history('t', 'main', 9, '$archive') h, restore_block('t', 'main', 9, wal_page_image('t', 'main', 9, '$archive', h.lsn), directory => '$archive') WHERE is_page"),
	'restored', '...');
is(sql(sprintf $digest, $_), $digest{$_}, "$_: equal to what was lost, masked") foreach @relations;
is(sql($rows), $truth, 'the rows are what they were');
is(sql("SELECT nextval('s')"), '6', 'the sequence goes on');
is(sql("SELECT count(*) FROM unnest(ARRAY['t', 't_btree', 't_gin', 'pg_description']) r, LATERAL verify_relation(r::regclass)"), '0', 'verified');

# --- a relation that is newer, a write that was lost before --------------------------------------------

sql("CREATE TABLE newer AS SELECT 1 AS i; CHECKPOINT");
like(sql("SELECT status, message FROM restore_block('newer', 'main', 0, backup => '$base', directory => '$archive')"),
	qr/^not_proven\|.*the manifest lists no file/, 'a relation that is newer than the backup');
sql("CREATE TABLE l AS SELECT g, repeat('l', 500) AS b FROM generate_series(1, 100) g; VACUUM FREEZE l; CHECKPOINT");
$file{l} = sql("SELECT pg_relation_filepath('l')");
my $older = page('l', 2);
sql("DELETE FROM l WHERE ctid = '(2,1)'; CHECKPOINT");
$node->stop;
AccelWal::poke(path('l'), 2 * 8192, $older);
$node->start;
$node->backup('stale');
sql('SELECT pg_switch_wal()');
$node->stop;
AccelWal::poke(path('l'), 2 * 8192 + 8000, 'damage');
$node->start;
like(sql("SELECT status, message FROM restore_block('l', 'main', 2, backup => '" . $node->backup_dir . "/stale', directory => '$archive')"),
	qr/^outdated\|.*WAL changed the block up to/, 'a write that was lost before the backup');

# --- tar ---------------------------------------------------------------------------------------------------

sub tar
{
	my ($name, @options) = @_;
	system_or_bail('pg_basebackup', '-D', "$dir/$name", '-Ft', '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync', '--no-verify-checksums', @options);
	return;
}

mkdir "$dir/ts";
sql($_) foreach "CREATE TABLESPACE ts LOCATION '$dir/ts'", 'CREATE TABLE placed TABLESPACE ts AS SELECT id, b FROM t', 'VACUUM FREEZE placed', 'CHECKPOINT';
$file{placed} = sql("SELECT pg_relation_filepath('placed')");
my ($space, $member) = $file{placed} =~ m{^pg_tblspc/(\d+)/(.*)$};
pass_wal($node, 8);
my $first = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
tar('tar');
tar('fetch', '-X', 'fetch');
pass_wal($node, 1);
$node->stop;

# WAL of before it is not kept
foreach my $segment (grep { /^[0-9A-F]{24}$/ && $_ ge $first } slurp_dir($archive))
{
	system_or_bail('cp', "$archive/$segment", $since);
}
foreach my $n (7 .. 14)
{
	$good{"placed/$n"} = page('placed', $n);
	AccelWal::poke(path('placed'), $n * 8192 + 8000, 'damage');
	$bad{$n} = page('placed', $n);
}
$node->start;

my $tar = "$dir/tar";
my (undef, $at, $offset) = BackupTar::member(BackupTar::bytes_of("$tar/$space.tar"), $member);
my $page = $offset + 7 * 8192;
my $contents = BackupTar::contents(BackupTar::bytes_of("$tar/$space.tar"), $member);
my $forged = BackupTar::made($member, $contents =~ s/x{6}/forged/r);

# each: what, relation, backup, status, words
my @nothing = (
	[ 'an archive that is cut before the page', 'placed', variant($tar, "$space.tar", sub { substr($_[0], 0, $page) }), qr/^not_proven\|.*could not be read to its end/ ],
	[ 'an archive that is cut after the page', 'placed', variant($tar, "$space.tar", sub { substr($_[0], 0, $page + 8192) }), qr/^not_proven\|.*could not be read to its end/ ],
	[ 'an archive that is cut before the file', 'placed', variant($tar, "$space.tar", sub { substr($_[0], 0, $at) }), qr/^not_proven\|.*no archive of the backup has file "pg_tblspc\S+": bad_format: archive ends/ ],
	[ 'an archive that is cut in half', 't', variant($tar, 'base.tar', sub { substr($_[0], 0, int(length($_[0]) / 20)) }), qr/^not_proven\|.*(no archive of the backup has|could not be read)/ ],
	[ 'an archive that is no more', 'placed', variant($tar, "$space.tar"), qr/^not_proven\|.*no archive of the backup has file "pg_tblspc/ ],
	[ 'archives of nothing', 'placed', variant($tar, "$space.tar", sub { "\0" x 1024 }), qr/^not_proven\|.*no archive of the backup has file/ ],
	[ 'an archive that is none', 'placed', variant($tar, "$space.tar", sub { 'forged' x 4096 }), qr/^not_proven\|.*no archive of the backup has file/ ],
	[ 'the archive of another tablespace', 'placed', variant($tar, "$space.tar", sub { BackupTar::bytes_of("$tar/base.tar") }), qr/^not_proven\|.*no archive of the backup has file/ ],
	[ 'a page that was changed', 'placed', variant($tar, "$space.tar", sub { my $b = $_[0]; substr($b, $page + 6000, 6) = 'forged'; $b }), qr/^not_proven\|.*is not the one that its manifest lists/ ],
	[ 'another page of the file was changed', 'placed', variant($tar, "$space.tar", sub { my $b = $_[0]; substr($b, $offset + 6000, 6) = 'forged'; $b }), qr/^not_proven\|.*is not the one that its manifest lists/ ],
	[ 'a manifest of another backup', 'placed', variant($tar, 'backup_manifest', sub { slurp_file("$base/backup_manifest") }), qr/^not_proven\|.*the manifest lists no file/ ],
	[ 'a forged file before the right one', 'placed', variant($tar, "$space.tar", sub { $forged . $_[0] }), qr/^not_proven\|.*is not the one that its manifest lists/ ],
	[ 'no WAL', 'placed', variant($tar, 'pg_wal.tar'), qr/^not_proven\|.*nothing tells whose it is/ ],
	[ 'WAL that is cut', 'placed', variant($tar, 'pg_wal.tar', sub { substr($_[0], 0, 512 + 60) }), qr/^not_proven\|.*nothing tells whose it is/ ]);
foreach (@nothing)
{
	my ($what, $relation, $backup, $words) = @$_;
	like(restored($relation, 7, $backup), $words, "in archives: $what");
}
is(join(' ', grep { page('placed', $_) ne $bad{$_} } sort keys %bad), '', '... nothing was written');
my (undef, undef, $error) = $node->psql('postgres', "SET temp_file_limit = 64; SELECT * FROM restore_block('placed', 'main', 7, backup => '$tar', directory => '$since')");
like($error, qr/temporary file size exceeds "temp_file_limit"/, 'in archives: more WAL than temporary files may hold');

gives('a tablespace', 'placed', 7, $tar);
gives('WAL in the archive of the data directory', 'placed', 8, "$dir/fetch");
gives('a forged file after the right one', 'placed', 9, variant($tar, "$space.tar", sub { BackupTar::with($_[0], $forged) }));
my $block = 12;
foreach my $format (qw(gz lz4 zst))
{
  SKIP:
	{
		skip "$format: no such program", 3 if !BackupTar::compress($tar, "$dir/$format", $format);
		my $half = variant("$dir/$format", "$space.tar.$format", sub { substr($_[0], 0, int(length($_[0]) / 2)) });
		like(restored('placed', $block, $half), qr/^not_proven\|/, "in archives: half a $format");
		gives($format, 'placed', $block++, "$dir/$format");
	}
}

# --- a chain, made here ---------------------------------------------------------------------------------

# t/106 has real ones, of 17 and later; this is for what every server can be asked.
sub crc
{
	my ($path) = @_;
	return sql("SELECT encode(substring(int8send(crc32c(pg_read_binary_file('$path'))) FROM 5), 'hex')") =~ s/(..)(..)(..)(..)/$4$3$2$1/r;
}

# Of the later backup, an incremental one with one block, of a file with so many
sub increment
{
	my ($length, $number, $start) = @_;
	my $to = BackupTar::extract("$dir/fetch", "$dir/increment" . ++$variants);
	my $part = $file{placed} =~ s{([^/]+)$}{INCREMENTAL.$1}r;
	my $bytes = pack('L*', 0xd3ae1f0d, 1, $length, $number) . "\0" x (8192 - 16) . AccelWal::peek("$to/$file{placed}", $number * 8192, 8192);
	rename "$to/$file{placed}", "$to/$part" or die;
	AccelWal::put("$to/$part", $bytes);
	BackupTar::relist($to, \&crc, $file{placed}, $part);
	append_to_file("$to/backup_label", "INCREMENTAL FROM LSN: $start\nINCREMENTAL FROM TLI: 1\n");
	BackupTar::relist($to, \&crc, 'backup_label');
	return $to;
}

sub chained
{
	my ($number, $full, $last) = @_;
	return sql("SELECT status, message FROM restore_block('placed', 'main', $number, backup => '$last', prior_backups => ARRAY['$full'], directory => '$since')");
}

my ($begin) = slurp_file("$tar/backup_manifest") =~ /"Start-LSN": "([^"]+)"/;
my $increment = increment(1000, 10, $begin);
like(restored('placed', 11, $increment), qr/^not_proven\|.*name that one in prior_backups/, 'in a chain: no backup before it');
like(chained(11, $tar, increment(1000, 10, '0/28')), qr/^not_proven\|.*"\Q$tar\E": it starts at \S+ on timeline 1, but /, 'in a chain: another backup before it');
like(chained(11, $tar, increment(11, 10, $begin)), qr/^not_proven\|.*ends before the block/, 'in a chain: a block after the end of the file');
my $unknown = variant($tar, 'pg_wal.tar');
like(chained(11, $unknown, $increment), qr/^not_proven\|.*nothing tells whose it is: \Q$unknown\E: /, 'in a chain: nobody knows whose the backup before it is');
is(page('placed', 10) . page('placed', 11), $bad{10} . $bad{11}, '... nothing was written');
foreach ([ 10, 'the incremental backup' ], [ 11, 'the one before it' ])
{
	my ($number, $what) = @$_;
	like(chained($number, $tar, $increment), qr/^restored\|.*: the backup is of this server/, "in a chain: a page of $what");
	ok(substr(page('placed', $number), 24) eq substr($good{"placed/$number"}, 24), '... is what it was, but for its LSN');
}
my $temporary = $node->data_dir . '/base/pgsql_tmp';
is(join(' ', grep { !/^\./ } -d $temporary ? slurp_dir($temporary) : ()), '', 'no temporary file is left');
$node->stop;
done_testing();
