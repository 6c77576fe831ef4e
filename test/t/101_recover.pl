# crc32c_verify recover gives pages of blocks back that have changed since the
# backup, by the redo of a server: every kind of relation, equal to the primary's
# page, and restore_block() writes them.  Whatever cannot be recovered or is of
# another cluster is refused in words, and nothing is left, not after a kill either.
use strict;
use warnings;
use Cwd qw(abs_path);
use Accel;
use AccelWal;
use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $program = abs_path("crc32c_verify");
my $examples = abs_path('docs/examples');
chomp(my $bindir = `pg_config --bindir`);
my $scratch = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
jit = off
fsync = off
max_wal_size = 4GB
min_wal_size = 1GB
max_prepared_transactions = 5
allow_in_place_tablespaces = on
archive_mode = on
track_commit_timestamp = on
CONF
my $archive = "$scratch/archive";
mkdir $archive;
$node->append_conf('postgresql.conf', "archive_command = 'cp %p $archive/%f'");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

sub run_pgbench
{
	my ($transactions) = @_;
	$node->command_ok([ 'pgbench', '-n', '-c', '3', '-t', $transactions, '--no-vacuum', 'postgres' ], 'pgbench runs');
	return;
}

mkdir "$scratch/space";
sql($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE TABLESPACE elsewhere LOCATION '$scratch/space'
CREATE TABLE t (id int, a int[], p point, b text, big text)
ALTER TABLE t ALTER big SET STORAGE EXTERNAL
ALTER TABLE t SET (fillfactor = 70)
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 200 = 0 THEN repeat('b', 9000) END FROM generate_series(1, 3000) g
CREATE INDEX t_btree ON t (id)
CREATE INDEX t_hash ON t USING hash (id)
CREATE INDEX t_gin ON t USING gin (a)
CREATE INDEX t_gist ON t USING gist (p)
CREATE INDEX t_spgist ON t USING spgist (p)
CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 2)
CREATE TABLE far (id int, b text) TABLESPACE elsewhere
INSERT INTO far SELECT g, repeat('y', 300) FROM generate_series(1, 2000) g
CREATE TABLE cut (id int, b text)
INSERT INTO cut SELECT g, repeat('z', 300) FROM generate_series(1, 2000) g
CREATE SEQUENCE s
CREATE UNLOGGED TABLE u AS SELECT 1 AS i
CREATE TABLE cold AS SELECT g FROM generate_series(1, 1000) g
VACUUM cold
SQL
$node->command_ok([ 'pgbench', '-i', '-s', '3', '-q', 'postgres' ], 'pgbench begins');
sql('VACUUM FREEZE; CHECKPOINT');
my $backup = "$scratch/backup";
$node->command_ok([ 'pg_basebackup', '-D', $backup, '-c', 'fast', '--no-sync', '-T', "$scratch/space=$scratch/space_of_backup",
		'-d', $node->connstr('postgres') ], 'a plain backup');

# --- a busy hour -------------------------------------------------------------------------------

sub work
{
	my ($from) = @_;
	my $to = $from + 700;
	sql($_) foreach split /\n/, <<"SQL";
INSERT INTO t SELECT g, ARRAY[g % 50, g], point(g % 100, g / 100), repeat('x', 200), CASE WHEN g % 100 = 0 THEN repeat('c', 9000) END FROM generate_series($from, $to) g
DELETE FROM t WHERE id % 7 = 3
UPDATE t SET id = id + 100000, p = point(id % 90, 3) WHERE id % 11 = 5
VACUUM t
UPDATE far SET b = repeat('w', 280) WHERE id % 5 = 2
SELECT setval('s', $from), nextval('s')
COMMENT ON TABLE t IS 'number $from'
SELECT brin_summarize_new_values('t_brin')
SQL
	run_pgbench(300);
	return;
}
work(10000);
sql('CHECKPOINT');
sql("DELETE FROM cut WHERE id > 200; VACUUM cut; INSERT INTO cut SELECT g, repeat('n', 300) FROM generate_series(3000, 4000) g");
sql(q{BEGIN; INSERT INTO t SELECT g, ARRAY[g], point(1, 1), 'prepared' FROM generate_series(1, 200) g; PREPARE TRANSACTION 'one'});
work(20000);
sql(q{COMMIT PREPARED 'one'});
sql(q{BEGIN; UPDATE far SET id = 1 WHERE id % 100 = 1; PREPARE TRANSACTION 'two'});
sql('CREATE TABLE young (id int PRIMARY KEY, b text)');
sql("INSERT INTO young SELECT g, repeat('q', 500) FROM generate_series(1, 500) g; UPDATE young SET b = 'r' WHERE id % 9 = 1");
work(30000);
sql(q{ROLLBACK PREPARED 'two'});
sql($_) foreach q{BEGIN; SELECT id FROM far WHERE id % 9 = 0 FOR SHARE; PREPARE TRANSACTION 'three'},
	'SELECT id FROM far WHERE id % 18 = 0 FOR SHARE', 'SELECT id FROM far WHERE id % 27 = 0 FOR KEY SHARE',	# multixacts
	q{COMMIT PREPARED 'three'};

my $toast = sql("SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");
my @relations = ('t', $toast, qw(t_btree t_hash t_gin t_gist t_spgist t_brin far cut young young_pkey s pgbench_accounts
	pgbench_accounts_pkey pgbench_tellers pgbench_history pg_description pg_class pg_attribute));
my %path = map { $_ => sql("SELECT pg_relation_filepath('$_')") } @relations, 'u', 'cold';
sql('CHECKPOINT; SELECT pg_switch_wal()');
my $digest = "SELECT blkno, crc32c FROM page_digests('%s', masked => true) ORDER BY blkno";
$node->stop;
$node->start;
my $rows = 'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t';
my $truth = sql($rows);
sql('CHECKPOINT');				# of the pages that this prunes
my %digest = map { $_ => sql(sprintf $digest, $_) } @relations;
$node->stop;

sub file { return $node->data_dir . "/$path{ $_[0] }"; }
sub page { return AccelWal::peek(file($_[0]), $_[1] * 8192, 8192); }
sub lsn_of { return sprintf('%X/%X', unpack 'LL', $_[0]); }

my ($start) = slurp_file("$backup/backup_label") =~ m{START WAL LOCATION: ([0-9A-F/]+)};

# Up to n blocks of a relation that were changed since the backup.
sub changed
{
	my ($relation, $most) = @_;
	my $n = (-s file($relation)) / 8192;
	my @blocks = grep { AccelWal::number(lsn_of(page($relation, $_))) > AccelWal::number($start) } 0 .. $n - 1;
	my $step = @blocks > $most ? @blocks / $most : 1;
	return map { $blocks[ $_ * $step ] } 0 .. (@blocks > $most ? $most : @blocks) - 1;
}
my %wanted = map { $_ => [ changed($_, 12) ] } @relations;
my @blocks = map { my $r = $_; map { [ $r, $_ ] } @{ $wanted{$r} } } @relations;
cmp_ok(scalar @blocks, '>', 120, scalar(@blocks) . ' blocks have changed since the backup');
is(join(' ', grep { !@{ $wanted{$_} } } @relations), '', '... of every relation');

# Runs the program: status, output, errors.
sub recover
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ $program, 'recover', @arguments ], '<', \undef, '>', \$out, '2>', \$err);
	$run->finish;
	return ($run->full_result(0) >> 8, $out, $err);
}
my $live = $node->data_dir . '/pg_wal';
my @source = ("--backup=$backup", "--bindir=$bindir", "--wal=$archive", "--wal=$live");

sub block_arguments { return map { "--block=$path{ $_->[0] }:$_->[1]" } @_; }

my $out = "$scratch/out";
my ($status, $said, $err) = recover(@source, "--out=$out", block_arguments(@blocks));
is($err, '', 'no complaint');
is($status, 0, scalar(@blocks) . ' blocks are recovered') or note $said;
note join "\n", grep { !/: recovered/ } split /\n/, $said;
my ($tracked) = $said =~ /^(\d+) blocks are tracked, /;
cmp_ok($tracked, '>=', scalar @blocks, 'the tracked blocks are said first');
is(join(' ', glob("$out/recover.*")), '', 'nothing else is left');

sub recovered { return slurp_file("$out/$path{ $_[0] }.$_[1]", 0, 8192); }
is(join(' ', map { "$_->[0]:$_->[1]" } grep { lsn_of(recovered(@$_)) ne lsn_of(page(@$_)) } @blocks), '', 'each has the LSN of the primary');

# --- given to restore_block ------------------------------------------------------------------------

# No session begins without these.
my @vital = qw(pg_class pg_attribute);
my @lost = grep { my $r = $_; !grep { $r eq $_ } @vital } @relations;
foreach my $relation (@lost)
{
	AccelWal::poke(file($relation), $_ * 8192, "\0" x 8192) foreach @{ $wanted{$relation} };
}
$node->start;
my %count;
foreach my $relation (@lost)
{
	my $list = join ',', @{ $wanted{$relation} };
	my $call = "SELECT status, count(*) FROM unnest('{$list}'::bigint[]) b,
		restore_block('$relation', 'main', b, pg_read_binary_file('$out/$path{$relation}.' || b)%s) GROUP BY 1";
	my %first = map { split /\|/ } split /\n/, sql(sprintf $call, '');
	my %second = map { split /\|/ } split /\n/, sql(sprintf $call, ', allow_unproven => true');
	$count{$_} += $first{$_} foreach keys %first;
	is(join(' ', grep { !/^(restored|healthy|bad_on_disk_cached_ok)$/ } sort keys %second), '', "$relation: restore_block takes the pages");
	my %old = map { $_ => 1 } split /\n/, $digest{$relation};
	is(join(' ', grep { !$old{$_} } split /\n/, sql(sprintf $digest, $relation)), '', '... and they are equal to what was lost, masked');
}
note join ', ', map { "$count{$_} $_" } sort keys %count;
is(join(' ', sort keys %count), 'not_proven restored', 'the WAL proves some by itself, and none is refuted');
is(sql($rows), $truth, 'the rows are what they were');

# --- a target, and blocks of their own kind ------------------------------------------------------

sub live_blocks
{
	my ($relation) = @_;
	$path{$relation} = sql("SELECT pg_relation_filepath('$relation')");
	return;
}
my $run = 0;

# Recovers blocks into a folder of their own: status, what was said, errors.
sub again
{
	my ($arguments, @wanted) = @_;
	$out = "$scratch/out" . ++$run;
	return recover(@$arguments, "--out=$out", block_arguments(@wanted));
}

my $target = sql(q{SELECT pg_current_wal_insert_lsn()});
sql(q{UPDATE far SET b = 'after the target' WHERE id < 900; UPDATE pgbench_tellers SET filler = 'after'; CHECKPOINT; SELECT pg_switch_wal()});
my @hot = ([ 'far', 3 ], [ 'far', 9 ], [ 'pgbench_tellers', 0 ]);
($status, $said, $err) = again([ @source, "--target-lsn=$target" ], @hot);
is("$status$err", '0', 'blocks as of a target');
foreach my $block (@hot)
{
	my ($relation, $blkno) = @$block;
	my $last = sql("SELECT max(end_lsn) FROM wal_block_history('$relation', 'main', $blkno, '$archive') WHERE end_lsn <= '$target'");
	is(AccelWal::number(lsn_of(recovered(@$block))), AccelWal::number($last), "$relation:$blkno is as of the last record before it");
}

# --- without a backup ------------------------------------------------------------------------------

my @cluster = ('--cluster=' . $node->data_dir, "--bindir=$bindir");
sql(q{UPDATE far SET b = 'without a backup' WHERE id % 50 = 7; UPDATE pgbench_tellers SET filler = 'again'; CHECKPOINT});
($status, $said, $err) = again([ @cluster, "--wal=$archive" ], @blocks, [ 'cold', 0 ]);
is("$status$err", '0', scalar(@blocks) . ' blocks of a running cluster, without a backup') or note join "\n", grep { /not recovered/ } split /\n/, $said;
like($said, qr/^recovery begins with the checkpoint at /, '... since the oldest checkpoint');
is(join(' ', map { "$_->[0]:$_->[1]" } grep { lsn_of(recovered(@$_)) ne lsn_of(page(@$_)) } @blocks, [ 'cold', 0 ]), '', '... each has the LSN on disk');
my %before = map { $_ => sql(sprintf $digest, $_) } qw(far t_gin);
$node->stop;
my @again = ([ 'far', $wanted{far}[0] ], [ 't_gin', $wanted{t_gin}[0] ]);
AccelWal::poke(file($_->[0]), $_->[1] * 8192, "\0" x 8192) foreach @again;
$node->start;
foreach my $block (@again)
{
	my ($relation, $blkno) = @$block;
	is(sql("SELECT status FROM restore_block('$relation', 'main', $blkno, pg_read_binary_file('$out/$path{$relation}.$blkno'), allow_unproven => true)"), 'restored', "$relation: restored");
	is(sql(sprintf $digest, $relation), $before{$relation}, '... and equal, masked');
}
mkdir "$scratch/recent";
foreach my $segment (map { m{([0-9A-F]{24})$} } glob("$archive/????????????????????????"))
{
	symlink "$archive/$segment", "$scratch/recent/$segment" if AccelWal::number($start) / 2**20 < hex substr $segment, 16;
}
my $bare = variant('bare', sub { unlink "$_[0]/backup_label" });
($status, $said, $err) = again([ "--cluster=$bare", "--bindir=$bindir", "--wal=$scratch/recent" ], [ 'far', 3 ], [ 'cold', 0 ]);
is("$status$err", '3', 'with recent WAL alone');
like($said, qr/^\Q$path{far}\E:3: recovered at /m, '... a block is recovered');
like($said, qr/^\Q$path{cold}\E:0: not recovered: no record names it since the oldest checkpoint at /m, '... and another is not, in words');

# Links segments of recent WAL whose number is wanted.
sub link_recent
{
	my ($to, $wanted) = @_;
	mkdir "$scratch/$to";
	foreach my $segment (map { m{([0-9A-F]{24})$} } glob("$scratch/recent/*"))
	{
		symlink "$archive/$segment", "$scratch/$to/$segment" if $wanted->(hex substr $segment, 16);
	}
	return;
}
my $oldest = int(AccelWal::number($said =~ m{^recovery begins with the checkpoint at ([0-9A-F/]+)}m) / 2**20);
link_recent('holed', sub { $_[0] != $oldest + 1 });
($status, $said, $err) = again([ "--cluster=$bare", "--bindir=$bindir", "--wal=$scratch/holed" ], [ 'far', 3 ]);
is("$status$err", '0', 'WAL with a gap');
cmp_ok(AccelWal::number($said =~ m{^recovery begins with the checkpoint at ([0-9A-F/]+)}m) / 2**20, '>=', $oldest + 2, '... recovery begins after it');
link_recent('tail', sub { $_[0] == $oldest || $_[0] == $oldest + 2 });
($status, $said, $err) = again([ "--cluster=$bare", "--bindir=$bindir", "--wal=$scratch/tail" ], [ 'far', 3 ]);
is($status, 1, 'a gap after the last checkpoint');
like($err, qr{WAL has a gap from [0-9A-F/]+ on, in segment [^\n]*, and no checkpoint to begin with after it}, '... in words');

sql(q{CREATE TABLE gone AS SELECT g FROM generate_series(1, 1000) g});
live_blocks('gone');
sql(q{CREATE TABLE stub AS SELECT g FROM generate_series(1, 1000) g; DELETE FROM stub WHERE g > 10; VACUUM stub});
live_blocks('stub');
sql(q{CREATE TABLE bare (i int); CHECKPOINT});
live_blocks('bare');
$node->append_conf('postgresql.conf', 'full_page_writes = off');
$node->reload;
sql('INSERT INTO bare SELECT g FROM generate_series(1, 1000) g');
my $small = "$scratch/nofpw";
$node->command_ok([ 'pg_basebackup', '-D', $small, '-c', 'fast', '--no-sync', '-T', "$scratch/space=$scratch/space_of_nofpw",
		'-d', $node->connstr('postgres') ], 'a backup');
sql('CHECKPOINT; UPDATE bare SET i = i; CHECKPOINT; SELECT pg_switch_wal()');
($status, $said, $err) = again([ "--backup=$small", "--bindir=$bindir", "--wal=$live" ], [ 'bare', 0 ]);
is("$status$err", '3', 'without full_page_writes');
like($said, qr/not recovered: records change it up to [^\n]*, and none of them makes all of the page/, '... the page would be that of the backup, which nothing proves');


$node->append_conf('postgresql.conf', 'full_page_writes = on');
$node->reload;
sql('CREATE DATABASE copy TEMPLATE template0 STRATEGY file_copy');
$path{copied} = $node->safe_psql('copy', q{SELECT pg_relation_filepath('pg_description')});
$node->safe_psql('copy', q{COMMENT ON FUNCTION sin(float8) IS 'in a copy'; CHECKPOINT});
my $of_copy = $node->safe_psql('copy', q{SELECT (ctid::text::point)[0] FROM pg_description WHERE description = 'in a copy'});
sql('CREATE TABLE huge (i int)');
live_blocks('huge');
sql('DROP TABLE gone; CHECKPOINT');
$node->stop;
truncate(file('huge'), 2**30);		# no disk is used
AccelWal::put(file('huge') . '.1', '');
truncate(file('huge') . '.1', 8192 * 3);
$node->start;
sql('INSERT INTO huge SELECT g FROM generate_series(1, 10) g');
my $border = sql('SELECT (ctid::text::point)[0] FROM huge LIMIT 1');
cmp_ok($border, '>=', 131072, 'a block in the second file of a relation');
sql('UPDATE far SET id = id; CHECKPOINT; SELECT pg_switch_wal()');
($status, $said, $err) = again(\@source, [ 'huge', $border ], [ 'copied', $of_copy ]);
is("$status$err", '0', 'blocks beyond 1 GB, of a copied database') or note $said;
is(lsn_of(recovered('huge', $border)), lsn_of(AccelWal::peek(file('huge') . '.1', ($border - 131072) * 8192, 8192)), '... as of the primary');
is(lsn_of(recovered('copied', $of_copy)), lsn_of(page('copied', $of_copy)), '... likewise');

my @refused = (
	[ 'cold', 0, qr/no record names it since the backup/ ],
	[ 'gone', 0, qr/its storage was dropped up to / ],
	[ 'stub', 3, qr/the block was cut off up to / ],
	[ 'copied', 0, qr/its database was made as a copy of files up to / ]);
($status, $said, $err) = again(\@source, [ 'far', 3 ], @refused);
is("$status$err", '3', 'one block is recovered, and others are not');
foreach my $case (@refused)
{
	my ($line) = $said =~ /^(\Q$path{$case->[0]}\E:$case->[1]: .*)$/m;
	like($line, $case->[2], "$case->[0]: not recovered, in words");
	ok(!-e "$out/$path{ $case->[0] }.$case->[1]", '... and nothing is written');
}
is(lsn_of(recovered('far', 3)), lsn_of(page('far', 3)), '... the one that is');
($status, $said, $err) = again(\@source, $refused[0]);
is("$status$err", '3', 'no block can be recovered');
is(join(' ', glob("$out/*")), '', '... nothing is left');

# --- refused ----------------------------------------------------------------------------------------

# A backup that is changed by a sub: only its small files matter.
sub variant
{
	my ($name, $change) = @_;
	my $copy = "$scratch/$name";
	make_path("$copy/$_") foreach qw(global pg_xact pg_multixact/offsets pg_multixact/members pg_wal);
	foreach my $file (qw(PG_VERSION backup_label global/pg_control global/pg_filenode.map pg_xact pg_multixact/offsets pg_multixact/members))
	{
		-d "$backup/$file" ? AccelWal::copy_files("$backup/$file", "$copy/$file") : copy("$backup/$file", "$copy/$file");
	}
	$change->($copy);
	return $copy;
}
sub relabel
{
	my ($folder, $from, $to) = @_;
	my $label = slurp_file("$folder/backup_label");
	$label =~ s/$from/$to/;
	AccelWal::put("$folder/backup_label", $label);
	return;
}
my ($plain) = variant('plain', sub { });
my @segments = map { m{([0-9A-F]{24})$} } sort glob("$archive/????????????????????????");
my $middle = $segments[ @segments / 2 ];
AccelWal::copy_files($archive, "$scratch/hole");
unlink "$scratch/hole/$middle";
AccelWal::copy_files($archive, "$scratch/damaged");
AccelWal::poke("$scratch/damaged/$middle", 500_000, chr(1 + ord AccelWal::peek("$scratch/damaged/$middle", 500_000, 1) & 127));
mkdir "$scratch/few";
copy("$archive/$middle", "$scratch/few/$middle");
my $foreign = Accel::new_node('foreign', allows_streaming => 1);
$foreign->start;
$foreign->backup('foreign');
$foreign->stop;
my $foreign_backup = $foreign->backup_dir . '/foreign';
mkdir "$scratch/other_bin";
AccelWal::put("$scratch/other_bin/postgres", "#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n");
chmod 0755, "$scratch/other_bin/postgres";
my $closed = "$scratch/closed";
mkdir $closed;
chmod 0555, $closed;
my $bin = "--bindir=$bindir";
my $one = "--block=$path{far}:3";
my @cases = (
	[ 'WAL with a hole', [ "--backup=$plain", $bin, "--wal=$scratch/hole", $one ], qr/WAL segment $middle is in none of the folders/ ],
	[ 'damaged WAL', [ "--backup=$plain", $bin, "--wal=$scratch/damaged", $one ], qr/WAL has a gap from [^\n]*, in segment $middle: / ],
	[ 'a backup of another cluster', [ "--backup=$foreign_backup", $bin, "--wal=$archive", "--block=base/5/1259:0" ],
		qr/WAL has a gap|is in none of the folders|is not known to follow/ ],
	[ 'WAL of another cluster', [ "--backup=$plain", $bin, "--wal=$foreign_backup/pg_wal", $one ], qr/in none of the folders|WAL has a gap/ ],
	[ 'another major version', [ "--backup=$plain", "--bindir=$scratch/other_bin", "--wal=$archive", $one ], qr/the backup is of version \d+, and "[^"]*" is of version 14/ ],
	[ 'no server', [ "--backup=$plain", "--bindir=$scratch", "--wal=$archive", $one ], qr/is no server that can be run here/ ],
	[ 'a target before the end of the backup', [ "--backup=$plain", $bin, "--wal=$archive", "--target-lsn=$start", $one ], qr/before the (end of the backup|backup's start)/ ],
	[ 'a target after the end of the WAL', [ "--backup=$plain", $bin, "--wal=$archive", '--target-lsn=F/0', $one ], qr/is in none of the folders/ ],
	[ 'a data directory to write to', [ "--backup=$plain", $bin, "--wal=$archive", '--out=' . $node->data_dir . '/base/new', $one ], qr/is a data directory, or lies in one/ ],
	[ 'a folder that is read-only', [ "--backup=$plain", $bin, "--wal=$archive", "--out=$closed", $one ], qr/cannot (write to|make) "[^"]*": Permission denied/ ],
	[ 'an output that exists', [ "--backup=$plain", $bin, "--wal=$archive", "--out=$scratch/out", block_arguments($blocks[0]) ], qr/exists already/ ],
	[ 'no backup_label', [ '--backup=' . variant('nolabel', sub { unlink "$_[0]/backup_label" }), $bin, "--wal=$archive", $one ], qr/has no backup_label/ ],
	[ 'a running cluster as the backup', [ '--backup=' . $node->data_dir, $bin, "--wal=$archive", $one ], qr/has no backup_label/ ],
	[ 'an incremental backup', [ '--backup=' . variant('incremental', sub { relabel($_[0], qr/\z/, "INCREMENTAL FROM LSN: 0/2000028\nINCREMENTAL FROM TLI: 1\n") }),
			$bin, "--wal=$archive", $one ], qr/is an incremental backup: combine it [^\n]* by "pg_combinebackup -o NEW FULL \.\.\. '[^']+incremental'", and give --backup=NEW/ ],
	[ 'a backup of archives', [ '--backup=' . variant('tar', sub { unlink "$_[0]/PG_VERSION"; AccelWal::put("$_[0]/base.tar", '') }), $bin, "--wal=$archive", $one ],
		qr/is a backup of archives: extract it by "mkdir -m 700 NEW && tar -C NEW -xf '[^']+\/base\.tar'", and give --backup=NEW/ ],
	[ 'no backup', [ "--backup=$archive", $bin, "--wal=$archive", $one ], qr/is no base backup/ ],
	[ 'a damaged pg_control', [ '--backup=' . variant('control', sub { AccelWal::poke("$_[0]/global/pg_control", 100, 'xx') }), $bin, "--wal=$archive", $one ],
		qr/pg_control of "[^"]*" is not valid/ ],
	[ 'an unlogged table', [ "--backup=$backup", $bin, "--wal=$archive", "--block=$path{u}:0" ], qr/is unlogged/ ],
	[ 'a map', [ "--backup=$plain", $bin, "--wal=$archive", "--block=$path{far}_vm:0" ], qr/is not of a main fork/ ],
	[ 'a later file of a relation', [ "--backup=$plain", $bin, "--wal=$archive", "--block=$path{far}.1:0" ], qr/is no path as pg_relation_filepath\(\) gives it/ ],
	[ 'a path of another version', [ "--backup=$plain", $bin, "--wal=$archive", '--block=pg_tblspc/16500/PG_14_202107181/5/16501:0' ], qr/is no path of this version/ ],
	[ 'no path at all', [ "--backup=$plain", $bin, "--wal=$archive", '--block=../x:0' ], qr/is no path as/ ],
	[ 'a backup as a cluster', [ "--cluster=$plain", $bin, "--wal=$archive", $one ], qr/has a backup_label: name it by --backup/ ],
	[ 'no cluster', [ "--cluster=$archive", $bin, "--wal=$archive", $one ], qr/is no data directory/ ],
	[ 'a cluster of another major version', [ '--cluster=' . $node->data_dir, "--bindir=$scratch/other_bin", $one ], qr/the cluster is of version \d+, and "[^"]*" is of version 14/ ],
	[ 'a target before the oldest checkpoint', [ '--cluster=' . $node->data_dir, $bin, "--wal=$archive", '--target-lsn=0/1', $one ], qr/the target is before the end of the oldest checkpoint/ ],
	[ 'a cluster and WAL of another', [ '--cluster=' . variant('other', sub { unlink "$_[0]/backup_label" }), $bin, "--wal=$foreign_backup/pg_wal", $one ], qr/, and no checkpoint to begin with after it/ ],
	[ 'WAL without a checkpoint', [ '--cluster=' . variant('late', sub { unlink "$_[0]/backup_label" }), $bin, "--wal=$scratch/few", $one ], qr/has no checkpoint/ ],
	[ 'a block that is named twice', [ "--backup=$plain", $bin, "--wal=$archive", $one, $one ], qr/block 3 of "[^"]*" is named twice/ ]);
foreach my $case (@cases)
{
	my ($title, $arguments, $words) = @$case;
	my @to = grep({ /^--out=/ } @$arguments) ? () : ("--out=$scratch/refused");
	($status, $said, $err) = recover(@$arguments, @to);
	is($status, 1, "refused: $title") or note $said;
	like($err, $words, '... in words');
}
# archives, extracted by the command that the refusal names
mkdir "$scratch/archives";
system_or_bail('tar', '-C', $plain, '-cf', "$scratch/archives/base.tar", '.');
my @extracted = ($bin, "--wal=$archive", "--out=$scratch/extracted_out", block_arguments($blocks[0]));
($status, $said, $err) = recover("--backup=$scratch/archives", @extracted);
my ($command) = $err =~ /extract it by "(.*)", and give --backup=NEW/;
ok(defined $command && !system($command =~ s/NEW/$scratch\/extracted/gr), 'archives are extracted as the refusal says') or note $err;
($status, $said, $err) = recover("--backup=$scratch/extracted", @extracted);
like("$status $said", qr/^0 .*recovered at/s, '... and blocks are recovered') or note $err;

# A limit on files, in blocks of 512 bytes, stands for a disk that is full.  A write that is cut short says so.
foreach my $case ([ 8, qr/cannot copy "[^"]*": No space left on device/ ], [ 1500, qr/cannot copy WAL segment "[0-9A-F]{24}": File too large/ ])
{
	my ($limit, $words) = @$case;
	system("trap '' XFSZ; ulimit -f $limit; exec $program recover --backup=$plain $bin --wal=$archive $one --out=$scratch/refused 2>$scratch/no_room >&2");
	is($? >> 8, 1, "no room: files of $limit blocks");
	like(slurp_file("$scratch/no_room"), $words, '... in words');
}
is(join(' ', glob("$scratch/refused/*"), glob("$closed/*")), '', 'nothing was left anywhere');
ok(!-e $node->data_dir . '/base/new', '... nor in the data directory');

foreach my $case (
	[ 'no backup', [ $bin, $one, '--out=x' ], qr/--backup or --cluster is missing/ ],
	[ 'a backup and a cluster', [ "--backup=$plain", "--cluster=$plain", $bin, $one, '--out=x' ], qr/"--backup"|not together with --cluster/ ],
	[ 'no server', [ "--backup=$plain", $one, '--out=x' ], qr/--bindir is missing/ ],
	[ 'no place', [ "--backup=$plain", $bin, $one ], qr/--out is missing/ ],
	[ 'an empty place', [ "--backup=$plain", $bin, $one, '--out=' ], qr/--out is missing/ ],
	[ 'no block', [ "--backup=$plain", $bin, '--out=x' ], qr/--block or --database is missing/ ],
	[ 'an operand', [ "--backup=$plain", $bin, $one, '--out=x', 'y' ], qr/wrong number of arguments/ ],
	[ 'no LSN', [ "--backup=$plain", $bin, $one, '--out=x', '--target-lsn=0/1x' ], qr/not an LSN: "0\/1x"/ ],
	[ 'no block number', [ "--backup=$plain", $bin, '--block=base/5/1', '--out=x' ], qr/--block must be a path and a block number/ ],
	[ 'too high a block number', [ "--backup=$plain", $bin, '--block=base/5/1:4294967295', '--out=x' ], qr/--block must be a path and a block number/ ],
	[ 'an option of another command', [ "--backup=$plain", $bin, $one, '--out=x', '--since=000000010000000000000001' ], qr/not an option of this command/ ])
{
	my ($title, $arguments, $words) = @$case;
	($status, $said, $err) = recover(@$arguments);
	is("$status$said", '1', "wrong use: $title");
	like($err, $words, '... in words');
}

# --- a server that makes something else ----------------------------------------------------------------

# Runs the true server, then does harm to the block's file.
sub faulty_server
{
	my ($name, $harm) = @_;
	mkdir "$scratch/$name";
	AccelWal::put("$scratch/$name/postgres", <<"PERL");
#!$^X
exec '$bindir/postgres', \@ARGV if \$ARGV[0] eq '--version';
my \$pid = fork;
exec '$bindir/postgres', \@ARGV if \$pid == 0;
\$SIG{INT} = \$SIG{QUIT} = sub { kill \$_[0], \$pid };
1 while waitpid(\$pid, 0) != \$pid;
my \$status = \$? >> 8;
my \$file = "\$ARGV[1]/$path{far}";
sub poke { open my \$f, '+<', \$file or die; seek \$f, 3 * 8192 + \$_[0], 0; print \$f \$_[1]; close \$f; }
$harm;
exit \$status;
PERL
	chmod 0755, "$scratch/$name/postgres";
	return "$scratch/$name";
}
foreach my $case (
	[ 'no_harm', '1', 0, qr/: recovered at/ ],
	[ 'other_lsn', 'poke(4, "zz")', 3, qr/redo made a page with LSN [^\n]*, and the last record that names it ends at/ ],
	[ 'flipped', 'poke(5000, "flipped")', 3, qr/redo made a page with checksum \d+ instead of \d+/ ],
	[ 'zeros', 'poke(0, "\0" x 8192)', 3, qr/redo made a page with LSN 0\/0/ ],
	[ 'no_file', 'unlink $file', 3, qr/redo made no such block/ ],
	[ 'failed', '$status = 1', 1, qr/the server could not recover: / ],
	[ 'not_stopped', 'unlink "$ARGV[1]/global/pg_control"', 1, qr/the server did not recover up to / ])
{
	my ($name, $harm, $want, $words) = @$case;
	($status, $said, $err) = again([ "--backup=$backup", '--bindir=' . faulty_server($name, $harm), "--wal=$archive", "--wal=$live" ], [ 'far', 3 ]);
	is($status, $want, "a server with fault $name");
	like($said . $err, $words, '... in words');
	is(-e "$out/$path{far}.3" ? 1 : 0, $want == 0 ? 1 : 0, '... nothing is written but what is proven');
}

# --- killed -----------------------------------------------------------------------------------------

sub files { my @found = glob $_[0]; return @found; }

my $servers = 0;

# Kills the program when its server is at work, or before.  False when something is left.
sub killed
{
	my ($signal, $when) = @_;
	my $to = "$scratch/killed";
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	my $session = IPC::Run::start([ $program, 'recover', @source, "--out=$to", block_arguments(@hot) ],
		'<', \undef, '>', \my $o, '2>', \my $e);
	usleep(2000) until files("$to/recover.*$when") || time > $until;
	my ($file) = files("$to/recover.*/data/postmaster.pid");
	my $server = $file && -s $file ? (split /\n/, slurp_file($file))[0] : undef;
	$session->signal($signal);
	eval { $session->finish };
	usleep(20_000) while (files("$to/*") || ($server && kill 0, $server)) && time < $until;
	return 0 if !is(join(' ', files("$to/*"), $server && kill(0, $server) ? $server : ()), '', "after SIG$signal with " . ($server ? 'a server' : 'no server') . ' nothing is left');
	$servers++ if defined $server;
	return 1;
}
$SIG{INT} = 'DEFAULT';			# a shell's background job ignores it
foreach my $signal (qw(KILL TERM INT))
{
	last if !killed($signal, '') || !killed($signal, '/data/postmaster.pid');
}
cmp_ok($servers, '>', 0, "the server was at work $servers times");

# --- over a failover, compressed -------------------------------------------------------------------

sql($_) foreach 'DROP TABLE huge', 'ALTER TABLE far SET TABLESPACE pg_default', 'DROP TABLESPACE elsewhere', 'CHECKPOINT';
live_blocks('far');
$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
Accel::configure($standby);
$standby->start;
sql(q{UPDATE far SET b = 'before the failover' WHERE id % 3 = 0});
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$node->stop('immediate');
$standby->promote;
$standby->safe_psql('postgres', q{UPDATE far SET b = 'after the failover' WHERE id % 7 = 0; CHECKPOINT; SELECT pg_switch_wal()});
$standby->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_archiver WHERE last_archived_wal LIKE '00000002%'});
$standby->stop;
my @far = map { [ 'far', $_ ] } 0, 2, 5, 30;
sub of_standby { return AccelWal::peek($standby->data_dir . "/$path{ $_[0] }", $_[1] * 8192, 8192); }
($status, $said, $err) = again([ "--backup=$backup", $bin, "--wal=$archive" ], @far);
is("$status$err", '0', 'WAL of two timelines') or note $said;
is(lsn_of(recovered(@$_)), lsn_of(of_standby(@$_)), "far:$_->[1] is that of the new primary") foreach @far;
SKIP:
{
	AccelWal::copy_files($archive, "$scratch/gz");
	skip 'no gzip', 2 if system("gzip -q $scratch/gz/????????????????????????") != 0;
	mkdir "$scratch/half";
	move($_, "$scratch/half") foreach grep { ++$run % 2 } glob("$scratch/gz/0000000100*.gz");
	($status, $said, $err) = again([ "--backup=$backup", $bin, "--wal=$scratch/half", "--wal=$scratch/gz" ], @far);
	is("$status$err", '0', 'compressed WAL in two folders');
	is(lsn_of(recovered(@$_)), lsn_of(of_standby(@$_)), "... far:$_->[1]") foreach $far[1];
}

# --- storage that no WAL describes -----------------------------------------------------------------

$standby->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\narchive_mode = off\nwal_keep_size = 1GB\nwal_skip_threshold = 0");
$standby->start;
sub of_minimal { return $standby->safe_psql('postgres', $_[0]); }
of_minimal(q{CHECKPOINT});
my $old_page = of_minimal(q{SELECT encode(read_disk_page('far', 'main', 5), 'hex')});
of_minimal($_) foreach split /\n/, <<'SQL';
UPDATE far SET b = 'before the move' WHERE id IN (SELECT id FROM far WHERE (ctid::text::point)[0] = 5)
SET allow_in_place_tablespaces = on; CREATE TABLESPACE other LOCATION ''
ALTER TABLE far SET TABLESPACE other
CHECKPOINT
DELETE FROM far WHERE ctid < '(1,0)'
CHECKPOINT
SQL
my $old_path = $path{far};
$path{far} = of_minimal(q{SELECT pg_relation_filepath('far')});
$standby->stop;
AccelWal::poke($standby->data_dir . "/$path{far}", 5 * 8192, "\0" x 8192);
$standby->start;
like(of_minimal(qq{SELECT status || ': ' || message FROM restore_block('far', 'main', 5, decode('$old_page', 'hex'))}),
	qr/^outdated: .*made its storage anew/, 'wal_level minimal: a page from before the move is no page of the table');
$standby->stop;
isnt($path{far}, $old_path, '... which is elsewhere, and no WAL has its pages');
($status, $said, $err) = again([ "--backup=$backup", $bin, "--wal=$archive", '--wal=' . $standby->data_dir . '/pg_wal' ], [ 'far', 0 ]);
is($status, 1, '... recover refuses it');
like($err, qr/the server could not recover: .*wal_level=minimal/, '... in the words of the server');
is(join(' ', glob("$out/*")), '', '... nothing is left');
chmod 0755, $closed;

# --- large segments of WAL ---------------------------------------------------------------------

my $large = Accel::new_node('large', allows_streaming => 1, extra => ['--wal-segsize=128'], conf => "autovacuum = off\nmin_wal_size = 256MB\nmax_wal_size = 1GB\n");
$large->start;
$large->safe_psql('postgres', q{CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g; VACUUM FREEZE t});
$large->backup('b');
$large->safe_psql('postgres', $_) foreach 'UPDATE t SET g = 0 WHERE g < 9', 'CHECKPOINT';
my $of_large = $large->safe_psql('postgres', q{SELECT pg_relation_filepath('t')});
$large->stop;
($status, $said, $err) = recover('--backup=' . $large->backup_dir . '/b', $bin, '--wal=' . $large->data_dir . '/pg_wal', "--block=$of_large:0", "--out=$scratch/large");
is("$status $err", '0 ', 'segments of 128 MB');
is(lsn_of(slurp_file("$scratch/large/$of_large.0", 0, 8192)), lsn_of(AccelWal::peek($large->data_dir . "/$of_large", 0, 8192)), '... the page');
system_or_bail('cp', '-a', $large->data_dir, "$scratch/alone");
unlink "$scratch/alone/postgresql.conf";
{
	local $ENV{PGHOST} = $large->host;
	local $ENV{PATH} = "$bindir:$ENV{PATH}";
	command_ok([ 'sh', "$examples/start_alone.sh", "$scratch/alone", $large->port ], '... a copy is started alone');
	command_ok([ 'pg_ctl', '-s', '-w', '-D', "$scratch/alone", '-m', 'fast', 'stop' ], '... and stops');
}
done_testing();
