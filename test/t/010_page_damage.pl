# Every kind of damage to a relation's files gives exactly its finding at its
# place: made while the server works and made while it is stopped, on a primary
# and on a streaming standby; intact relations give none.
use strict;
use warnings;
use Accel;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

use constant BLCKSZ => Accel::built_with('BLCKSZ');
use constant SEGMENT => Accel::built_with('RELSEG_SIZE');	# blocks
use constant NEAR_END => SEGMENT > 100 ? SEGMENT - 100 : 0;

# small fixed clusters; no autovacuum, nothing is written behind our back
my $primary = Accel::new_node('primary', allows_streaming => 1,
	conf => "autovacuum = off\nshared_buffers = 4MB\n");
$primary->start;
my $rows = 20000 * BLCKSZ / 8192;
$primary->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLE t AS SELECT g, repeat('x', 100) AS b FROM generate_series(1, $rows) g;
CREATE INDEX t_idx ON t (g);
CREATE TABLE other AS SELECT g, repeat('y', 100) AS b FROM generate_series(1, 20000) g;
CREATE TABLE toasted (a text);
ALTER TABLE toasted ALTER a SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat('z', 20000) FROM generate_series(1, 20);
CREATE SEQUENCE s;
SELECT nextval('s');
CREATE MATERIALIZED VIEW mv AS SELECT g FROM t;
CREATE UNLOGGED TABLE u (g) AS SELECT generate_series(1, 10000);
CREATE INDEX u_idx ON u (g);
CREATE INDEX u_two ON u (g);
DELETE FROM t WHERE g % 50 = 0;
VACUUM t, other, mv;
-- one for each kind of damage to sizes and segments
SELECT format('CREATE TABLE size%s AS SELECT g FROM generate_series(1, 2000) g', g)
FROM generate_series(1, 16) g \\gexec
CHECKPOINT;
SQL

my $toast = $primary->safe_psql('postgres',
	"SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toasted'");
my $size_blocks = $primary->safe_psql('postgres',
	"SELECT pg_relation_size('size1') / current_setting('block_size')::int");

# what a shifted page shows first depends on the bytes that become its header
my $shifted = qr/checksum_mismatch|zero_header|lsn_in_future/;

# [title, relation, fork, block, mutilate(sub of a page -> page), status].  Block
# undef: one of t that no other damage has.
my @pages = (
	[ 'one bit of data', 't', 'main', undef, flip(5000, 4), 'checksum_mismatch' ],
	[ 'one bit of a line pointer', 't', 'main', undef, flip(26, 0), 'checksum_mismatch' ],
	[ 'one bit of pd_checksum', 't', 'main', undef, flip(8, 3), 'checksum_mismatch' ],
	[ 'one bit of pd_lower', 't', 'main', undef, flip(12, 1), 'checksum_mismatch' ],
	[ 'one bit of pd_flags', 't', 'main', undef, flip(10, 5), 'checksum_mismatch' ],
	[ 'one bit of a low LSN byte', 't', 'main', undef, flip(4, 0), 'checksum_mismatch' ],
	[ 'one bit of a high LSN byte', 't', 'main', undef, flip(3, 6), 'lsn_in_future' ],
	[ 'garbage with a huge LSN', 't', 'main', undef, sub { garbage(0xFE) }, 'lsn_in_future' ],
	[ 'garbage with a small LSN', 't', 'main', undef, sub { garbage(0) }, 'checksum_mismatch' ],
	[ 'all ones', 't', 'main', undef, sub { "\xff" x BLCKSZ }, 'lsn_in_future' ],
	(map { [ "shifted by $_ bytes", 't', 'main', undef, shift_by($_), $shifted ] } 1 .. 17),
	[ 'zeroed header over a body', 't', 'main', undef,
		sub { ("\0" x 24) . substr($_[0], 24) }, 'zero_header' ],
	[ 'pd_upper zero over a body', 't', 'main', undef,
		sub { substr($_[0], 0, 14) . "\0\0" . substr($_[0], 16) }, 'zero_header' ],
	[ 'zeroed second half', 't', 'main', undef,
		sub { substr($_[0], 0, BLCKSZ / 2) . "\0" x (BLCKSZ / 2) }, 'checksum_mismatch' ],
	[ 'zeroed first half', 't', 'main', undef,
		sub { "\0" x (BLCKSZ / 2) . substr($_[0], BLCKSZ / 2) }, 'zero_header' ],
	[ 'torn: half of another page of the relation', 't', 'main', undef,
		sub { substr($_[0], 0, BLCKSZ / 2) . substr(donor('t'), BLCKSZ / 2) }, 'checksum_mismatch' ],
	[ 'another page of the relation', 't', 'main', undef, sub { donor('t') },
		'checksum_mismatch' ],
	[ 'a page of another relation', 't', 'main', undef, sub { donor('other') },
		'checksum_mismatch' ],
	[ 'right checksum, pd_lower > pd_upper', 't', 'main', undef,
		resealed(sub { substr($_[0], 12, 2) = pack('v', 8000); $_[0] }), 'bad_header' ],
	[ 'right checksum, unknown flag', 't', 'main', undef,
		resealed(sub { substr($_[0], 10, 2) = pack('v', 0x100); $_[0] }), 'bad_header' ],
	[ 'right checksum, unaligned pd_special', 't', 'main', undef,
		resealed(sub { substr($_[0], 16, 2) = pack('v', BLCKSZ - 1); $_[0] }), 'bad_header' ],
	[ 'right checksum, LSN of the future', 't', 'main', undef,
		resealed(sub { substr($_[0], 0, 8) = pack('VV', 0x7000, 0); $_[0] }), 'lsn_in_future' ],
	[ 'zero page', 'mv', 'main', 7, sub { "\0" x BLCKSZ }, 'zeroed_page' ],
	[ 'first block', 't', 'main', 0, flip(6000, 1), 'checksum_mismatch' ],
	[ 'last block', 't_idx', 'main', -1, flip(8000, 1), 'checksum_mismatch' ],
	[ 'free space map', 't', 'fsm', 1, flip(300, 2), 'checksum_mismatch' ],
	[ 'visibility map', 't', 'vm', 0, flip(100, 2), 'checksum_mismatch' ],
	[ 'index', 't_idx', 'main', 3, flip(4000, 2), 'checksum_mismatch' ],
	[ 'index metapage', 't_idx', 'main', 0, flip(30, 2), 'checksum_mismatch' ],
	[ 'TOAST', $toast, 'main', 2, flip(4000, 2), 'checksum_mismatch' ],
	[ 'sequence', 's', 'main', 0, flip(8180, 2), 'checksum_mismatch' ],
	[ 'materialized view', 'mv', 'main', 4, flip(8180, 2), 'checksum_mismatch' ],
	[ 'unlogged', 'u', 'main', 4, flip(8180, 2), 'checksum_mismatch' ],
	[ 'unlogged, an LSN of its own counting', 'u', 'main', 6,
		resealed(sub { substr($_[0], 0, 8) = pack('VV', 0x7000, 0); $_[0] }), undef ],
	[ 'init fork, LSN of the future', 'u_two', 'init', 0,
		resealed(sub { substr($_[0], 0, 8) = pack('VV', 0x7000, 0); $_[0] }), 'lsn_in_future' ],
	[ 'init fork of an unlogged index', 'u_idx', 'init', 0, flip(40, 2), 'checksum_mismatch' ],
	[ 'mapped catalog', 'pg_class_tblspc_relfilenode_index', 'main', 1, flip(8000, 2),
		'checksum_mismatch' ],
	[ 'mapped catalog in use', 'pg_class', 'main', 1, flip(8000, 2), 'checksum_mismatch' ],
	[ 'shared catalog', 'pg_shdescription', 'main', 0, flip(8180, 2), 'checksum_mismatch' ]);

# [title, mutilate(sub of a path), findings as [block, segment, offset, status],
# first block, last block].  Whole segments are holes here: new pages.
my $end = $size_blocks * BLCKSZ;
my $second_segment;
my @sizes = (
	[ 'a partial block at the end', sub { truncate $_[0], $end - 5000 },
		[ [ $size_blocks - 1, 0, $end - BLCKSZ, 'partial_block' ] ] ],
	[ 'a zero block after the end', sub { truncate $_[0], $end + BLCKSZ }, [] ],
	[ 'an empty trailing segment', sub { make("$_[0].1", 0) }, [] ],
	[ 'a short segment with one after it', sub { make("$_[0].1", BLCKSZ) },
		[ [ $size_blocks, 0, $end, 'size_mismatch' ] ] ],
	[ 'segments missing before one far after', sub { make("$_[0].3", BLCKSZ) },
		[ [ $size_blocks, 0, $end, 'size_mismatch' ], [ SEGMENT, 1, '', 'missing' ],
			[ 2 * SEGMENT, 2, '', 'missing' ] ] ],
	[ 'segments missing before one further away', sub { make("$_[0].7", BLCKSZ) },
		[ [ $size_blocks, 0, $end, 'size_mismatch' ],
			map { [ $_ * SEGMENT, $_, '', 'missing' ] } 1 .. 6 ] ],
	[ 'a full last segment, and one far away', sub { make($_[0], SEGMENT * BLCKSZ); make("$_[0].40", BLCKSZ) },
		[ map { [ $_ * SEGMENT, $_, '', 'missing' ] } 1 .. 39 ], NEAR_END ],
	[ 'a full last segment', sub { make($_[0], SEGMENT * BLCKSZ) }, [], NEAR_END ],
	[ 'a missing middle segment, and a broken block after it',
		sub { make($_[0], SEGMENT * BLCKSZ); make("$_[0].2", 2 * BLCKSZ);
			put("$_[0].2", BLCKSZ, donor('other')) },
		[ [ SEGMENT, 1, '', 'missing' ],
			[ 2 * SEGMENT + 1, 2, BLCKSZ, 'checksum_mismatch' ] ], NEAR_END ],
	[ 'block 2 in the place of block 2 of the second segment',
		sub { make($_[0], SEGMENT * BLCKSZ); make("$_[0].1", 4 * BLCKSZ); put("$_[0].1", 2 * BLCKSZ, donor('other')) },
		[ [ SEGMENT + 2, 1, 2 * BLCKSZ, 'checksum_mismatch' ] ], NEAR_END ],
	[ 'the right page there',
		sub { make($_[0], SEGMENT * BLCKSZ); make("$_[0].1", 4 * BLCKSZ);
			put("$_[0].1", 2 * BLCKSZ, $second_segment //= resealed(sub { $_[0] })->(donor('other'), SEGMENT + 2)) },
		[], NEAR_END ],
	[ 'a short middle segment',
		sub { make($_[0], SEGMENT * BLCKSZ); make("$_[0].1", 3 * BLCKSZ + 5); make("$_[0].2", BLCKSZ) },
		[ [ SEGMENT + 3, 1, 3 * BLCKSZ, 'size_mismatch' ] ], NEAR_END, SEGMENT + 100 ],
	[ 'a segment that is too long', sub { make($_[0], (SEGMENT + 1) * BLCKSZ) },
		[ [ SEGMENT, 0, SEGMENT * BLCKSZ, 'partial_block' ] ], NEAR_END ],
	[ 'an empty file', sub { truncate $_[0], 0 }, [] ],
	[ 'no file at all', sub { unlink $_[0] }, [ [ 0, 0, '', 'missing' ] ] ],
	[ 'a directory in its place', sub { unlink $_[0]; mkdir $_[0] }, [ [ 0, 0, '', 'io_error' ] ],
		undef, 10000 ]);

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
		my $sum = $primary->safe_psql('postgres',
			"SELECT computed_checksum FROM verify_page('\\x$hex', $block)");
		substr($page, 8, 2) = pack('v', $sum);
		return $page;
	};
}

# Paths below the data directory, the same on both nodes.  Asked for while
# everything is well: damaged catalogs cannot tell.
my %paths;
my $own_block = 7;
foreach my $case (@pages)
{
	my ($relation, $fork) = @$case[ 1, 2 ];
	$paths{"$relation.$fork"} //= relative_path($relation)
	  . ($fork eq 'main' ? '' : "_$fork");
	$case->[3] //= $own_block++;
	$case->[3] = $primary->safe_psql('postgres', "SELECT pg_relation_size('$relation') / current_setting('block_size')::int - 1")
	  if $case->[3] < 0;
}
$paths{'other.main'} = relative_path('other');
my @size_paths = map { relative_path('size' . ($_ + 1)) } 0 .. $#sizes;

sub relative_path
{
	my ($relation) = @_;
	return $primary->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

sub page
{
	my ($path, $offset) = Accel::place(@_);
	open my $fh, '<:raw', $path or die "$path: $!";
	sysseek $fh, $offset, 0;
	sysread $fh, my $page, BLCKSZ;
	close $fh;
	return $page;
}

# a healthy page that nothing damages
sub donor
{
	my ($relation) = @_;
	return page($primary->data_dir . '/' . $paths{"$relation.main"}, 2);
}

sub put
{
	my ($path, $offset, $bytes) = @_;
	open my $fh, '+<:raw', $path or die "$path: $!";
	sysseek $fh, $offset, 0;
	syswrite $fh, $bytes;
	close $fh;
	return;
}

# makes a file that long, or makes it if it is not there
sub make
{
	my ($path, $bytes) = @_;
	open my $fh, '>>', $path or die "$path: $!";
	close $fh;
	truncate $path, $bytes or die "$path: $!";
	return;
}

my $columns = "relation::text, fork, blkno, path, file_offset, status";

sub findings
{
	my ($node, $relation, $options) = @_;
	$options = defined $options ? ", $options" : '';
	return $node->safe_psql('postgres',
		"SELECT $columns FROM verify_relation('$relation'$options)");
}

# the findings about relations of the catalogue, one by one
my @relations = (sort(keys %{ { map { $_->[1] => 1 } @pages } }), 'other',
	map { "size$_" } 1 .. @sizes);

sub all_findings
{
	my ($node) = @_;
	return $node->safe_psql('postgres', join ';',
		map { "SELECT $columns FROM verify_relation('$_')
			WHERE status <> 'not_verifiable'" } @relations);
}

# What a case is expected to give on a node; '' for nothing.
sub expected_page
{
	my ($case, $status) = @_;
	my ($title, $relation, $fork, $block) = @$case;
	return defined $status ? join('|', $relation, $fork, $block,
		Accel::place($paths{"$relation.$fork"}, $block), $status) : '';
}

sub expected_sizes
{
	my ($i) = @_;
	return join "\n", map {
		my ($block, $segment, $offset, $status) = @$_;
		join '|', 'size' . ($i + 1), 'main', $block,
		  $size_paths[$i] . ($segment ? ".$segment" : ''), $offset, $status
	} @{ $sizes[$i][2] };
}

# Puts a status in the place of a set of them.
sub settle
{
	my ($case, $got) = @_;
	my $status = $case->[5];
	return $status if !ref $status;
	return $got =~ /\|($status)$/m ? $1 : 'one of several';
}

# Damage and repair.  Whatever a mutilation made goes, for the server removes
# none of it.
my %original;

sub damage_page
{
	my ($node, $case) = @_;
	my ($title, $relation, $fork, $block, $mutilate) = @$case;
	my $path = $node->data_dir . '/' . $paths{"$relation.$fork"};
	my $page = page($path, $block);
	$original{"$path $block"} = $page;
	put(Accel::place($path, $block), $case->[6] //= $mutilate->($page, $block));
	return;
}

sub repair_page
{
	my ($node, $case) = @_;
	my $path = $node->data_dir . '/' . $paths{"$case->[1].$case->[2]"};
	put(Accel::place($path, $case->[3]), $original{"$path $case->[3]"});
	return;
}

sub damage_sizes
{
	my ($node, $i) = @_;
	my $path = $node->data_dir . '/' . $size_paths[$i];
	copy($path, $node->basedir . "/saved$i") or die $!;
	$sizes[$i][1]->($path);
	return;
}

sub repair_sizes
{
	my ($node, $i) = @_;
	my $path = $node->data_dir . '/' . $size_paths[$i];
	rmdir $path if -d $path;
	unlink grep { -e } map { "$path.$_" } 1 .. 40;
	copy($node->basedir . "/saved$i", $path) or die $!;
	return;
}

sub size_options
{
	my ($i) = @_;
	my ($first, $last) = @{ $sizes[$i] }[ 3, 4 ];
	return "fork => 'main'"
	  . (defined $first ? ", first_block => $first" : '')
	  . (defined $last ? ", last_block => $last" : '');
}

# The catalogue, one after the other while the server works.
sub damage_online
{
	my ($node) = @_;
	my $name = $node->name;

	foreach my $case (grep { has_file($node, $_) } @pages)
	{
		my ($title, $relation, $fork, $block) = @$case;
		damage_page($node, $case);
		my $got = findings($node, $relation, "'$fork'");
		repair_page($node, $case);
		$got =~ s/bad_on_disk_cached_ok$/checksum_mismatch/
		  if $title eq 'mapped catalog in use';
		is($got, expected_page($case, settle($case, $got)), "$name, online: $title");
	}
	foreach my $i (0 .. $#sizes)
	{
		damage_sizes($node, $i);
		my $got = findings($node, 'size' . ($i + 1), size_options($i));
		repair_sizes($node, $i);
		is($got, expected_sizes($i), "$name, online: $sizes[$i][0]");
	}
	is(all_findings($node), '', "$name, online: all healed");
	return;
}

# All of it at once while the server is stopped.
sub damage_offline
{
	my ($node) = @_;
	my $name = $node->name;
	my @cases = grep { has_file($node, $_) && $_->[0] ne 'mapped catalog in use' } @pages;

	$node->stop;
	damage_page($node, $_) foreach @cases;
	damage_sizes($node, $_) foreach 0 .. $#sizes;
	$node->start;
	my %got;
	foreach my $relation (@relations)
	{
		next if $relation eq 'u' && $node != $primary;
		my ($i) = $relation =~ /^size(\d+)/;
		push @{ $got{$relation} }, split /\n/,
		  findings($node, $relation, $i ? size_options($i - 1) : undef);
	}
	foreach my $case (@cases)
	{
		my ($title, $relation, $fork, $block) = @$case;
		my ($got) = grep { /^\Q$relation|$fork|$block|\E/ } @{ $got{$relation} };
		$got //= '';
		is($got, expected_page($case, settle($case, $got)), "$name, offline: $title");
		@{ $got{$relation} } = grep { $_ ne $got } @{ $got{$relation} };
	}
	foreach my $i (0 .. $#sizes)
	{
		my $got = delete $got{ 'size' . ($i + 1) };
		is(join("\n", @$got), expected_sizes($i), "$name, offline: $sizes[$i][0]");
	}
	my $rest = $node == $primary ? '' : "u_idx|main||||not_verifiable\nu_two|main||||not_verifiable";
	is(join("\n", sort map { @$_ } values %got), $rest, "$name, offline: and nothing else");
	$node->stop;
	repair_page($node, $_) foreach @cases;
	repair_sizes($node, $_) foreach 0 .. $#sizes;
	$node->start;
	is(all_findings($node), '', "$name, offline: all healed");
	return;
}

# unlogged relations have no main fork on a standby
sub has_file
{
	my ($node, $case) = @_;
	return $node == $primary || $case->[1] ne 'u';
}

sub intact
{
	my ($node) = @_;
	my $name = $node->name;
	my $of_all = "WHERE c.relkind IN ('r', 'i', 'S', 't', 'm') AND c.relname NOT IN ('u', 'u_idx', 'u_two')";

	is(all_findings($node), '', "$name: intact relations give no finding");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_class c, verify_relation(c.oid) v $of_all"),
		'0', "$name: the whole database gives no finding");
	is( $node->safe_psql('postgres',
			"SELECT string_agg(DISTINCT status, ',') FROM
			(SELECT s.status FROM pg_class c, verify_relation_summary(c.oid) s $of_all) x"),
		'ok', "$name: every fork of it is ok");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_class c, verify_relation_summary(c.oid) s $of_all
			AND (blocks <> verified_blocks + zero_blocks OR read_bytes <> blocks * current_setting('block_size')::int)"),
		'0', "$name: every block of it is verified or new");
	return;
}

# Shared buffers above a broken image.
sub below_buffers
{
	my ($node) = @_;
	my $name = $node->name;
	my $path = $node->data_dir . '/' . $paths{'t.main'};
	my $good = page($path, 5);
	my $broken = flip(5000, 1)->($good);

	$node->restart;
	$node->safe_psql('postgres', "SELECT FROM t WHERE ctid = '(5,1)'");
	put($path, 5 * BLCKSZ, $broken);
	is( $node->safe_psql('postgres',
			"SELECT blkno, status, buffer_state, stored_checksum <> computed_checksum, retries > 0,
			message ~ 'proven by its checksum: ' FROM verify_relation('t')"),
		'5|bad_on_disk_cached_ok|clean|t|t|t',
		"$name: a good page in shared buffers above a broken image");
	put($path, 5 * BLCKSZ, $good);
	below_dirty_buffer($node, $path) if $name eq 'primary';

	# a read that failed leaves an invalid buffer behind
	$node->restart;
	put($path, 5 * BLCKSZ, $broken);
	isnt($node->psql('postgres', "SELECT FROM t WHERE ctid = '(5,1)'"),
		0, "$name: the server refuses the page");
	is( $node->safe_psql('postgres',
			"SELECT blkno, status, buffer_state FROM verify_relation('t')"),
		'5|checksum_mismatch|invalid', "$name: a page whose read failed");

	# lenient settings of the server change nothing
	is( $node->safe_psql('postgres',
			"SET zero_damaged_pages = on; SET ignore_checksum_failure = on;
			SELECT blkno, status FROM verify_relation('t')"),
		'5|checksum_mismatch', "$name: zero_damaged_pages and ignore_checksum_failure change nothing");
	is( $node->safe_psql('postgres',
			"SET ignore_checksum_failure = on; SELECT b FROM t WHERE ctid = '(5,1)' AND b = '';
			SELECT blkno, status FROM verify_relation('t')"),
		'5|checksum_mismatch', "$name: the broken image itself in shared buffers is no good copy");
	put($path, 5 * BLCKSZ, $good);
	$node->restart;
	return;
}

# What is written over at the next checkpoint.
sub below_dirty_buffer
{
	my ($node, $path) = @_;

	$node->safe_psql('postgres', "UPDATE t SET b = reverse(b) WHERE ctid = (SELECT min(ctid) FROM t WHERE ctid >= '(6,1)')");
	put($path, 6 * BLCKSZ, flip(5000, 1)->(page($path, 6)));
	my $damaged = "SELECT blkno, status, buffer_state FROM verify_relation('t') WHERE blkno = 6";
	is($node->safe_psql('postgres', $damaged), '6|bad_on_disk_cached_ok|dirty', 'damaged below a dirty buffer');
	is($node->safe_psql('postgres', "CHECKPOINT; $damaged"), '', 'and written over');
	return;
}

sub ranges
{
	my ($node) = @_;
	my $name = $node->name;
	my $path = $node->data_dir . '/' . $paths{'t.main'};
	my $good = page($path, 5);

	put($path, 5 * BLCKSZ, flip(5000, 1)->($good));
	is(findings($node, 't', 'first_block => 0, last_block => 4'), '', "$name: a range before the damage");
	is(findings($node, 't', 'first_block => 6'), '', "$name: a range behind it");
	like(findings($node, 't', 'first_block => 5, last_block => 5'),
		qr/^t\|main\|5\|/, "$name: the range of the block");
	is( $node->safe_psql('postgres',
			"SELECT blocks, verified_blocks, bad_blocks, status FROM verify_relation_summary('t', 'main', 2, 20)"),
		'19|18|1|checksum_mismatch', "$name: summary of a range");
	put($path, 5 * BLCKSZ, $good);
	return;
}

# Many broken blocks with huge LSNs: an existing tool skips them all.
sub many_huge_lsns
{
	my ($node) = @_;
	my $path = $node->data_dir . '/' . $paths{'t.main'};
	my @blocks = grep { $_ % 3 } 0 .. 100;
	my %saved = map { $_ => page($path, $_) } @blocks;
	my $garbage = garbage(0x77);

	put(Accel::place($path, $_), $garbage) foreach @blocks;
	is( $node->safe_psql('postgres',
			"SELECT count(*), string_agg(DISTINCT status, ',') FROM verify_relation('t')"),
		scalar(@blocks) . '|lsn_in_future',
		$node->name . ': no broken block with a huge LSN is passed over');
	put(Accel::place($path, $_), $saved{$_}) foreach @blocks;
	return;
}

# relation_files shows what the findings say.
sub segments
{
	my ($node) = @_;
	my $name = $node->name;
	my ($missing) = grep { $sizes[$_][0] =~ /^a missing middle/ } 0 .. $#sizes;
	my $relation = 'size' . ($missing + 1);

	damage_sizes($node, $missing);
	is( $node->safe_psql('postgres',
			"SELECT segment_number, blocks, status FROM relation_files('$relation') WHERE fork = 'main'"),
		'0|' . SEGMENT . "|ok\n1||missing\n2|2|ok", "$name: relation_files shows a missing one");
	repair_sizes($node, $missing);

	# extension in bulk leaves new pages, too
	my $new = "SELECT zero_blocks, status FROM verify_relation_summary('size2', 'main')";
	my ($before) = $node->safe_psql('postgres', $new) =~ /^(\d+)\|ok$/;
	damage_sizes($node, 1);
	is($node->safe_psql('postgres', $new), $before + 1 . '|ok', "$name: a zero block at the end is new");
	repair_sizes($node, 1);
	return;
}

# More segments than are allocated at first; the last that there can be, whose
# last block is 4294967294; a folder in the place of a file.
sub extreme_segments
{
	my ($node) = @_;
	my $name = $node->name;
	my $relation = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('size3')");
	my $saved = -s $relation;
	my $last = 2**32 / SEGMENT - 1;	# each before it is looked for
	my ($before_last, $first_block) = ($last - 1, $last * SEGMENT);

	make("$relation.$_", SEGMENT * BLCKSZ) foreach 1 .. 9;
	is( $node->safe_psql('postgres', "SELECT count(*), max(segment_number), string_agg(status, ',') FILTER (WHERE status <> 'ok')
			FROM relation_files('size3') WHERE fork = 'main'"),
		'10|9|size_mismatch', "$name: ten segments");
	unlink "$relation.$_" foreach 1 .. 9;
	make($_, SEGMENT * BLCKSZ) foreach $relation, "$relation.$before_last", "$relation.$last";
	put("$relation.$last", (SEGMENT - 2) * BLCKSZ + 24, 'damage');
  SKIP:
	{
		if ($last > 1_000_000)
		{
			my (undef, undef, $told) = $node->psql('postgres', "SET statement_timeout = '1s'; SELECT FROM verify_relation('size3', 'main', $first_block)");
			like($told, qr/canceling statement due to statement timeout/, "$name: hundreds of millions of segments: a search that can be cancelled");
			skip 'it would last for minutes', 2;
		}
		is( $node->safe_psql('postgres', "SELECT status, blkno FROM verify_relation('size3', 'main', $first_block)"),
			"zero_header|4294967294\npartial_block|4294967295", "$name: the last segment that there can be, a block too long");
		is( $node->safe_psql('postgres', "SELECT blocks, zero_blocks, bad_blocks FROM verify_relation_summary('size3', 'main', $first_block - @{[ SEGMENT ]})"),
			2 * SEGMENT - 1 . '|' . (2 * SEGMENT - 2) . '|1', "$name: with the one before");
	}
	unlink "$relation.$before_last", "$relation.$last";
	truncate $relation, $saved;

	rename $relation, "$relation.away";
	mkdir $relation;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT read_disk_page('size3', 'main', 0)");
	like($error, qr/ERROR:  58030/, "$name: a folder in the place of a file");
	rmdir $relation;
	rename "$relation.away", $relation;
	return;
}

# Segments are looked for by name: a server reads no directory of a hundred
# thousand files for each relation of a segment and more.
sub directory_is_not_read
{
	my ($node) = @_;
	my $name = $node->name;
	my $relation = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('size1')");
	my ($folder) = $relation =~ m{^(.*)/};
	my $segments = "SELECT segment_number, blocks, status FROM relation_files('size1') WHERE fork = 'main'";
	my $saved = -s $relation;
	my $logged = -s $node->logfile;

	make($relation, SEGMENT * BLCKSZ);
	make("$relation.1", 2 * BLCKSZ);
	chmod 0300, $folder;
	is($node->safe_psql('postgres', $segments), '0|' . SEGMENT . "|ok\n1|2|ok", "$name: two segments in a directory that cannot be read");
	unlike(slurp_file($node->logfile, $logged), qr/could not open directory/, "$name: nobody tried to");
	unlink "$relation.1";
	$node->safe_psql('postgres', $segments);
	like(slurp_file($node->logfile, $logged), qr/could not open directory/, "$name: for a last segment that is full, it is read");
	chmod 0700, $folder;
	truncate $relation, $saved;
	return;
}

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
is($standby->safe_psql('postgres', "SELECT pg_is_in_recovery(), count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"),
	't|1', 'the standby streams');

foreach my $node ($primary, $standby)
{
	$node->restart;				# nothing of it in shared buffers
	intact($node);
	damage_online($node);
	damage_offline($node);
	below_buffers($node);
	ranges($node);
	many_huge_lsns($node);
	segments($node);
	directory_is_not_read($node);
	extreme_segments($node) if $node->name eq 'primary';
	is(all_findings($node), '', $node->name . ': all healed at the end');
}
is(findings($standby, 'u'), 'u|main||||not_verifiable',
	'standby: the main fork of an unlogged table is not verifiable');

$standby->stop('immediate');
$primary->stop('immediate');
done_testing();
