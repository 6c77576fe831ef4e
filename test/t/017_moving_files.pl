# Files that change between two system calls: shrink, grow, vanish, are replaced.
# crc32c_file gives a clean result or a clean error; a sequence that gets a new
# file, a table that is truncated or extended are no finding.
#
# The shim of 050_faults.pl stops the reading process before a chosen call.
use strict;
use warnings;
use Accel;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $shim = Accel::fault_shim();

my $node = Accel::new_node('main', conf => "autovacuum = off\njit = off\n");
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
});

sub meanwhile
{
	return Accel::stopped_at($node, @_);
}

# crc32c_file: a file of three pieces
my $path = $node->basedir . '/file';
my $content = join '', map { chr(65 + $_ % 26) } 1 .. 300_000;
my $file = sub {
	unlink $path;
	open my $fh, '>:raw', $path or die $!;
	print $fh $content;
	close $fh;
};
my $append = sub {
	open my $fh, '>>:raw', $path or die $!;
	print $fh 'more' x 100_000;
	close $fh;
};
$file->();
my $whole = $q->("SELECT crc32c_file('$path')");
my $missing = qr/^ERROR:  58P01: could not open file/;
my $truncated = qr/^ERROR:  55006: file "[^"]+" was truncated while it was read/;
foreach my $case (
	[ 'grows before the second read', 'read', 2, $append, $whole ],
	[ 'grows after its size was taken', 'read', 1, $append, $whole ],
	[ 'shrinks before the second read', 'read', 2, sub { truncate $path, 140_000 }, $truncated ],
	[ 'shrinks below what was read', 'read', 3, sub { truncate $path, 10 }, $truncated ],
	[ 'is emptied before the first read', 'read', 1, sub { truncate $path, 0 }, $truncated ],
	[ 'is removed while it is read', 'read', 2, sub { unlink $path }, $whole ],
	[ 'is replaced while it is read', 'read', 2, sub { rename $path, "$path.old"; $append->() }, $whole ],
	[ 'is removed before it is opened', 'open', 1, sub { unlink $path }, $missing ],
	[ 'is removed before it is opened, missing_ok', 'open', 1, sub { unlink $path }, '', 'missing_ok => true' ],
	[ 'becomes a FIFO before it is opened', 'open', 1,
		sub { unlink $path; POSIX::mkfifo($path, 0600) or die $! }, qr/^ERROR:  42809: "[^"]+" is not a regular file/ ],
	[ 'becomes a directory before it is opened', 'open', 1, sub { unlink $path; mkdir $path },
		qr/^ERROR:  42809: "[^"]+" is not a regular file/ ],
	[ 'shrinks, its first half wanted', 'read', 2, sub { truncate $path, 200_000 },
		$q->("SELECT crc32c_file('$path', 0, 150000)"), '"offset" => 0, length => 150000' ])
{
	my ($title, $call, $nth, $do, $want, $arguments) = @$case;
	$arguments = $arguments ? ", $arguments" : '';
	$file->();
	my ($out, $err) = meanwhile($call, $nth, $path, "SELECT crc32c_file('$path'$arguments)", $do);
	ref $want ? like($err, $want, "a file $title: an error") : is("$out$err", $want, "a file $title");
	ref $want ? is($out, '', "a file $title: no result") : ok(1);
	-d $path ? rmdir $path : unlink $path;
	unlink "$path.old";
}

# A segment that "cp" has not copied to its end.  It grows in the second pass over
# it, which finds what the first one did.  Before that pass there are two reads for
# the segment size, one for the format, five for four pieces; as many again in it.
$q->('SELECT pg_switch_wal()');
my $archive = $node->basedir . '/archive';
my $segment = '000000010000000000000001';
my $wal = slurp_file($node->data_dir . "/pg_wal/$segment");
my $copy = sub {
	open my $fh, $_[0], "$archive/$segment" or die $!;
	binmode $fh;
	print $fh $_[1];
	close $fh;
};
mkdir $archive;
$copy->('>', substr($wal, 0, 4 * 131072));
is((meanwhile('read', 11, "$archive/$segment", "SELECT status, message FROM verify_wal('$archive', '$segment', '$segment')",
	sub { $copy->('>>', substr($wal, 4 * 131072)) }))[0],
	'ok_removed_during_scan|the file became longer while it was read', 'a segment that is copied: no finding');
like($q->("SELECT status FROM verify_wal('$archive', '$segment', '$segment')"), qr/^ok/, 'a segment that is copied: sound');
$copy->('>', substr($wal, 0, 4 * 131072));
like($q->("SELECT status FROM verify_wal('$archive', '$segment', '$segment')"), qr{^(corrupt|size_mismatch)$}, 'a segment that is not copied on');

# A writer that appends and truncates all the time: never anything else.
$file->();
my $writer = fork() // die $!;
if ($writer == 0)
{
	for my $i (1 .. 100_000)
	{
		$append->();
		truncate $path, $i % 300_000;
		last if -e "$path.stop";
	}
	POSIX::_exit(0);
}
my ($results, $errors, $other) = (0, 0, '');
foreach my $i (1 .. 40)
{
	my ($out, $err) = ('', '');
	$node->psql('postgres', "\\set VERBOSITY verbose\nSELECT crc32c_file('$path')", stdout => \$out, stderr => \$err);
	if ($out =~ /^\d+$/) { $results++ }
	elsif ($err =~ /ERROR:  55006/) { $errors++ }
	else { $other .= $err }
}
open my $stop, '>', "$path.stop" or die $!;
close $stop;
waitpid $writer, 0;
is($other, '', "a file that a writer changes all the time: $results results, $errors findings that say so");

# A sequence gets a new file under a lock that lets us read.
$q->('CREATE SEQUENCE s; SELECT nextval(\'s\'); CREATE UNLOGGED TABLE u (i int); CHECKPOINT');
my $findings = "SELECT status, message FROM verify_relation('s')";
my $new_file = sub { $q->('ALTER SEQUENCE s RESTART 5; CHECKPOINT') };
my $s = sub { return $q->("SELECT pg_relation_filepath('s')") };
foreach my $case ([ 'stat', 1 ], [ 'stat', 2 ], [ 'stat', 4 ], [ 'open', 1 ], [ 'read', 1 ])
{
	my ($call, $nth) = @$case;
	my $old = $s->();
	my ($out, $err) = meanwhile($call, $nth, $old, $findings, $new_file);
	isnt($s->(), $old, "a sequence has a new file before $call $nth");
	ok(!-s $node->data_dir . "/$old", 'and the old one is gone or empty');
	is("$out$err", '', 'which is no finding');
}
my $old = $s->();
my ($out, $err) = meanwhile('stat', 1, $old, "SELECT blocks, verified_blocks, status FROM verify_relation_summary('s')", $new_file);
is("$out$err", '1|1|ok', 'the new file is verified');
$old = $s->();
($out, $err) = meanwhile('stat', 1, $old, "SELECT blocks, status FROM relation_files('s')", $new_file);
is("$out$err", '1|ok', 'relation_files shows it');
$old = $s->();
($out, $err) = meanwhile('open', 1, $old, "SELECT length(read_disk_page('s', 'main', 0))", $new_file);
is("$out$err", '8192', 'read_disk_page reads it');

# A table that is truncated or extended while it is scanned.
$q->(q{CREATE TABLE t AS SELECT g, repeat('x', 500) AS b FROM generate_series(1, 2000) g; CHECKPOINT});
my $t = $q->("SELECT pg_relation_filepath('t')");
my $summary = "SELECT bad_blocks, status FROM verify_relation_summary('t', 'main')";
foreach my $case ([ 'stat', 1 ], [ 'open', 1 ], [ 'read', 1 ], [ 'read', 3 ])
{
	my ($call, $nth) = @$case;
	$q->(q{TRUNCATE t; INSERT INTO t SELECT g, repeat('x', 500) FROM generate_series(1, 2000) g; CHECKPOINT});
	$t = $q->("SELECT pg_relation_filepath('t')");
	($out, $err) = meanwhile($call, $nth, $t, $summary,
		sub { $q->(q{INSERT INTO t SELECT g, repeat('y', 500) FROM generate_series(1, 2000) g; CHECKPOINT}) });
	is("$out$err", '0|ok', "a table extended before $call $nth");

	# vacuum's truncation wants an exclusive lock: a standby's replay and a
	# crashed server's files do not ask
	($out, $err) = meanwhile($call, $nth, $t, $summary,
		sub { truncate $node->data_dir . "/$t", 5 * 8192 });
	is("$out$err", '0|ok', "a table truncated before $call $nth");
}

# Files of a stranger beside those of a segment and more.
$q->(q{CREATE TABLE long (i int); INSERT INTO long VALUES (1); CHECKPOINT});
my $long = $node->data_dir . '/' . $q->("SELECT pg_relation_filepath('long')");
truncate $long, 1 << 30;
foreach my $name ("$long.2.bak", "$long.3~", "$long.")
{
	open my $fh, '>', $name or die $!;
	close $fh;
}
is($q->("SELECT segment_number, status FROM relation_files('long') WHERE fork = 'main'"), '0|ok',
	'the copy of a file is no segment');

# A file that grows all the time although others stand behind it: said at once.
truncate $long, 8192;
open my $behind, '>', "$long.1" or die $!;
print $behind "\0" x 8192;
close $behind;
$writer = fork() // die $!;
if ($writer == 0)
{
	for (my $size = 8192; $size < 1 << 29 && !-e "$path.stop2"; $size += 8192)
	{
		truncate $long, $size;
		usleep(2000);
	}
	POSIX::_exit(0);
}
$node->psql('postgres', q{SET statement_timeout = '60s';
	SELECT status, blkno > 0 FROM verify_relation('long')}, stdout => \$out, stderr => \$err);
open $stop, '>', "$path.stop2" or die $!;
close $stop;
waitpid $writer, 0;
is("$out$err", 'size_mismatch|t', 'a short segment that grows');

$node->stop('immediate');
done_testing();
