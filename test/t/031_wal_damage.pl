# WAL, damaged: each kind of the catalogue gives its status at its place, and
# single flipped bits anywhere are reported wherever they mean something.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

# flips in all, and the seed that repeats them
my $flips = $ENV{ACCEL_WAL_FLIPS} // 2000;
my $seed = $ENV{ACCEL_WAL_SEED} // time;

my $MB = 1024 * 1024;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	conf => "wal_keep_size = 512MB\nautovacuum = off\nwal_compression = on\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

sub sql { return $node->safe_psql('postgres', $_[0]); }

my $begin = sql('SELECT pg_switch_wal(); SELECT pg_logical_emit_message(true, \'a\', \'b\'); SELECT pg_walfile_name(pg_current_wal_lsn())');
$begin =~ s/.*\n//s;
sql(q{
	CREATE TABLE t (id int PRIMARY KEY, filler text);
	INSERT INTO t SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 6000) g;
	CHECKPOINT;
	UPDATE t SET filler = filler || 'x' WHERE id % 3 = 0;
	SELECT pg_switch_wal();
	SET wal_compression = off;
	CHECKPOINT;
	UPDATE t SET filler = reverse(filler);
	SELECT pg_logical_emit_message(false, 'test', repeat('y', 2500000));
	SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 1500) g;
	SELECT pg_switch_wal();
	SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 500) g;
	SELECT pg_switch_wal()});
my @names = split /\n/, sql("SELECT segment FROM verify_wal() WHERE status IN ('ok', 'ok_switched') AND segment >= '$begin'");
copy($node->data_dir . "/pg_wal/$_", "$dir/$_") foreach @names;
is( sql("SELECT count(*) || ' ' || sum(findings) || ' ' || count(*) FILTER (WHERE status NOT IN ('ok', 'ok_switched')) FROM verify_wal('$dir')"),
	scalar(@names) . ' 0 0', 'intact');

# Where things are: the second segment, a page within, a record within the page.
my $name = $names[1];
my $file = "$dir/$name";
my $base = AccelWal::number(sql("SELECT start_lsn FROM verify_wal('$dir', '$name', '$name')"));

sub first_record
{
	my ($page) = @_;
	my ($info, $rem) = unpack('x2 S x12 L', AccelWal::peek($file, $page, 20));
	my $at = $page + ($page == 0 ? 40 : 24) + $rem;
	return int(($at + 7) / 8) * 8;
}
# a page whose first record is followed by another one in the same page
my ($page, $record, $next);
for ($page = $wal_blcksz; ; $page += $wal_blcksz)
{
	$record = first_record($page);
	next if $record > $page + 6000;
	my $len = unpack('L', AccelWal::peek($file, $record, 4));
	$next = $record + int(($len + 7) / 8) * 8;
	# with padding behind it, and some body
	last if $next < $page + $wal_blcksz - 192 && $len % 8 != 0 && $len > 40;
}
my $len = unpack('L', AccelWal::peek($file, $record, 4));

sub flip
{
	my ($path, $offset, $bit) = @_;
	AccelWal::poke($path, $offset, chr(ord(AccelWal::peek($path, $offset, 1)) ^ (1 << ($bit // 0))));
	return;
}

# name, what to do, status, where the first finding is (offset; undef: any), its
# reason (none: several are right)
my @catalogue = (
	[ 'one bit in a record\'s header', sub { flip($file, $record + 4) }, 'corrupt', $record, 'record_crc' ],
	[ 'one bit in a record\'s body', sub { flip($file, $record + 30) }, 'corrupt', $record, 'record_crc' ],
	[ 'one bit in a record\'s CRC', sub { flip($file, $record + 20) }, 'corrupt', $record, 'record_crc' ],
	[ 'one bit in a record\'s link', sub { flip($file, $record + 8, 3) }, 'corrupt', $record, 'prev_link' ],
	[ 'one bit in a record\'s length', sub { flip($file, $record, 1) }, 'corrupt', $record ],
	[ 'a huge length', sub { AccelWal::poke($file, $record, pack('L', 0xFFFFFFF0)) }, 'corrupt', $record, 'record_too_long' ],
	[ 'no such resource manager', sub { AccelWal::poke($file, $record + 17, chr(100)) }, 'corrupt', $record, 'resource_manager' ],
	[ 'one bit in the padding', sub { flip($file, $record + $len) }, 'corrupt', $record + $len, 'record_padding' ],
	[ 'wrong magic', sub { flip($file, $page) }, 'corrupt', $page, 'page_magic' ],
	[ 'wrong magic on the first page', sub { flip($file, 0, 5) }, 'corrupt', 0, 'page_magic' ],
	[ 'wrong flags', sub { flip($file, $page + 2, 6) }, 'corrupt', $page, 'page_flags' ],
	[ 'wrong timeline', sub { flip($file, $page + 4) }, 'corrupt', $page, 'page_timeline' ],
	[ 'wrong page address', sub { flip($file, $page + 13) }, 'corrupt', $page, 'page_address' ],
	[ 'wrong segment size', sub { flip($file, 34, 1) }, 'corrupt', 0, 'page_segment_size' ],
	[ 'wrong block size', sub { flip($file, 37) }, 'corrupt', 0, 'page_block_size' ],
	[ 'wrong system', sub { flip($file, 25) }, 'foreign_system', 24, 'file_system' ],
	[ 'system identifier of zero', sub { AccelWal::poke($file, 24, "\0" x 8) }, 'foreign_system', 24, 'file_system' ],
	[ 'a page of zeros', sub { AccelWal::poke($file, $page, "\0" x $wal_blcksz) }, 'corrupt', undef ],
	[ 'zero tail', sub { AccelWal::poke($file, $next, "\0" x ($MB - $next)) }, 'corrupt', $next, 'record_missing' ],
	[ 'garbage', sub { AccelWal::poke($file, $page, join('', map { chr(rand 256) } 1 .. $wal_blcksz)) }, 'corrupt', undef ],
	[ 'recycled tail', sub { AccelWal::poke($file, $MB / 2, AccelWal::peek("$dir/$names[0]", $MB / 2, $MB / 2)) }, 'corrupt', undef ],
	[ 'another segment', sub { copy("$dir/$names[2]", $file) }, 'corrupt', 0, 'file_misplaced' ],
	[ 'truncated within a page', sub { truncate($file, $MB / 2 + 100) }, 'size_mismatch', $MB / 2 + 100, 'file_size' ],
	[ 'truncated', sub { truncate($file, 16384) }, 'size_mismatch', 16384, 'file_size' ],
	[ 'empty', sub { truncate($file, 0) }, 'size_mismatch', 0, 'file_size' ],
	[ 'too long', sub { AccelWal::poke($file, $MB, 'x') }, 'size_mismatch', $MB, 'file_size' ],
	[ 'encrypted', sub { AccelWal::poke($file, 0, join('', map { chr(rand 256) } 1 .. $MB)) }, 'not_verifiable', 0, 'file_unreadable' ],
	[ 'of PostgreSQL 14', sub { AccelWal::poke($file, $_ * $wal_blcksz, pack('S', 0xD10D)) foreach 0 .. $MB / $wal_blcksz - 1 }, 'unsupported_version', 0, 'file_version_old' ],
	[ 'of the future', sub { AccelWal::poke($file, $_ * $wal_blcksz, pack('S', 0xD1FF)) foreach 0 .. $MB / $wal_blcksz - 1 }, 'unsupported_version', 0, 'file_version_unknown' ],
	[ 'of the other byte order', sub { AccelWal::poke($file, $_ * $wal_blcksz, scalar reverse(AccelWal::peek($file, $_ * $wal_blcksz, 2))) foreach 0 .. $MB / $wal_blcksz - 1 }, 'unsupported_version', 0, 'file_byte_order' ],
);

foreach my $row (@catalogue)
{
	my ($title, $mutilate, $status, $offset, $reason) = @$row;
	copy($file, "$dir/saved");
	$mutilate->();
	my $found = sql("SELECT status || ' ' || findings || ' ' || coalesce(first_finding_lsn - '0/0', 0) - $base FROM verify_wal('$dir', '$name', '$name')");
	my ($s, $errors, $at) = split / /, $found;
	is($s, $status, "$title: $status");
	is($at, $offset, "$title: at its place") if defined $offset;
	is(sql("SELECT count(*) FROM verify_wal_findings('$dir', '$name', 10000)"), $s eq 'not_verifiable' ? 1 : $errors, "$title: each has a row");
	is(sql("SELECT reason FROM verify_wal_findings('$dir', '$name', 10000) LIMIT 1"), $reason, "$title: $reason") if $reason;
	is(sql("SELECT count(*) FROM verify_wal('$dir') WHERE status NOT LIKE 'ok%' AND segment NOT IN ('$names[0]', '$name', '$names[2]')"),
		0, "$title: nothing elsewhere");
	copy("$dir/saved", $file);
	unlink "$dir/saved";
}
is(sql("SELECT count(*) FROM verify_wal('$dir') WHERE status LIKE 'ok%'"), scalar(@names), 'healed');

# --- neighbours that are there and of no use --------------------------------------

# Two segments that one record connects: what is said of the other one when one
# of them is damaged, and what not.
my ($left, $right) = split /\|/, sql("SELECT p, segment FROM (SELECT segment, lag(segment) OVER w p, lag(start_lsn) OVER w + $MB = start_lsn AS adjacent, status
	FROM verify_wal('$dir') WINDOW w AS (ORDER BY segment)) s WHERE adjacent AND status = 'ok'
	AND (SELECT unverified_head_bytes BETWEEN 10 AND 20000 FROM verify_wal_segment(pg_read_binary_file('$dir/' || segment), segment))
	AND (SELECT status = 'ok' FROM verify_wal('$dir', p, p)) LIMIT 1");
my $over_start = 'the record over the start is not checked: the segment before';
my $over_end = 'the record over the end is not checked: the segment after';
foreach my $case (
	[ 'first page zero', $right, $left, sub { AccelWal::poke($_[0], 0, "\0" x $wal_blcksz) }, "$over_end is damaged" ],
	[ 'all zero', $right, $left, sub { AccelWal::poke($_[0], 0, "\0" x $MB) }, "$over_end is damaged" ],
	[ 'all zero', $left, $right, sub { AccelWal::poke($_[0], 0, "\0" x $MB) }, "$over_start is damaged" ],
	[ 'last page zero', $left, $right, sub { AccelWal::poke($_[0], $MB - $wal_blcksz, "\0" x $wal_blcksz) }, "$over_start is damaged" ],
	[ 'truncated', $left, $right, sub { truncate($_[0], $MB / 2) }, "$over_start is truncated" ],
	[ 'truncated', $right, $left, sub { truncate($_[0], $MB / 2) }, "$over_end is truncated" ],
	[ 'of another system', $left, $right, sub { flip($_[0], 25) }, "$over_start is of another system" ],
	[ 'of another system', $right, $left, sub { flip($_[0], 25) }, "$over_end is of another system" ],
	[ 'a folder', $left, $right, sub { unlink $_[0]; mkdir $_[0] }, "$over_start cannot be read" ],
	[ 'gone', $right, $left, sub { unlink $_[0] }, "$over_end is not there" ],
	[ 'gone', $left, $right, sub { unlink $_[0] }, "$over_start is not there" ],
	[ 'too long', $right, $left, sub { AccelWal::poke($_[0], $MB, "\0" x $wal_blcksz) }, '' ],
	[ 'too long', $left, $right, sub { AccelWal::poke($_[0], $MB, "\0" x $wal_blcksz) }, '' ])
{
	my ($title, $damaged, $healthy, $mutilate, $message) = @$case;
	my $side = $damaged eq $left ? 'before' : 'after';
	copy("$dir/$damaged", "$dir/saved");
	$mutilate->("$dir/$damaged");
	is(sql("SELECT status || ' ' || coalesce(message, '') FROM verify_wal('$dir', '$healthy', '$healthy')"),
		"ok $message", "the segment $side is $title: told of the other one");
	rmdir "$dir/$damaged";
	copy("$dir/saved", "$dir/$damaged");
	unlink "$dir/saved";
}
flip("$dir/$right", 60);	# within the record
is(sql("SELECT string_agg(status || ' ' || findings || ' ' || (SELECT reason FROM verify_wal_findings('$dir', segment)), ', ') FROM verify_wal('$dir', '$left', '$right')"),
	'corrupt 1 record_crc, corrupt 1 record_crc', 'a damaged record over a border: reported for both');
flip("$dir/$right", 60);

# one bit: exactly one finding, and the rest of the segment is verified
flip($file, $record + 30);
is( sql("SELECT findings || ' ' || skipped_bytes || ' ' || verified_bytes FROM verify_wal('$dir', '$name', '$name')"),
	'1 ' . ($next - $record) . ' ' . ($MB - ($next - $record)),
	'one bit costs one record, the others are verified');
flip($file, $record + 30);

# another version's WAL, were it whole: only the magic and the system differ; of
# this very system it cannot be
my $magic = unpack('S', AccelWal::peek($file, 0, 2));
foreach my $version ([ 15, 0xD110 ], [ 16, 0xD113 ], [ 17, 0xD116 ], [ 18, 0xD118 ])
{
	my $other = PostgreSQL::Test::Utils::tempdir();
	copy($file, "$other/$name");
	AccelWal::poke("$other/$name", $_ * $wal_blcksz, pack('S', $version->[1])) foreach 0 .. $MB / $wal_blcksz - 1;
	is(sql("SELECT status || ' ' || findings || ' ' || coalesce(first_finding_lsn - start_lsn, -1) FROM verify_wal('$other', '$name', '$name')"),
		$version->[1] == $magic ? 'ok 0 -1' : 'corrupt 1 0', "WAL of PostgreSQL $version->[0] with this server's system identifier");
	flip("$other/$name", 25);
	is(sql("SELECT server_version || ' ' || findings || ' ' || status FROM verify_wal('$other', '$name', '$name')"),
		"$version->[0] 1 foreign_system", "WAL of PostgreSQL $version->[0] of another system");
}

# --- many findings ------------------------------------------------------------

copy($file, "$dir/saved");
AccelWal::poke($file, $_ * 3 * $wal_blcksz + 3, "\xff") foreach 2 .. 40;
my $many = sql("SELECT count(*) FROM verify_wal_findings('$dir', '$name', 100000)");
cmp_ok($many, '>', 20, 'many findings');
is(sql("SELECT count(*) FROM verify_wal_findings('$dir', '$name', 5)"), '5', 'no more than asked for');
is(sql("SELECT status, findings = $many, message ~ 'and [0-9]+ more' FROM verify_wal('$dir', '$name', '$name')"),
	'corrupt|t|t', 'the message says that there are more');
copy("$dir/saved", $file);
unlink "$dir/saved";
is(sql("SELECT status, message FROM verify_wal_segment(pg_read_binary_file('$file'), '00000001000000000000FFFF')"),
	'corrupt|no segment of this size has this name', 'a name beyond the segment size');
my $future = '0000000100000000000000F0';
AccelWal::put($node->data_dir . "/pg_wal/$future", "\0" x $MB);
is(sql("SELECT status, findings FROM verify_wal(NULL, '$future', '$future')"), 'ok_unused|0', 'allocated and not used yet');
unlink $node->data_dir . "/pg_wal/$future";

# --- names and kinds of files -------------------------------------------------

my $odd = PostgreSQL::Test::Utils::tempdir();
copy("$dir/$names[$_]", "$odd/$names[$_]") foreach 0 .. $#names;
rename "$odd/$names[1]", "$odd/$names[1].partial";
unlink "$odd/$names[2]";
rename "$odd/$names[3]", "$odd/$names[3].xz";
AccelWal::poke("$odd/$names[3].xz", 0, "\xFD7zXZ\0");
unlink "$odd/$names[4]";
mkdir "$odd/$names[4]";
copy("$dir/$names[0]", "$odd/000000010000000000000FFF");
open(my $noise, '>', "$odd/$names[0].00000028.backup"); close $noise;
is( sql("SELECT string_agg(status, ' ') FROM (SELECT status FROM verify_wal('$odd', last_segment => '$names[4]') LIMIT 5) s"),
	'ok ok_partial missing not_verifiable not_verifiable', 'partial, missing, compressed, a folder')
  or diag(sql("SELECT segment, status FROM verify_wal('$odd', last_segment => '$names[4]')"));
is( sql("SELECT status FROM verify_wal('$odd') WHERE segment LIKE '%FFF'"),
	'corrupt', 'a segment under another name');
cmp_ok(sql("SELECT count(*) FROM verify_wal('$odd')"), '<', 1100, 'a long gap is cut short');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT verify_wal('$odd', '$names[4]', '$names[4]')");
like($stderr, qr/is not a regular file/, 'a folder named as a segment');
system('mkfifo', "$odd/$names[5]x");
unlink "$odd/$names[5]";
rename "$odd/$names[5]x", "$odd/$names[5]";
($ret, $stdout, $stderr) = $node->psql('postgres', "SET statement_timeout = '60s'; SELECT verify_wal('$odd', '$names[5]', '$names[5]')");
like($stderr, qr/is not a regular file/, 'a FIFO');

# the last name of all: its end is no LSN
AccelWal::put("$odd/00000001FFFFFFFF00000FFF", "\0" x $MB);
is(sql("SELECT status || ' ' || findings FROM verify_wal('$odd', '00000001FFFFFFFF00000FFF', '00000001FFFFFFFF00000FFF')"),
	'corrupt 1', 'zeros at the top of the LSN space');

# shuffled: every file under its neighbour's name
my $shuffled = PostgreSQL::Test::Utils::tempdir();
copy("$dir/$names[$_]", "$shuffled/" . $names[ ($_ + 1) % @names ]) foreach 0 .. $#names;
is(sql("SELECT string_agg(DISTINCT status || findings, ' ') FROM verify_wal('$shuffled')"),
	'corrupt1', 'shuffled: one finding a file');

# of another cluster
my $stranger = Accel::new_node('stranger', extra => ['--wal-segsize=64']);
$stranger->start;
$stranger->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
is( $stranger->safe_psql('postgres', "SELECT string_agg(DISTINCT status || findings, ' ') FROM verify_wal('$dir')"),
	'foreign_system1', 'foreign: one finding a file, and the records are judged');
$stranger->safe_psql('postgres', q{CREATE TABLE t AS SELECT g, repeat('x', 300) FROM generate_series(1, 20000) g; SELECT pg_switch_wal()});
is( $stranger->safe_psql('postgres', "SELECT count(*) FILTER (WHERE status = 'ok_switched') > 0, sum(findings) FROM verify_wal()"),
	't|0', 'segments of 64 MB');
is( sql("SELECT count(*) FILTER (WHERE status = 'foreign_system') > 0, max(findings) FROM verify_wal('" . $stranger->data_dir . "/pg_wal')"),
	't|1', 'segments of 64 MB read by a server with 1 MB');
$stranger->stop;

# log of two clusters under the names of one: neither is measured by the other
my $mixed = PostgreSQL::Test::Utils::tempdir();
copy("$dir/$_", "$mixed/$_") foreach @names;
my ($guest) = grep { sql("SELECT unverified_head_bytes FROM verify_wal_segment(pg_read_binary_file('$dir/$names[$_]'), '$names[$_]')") > 100 } 1 .. $#names - 1;
flip("$mixed/$names[$guest]", 25);	# system
flip("$mixed/$names[$guest]", 100); # the record that goes on from the segment before
is( sql("SELECT string_agg(segment || ' ' || status || ' ' || findings, ', ') FROM verify_wal('$mixed') WHERE status NOT LIKE 'ok%'"),
	"$names[$guest] foreign_system 1", 'log of two clusters: each by itself');
is(sql("SELECT unverified_tail_bytes > 0 FROM verify_wal('$mixed', '$names[$guest - 1]', '$names[$guest - 1]')"),
	't', 'log of two clusters: what goes over the border is not verified');

# --- single flipped bits --------------------------------------------------------

# A flip in the first segment's head or the last one's end has no neighbour that
# would show it: these two stay out.  Each flip is undone together with the next.
note("seed $seed");
my $inner = join(', ', map { "'$_'" } @names[ 1 .. $#names - 1 ]);
my $report = sql(qq{
	SET client_min_messages = error;
	CREATE TABLE flips (segment text, at int, bit int, status text, findings int);
	CREATE TABLE bytes AS SELECT s AS segment, pg_read_binary_file('$dir/' || s) AS data FROM unnest(ARRAY[$inner]) s;
	DO \$\$
	DECLARE
		names text[] := ARRAY[$inner];
		undo text := 'true';
		seg text; at int; bit int; old int; v record;
	BEGIN
		PERFORM setseed($seed % 100000 / 100000.0);
		FOR i IN 1..$flips LOOP
			seg := names[1 + floor(random() * array_length(names, 1))];
			-- every tenth in a page header, which are rare
			at := floor(random() * $MB);
			IF i % 10 = 0 THEN at := at / $wal_blcksz * $wal_blcksz + at % 24; END IF;
			bit := floor(random() * 8);
			SELECT get_byte(data, at) INTO old FROM bytes WHERE segment = seg;
			EXECUTE format('COPY (SELECT 1 WHERE false) TO PROGRAM %L', undo || format('; printf ''\\%s'' | dd of=$dir/%s bs=1 seek=%s conv=notrunc status=none',
				lpad((((old # (1 << bit)) >> 6) & 7)::text || (((old # (1 << bit)) >> 3) & 7)::text || ((old # (1 << bit)) & 7)::text, 3, '0'), seg, at));
			undo := format('printf ''\\%s'' | dd of=$dir/%s bs=1 seek=%s conv=notrunc status=none',
				((old >> 6) & 7)::text || ((old >> 3) & 7)::text || (old & 7)::text, seg, at);
			SELECT * INTO v FROM verify_wal('$dir', seg, seg);
			INSERT INTO flips VALUES (seg, at, bit, v.status, v.findings);
		END LOOP;
		EXECUTE format('COPY (SELECT 1 WHERE false) TO PROGRAM %L', undo);
	END \$\$;
	SELECT count(*) FROM flips;
});
is($report, $flips, "$flips flips");
my $removable = sql("SELECT count(*) FROM flips WHERE at % $wal_blcksz = 2 AND bit = 2");
is( sql(qq{SELECT string_agg(f::text, ' ') FROM flips f WHERE findings = 0 AND NOT (at % $wal_blcksz = 2 AND bit = 2)}),
	'', "every flip is reported but those of the removable-backup flag ($removable)");
is( sql(q{SELECT count(*) FROM flips WHERE findings > 0 AND status LIKE 'ok%' OR findings = 0 AND status NOT LIKE 'ok%'}),
	0, 'status and findings agree');
my $several = sql('SELECT count(*) FROM flips WHERE findings > 1');
cmp_ok($several, '<=', $flips / 20, "nearly always one finding ($several times several)");
is(sql("SELECT count(*) FROM verify_wal('$dir') WHERE status LIKE 'ok%'"), scalar(@names), 'intact again');

$node->stop;
done_testing();
