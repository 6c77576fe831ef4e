# Pages from full-page images, and when an image is the page: equal to the disk
# after checkpoints and crash recovery, for every compression; false as soon as
# anything is unknown.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $node = Accel::new_node(
	'main',
	allows_streaming => 1,
	extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\nwal_keep_size = 512MB\nmax_wal_size = 512MB\ncheckpoint_timeout = 1h\nwal_writer_delay = 10s\n");
my $pg_wal = $node->data_dir . '/pg_wal';
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{CREATE EXTENSION crc32c_accel});

# Blocks of a relation whose image is said to be the page, and those of them that
# are on disk exactly so.
sub same
{
	my ($relation, $from, $directory) = @_;
	$directory = $directory ? "'$directory'" : 'NULL';
	return sql(qq{SELECT count(*), count(*) FILTER (WHERE read_disk_page('$relation', 'main', b) = wal_page_image('$relation', 'main', b, $directory, lsn))
		FROM generate_series(0, pg_relation_size('$relation') / 8192 - 1) b,
		wal_block_history('$relation', 'main', b, $directory, '$from') WHERE is_page});
}

# The last row of a block, without its place.
sub last_row
{
	my ($block, $directory, $relation) = @_;
	$directory = $directory ? "'$directory'" : 'NULL';
	$relation //= 't';
	return sql(qq{SELECT kind || ' ' || is_page FROM wal_block_history('$relation', 'main', $block, $directory) WHERE is_last});
}

# --- every compression ----------------------------------------------------------------

my @methods;
foreach my $method ('off', 'pglz', 'lz4', 'zstd')
{
	# a server without the library refuses it
	next if $node->psql('postgres', "ALTER SYSTEM SET wal_compression = '$method'") != 0;
	sql(q{SELECT pg_reload_conf()});
	sql(qq{CREATE TABLE c_$method AS SELECT g AS id, md5(g::text) AS b, repeat('f', 40) AS filler FROM generate_series(1, 2000) g;
		CREATE INDEX i_$method ON c_$method (b); VACUUM c_$method; CHECKPOINT});
	my $from = sql('SELECT pg_current_wal_insert_lsn()');
	sql("DELETE FROM c_$method WHERE ctid IN (SELECT format('(%s,1)', b)::tid FROM generate_series(0, 20) b);
		INSERT INTO c_$method SELECT g, md5(g::text), repeat('f', 1500) FROM generate_series(1, 8) g");
	my $first = sql(qq{SELECT string_agg(DISTINCT compression, ' ') FROM wal_block_history('c_$method', 'main', 0, start_lsn => '$from') WHERE kind = 'image'});
	is($first, $method eq 'off' ? 'none' : $method, "images of wal_compression = $method");
	push @methods, $method;
	sql('CHECKPOINT; SELECT pg_switch_wal()');
	foreach my $relation ("c_$method", "i_$method")
	{
		my ($said, $same) = split /\|/, same($relation, $from);
		cmp_ok($said, '>=', 3, "$relation: $said images are the page");
		is($same, $said, "$relation: equal to the disk");
	}
	is(sql(qq{SELECT string_agg(DISTINCT (v).status || ' ' || ((v).lsn = end_lsn), ' ') FROM generate_series(0, 9) b,
		wal_block_history('c_$method', 'main', b, start_lsn => '$from') h, verify_page(wal_page_image('c_$method', 'main', b, NULL, h.lsn), b) v
		WHERE kind = 'image'}), 'ok true', "$method: images have their record's LSN and a checksum");
}
is($methods[0], 'off', 'methods: ' . join(' ', @methods));
sql(q{ALTER SYSTEM RESET wal_compression; SELECT pg_reload_conf()});

# --- crash recovery ---------------------------------------------------------------------

sql(q{CREATE TABLE t AS SELECT g AS id, repeat('x', 500) AS b FROM generate_series(1, 300) g; VACUUM (FREEZE) t;
	ALTER TABLE t SET (fillfactor = 50); CHECKPOINT});
my $from = sql('SELECT pg_current_wal_insert_lsn()');
sql(q{DELETE FROM t WHERE id % 15 = 0});
$node->stop('immediate');
$node->start;
my ($said, $same) = split /\|/, same('t', $from);
cmp_ok($said, '>=', 15, "after crash recovery: $said images are the page");
is($same, $said, 'equal to the disk');

# --- what comes later --------------------------------------------------------------------

is(last_row(0), 'image true', 'the image is the page');
is(sql(q{BEGIN; SET LOCAL synchronous_commit = off; DELETE FROM t WHERE ctid = '(0,2)'; DELETE FROM t WHERE ctid = '(0,3)';
	SELECT kind || ' ' || is_page FROM wal_block_history('t', 'main', 0) WHERE is_last; ROLLBACK}), 'change false',
	'a change that is in no file yet');
is(sql(q{SELECT wal_page_image('t', 'main', 0, NULL, lsn) IS NULL FROM wal_block_history('t', 'main', 0) WHERE is_last}), 't',
	'no image in a record of a change');
is(last_row(1), 'image true', 'the next block');
my $before = sql(q{SELECT lsn FROM wal_block_history('t', 'main', 1) WHERE is_last});
is(sql(qq{SELECT is_last || ' ' || is_page FROM wal_block_history('t', 'main', 1, end_lsn => (SELECT end_lsn FROM
	wal_block_history('t', 'main', 1) WHERE is_last)) WHERE lsn = '$before'}), 'true false', 'the present was not asked for');
sql(q{CREATE SEQUENCE s; SELECT nextval('s'); SET wal_consistency_checking = 'sequence'; CHECKPOINT; SELECT nextval('s')});
is(last_row(0, undef, 's'), 'check false', 'a sequence changes without WAL');
sql(q{CREATE UNLOGGED TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1)});
is(last_row(0, undef, 'u'), '', 'an unlogged table has no history');
is(sql(q{SELECT bool_or(is_page) FROM wal_block_history('t', 'vm', 0)}), 'f', 'a visibility map changes without a reference');

# --- archives -----------------------------------------------------------------------------

my $archive = PostgreSQL::Test::Utils::tempdir();
sql('SELECT pg_switch_wal()');
AccelWal::copy_files($pg_wal, $archive);
my $rows = q{SELECT string_agg(concat_ws(' ', lsn, kind, is_last, is_page), ', ') FROM wal_block_history('t', 'main', 1, %s)};
my $want = sql(sprintf $rows, 'NULL');
is(sql(sprintf $rows, "'$archive'"), $want, 'an archive, and pg_wal after it');
my $segment = sql(q{SELECT segment FROM wal_block_history('t', 'main', 1) WHERE is_last});
unlink glob("$archive/*");
AccelWal::put("$archive/$segment", AccelWal::peek("$pg_wal/$segment", 0, $MB));
is(last_row(1, $archive), 'image true', 'a part of an archive, and pg_wal after it');
is(join('|', same('t', $from, $archive)), same('t', $from), 'images from an archive');

# --- gaps ----------------------------------------------------------------------------------

# Flips a bit of the CRC of the record at an LSN.
sub flip
{
	my ($lsn) = @_;
	my $at = AccelWal::record_byte(AccelWal::number($lsn), 22, $MB);
	my $file = "$pg_wal/" . sql(sprintf(q{SELECT pg_walfile_name('%X/%X')}, $at >> 32, $at & 0xFFFFFFFF));
	AccelWal::poke($file, $at % $MB, AccelWal::peek($file, $at % $MB, 1) ^ "\x10");
	return;
}

# a record after the image, in a segment that the server has done with
my $after = sql(qq{SELECT lsn FROM wal_block_history('t', 'main', 2) WHERE is_last});
flip($after);
my $gap = sql(qq{SELECT kind || ' ' || is_page || ' ' || message FROM wal_block_history('t', 'main', 1) WHERE is_last});
like($gap, qr/^gap false incorrect resource manager data checksum in record at/, 'a damaged record after the image');
is(sql(qq{SELECT lsn <= '$after' AND end_lsn > '$after' AND end_lsn < lsn + 20000 FROM wal_block_history('t', 'main', 1) WHERE is_last}), 't', 'its place');
is(sql(qq{SELECT count(*) FROM wal_block_history('t', 'main', 1) WHERE kind = 'image' AND NOT is_last}), '1', 'the image is said all the same');
flip($after);
is(last_row(1), 'image true', 'healed');

# in the last segment, to which the server writes: no end of WAL
sql(q{CREATE TABLE z (id int); INSERT INTO z VALUES (1)});
my $place = sql(q{SELECT lsn FROM wal_block_history('z', 'main', 0) WHERE is_last});
flip($place);
is(last_row(1), 'gap false', 'damage in the last segment is not the end of WAL');
flip($place);

# nothing follows: the last record of all, as soon as it is on disk
do
{
	$place = sql(q{SELECT pg_current_wal_insert_lsn() FROM pg_logical_emit_message(false, 'fill', repeat('x', 100))});
} until AccelWal::number($place) % 8192 > 100;
sql(q{SELECT pg_logical_emit_message(false, 'last', 'x')});
is(last_row(1), 'image true', 'an end of WAL is none before it');
flip($place);
is(last_row(1), 'gap false', 'the last record of all is damaged');
flip($place);

rename "$pg_wal/$segment", "$archive/away" or die;
is(sql(qq{SELECT string_agg(kind, ' ') FROM wal_block_history('t', 'main', 1, start_lsn => '$from')}), 'gap', 'a segment that is gone');
rename "$archive/away", "$pg_wal/$segment" or die;
is(last_row(1), 'image true', 'and back');

# what was cut off and begins anew
sql(q{DELETE FROM t WHERE ctid >= '(5,0)'; VACUUM t});
is(last_row(6), 'truncated false', 'a block that was cut off');
isnt(last_row(1), 'truncated false', 'a block before it');
sql('TRUNCATE t');
is(last_row(0), 'created false', 'new storage has a new history');

# a database that goes away and comes back: its files are copied, blocks have no records
my $elsewhere = PostgreSQL::Test::Utils::tempdir_short();
sql("CREATE TABLESPACE elsewhere LOCATION '$elsewhere'");
sql('CREATE DATABASE moving');
$node->safe_psql('moving', 'CREATE EXTENSION crc32c_accel; CREATE TABLE m (id int); INSERT INTO m VALUES (1); CHECKPOINT; INSERT INTO m VALUES (2)');
my $moved = q{SELECT kind || ' ' || is_page FROM wal_block_history('m', 'main', 0) WHERE is_last};
is($node->safe_psql('moving', $moved), 'image true', 'before a database moves');
sql('ALTER DATABASE moving SET TABLESPACE elsewhere');
$node->safe_psql('moving', 'INSERT INTO m VALUES (3)');
sql('ALTER DATABASE moving SET TABLESPACE pg_default');
is($node->safe_psql('moving', $moved), 'created false', 'after it came back with a newer page');
sql('DROP DATABASE moving');
sql('DROP TABLESPACE elsewhere');

# --- a standby ---------------------------------------------------------------------------------

$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
sql(q{CHECKPOINT; INSERT INTO z VALUES (2)});
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT kind || ' ' || is_page FROM wal_block_history('z', 'main', 0) WHERE is_last}), last_row(0, undef, 'z'),
	'the same on a standby');
$standby->stop;

# --- a clone: the same system identifier, timeline and names ------------------------------------

my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'b');
Accel::configure($clone);
$clone->start;
$_->safe_psql('postgres', "CHECKPOINT; INSERT INTO z VALUES (3)") foreach $node, $clone;
my $of_clone = $clone->safe_psql('postgres', q{SELECT lsn FROM wal_block_history('z', 'main', 0) WHERE is_last});
$_->safe_psql('postgres', 'SELECT pg_switch_wal(); INSERT INTO z VALUES (4)') foreach $node, $clone;
my $theirs = $clone->data_dir . '/pg_wal';
my ($rc, $out, $err) = $node->psql('postgres', qq{SELECT * FROM wal_block_history('z', 'main', 0, '$theirs')});
like($err, qr/directory ".*" holds WAL of another history/, 'the history of a block in a clone');
is($out, '', '... no row of it');
($rc, $out, $err) = $node->psql('postgres', qq{SELECT wal_page_image('z', 'main', 0, '$theirs', '$of_clone')});
like($err, qr/directory ".*" holds WAL of another history/, 'a page of a clone');

my $empty = PostgreSQL::Test::Utils::tempdir();
is(last_row(0, $empty, 'z') =~ s/true/false/r, last_row(0, undef, 'z') =~ s/true/false/r, 'an archive that is empty: pg_wal');
$clone->stop;

# --- what is refused ------------------------------------------------------------------------------

($rc, $out, $err) = $node->psql('postgres', qq{SELECT wal_page_image('z', 'main', 0, NULL, '$place'::pg_lsn + 8)});
like($err, qr/no valid WAL record starts at/, 'a place without a record');
($rc, $out, $err) = $node->psql('postgres', qq{SELECT wal_page_image('z', 'main', 0, NULL, '0/28')});
like($err, qr/no valid WAL record starts at.*\nDETAIL:  Segment 0{7}10{16}: the segment is not there\./, 'a place in a segment that is gone');
sql('CREATE ROLE reader LOGIN IN ROLE pg_read_server_files');
($rc, $out, $err) = $node->psql('postgres', qq{SET ROLE reader; SELECT count(*) FROM wal_block_history('z', 'main', 0); SELECT wal_page_image('z', 'main', 0, NULL, '$place')});
like($err, qr/permission denied for function wal_page_image/, 'images are for superusers');
like($out, qr/^[1-9]/m, 'histories are not');

done_testing();
