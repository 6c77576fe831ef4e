# History files of an archive: each is read as the server reads it, and what the
# segments say of it must be so.
use strict;
use warnings;
use Accel;
use AccelWal;
use Cwd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1,
	conf => "autovacuum = off\nwal_keep_size = 1GB\nmax_wal_size = 1GB\ncheckpoint_timeout = 1h\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }

# Three timelines; each has several segments, of which the first ends in the middle.
$node->start;
sql('CREATE EXTENSION crc32c_accel; CREATE TABLE t (i int)');
sub fill { return sql('SELECT pg_switch_wal(); INSERT INTO t SELECT g FROM generate_series(1, 12000) g; ' x 4 . 'SELECT pg_switch_wal(); INSERT INTO t SELECT g FROM generate_series(1, 3000) g'); }
fill();
foreach (2 .. 3)
{
	$node->set_standby_mode();
	$node->restart;
	$node->promote;
	fill();
}
sql('SELECT pg_switch_wal(); INSERT INTO t VALUES (1)');
my $last = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
my $own = $node->data_dir . '/pg_wal';

# A switch point of the newest history, and those of it moved by some bytes.
my @switches = slurp_file("$own/00000003.history") =~ m{^\d+\t(\S+)\t}mg;
is(scalar(@switches), 2, 'two switch points: ' . join(', ', @switches));
sub moved
{
	my ($lsn, $bytes) = @_;
	my $at = AccelWal::number($lsn) + $bytes;
	return sprintf('%X/%X', $at / 2**32, $at % 2**32);
}

sub edit
{
	my ($name, $what) = @_;
	local $_ = slurp_file($name);
	$what->();
	unlink $name;
	AccelWal::put($name, $_);
	return;
}

# [title, what is done in the archive, rows of history files that are not ok, their words]
my $copies = PostgreSQL::Test::Utils::tempdir();
my $number = 0;
foreach my $case (
	[ 'intact', sub { }, '' ],
	[ 'compressed', sub { system_or_bail('gzip', '00000002.history', '00000003.history') }, '' ],
	[ 'in a format that is not read', sub { rename('00000002.history', '00000002.history.xz') }, '02.history.xz not_verifiable', qr/format xz/ ],
	[ 'unreadable', sub { chmod 0, '00000002.history' }, '02.history not_verifiable', qr/could not open the file/ ],
	[ 'removed', sub { unlink '00000002.history' }, '02.history missing', qr/segments of timeline 2 are there, and its history file is not/ ],
	[ 'both removed', sub { unlink glob('*.history') }, '02.history missing, 03.history missing', qr/segments of timeline 3 are there/ ],
	[ 'a directory', sub { unlink '00000002.history'; mkdir '00000002.history' }, '02.history not_verifiable', qr/not a regular file/ ],
	[ 'empty', sub { edit('00000002.history', sub { $_ = '' }) }, '02.history corrupt', qr/no line of the 0 bytes names a parent: the server would not look for one/ ],
	[ 'zeros', sub { edit('00000003.history', sub { $_ = "\0" x length }) }, '03.history corrupt', qr/no line of the \d+ bytes names a parent/ ],
	[ 'random bytes', sub { edit('00000003.history', sub { $_ = join '', map { chr(128 + rand 128) } 1 .. 100 }) }, '03.history corrupt', qr/line 1 is no timeline and its switch point/ ],
	[ 'cut to 5 bytes', sub { edit('00000002.history', sub { $_ = substr($_, 0, 5) }) }, '02.history corrupt', qr/the last line is cut off after 5 bytes/ ],
	[ 'both cut to 5 bytes', sub { foreach my $n (2, 3) { edit("0000000$n.history", sub { $_ = substr($_, 0, 5) }) } }, '02.history corrupt, 03.history corrupt', qr/the last line is cut off after 5 bytes/ ],
	[ 'cut within the last line', sub { edit('00000003.history', sub { $_ = substr($_, 0, -5) }) }, '03.history corrupt', qr/the last line is cut off/ ],
	[ 'cut to its first line', sub { edit('00000003.history', sub { s/\n.*/\n/s }) }, '03.history corrupt', qr/its timeline begins at/ ],
	[ 'a comment and an empty line', sub { edit('00000003.history', sub { $_ = "# comment\n \n$_" }) }, '' ],
	[ 'a line that is none', sub { edit('00000003.history', sub { $_ .= "end\n" }) }, '03.history corrupt', qr/line \d is no timeline/ ],
	[ 'its own timeline', sub { edit('00000003.history', sub { $_ .= "3\t0/4000000\tx\n" }) }, '03.history corrupt', qr/timeline 3 stands after timeline 3: the server refuses/ ],
	[ 'out of order', sub { edit('00000003.history', sub { s/^1\t/2\t/ }) }, '03.history corrupt', qr/timeline 2 stands after timeline 2/ ],
	[ 'a switch point after the own segments', sub { edit('00000002.history', sub { my $to = moved($switches[0], 3 << 20); s/\t\S+/\t$to/ }); unlink '00000003.history' },
		'02.history corrupt, 03.history missing', qr/, a segment of it before that, at/ ],
	[ 'a switch point two pages later', sub { edit('00000002.history', sub { my $to = moved($switches[0], 2 * $wal_blcksz); s/\t\S+/\t$to/ }); unlink '00000003.history' },
		'02.history corrupt, 03.history missing', qr/ and a page that is of timeline 2/ ],
	[ 'a switch point two pages earlier', sub { edit('00000002.history', sub { my $to = moved($switches[0], -2 * $wal_blcksz); s/\t\S+/\t$to/ }); unlink '00000003.history' },
		'02.history corrupt, 03.history missing', qr/ and a page that is of timeline 1/ ],
	[ 'a parent of another history', sub { edit('00000003.history', sub { my $to = moved($switches[0], 8); s/\t\S+/\t$to/ }) }, '03.history corrupt', qr/it contradicts the history file of its parent, timeline 2/ ],
	[ 'a history of a timeline without segments', sub { AccelWal::put('00000004.history', slurp_file('00000003.history') . "3\t" . moved($switches[1], 4 << 20) . "\tx\n") }, '' ])
{
	my ($title, $change, $want, $words) = @$case;
	my $copy = "$copies/" . ++$number;
	AccelWal::copy_files($own, $copy);
	unlink "$copy/$last";	# still written to
	my $here = Cwd::getcwd();
	chdir $copy;
	$change->();
	chdir $here;
	my $rows = q{SELECT coalesce(string_agg(substr(w.segment, 7) || ' ' || w.status, ', ' ORDER BY w.segment), '') FROM %s w WHERE w.segment LIKE '%%history%%' AND w.status <> 'ok'};
	is(sql(sprintf($rows, "verify_wal('$copy')")), $want, $title);
	like(sql("SELECT message FROM verify_wal('$copy') WHERE segment LIKE '%history%' AND status <> 'ok' ORDER BY segment DESC LIMIT 1"), $words, "$title: its words")
	  if $words && $title !~ /^a switch|^empty/;
	like(sql("SELECT string_agg(message, ' ') FROM verify_wal('$copy') WHERE segment LIKE '%history%' AND status <> 'ok'"), $words, "$title: its words")
	  if $words && $title =~ /^a switch|^empty/;
	is(sql("SELECT count(*) FROM verify_wal('$copy') WHERE status = 'missing' AND segment NOT LIKE '%history%'"), '0', "$title: no segment is missing");
	my (undef, undef, $err) = $node->psql('postgres', "CALL verify_wal_archive('$copy')");
	my $noted = () = $err =~ /(?:missing|invalid|could not verify) history file/g;
	is($noted, scalar(split /, /, $want), "$title: verify_wal_archive() says it");
	is(sql(sprintf($rows, "(SELECT * FROM verify_wal_files WHERE directory = '$copy' AND (is_finding OR status = 'not_verifiable'))")), $want, "$title: and remembers it");
}

# --- mended, and where none is asked for ---------------------------------------

my $mended = "$copies/5";
AccelWal::put("$mended/00000002.history", slurp_file("$own/00000002.history"));
sql("CALL verify_wal_archive('$mended')");
is(sql("SELECT string_agg(segment || ' ' || status, ', ' ORDER BY 1) FROM verify_wal_files WHERE directory = '$mended' AND segment LIKE '%history%'"),
	'00000002.history ok, 00000003.history ok', 'a history that is back is no finding any more');

my $folder = "$copies/0000000200000000";
mkdir $folder;
AccelWal::put("$folder/" . ($_ =~ s{.*/}{}r), slurp_file($_)) foreach glob("$own/0000000200000000*");
is(sql("SELECT count(*) FROM verify_wal('$folder') WHERE segment LIKE '%history%'"), '0', 'histories lie above a folder of segments');
unlink "$own/00000002.history";
is(sql("SELECT count(*) FROM verify_wal() WHERE segment LIKE '%history%'"), '0', 'a pg_wal needs none');
$node->stop;
done_testing();
