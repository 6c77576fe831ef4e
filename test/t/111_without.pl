# A library that was built WITHOUT some of its parts says so and does the rest.
#
# BUILD=WITHOUT=z,lz4,zstd,heal,accelerate makes one; this script runs with any.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my ($words) = ($ENV{BUILD} // '') =~ /\bWITHOUT=(\S+)/;
my %without = map { $_ => 1 } split /,/, $words // '';
my $node = Accel::new_node('main', conf => "autovacuum = off
shared_preload_libraries = crc32c_accel
crc32c_accel.accelerate_server = on
");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql('CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat(\'x\', 500) AS b FROM generate_series(1, 1000) g;
	CHECKPOINT');

# What a query that fails says, with its SQLSTATE.
sub refusal
{
	my ($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$_[0]");
	return $err =~ /ERROR:  (\w+: .*)/ ? $1 : $out;
}

# --- the functions that write pages ------------------------------------------

my %calls = (
	'heal_block' => "SELECT status FROM heal_block('t', 'main', 1)",
	'restore_block' => "SELECT status FROM restore_block('t', 'main', 1, read_disk_page('t', 'main', 1))");
foreach my $function (sort keys %calls)
{
	if ($without{heal})
	{
		is(refusal($calls{$function}), "0A000: $function() is not supported by this library",
			"$function() is refused");
	}
	else
	{
		unlike(refusal($calls{$function}), qr/not supported|^$/, "$function() is there");
	}
}
# Both tell the server's log of each page that they write.
my $library = slurp_file('crc32c_accel.so');
foreach my $words ('was written again from shared buffers', 'was written again from a page that was given')
{
	is($library =~ /\Q$words\E/ ? 1 : 0, $without{heal} ? 0 : 1, "the library holds \"$words\"");
}

# --- the server's own CRC ----------------------------------------------------

my ($accelerated, $reason) = split /\|/, sql('SELECT accelerated, reason FROM crc32c_server()');
if ($without{accelerate})
{
	is($accelerated, 'f', 'the server computes its own CRC');
	is($reason, 'this library was built without accelerate', 'the reason is told');
	like(slurp_file($node->logfile),
		qr/the server's CRC-32C cannot be accelerated: this library was built without accelerate/,
		'so is it in the log');
}
else
{
	unlike($reason // '', qr/built without/, 'accelerate is there');
}

# --- archives ----------------------------------------------------------------

my $archive = PostgreSQL::Test::Utils::tempdir();
my $segment = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
sql('SELECT pg_switch_wal()');
my %written = (z => 'gz', lz4 => 'lz4', zstd => 'zst');
my %programs = (z => [ 'gzip', '-c' ], lz4 => [ 'lz4', '-q', '-c' ], zstd => [ 'zstd', '-q', '-c' ]);
foreach my $codec (sort keys %written)
{
	my $file = "$archive/$segment.$written{$codec}";
  SKIP:
	{
		my $packed = '';
		skip "no $programs{$codec}[0]", 1
		  if !eval { IPC::Run::run([ @{ $programs{$codec} }, $node->data_dir . "/pg_wal/$segment" ], '>', \$packed) };
		append_to_file($file, $packed);
		my $row = sql("SELECT status, message FROM verify_wal('$archive')");
		my $name = $codec eq 'z' ? 'gzip' : $codec;
		# A server of this machine may lack the library as well.
		my $missing = $without{$codec} || !grep { $_ eq $codec } built_with();
		$missing
		  ? like($row, qr/^not_verifiable.*librar/, "a segment in $written{$codec} is not verifiable")
		  : like($row, qr/^ok/, "a segment in $written{$codec} is read");
		unlink $file;
	}
}

# The libraries that the module links.
sub built_with
{
	my ($linked) = run_command([ 'ldd', 'crc32c_accel.so' ]);
	return map { $linked =~ /lib$_\.so/ ? $_ : () } qw(z lz4 zstd);
}

# --- everything else ---------------------------------------------------------

my $path = sql("SELECT pg_relation_filepath('t')");
$node->stop;
open(my $file, '+<:raw', $node->data_dir . "/$path") or die;
sysseek($file, 8192 + 4000, 0);
syswrite($file, "\xff\xff\xff\xff");
close $file;
$node->start;
is(sql("SELECT blkno, status FROM verify_relation('t')"), '1|checksum_mismatch', 'a damaged page is named');

# --- words that the build does not know --------------------------------------

foreach my $words ('lz5', 'heal,lz5')
{
	my ($out, $err) = run_command([ 'make', '-n', "WITHOUT=$words", 'all' ]);
	like($err, qr/WITHOUT="\Q$words\E": it knows z, lz4, zstd, heal and accelerate/, "WITHOUT=$words is refused");
}

done_testing();
