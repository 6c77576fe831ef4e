# Every kind of damage to a relation's files gives exactly its finding at its
# place, offline-made and found online; intact relations give none.
use strict;
use warnings;
use Accel;
use Test::More;

use constant BLCKSZ => 8192;

# a small fixed cluster; no autovacuum, nothing is written behind our back
my $node = Accel::new_node('main',
	conf => "autovacuum = off\nshared_buffers = 4MB\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, repeat('x', 100) AS b FROM generate_series(1, 20000) g;
CREATE INDEX t_idx ON t (g);
CREATE TABLE other AS SELECT g, repeat('y', 100) AS b FROM generate_series(1, 20000) g;
CREATE TABLE toasted (a text);
ALTER TABLE toasted ALTER a SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat('z', 20000) FROM generate_series(1, 20);
CREATE SEQUENCE s;
SELECT nextval('s');
CREATE MATERIALIZED VIEW mv AS SELECT g FROM t;
CREATE UNLOGGED TABLE u (g) AS SELECT generate_series(1, 5000);
CREATE INDEX u_idx ON u (g);
DELETE FROM t WHERE g % 50 = 0;
VACUUM t, other;
CHECKPOINT;
SQL

# what a shifted page shows first depends on the bytes that become its header
my $shifted = qr/checksum_mismatch|zero_header|lsn_in_future/;

# [title, relation, fork, block, mutilate(sub of a page -> page), status]
my @pages = (
	['one bit of data', 't', 'main', 7, flip(5000, 4), 'checksum_mismatch'],
	['one bit of a line pointer', 't', 'main', 7, flip(26, 0),
		'checksum_mismatch'],
	['one bit of pd_checksum', 't', 'main', 7, flip(8, 3),
		'checksum_mismatch'],
	['one bit of pd_lower', 't', 'main', 7, flip(12, 1), 'checksum_mismatch'],
	['one bit of pd_flags', 't', 'main', 7, flip(10, 5), 'checksum_mismatch'],
	['one bit of a low LSN byte', 't', 'main', 7, flip(4, 0),
		'checksum_mismatch'],
	['one bit of a high LSN byte', 't', 'main', 7, flip(3, 6),
		'lsn_in_future'],
	['garbage with a huge LSN', 't', 'main', 7, sub { garbage(0xFE) },
		'lsn_in_future'],
	['garbage with a small LSN', 't', 'main', 7, sub { garbage(0) },
		'checksum_mismatch'],
	['all ones', 't', 'main', 7, sub { "\xff" x BLCKSZ }, 'lsn_in_future'],
	['shifted by one byte', 't', 'main', 7, shift_by(1), $shifted],
	['shifted by 17 bytes', 't', 'main', 7, shift_by(17), $shifted],
	['zeroed header over a body', 't', 'main', 7,
		sub { ("\0" x 24) . substr($_[0], 24) }, 'zero_header'],
	['pd_upper zero', 't', 'main', 7,
		sub { substr($_[0], 0, 14) . "\0\0" . substr($_[0], 16) },
		'zero_header'],
	['zeroed second half', 't', 'main', 7,
		sub { substr($_[0], 0, 4096) . "\0" x 4096 }, 'checksum_mismatch'],
	['zeroed first half', 't', 'main', 7,
		sub { "\0" x 4096 . substr($_[0], 4096) }, 'zero_header'],
	['torn: half of another page of the relation', 't', 'main', 7,
		sub { substr($_[0], 0, 4096) . substr(page('t', 'main', 9), 4096) },
		'checksum_mismatch'],
	['another page of the relation', 't', 'main', 7,
		sub { page('t', 'main', 8) }, 'checksum_mismatch'],
	['a page of another relation', 't', 'main', 7,
		sub { page('other', 'main', 9) }, 'checksum_mismatch'],
	['right checksum, pd_lower > pd_upper', 't', 'main', 7,
		resealed(sub { substr($_[0], 12, 2) = pack('v', 8000); $_[0] }),
		'bad_header'],
	['right checksum, unknown flag', 't', 'main', 7,
		resealed(sub { substr($_[0], 10, 2) = pack('v', 0x100); $_[0] }),
		'bad_header'],
	['right checksum, unaligned pd_special', 't', 'main', 7,
		resealed(sub { substr($_[0], 16, 2) = pack('v', 8191); $_[0] }),
		'bad_header'],
	['right checksum, LSN of the future', 't', 'main', 7,
		resealed(sub { substr($_[0], 0, 8) = pack('VV', 0x7000, 0); $_[0] }),
		'lsn_in_future'],
	['zero page', 't', 'main', 7, sub { "\0" x BLCKSZ }, undef],
	['first block', 't', 'main', 0, flip(6000, 1), 'checksum_mismatch'],
	['last block', 't', 'main', -1, flip(8000, 1), 'checksum_mismatch'],
	['free space map', 't', 'fsm', 1, flip(300, 2), 'checksum_mismatch'],
	['visibility map', 't', 'vm', 0, flip(100, 2), 'checksum_mismatch'],
	['index', 't_idx', 'main', 3, flip(4000, 2), 'checksum_mismatch'],
	['index metapage', 't_idx', 'main', 0, flip(30, 2), 'checksum_mismatch'],
	['TOAST', 'toasted', 'main', 2, flip(4000, 2), 'checksum_mismatch',
		'toast'],
	['sequence', 's', 'main', 0, flip(8180, 2), 'checksum_mismatch'],
	['materialized view', 'mv', 'main', 4, flip(8180, 2),
		'checksum_mismatch'],
	['unlogged', 'u', 'main', 4, flip(8180, 2), 'checksum_mismatch'],
	['init fork of an unlogged index', 'u_idx', 'init', 0, flip(40, 2),
		'checksum_mismatch'],
	['mapped catalog', 'pg_class', 'main', 1, flip(8000, 2),
		'checksum_mismatch'],
	['shared catalog', 'pg_shdescription', 'main', 0, flip(8180, 2),
		'checksum_mismatch'],);

sub flip
{
	my ($offset, $bit) = @_;
	return sub {
		my ($page) = @_;
		substr($page, $offset, 1) =
		  chr(ord(substr($page, $offset, 1)) ^ (1 << $bit));
		return $page;
	};
}

sub shift_by
{
	my ($n) = @_;
	return sub { substr($_[0], $n) . substr($_[0], 0, $n) };
}

sub garbage
{
	my ($high) = @_;
	my $state = 42;
	my $page = join '', map {
		$state = ($state * 1103515245 + 12345) & 0x7fffffff;
		chr(($state >> 16 & 0xfe) | 1)
	} 1 .. BLCKSZ;
	substr($page, 0, 8) = pack('VV', $high << 24, 1);
	return $page;
}

# mutilates, then writes the checksum that the server would
sub resealed
{
	my ($mutilate) = @_;
	return sub {
		my ($page, $block) = @_;
		$page = $mutilate->($page);
		my $hex = unpack('H*', $page);
		my $sum = $node->safe_psql('postgres',
			"SELECT computed_checksum FROM verify_page('\\x$hex', $block)");
		substr($page, 8, 2) = pack('v', $sum);
		return $page;
	};
}

# paths are asked for while everything is well: damaged catalogs cannot tell
my %paths;

sub path
{
	my ($relation, $fork) = @_;
	return $paths{"$relation.$fork"} //= $node->data_dir . '/'
	  . $node->safe_psql('postgres',
		"SELECT pg_relation_filepath('$relation')"
	  ) . ($fork eq 'main' ? '' : "_$fork");
}

sub page
{
	my ($relation, $fork, $block) = @_;
	open my $fh, '<:raw', path($relation, $fork) or die $!;
	sysseek $fh, $block * BLCKSZ, 0;
	sysread $fh, my $page, BLCKSZ;
	close $fh;
	return $page;
}

sub put
{
	my ($path, $offset, $bytes) = @_;
	open my $fh, '+<:raw', $path or die $!;
	sysseek $fh, $offset, 0;
	syswrite $fh, $bytes;
	close $fh;
	return;
}

my $columns = "relation::text, fork, blkno, path, file_offset, status";

sub findings
{
	my ($relation, $options) = @_;
	$options //= 'include_toast => true, include_indexes => true';
	return $node->safe_psql('postgres',
		"SELECT $columns FROM verify_relation_checksums('$relation', $options)"
	);
}

my @all = qw(t other toasted s mv u u_idx pg_class pg_shdescription);
is(join('', map { findings($_) } @all), '', 'intact relations: no finding');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_class c, verify_relation_checksums(c.oid) v
		WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')"),
	'0',
	'the whole database: no finding');
is( $node->safe_psql(
		'postgres',
		"SELECT string_agg(DISTINCT status, ',') FROM
		(SELECT s.status FROM pg_class c, verify_relation_summary(c.oid) s
		WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')) x"),
	'ok',
	'the whole database: every fork is ok');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_class c, verify_relation_summary(c.oid) s
		WHERE c.relkind IN ('r', 'i', 'S', 't', 'm')
		AND (blocks <> verified + new OR bytes <> blocks * 8192)"),
	'0',
	'the whole database: every block is verified or new');

foreach my $case (@pages)
{
	my ($title, $relation, $fork, $block, $mutilate, $status, $toast) = @$case;
	my $name = $relation;
	$name = $node->safe_psql('postgres',
		"SELECT reltoastrelid::regclass FROM pg_class WHERE relname = '$relation'"
	) if $toast;
	my $path = path($name, $fork);
	$block = (-s $path) / BLCKSZ - 1 if $block < 0;
	my $relative = substr($path, length($node->data_dir) + 1);
	my $offset = $block * BLCKSZ;
	my $original = page($name, $fork, $block);
	my $damaged = $mutilate->($original, $block);

	# cold: nothing of it in shared buffers
	if ($fork ne 'main' || $block == 0)
	{
		$node->stop;
		put($path, $offset, $damaged);
		$node->start;
	}
	put($path, $offset, $damaged);
	my $got = findings($relation);
	put($path, $offset, $original);
	$got =~ s/^(\Q$name\E\|$fork\|$block\|\Q$relative\E\|$offset\|)$status$/${1}X/
	  if ref $status;
	my $cached = $got =~ s/bad_on_disk_cached_ok$/$status/ && 'cached'
	  if defined $status && $relation =~ /^pg_/;
	my $want =
	  defined $status
	  ? join('|', $name, $fork, $block, $relative, $offset,
		ref $status ? 'X' : $status)
	  : '';
	is($got, $want, $title . ' is found' . ($cached ? ' (cached)' : ''));
}
is(join('', map { findings($_) } @all), '', 'all healed: no finding');

# A good page in shared buffers above a broken image.
my $original = page('t', 'main', 5);
$node->safe_psql('postgres', "SELECT FROM t WHERE ctid = '(5,1)'");
put(path('t', 'main'), 5 * BLCKSZ, flip(5000, 1)->($original));
is( $node->safe_psql(
		'postgres',
		"SELECT blkno, status, buffer_state, stored_checksum <> computed_checksum, retries > 0,
		message ~ 'proven good' FROM verify_relation_checksums('t')"),
	'5|bad_on_disk_cached_ok|clean|t|t|t',
	'a good page in shared buffers above a broken image');
put(path('t', 'main'), 5 * BLCKSZ, $original);

# A read that failed leaves an invalid buffer behind.
$node->restart;
put(path('t', 'main'), 5 * BLCKSZ, flip(5000, 1)->($original));
isnt($node->psql('postgres', "SELECT FROM t WHERE ctid = '(5,1)'"),
	0, 'the server refuses the page');
is( $node->safe_psql(
		'postgres',
		"SELECT blkno, status, buffer_state FROM verify_relation_checksums('t')"),
	'5|checksum_mismatch|invalid',
	'a page whose read failed');

# Lenient settings of the server change nothing.
is( $node->safe_psql(
		'postgres',
		"SET zero_damaged_pages = on; SET ignore_checksum_failure = on;
		SELECT blkno, status FROM verify_relation_checksums('t')"),
	'5|checksum_mismatch',
	'zero_damaged_pages and ignore_checksum_failure change nothing');
is( $node->safe_psql(
		'postgres',
		"SET ignore_checksum_failure = on; SELECT b FROM t WHERE ctid = '(5,1)' AND b = '';
		SELECT blkno, status FROM verify_relation_checksums('t')"),
	"5|checksum_mismatch",
	'the broken image itself in shared buffers is no good copy');
put(path('t', 'main'), 5 * BLCKSZ, $original);
$node->restart;

# Ranges.
put(path('t', 'main'), 5 * BLCKSZ, flip(5000, 1)->($original));
is(findings('t', 'first_block => 0, last_block => 4'), '', 'range before');
is(findings('t', 'first_block => 6'), '', 'range behind');
like(findings('t', 'first_block => 5, last_block => 5'),
	qr/^t\|main\|5\|/, 'range of the block');
is( $node->safe_psql(
		'postgres',
		"SELECT blocks, verified, bad, status FROM verify_relation_summary('t', 'main', 2, 20)"),
	'19|18|1|checksum_mismatch',
	'summary of a range');
put(path('t', 'main'), 5 * BLCKSZ, $original);

# Many broken blocks with huge LSNs: an existing tool skips them all.
my @blocks = grep { $_ % 3 } 0 .. 100;
my %saved = map { $_ => page('t', 'main', $_) } @blocks;
put(path('t', 'main'), $_ * BLCKSZ, garbage(0x77)) foreach @blocks;
is( $node->safe_psql(
		'postgres',
		"SELECT count(*), string_agg(DISTINCT status, ',') FROM verify_relation_checksums('t')"
	),
	scalar(@blocks) . '|lsn_in_future',
	'no broken block with a huge LSN is passed over');
put(path('t', 'main'), $_ * BLCKSZ, $saved{$_}) foreach @blocks;

# Sizes.  Segments of 1 GB are holes here: new pages.
my $path = path('t', 'main');
my $relative = substr($path, length($node->data_dir) + 1);
my $size = -s $path;
my $blocks = $size / BLCKSZ;

truncate $path, $size - 5000;
is( findings('t', "fork => 'main'"),
	't|main|' . ($blocks - 1) . "|$relative|" . ($size - BLCKSZ) . '|partial_block',
	'a partial block at the end');
truncate $path, $size;
put($path, ($blocks - 1) * BLCKSZ, page('t', 'main', $blocks - 1));
truncate $path, $size - BLCKSZ;
is(findings('t', "fork => 'main'"), '', 'an empty file system hole is not there');
truncate $path, $size;
is( $node->safe_psql('postgres', "SELECT new FROM verify_relation_summary('t', 'main')"),
	'1', 'a zero block at the end is new');

sub touch { open my $fh, '>', $_[0] or die $!; close $fh; return }

touch("$path.1");
is(findings('t', "fork => 'main'"), '', 'an empty trailing segment is normal');
truncate "$path.1", BLCKSZ;
is( findings('t', "fork => 'main'"),
	"t|main|$blocks|$relative|$size|short_segment",
	'a short segment with one behind it');
unlink "$path.1";
touch("$path.3");
truncate "$path.3", BLCKSZ;
is( findings('t', "fork => 'main'"),
	join("\n",
		"t|main|$blocks|$relative|$size|short_segment",
		"t|main|131072|$relative.1||missing_segment",
		"t|main|262144|$relative.2||missing_segment"),
	'segments missing before one far behind');
unlink "$path.3";

truncate $path, 131072 * BLCKSZ;
is(findings('t', "fork => 'main', first_block => 131000"),
	'', 'a full last segment is normal');
touch("$path.2");
truncate "$path.2", 2 * BLCKSZ;
put("$path.2", BLCKSZ, page('other', 'main', 9));
is( findings('t', "fork => 'main', first_block => 131000"),
	join("\n",
		"t|main|131072|$relative.1||missing_segment",
		"t|main|262145|$relative.2|8192|checksum_mismatch"),
	'a missing middle segment, and block numbers are absolute behind it');
is( $node->safe_psql(
		'postgres',
		"SELECT segment, blocks, status FROM relation_segments('t') WHERE fork = 'main'"),
	"0|131072|ok\n1||missing_segment\n2|2|ok",
	'relation_segments shows it');
touch("$path.1");
truncate "$path.1", 3 * BLCKSZ + 5;
is( findings('t', "fork => 'main', first_block => 131000, last_block => 200000"),
	"t|main|131075|$relative.1|24576|short_segment",
	'a short middle segment');
truncate "$path.1", 131073 * BLCKSZ;
unlink "$path.2";
is( findings('t', "fork => 'main', first_block => 262000"),
	"t|main|262144|$relative.1|1073741824|partial_block",
	'a segment that is too long');
unlink "$path.1";
truncate $path, $size;

# A file that is gone.
my $other = path('other', 'main');
rename $other, "$other.saved";
like(findings('other', "fork => 'main'"),
	qr/^other\|main\|0\|[^|]+\|\|missing_segment$/, 'no file at all');
mkdir $other;
like(findings('other', "fork => 'main', last_block => 10000"),
	qr/^other\|main\|0\|[^|]+\|\|io_error$/, 'a directory in its place');
rmdir $other;
rename "$other.saved", $other;
is(findings('other'), '', 'back again');

$node->stop('immediate');
done_testing();
