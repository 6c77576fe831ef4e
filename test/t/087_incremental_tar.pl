# A chain of incremental backups in tar format (17 and later): what is found is
# what is found in the same chain extracted, of which t/085 asks
# pg_combinebackup, recovery and pg_checksums.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('version');
plan skip_all => 'incremental backups came with 17' if $node->pg_version < 17;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
$node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => "autovacuum = off\nsummarize_wal = on\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

mkdir "$dir/ts";
sql($_) foreach "CREATE TABLESPACE ts LOCATION '$dir/ts'", q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t (id int, filler text);
	INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 400) g;
	CREATE TABLE placed TABLESPACE ts AS SELECT * FROM t;
	CREATE TABLE cut AS SELECT * FROM t;
	CREATE TABLE dropped AS SELECT * FROM t;
	VACUUM FREEZE;
	UPDATE pg_database SET datistemplate = false;
	CHECKPOINT}, 'DROP DATABASE template0', 'DROP DATABASE template1';
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } qw(t placed cut dropped);
my ($tablespace, $placed) = $file{placed} =~ m{^pg_tblspc/(\d+)/(.*)$};
my $part = $file{t} =~ s{([^/]+)$}{INCREMENTAL.$1}r;

my %ctid = map { $_ => sql("SELECT ctid FROM t WHERE id = $_") } 50, 200;
my %block = map { $_ => $ctid{$_} =~ /(\d+)/ } keys %ctid;

# Changes one row, without a look at other pages.
sub change
{
	my ($table, $id) = @_;
	sql("UPDATE $table SET filler = repeat('y', 900) WHERE ctid = '$ctid{$id}'");
	return;
}

sub backup
{
	my ($name, $prior, @options) = @_;
	system_or_bail('pg_basebackup', '-D', "$dir/$name", '-Ft', '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync',
		defined $prior ? "--incremental=$dir/$prior/backup_manifest" : (), @options);
	return;
}

# The argument for the backups before the last one.
sub prior { return ', prior_backups => ARRAY[' . join(', ', map { "'$_'" } @_) . ']::text[]'; }

# All that is found in a chain; paths below "full", "first" or none.
sub rows
{
	my ($suffix, @chain) = @_;
	my $last = pop @chain;
	my $found = sql(q{SELECT concat_ws(' ', path, blkno, status, stored, computed, lsn) FROM verify_backup('} . $last . "'" . prior(@chain)
		  . ', include_healed => true) ORDER BY path COLLATE "C", blkno, status');
	return $found =~ s{^\Q$dir\E/(\w+?)$suffix/}{$1/}mgr;
}

my $columns = 'label, system_identifier, start_lsn, end_lsn, timelines, files, read_bytes, blocks, bad_blocks, healed_blocks, wal_records, findings, status';
sub summary
{
	my (@chain) = @_;
	my $last = pop @chain;
	return sql("SELECT $columns FROM verify_backup_summary('$last'" . prior(@chain) . ')');
}

my $temporary = $node->data_dir . '/base/pgsql_tmp';
sub is_tidy { is(join(' ', grep { !/^\./ } -d $temporary ? slurp_dir($temporary) : ()), '', "$_[0]: no temporary file is left"); return; }

# --- three backups, as they are and extracted -----------------------------------------

my @names = qw(full first last);
backup('full');
change($_, 50) foreach qw(t placed);
sql('DELETE FROM cut WHERE id > 40; VACUUM (FREEZE) cut; DROP TABLE dropped; CHECKPOINT');
backup('first', 'full', '-z');
change('t', 200);
backup('last', 'first');
sub gunzip { system_or_bail('gzip', '-d', glob("$dir/first/*.tar.gz")); return; }
my $cannot = rows('', "$dir/first") =~ /^base.tar.gz not_verifiable/m;	# a build without zlib
gunzip() if $cannot;

my @tar = map { "$dir/$_" } @names;
my @plain = map { BackupTar::extract("$dir/$_", "$dir/${_}_plain") } @names;
ok(-e "$plain[1]/$part" && -e "$plain[2]/$part", 'incremental backups');
is(rows('', @tar), '', 'an intact chain');
is(summary(@tar), summary(@plain), 'its summary is that of the extracted chain');
is(rows('', $tar[0], $tar[1]), '', 'a chain of two');
is(rows('', $tar[1]), '', 'an incremental backup alone');
is(sql("SELECT format FROM verify_backup_summary('$tar[2]'" . prior(@tar[ 0, 1 ]) . ')'), 'tar', 'its format');
is_tidy('an intact chain');

# --- damage --------------------------------------------------------------------------

sub poke_archive
{
	my ($archive, $name, $at) = @_;
	AccelWal::poke($archive, (BackupTar::member(BackupTar::bytes_of($archive), $name))[2] + $at, 'damage');
	return;
}

# each: what, archive, member, offset, as it is found
my @damages = (
	[ 'a page that the second one has', 'full/base.tar', $file{t}, $block{50} * 8192 + 4000, "full/$file{t} $block{50} ok_replaced" ],
	[ 'a page that the last one has', 'full/base.tar', $file{t}, $block{200} * 8192 + 4000, "full/$file{t} $block{200} ok_replaced" ],
	[ 'a page that no other has', 'full/base.tar', $file{t}, ($block{200} - 5) * 8192 + 4000, "full/$file{t} " . ($block{200} - 5) . ' corrupt' ],
	[ 'a page in a tablespace', "full/$tablespace.tar", $placed, $block{50} * 8192 + 4000, "full/$file{placed} $block{50} ok_replaced" ],
	[ 'a page beyond the end', 'full/base.tar', $file{cut}, 30 * 8192 + 4000, "full/$file{cut} 30 ok_replaced" ],
	[ 'a page of a table that is no more', 'full/base.tar', $file{dropped}, 4000, "full/$file{dropped} 0 ok_replaced" ],
	[ 'a header that does not say what it replaces', 'first/base.tar', $part, 0, "full/$file{t} $block{50} corrupt" ]);

gunzip() if !$cannot;
my $found;
foreach (@damages)
{
	my ($what, $archive, $member, $at, $expected) = @$_;
	poke_archive("$dir/$archive", $member, $at);
	my ($backup, $in) = $archive =~ m{^(\w+)/(\w+)\.tar$};
	my $path = $in eq 'base' ? "$dir/${backup}_plain/$member" : "$dir/${backup}_plain/pg_tblspc/$in/$member";
	AccelWal::poke($path, $at, 'damage');
	$found = rows('', @tar);
	like($found, qr{^\Q$expected\E( |$)}m, $what);
	is($found, rows('_plain', @plain), "$what: as in the extracted chain");
}
is(summary(@tar), summary(@plain), 'the summary, too');

# --- other forms -----------------------------------------------------------------------

foreach my $format (qw(gz lz4 zst))
{
  SKIP:
	{
		skip "no program for $format", 1 if grep { !BackupTar::compress("$dir/$_", "$dir/${_}_$format", $format) } @names;
		my @chain = map { "$dir/${_}_$format" } @names;
		skip "this build does not read $format", 1 if rows('', $chain[2]) =~ /^base.tar.$format not_verifiable/m;
		is(rows("_$format", @chain), $found, "$format: the same is found");
	}
}
is(rows('(?:_plain)?', $plain[0], $tar[1], $plain[2]), $found, 'archives between plain ones');
is(rows('(?:_plain)?', $tar[0], $plain[1], $tar[2]), $found, 'a plain one between archives');
unlink map { "$dir/$_/pg_wal.tar" } qw(full first);
is(rows('', @tar), $found, 'the WAL of earlier backups is not needed');
like(rows('', @tar[ 1, 2 ]), qr{^first/backup_label bad_format}m, 'without the full one');
my (undef, undef, $complaint) = $node->psql('postgres', "SET temp_file_limit = 0; SELECT * FROM verify_backup('$tar[2]'" . prior(@tar[ 0, 1 ]) . ')');
like($complaint, qr/temporary file size exceeds "temp_file_limit"/, 'temporary files are limited');
is_tidy('an error');

# Without checksums, and its incremental files come first
my $off = Accel::new_node('off', extra => ['--wal-segsize=1'], checksums => 0, allows_streaming => 1, conf => "autovacuum = off\nsummarize_wal = on\n");
$off->start;
my @off = map { "$dir/off_$_" } qw(full last);
foreach (0, 1)
{
	system_or_bail('pg_basebackup', '-D', $off[$_], '-Ft', '-h', $off->host, '-p', $off->port, '--checkpoint=fast', '--no-sync', $_ ? "--incremental=$off[0]/backup_manifest" : ());
	$off->safe_psql('postgres', 'CREATE TABLE t AS SELECT g FROM generate_series(1, 90000) g') if !$_;
}
my $base = BackupTar::bytes_of("$off[1]/base.tar");
my @members = map { [ $_->[0], substr($base, $_->[1], 512 + 512 * int(($_->[3] + 511) / 512)) ] } BackupTar::members($base);
my ($parts, $whole) = map { my $wanted = $_; join '', map { $_->[1] } grep { ($_->[0] =~ /INCREMENTAL/) == $wanted } @members } 1, '';
BackupTar::put_bytes("$off[1]/base.tar", $parts . $whole . "\0" x 1024);
is(rows('', @off), '', 'incremental files first, without checksums');
$off->stop;

$node->stop;
done_testing();
