# Incremental backups (17 and later): each file of one, then a chain of them.
# The oracle is pg_combinebackup: what it refuses is a finding, and of what it
# puts together, recovery and pg_checksums say whether a verdict was right.
use strict;
use warnings;
use Accel;
use AccelWal;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $conf = "autovacuum = off\nmax_parallel_workers = 8\nsummarize_wal = on\n";
my $node = PostgreSQL::Test::Cluster->new('version');
plan skip_all => 'incremental backups came with 17' if $node->pg_version < 17;

sub new_cluster
{
	my ($name) = @_;
	my $new = Accel::new_node($name, extra => ['--wal-segsize=1'], allows_streaming => 1, conf => $conf);
	$new->start;
	$new->safe_psql('postgres', q{
		CREATE EXTENSION crc32c_accel;
		CREATE TABLE t (id int, filler text);
		INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 800) g;
		CREATE TABLE cut AS SELECT g, repeat('c', 900) AS filler FROM generate_series(1, 400) g;
		CREATE TABLE dropped AS SELECT g, repeat('d', 900) AS filler FROM generate_series(1, 80) g;
		VACUUM FREEZE;
		CHECKPOINT});
	return $new;
}

# A folder that a crash in CREATE DATABASE left, which pg_database does not name
sub left_folder
{
	my ($of) = @_;
	my $folder = $of->data_dir . '/base/99999';
	system_or_bail('cp', '-a', $of->data_dir . '/base/1', $folder);
	unlink "$folder/1249" or die $!;
	my @chain = map { "$dir/left$_" } 0, 1;
	system_or_bail(command($chain[0], $of));
	system_or_bail(command($chain[1], $of, $chain[0]));
	ok(-e "$chain[1]/global/INCREMENTAL.1262", 'pg_database is the one of an earlier backup');
	my $say = sub { $of->safe_psql('postgres', q{SELECT concat_ws(' ', path, status, message) FROM verify_backup('} . $chain[1] . "', prior_backups => ARRAY['$chain[0]'])") };
	like($say->(), qr{^base/99999/pg_filenode.map not_verifiable not verified: this incremental backup does not have all of pg_database, which .* database 99999;.*$}, 'a folder of no database');
	unlink "$chain[1]/base/99999/pg_filenode.map" or die $!;
	like($say->(), qr{^base/99999/pg_filenode.map missing present in the manifest but not on disk$}m, '... of which a file was lost');
	File::Path::rmtree([ $folder, @chain ]);
	return;
}

$node = new_cluster('main');
left_folder($node);
sub sql { return $node->safe_psql('postgres', $_[0]); }
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } qw(t cut dropped);
my $part = $file{t} =~ s{([^/]+)$}{INCREMENTAL.$1}r;
my %ctid = map { $_ => sql("SELECT ctid FROM t WHERE id = $_") } 100, 300, 500, 700;
my %block = map { $_ => $ctid{$_} =~ /(\d+)/ } keys %ctid;

# Changes one row, without a look at other pages.
sub update
{
	my ($id, $letter) = @_;
	sql("UPDATE t SET filler = repeat('$letter', 900) WHERE ctid = '$ctid{$id}'");
	return;
}

sub command
{
	my ($path, $from, $prior) = @_;
	return ('pg_basebackup', '-D', $path, '-h', $from->host, '-p', $from->port, '--checkpoint=fast', '--no-sync',
		defined $prior ? "--incremental=$prior/backup_manifest" : ());
}

sub backup
{
	my ($name, $from, $prior) = @_;
	system_or_bail(command("$dir/$name", $from, $prior));
	return "$dir/$name";
}

# The argument for backups before one.
sub prior { return ', prior_backups => ARRAY[' . join(', ', map { "'$_'" } @_) . ']'; }

# What is found, a line each, with paths from the folder of all backups.
sub findings
{
	my ($backup, $more) = @_;
	return sql("SELECT concat_ws(' ', replace(path, '$dir/', ''), blkno, status) FROM verify_backup('$backup'" . ($more // '') . ') ORDER BY 1');
}

sub message
{
	my ($backup, $more, $where) = @_;
	return sql("SELECT string_agg(message, '; ' ORDER BY message) FROM verify_backup('$backup'$more) WHERE $where");
}

my $combined = 0;
# What pg_combinebackup makes of them; undef: it refuses.
sub combine
{
	my (@backups) = @_;
	my $to = "$dir/combined" . ++$combined;
	my ($out, $err) = ('', '');
	return $to if IPC::Run::run([ 'pg_combinebackup', '--no-sync', '-o', $to, @backups ], '<', \undef, '>', \$out, '2>', \$err);
	note("pg_combinebackup: $err");
	return;
}

# --- a full backup and two incremental ones -----------------------------------------

my $full = backup('full', $node);
update(100, 'y');
sql('DELETE FROM cut WHERE g > 40; VACUUM (FREEZE) cut; DROP TABLE dropped; CHECKPOINT');
my $first = backup('first', $node, $full);
update(300, 'z');
# the last one is slow, and a page is changed while it is made
my ($out, $err) = ('', '');
my $last = "$dir/last";
my $slow = IPC::Run::start([ command($last, $node, $first), '--max-rate=1M' ], '<', \undef, '>', \$out, '2>', \$err);
for (my $i = 0; $i < 3000 && sql('SELECT count(*) FROM pg_stat_progress_basebackup WHERE backup_streamed > 0') eq '0'; $i++)
{
	usleep(10000);
	last if !Accel::still_runs($slow);
}
update(500, 'w');
ok($slow->finish, 'an incremental backup while a page is changed') or diag $err;

my @chain = ($full, $first, $last);
ok(-e "$full/$file{t}" && -e "$first/$part" && -e "$last/$part" && !-e "$last/$file{t}", 'the table is in all of them, twice in part');
is(findings($_), '', "alone: $_") foreach @chain;
is(findings($first, prior($full)), '', 'the first one after the full one');
is(findings($last, prior($full, $first)), '', 'all three');
is(findings($last, prior($full, $first) . ', workers => 2'), '', 'all three by workers');
is(findings($last, ', prior_backups => ARRAY[]::text[]'), '', 'no backups before it');
is(sql("SELECT format FROM verify_backup_summary('$_')"), $_ eq $full ? 'plain' : 'incremental', "what is $_") foreach @chain;
is(sql("SELECT s.files = a.files AND s.read_bytes = a.bytes AND s.blocks = a.blocks, s.status, s.findings
		FROM verify_backup_summary('$last'" . prior($full, $first) . ") s,
		(SELECT sum((x).files) AS files, sum((x).read_bytes) AS bytes, sum((x).blocks) AS blocks FROM
			(SELECT verify_backup_summary(p) AS x FROM unnest(ARRAY['$full', '$first', '$last']) p) y) a"), 't|ok|0', 'the summary counts all three');

# --- damage to one file ---------------------------------------------------------------

sub number { return unpack('L', AccelWal::peek("$first/$part", $_[0], 4)); }
my $blocks = number(4);
cmp_ok($blocks, '>', 1, 'blocks in it');
my $size = -s "$first/$part";
my $header = $size - $blocks * 8192;

# [ what, offset, bytes, message, pg_combinebackup refuses it ]
my @damages = (
	[ 'magic number', 0, 'x', 'incremental file has a wrong magic number', 1 ],
	[ 'one block more', 4, pack('L', $blocks + 1), 'size of the incremental file is not that of its blocks', 0 ],
	[ 'far too many blocks', 4, pack('L', 4294967295), 'incremental file has more blocks than a file of a relation', 1 ],
	[ 'truncation length', 8, pack('L', 131073), 'truncation length is more than a file of a relation has', 1 ],
	[ 'a block far away', 8 + 4 * $blocks, pack('L', 131072), 'incremental file has a block beyond those of a file of a relation', 0 ],
	[ 'a block twice', 12, pack('L', number(16)), 'blocks of the incremental file are not in ascending order', 0 ]);
foreach (@damages)
{
	my ($what, $at, $bytes, $message, $refused) = @$_;
	my $kept = AccelWal::peek("$first/$part", $at, length $bytes);
	AccelWal::poke("$first/$part", $at, $bytes);
	is(findings($first), "$part bad_format\n$part checksum_mismatch", $what);
	is(message($first, '', "status = 'bad_format'"), $message, "$what: why");
	ok(!combine($full, $first), "$what: pg_combinebackup refuses it") if $refused;
	AccelWal::poke("$first/$part", $at, $kept);
}
my $kept = AccelWal::peek("$first/$part", $header + 4000, 6);
AccelWal::poke("$first/$part", $header + 4000, 'damage');
my $damaged = findings($first);
is($damaged, "$part " . number(12) . " corrupt\n$part checksum_mismatch", 'a page, by its number in the relation');
is(findings($first, ', workers => 2'), $damaged, 'a page, by workers');
is(findings($first, ', check_pages => false'), "$part checksum_mismatch", 'no pages');
is(sql("SELECT bad_blocks, healed_blocks, status FROM verify_backup_summary('$first')"), '1|0|damaged', 'the summary');
is(findings($last, prior($full, $first)), "first/$part " . number(12) . " corrupt\nfirst/$part checksum_mismatch", 'a page of the second one is restored with the third one');
AccelWal::poke("$first/$part", $header + 4000, $kept);
my $end = AccelWal::peek("$first/$part", $size - 8192, 8192);
truncate "$first/$part", $size - 8192;
is(findings($first), "$part bad_format\n$part size_mismatch", 'a block less');
AccelWal::poke("$first/$part", $size - 8192, $end);
is(findings($first), '', 'all undone');

# --- chains that are none ---------------------------------------------------------------

my $other_node = new_cluster('other');
my $other = backup('other', $other_node);
$other_node->stop;
# [ what, last, those before it, findings ]
my @chains = (
	[ 'without the second', $last, [$full], qr/^backup_label bad_format$/ ],
	[ 'without the full one', $last, [$first], qr/^first\/backup_label bad_format$/ ],
	[ 'in wrong order', $last, [ $first, $full ], qr/^backup_label bad_format\nfirst\/backup_label bad_format\nfull\/backup_label bad_format$/ ],
	[ 'one twice', $last, [ $full, $first, $first ], qr/^backup_label bad_format$|^first\/backup_label bad_format$/ ],
	[ 'a full one at the end', $full, [$first], qr/^backup_label bad_format\nfirst\/backup_label bad_format$/ ],
	[ 'a full one after a full one', $full, [$full], qr/^backup_label bad_format$/ ],
	[ 'the full one of another cluster', $first, [$other], qr/^other\/global\/pg_control foreign_system$/m ]);
foreach (@chains)
{
	my ($what, $newest, $before, $expected) = @$_;
	like(findings($newest, prior(@$before)), $expected, $what);
	ok(!combine(@$before, $newest), "$what: pg_combinebackup refuses it");
}
like(message($last, prior($full), "status = 'bad_format'"), qr/^the backup before it does not start where/, 'why');

rename "$full/$file{t}", "$dir/kept";
is(findings($last, prior($full, $first)), "full/$file{t} missing", 'a file of the full one is missing');
rename "$full/backup_manifest", "$dir/kept_manifest";
is(findings($last, prior($full, $first)), "$part missing\nfull/backup_manifest ok_no_manifest", 'and its manifest');
ok(!combine(@chain), 'pg_combinebackup refuses that');
rename "$dir/kept", "$full/$file{t}";
rename "$dir/kept_manifest", "$full/backup_manifest";

# --- pages of the full backup -------------------------------------------------------------

AccelWal::poke("$full/$file{t}", $block{$_} * 8192 + 4000, 'damage') foreach keys %block;
AccelWal::poke("$full/$file{cut}", 30 * 8192 + 4000, 'damage');
AccelWal::poke("$full/$file{dropped}", 4000, 'damage');
my @mismatches = sort map { "full/$file{$_} checksum_mismatch" } keys %file;
sub pages { return join("\n", grep { !/checksum_mismatch/ } split /\n/, findings($_[0], $_[1] . ', include_healed => true')); }
is(join("\n", grep { /checksum_mismatch/ } split /\n/, findings($last, prior($full, $first))), join("\n", @mismatches), 'the manifest of the full backup knows');
is(join("\n", grep { !/checksum_mismatch/ } split /\n/, findings($last, prior($full, $first))), "full/$file{t} $block{700} corrupt", 'one page is restored as it is');
is(pages($last, prior($full, $first)),
	join("\n", sort("full/$file{t} $block{100} ok_replaced", "full/$file{t} $block{300} ok_replaced", "full/$file{t} $block{500} ok_healed_by_wal",
			"full/$file{t} $block{700} corrupt", "full/$file{cut} 30 ok_replaced", "full/$file{dropped} 0 ok_replaced")), 'what becomes of the others');
is(sql("SELECT bad_blocks, healed_blocks, status FROM verify_backup_summary('$last'" . prior($full, $first) . ')'), '6|5|damaged', 'their summary');
is(pages($first, prior($full)) =~ s/ok_healed_by_wal/corrupt/gr,
	join("\n", sort("full/$file{t} $block{100} ok_replaced", (map { "full/$file{t} $block{$_} corrupt" } 300, 500, 700),
			"full/$file{cut} 30 ok_replaced", "full/$file{dropped} 0 ok_replaced")), 'of an earlier restore');
is(sql("SELECT status FROM verify_backup_summary('$last')"), 'ok', 'the last one alone says nothing of them');

# what is put together, after recovery
my $whole = combine(@chain);
is(join("\n", grep { !/healed/ } split /\n/, findings($whole)), "$file{t} $block{700} corrupt", 'the combined backup');
my $copy = PostgreSQL::Test::Cluster->new('restored');
my $data = $copy->data_dir;
system_or_bail('mkdir', '-p', $copy->basedir);
system_or_bail('mv', $whole, $data);
chmod 0700, $data;
$copy->append_conf('postgresql.conf', 'port = ' . $copy->port . "\nsummarize_wal = off\nrestore_command = 'false'\nrecovery_target = 'immediate'\nrecovery_target_action = 'promote'\n");
append_to_file("$data/recovery.signal", '');
$copy->start;
$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is($copy->safe_psql('postgres', "SET ignore_checksum_failure = on; SELECT string_agg(left(filler, 1), '' ORDER BY id) FROM t WHERE id IN (100, 300, 500)"), 'yzw', 'a restored server has what was changed');
$copy->stop;
my (undef, $said) = run_command([ 'pg_checksums', '-c', '-D', $data ]);
my @bad = $said =~ m{in file "[^"]*?((?:base|global)/[^"]*", block \d+)}g;
is("@bad", "$file{t}\", block $block{700}", 'pg_checksums finds the same');

# --- arguments -----------------------------------------------------------------------------

foreach ([ 'ARRAY[NULL]::text[]', '22004', 'a null' ], [ "ARRAY['$dir/nowhere']", '58P01', 'a directory that is not there' ],
	[ "ARRAY['']", '22023', 'an empty name' ], [ "array_fill('$full'::text, ARRAY[1001])", '22023', 'too many' ])
{
	my ($argument, $state, $what) = @$_;
	foreach my $function (qw(verify_backup verify_backup_summary))
	{
		my (undef, undef, $complaint) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT * FROM $function('$last', prior_backups => $argument)");
		like($complaint, qr/ERROR:\s+$state/, "$function: $what");
	}
}
sql('CREATE ROLE other; GRANT EXECUTE ON FUNCTION verify_backup TO other');
my (undef, undef, $complaint) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSET ROLE other; SELECT * FROM verify_backup('global', prior_backups => ARRAY['$full'])");
like($complaint, qr/ERROR:\s+42501/, 'a directory elsewhere needs pg_read_server_files');

$node->stop;
done_testing();
