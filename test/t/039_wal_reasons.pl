# Each reason of a WAL file as a whole, and of a row that is not judged: provoked,
# alone, in its own words.  Those that a walker gives have test_wal_reasons.c.
# At the end: the reasons that no test provokes.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $MB = 1024 * 1024;
my $shim = Accel::fault_shim();
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\nwal_keep_size = 512MB\nmin_wal_size = 2MB\n");
Accel::start_under($shim, $node);
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql("CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C");

# --- reasons and their words, as expressions ----------------------------------

my %words;
foreach my $line (split /\n/, slurp_file('src/wal/reason.def'))
{
	my ($name, $format) = $line =~ /^WAL_REASON\(\w+, "(\w+)", "(.*?)"[,)]/ or next;
	my $words = join '', map {
		    /^%\d*X$/ ? '[0-9A-F]+'
		  : /^%(?:ll)?u$/ ? '\d+'
		  : /^%s$/ ? '.+'
		  : quotemeta
	} split /(%\d*X|%(?:ll)?u|%s)/, $format;
	$words{$name} = qr/^$words$/;
}
cmp_ok(scalar(keys %words), '>', 45, 'the table is read');

# What a message says: the reasons with these words.
sub said
{
	my ($message) = @_;
	return join ' ', grep { $message =~ $words{$_} } sort keys %words;
}

# --- segments with a record over each of their borders --------------------------

my $from = sql('SELECT pg_walfile_name(pg_switch_wal() + 1)');
sql(q{SELECT count(pg_logical_emit_message(false, 'test', repeat('y', 700000))) FROM generate_series(1, 10)});
my ($name, $next, $third) = split /\n/, sql("SELECT segment FROM verify_wal('pg_wal') WHERE segment > '$from' AND status = 'ok' ORDER BY 1 OFFSET 1 LIMIT 3");
isnt($third, undef, 'three segments with a record over each border');
my $own = $node->data_dir . '/pg_wal';
my ($dir, $file);

# A new folder with some of them.
sub folder
{
	$dir = PostgreSQL::Test::Utils::tempdir();
	copy("$own/$_", "$dir/$_") or die "$_: $!" foreach @_;
	$file = "$dir/$name";
	return;
}

my %seen;
sub provoked
{
	my ($reason, $message, $findings, $expected) = @_;
	is(said($message), $reason, "$reason: $message");
	is($findings, $expected, "$reason: and nothing else") if defined $findings;
	$seen{$reason} = 1;
	return;
}

sub set_magic { AccelWal::poke($file, $_ * $wal_blcksz, $_[0]) foreach 0 .. $MB / $wal_blcksz - 1; return; }

# [reason, what to do, where it is found]
my $magic = unpack('S', AccelWal::peek("$own/$name", 0, 2));
my @of_files = (
	[ 'file_size', sub { truncate($file, $MB / 2 + 100) }, $MB / 2 + 100 ],
	[ 'file_misplaced', sub { copy("$own/$next", $file) }, 0 ],
	[ 'file_system', sub { AccelWal::poke($file, 24, 'another!') }, 24 ],
	[ 'file_version', sub { set_magic(pack('S', $magic == 0xD116 ? 0xD113 : 0xD116)) }, 0 ],
	[ 'file_version_old', sub { set_magic(pack('S', 0xD10D)) }, 0 ],
	[ 'file_version_unknown', sub { set_magic(pack('S', 0xD1FF)) }, 0 ],
	[ 'file_byte_order', sub { set_magic(scalar reverse(pack('S', $magic))) }, 0 ],
	[ 'file_unreadable', sub { AccelWal::poke($file, 0, join('', map { chr(1 + rand 255) } 1 .. $MB)) }, 0 ],
	[ 'file_read', sub { }, 0, "SELECT fault_arm('read', 'eio', 4, true, '$name');" ]);
foreach my $row (@of_files)
{
	my ($reason, $mutilate, $offset, $arm) = @$row;
	folder($name);
	is(sql("SELECT findings FROM verify_wal('$dir', '$name', '$name')"), '0', "before $reason");
	$mutilate->();
	my ($message) = sql(($arm // '') . "SELECT message FROM verify_wal('$dir', '$name', '$name')") =~ /([^\n]*)$/;
	my ($findings) = sql(($arm // '') . "SELECT string_agg(reason || ' ' || file_offset, ', ') FROM verify_wal_findings('$dir', '$name', 10000)") =~ /([^\n]*)$/;
	provoked($reason, $message, $findings, "$reason $offset");
}

folder();
my $impossible = '00000001000000000000FFFF';
copy("$own/$name", "$dir/$impossible");
provoked('file_name', sql("SELECT message FROM verify_wal('$dir', '$impossible', '$impossible')"),
	sql("SELECT string_agg(reason, ', ') FROM verify_wal_findings('$dir', '$impossible')"), 'file_name');

# --- rows without a finding ------------------------------------------------------

# The rows of a folder that say something, and what.
sub rows { return sql("SELECT string_agg(segment || ' ' || message, E'\\n') FROM verify_wal('$dir') WHERE message IS NOT NULL"); }

# Exactly these names say exactly this.
sub rows_say
{
	my @expected = @_;
	my @rows = split /\n/, rows();
	is(scalar(@rows), scalar(@expected), join(', ', map { $_->[1] } @expected) . ': rows that say something');
	foreach my $expected (@expected)
	{
		my ($row) = grep { /^\Q$expected->[0]\E / } @rows;
		provoked($expected->[1], substr($row // '', length($expected->[0]) + 1));
	}
	return;
}

folder($name);
rows_say([ $name, 'borders_open' ]);
folder($name, $next);
rows_say([ $name, 'start_open' ], [ $next, 'end_open' ]);
folder($name, $third);
rows_say([ $name, 'borders_open' ], [ $next, 'file_missing' ], [ $third, 'borders_open' ]);
folder($name, $next);
chmod(0, "$dir/$next");
rows_say([ $name, 'borders_open' ], [ $next, 'file_open' ]);
folder($name);
mkdir "$dir/$next";
rows_say([ $name, 'borders_open' ], [ $next, 'file_irregular' ]);
folder($name);
symlink("$dir/nowhere", "$dir/$next");
rows_say([ $name, 'borders_open' ], [ $next, 'file_link' ]);
folder($name);
AccelWal::put("$dir/$next.xz", 'compressed');
rows_say([ $name, 'borders_open' ], [ "$next.xz", 'file_compressed' ]);

# another server's pg_wal: a segment recycled from the timeline that it left
folder();
mkdir "$dir/archive_status";
my $recycled = '00000002' . substr($name, 8);
copy("$own/$name", "$dir/$recycled");
AccelWal::put("$dir/00000002.history", "1\t0/1000\tno recovery target specified\n");
rows_say([ $recycled, 'file_old_timeline' ]);

# --- files that leave meanwhile ---------------------------------------------------

# The server removes the first while it is read, the second was not there, the
# third was there when the directory was listed.
unlink "$own/$next";
my ($rows) = Accel::stopped_at($node, 'read', 2, $name,
	"SELECT segment || ' ' || message FROM verify_wal('pg_wal', '$name', '$third')",
	sub {
		sql('ALTER SYSTEM SET wal_keep_size = 0');
		sql('SELECT pg_reload_conf()');
		sql('SELECT pg_switch_wal(); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
		ok(!-e "$own/$third", 'the server has removed what it no longer needs');
	});
my @removed = ([ $name, 'file_replaced' ], [ $next, 'file_removed' ], [ $third, 'file_gone' ]);
is(scalar(split /\n/, $rows), 3, 'three segments') or note($rows);
foreach my $expected (@removed)
{
	my ($message) = $rows =~ /^$expected->[0] (.*)$/m;
	provoked($expected->[1], $message // '');
}

# --- every reason is provoked somewhere ---------------------------------------------

my $unit = slurp_file('test/unit/test_wal_reasons.c');
my %elsewhere = (aborted_contrecord => '030_wal_segments.pl', recycled_tail => '035_wal_written.pl', no_segment => '036_wal_compressed.pl', file_growing => '017_moving_files.pl', file_digest => '036_wal_compressed.pl', file_long => '061_wal_timelines.pl',
	(map { ("history_$_" => '065_wal_history.pl') } qw(missing line order empty cut switch point parent)),
	(map { ("backup_$_" => '068_archive_whole.pl') } qw(line start stop)),
	map { ("compressed_$_" => '036_wal_compressed.pl') } qw(truncated invalid crc length trailing size window dictionary excess library));
foreach my $reason (sort keys %words)
{
	my $constant = 'WAL_REASON_' . uc $reason;
	my $script = $elsewhere{$reason};
	my @pieces = map { substr($_ =~ s/\\ / /gr, 0, 30) } grep { length > 25 } "$words{$reason}" =~ /((?:\w|\\ )+)/g;
	my $found = $seen{$reason} || $unit =~ /\{$constant, \w+\}/
	  || ($script && grep { slurp_file("test/t/$script") =~ /\Q$_\E/ } @pieces);
	# a server that has no memory ends otherwise
	ok($found || $reason eq 'compressed_memory', "$reason is provoked");
}
$node->stop;
done_testing();
