# WAL, compressed: the same verdicts as of plain segments, damage after the
# compression, and what no decoder must be tempted by.
#
# A format whose program or whose library is missing is skipped; that the build
# lacks the library must be said by each file's row then.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use Digest::SHA qw(sha1_hex);
use File::Copy;
use IO::Compress::Gzip qw(gzip);
use PostgreSQL::Test::Utils;
use Test::More;

# flips per format, and the seed that repeats them
my $flips = $ENV{ACCEL_ARCHIVE_FLIPS} // ($ENV{LONG} ? 3400 : 100);
my $seed = $ENV{ACCEL_WAL_SEED} // time;
srand $seed;
note "seed $seed";

my $MB = 1024 * 1024;
my $tmp = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	conf => "wal_keep_size = 512MB\nautovacuum = off\nwal_compression = on\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
my $psql = $node->background_psql('postgres');
$psql->set_query_timer_restart(1);

sub sql
{
	my ($out) = $psql->query_safe($_[0]);
	return $out;
}

# Makes a file that was written an hour ago: nobody waits for what may follow.
sub put_old
{
	my ($path, $bytes) = @_;
	AccelWal::put($path, $bytes);
	utime(time - 3600, time - 3600, $path);
	return;
}

# --- segments ----------------------------------------------------------------

my $begin = sql('SELECT pg_switch_wal()');
$begin = sql("SELECT pg_logical_emit_message(true, 'a', 'b')") && sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
sql($_) foreach q{CREATE TABLE t (id int PRIMARY KEY, filler text)},
  q{INSERT INTO t SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 5000) g},
  q{CHECKPOINT},
  q{UPDATE t SET filler = filler || 'x' WHERE id % 3 = 0},
  # over two borders, with all of a segment within
  q{SELECT pg_logical_emit_message(false, 'test', string_agg(md5(g::text), '')) FROM generate_series(1, 50000) g},
  q{SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 500) g},
  q{SELECT count(pg_logical_emit_message(false, 'test', 'MARK' || g || repeat('-', 60))) FROM generate_series(1, 20) g},
  q{SELECT pg_switch_wal()};
my @names = split /\n/, sql("SELECT segment FROM verify_wal() WHERE status IN ('ok', 'ok_switched') AND segment >= '$begin'");
my $plain = "$tmp/plain";
mkdir $plain;
copy($node->data_dir . "/pg_wal/$_", "$plain/$_") foreach @names;
is(sql("SELECT count(*), sum(findings), count(DISTINCT compression), max(compression) FROM verify_wal('$plain')"),
	scalar(@names) . '|0|1|none', 'plain: intact');
my $name = $names[1];
my $flipped_name = $names[2];

# --- formats -------------------------------------------------------------------

# Runs bytes through a program, which reads no file that it knows so that it knows
# no size.
sub through
{
	my ($bytes, $command) = @_;
	AccelWal::put("$tmp/encoded", $bytes);
	open(my $pipe, '-|:raw', "$command <'$tmp/encoded'") or die "$command: $!";
	my $out = do { local $/; <$pipe> };
	close($pipe) or die "$command: $?";
	return $out;
}

sub gzipped
{
	my ($bytes) = @_;
	my $out;
	gzip(\$bytes => \$out, -Minimal => 1) or die;
	return $out;
}

sub has_program { return system("command -v $_[0] >/dev/null") == 0; }

sub halves
{
	my ($encode, $bytes) = @_;
	return $encode->(substr($bytes, 0, 400001)) . $encode->(substr($bytes, 400001));
}

my $lz4 = sub { through($_[0], 'lz4 -q -c -1 -B4') };
my $zstd = sub { through($_[0], 'zstd -c -q -1') };

# [what, suffix, compression, program, encoder]
my @formats = (
	[ 'gzip', '.gz', 'gzip', undef, \&gzipped ],
	[ 'gzip, without a suffix', '', 'gzip', undef, \&gzipped ],
	[ 'gzip of two members', '.gz', 'gzip', undef, sub { halves(\&gzipped, @_) } ],
	[ 'lz4', '.lz4', 'lz4', 'lz4', $lz4 ],
	[ 'lz4 of two frames', '.lz4', 'lz4', 'lz4', sub { halves($lz4, @_) } ],
	[ 'lz4, blocks alone', '.lz4', 'lz4', 'lz4', sub { through($_[0], 'lz4 -q -c -B4 -BI --no-frame-crc') } ],
	[ 'zstd', '.zst', 'zstd', 'zstd', $zstd ],
	[ 'zstd of two frames', '.zst', 'zstd', 'zstd', sub { halves($zstd, @_) } ],
	[ 'zstd, skippable frames', '.zst', 'zstd', 'zstd',
		sub { "\x5F\x2A\x4D\x18\x05\0\0\0skips" . $zstd->($_[0]) . "\x50\x2A\x4D\x18\0\0\0\0" } ],
	[ 'zstd, no checksum, a large window', '.zst', 'zstd', 'zstd', sub { through($_[0], 'zstd -c -q -1 --no-check --long=27') } ]);

# All that a row says but how its file is named and stored.
my $columns = 'timeline_id, start_lsn, end_lsn, status, server_version, records, fpi_bytes, verified_bytes, unverified_head_bytes, unverified_tail_bytes, zero_bytes, skipped_bytes, findings, first_finding_lsn, crc32c, message';
my $number = 0;

# Makes a directory of a function's results for each plain segment.
sub archive
{
	my ($from, $suffix, $encode) = @_;
	my $to = "$tmp/" . ++$number;
	mkdir $to;
	put_old("$to/$_$suffix", $encode->(slurp_file("$from/$_"))) foreach @names;
	return $to;
}

sub rows { return sql("SELECT $columns FROM verify_wal('$_[0]', workers => " . ($_[1] // 0) . ')'); }

my $read = q{SELECT substring(pg_read_file('/proc/self/io') FROM 'rchar: (\d+)')::bigint};

# Plain segments with the damage of t/031: before the compression.
my $damaged = "$tmp/damaged";
mkdir $damaged;
copy("$plain/$_", "$damaged/$_") foreach @names;
AccelWal::poke("$damaged/$names[0]", 300000, 'damage');
AccelWal::poke("$damaged/$names[1]", 8192 * 60, "\0" x 8192);
AccelWal::poke("$damaged/$names[2]", 8192 * 30 + 8, 'x');
AccelWal::poke("$damaged/$names[4]", 100, "\xFF" x 50);
my ($intact_rows, $damaged_rows) = (rows($plain), rows($damaged));
isnt($intact_rows, $damaged_rows, 'damage before the compression');

my %readable;
foreach my $format (@formats)
{
	my ($what, $suffix, $compression, $program, $encode) = @$format;
  SKIP:
	{
		skip "$what: no program $program", 1 if $program && !has_program($program);
		my $directory = archive($plain, $suffix, $encode);
		my $message = sql("SELECT min(message) FROM verify_wal('$directory') WHERE status = 'not_verifiable'");
		if ($message =~ /^this build of crc32c_accel cannot read $compression/)
		{
			is(sql("SELECT count(*), string_agg(DISTINCT status || ' ' || compression, ', ') FROM verify_wal('$directory')"),
				scalar(@names) . "|not_verifiable $compression", "$what: no library, and each file says so");
			diag "SKIP $what: this build has no library for it";
			next;
		}
		$readable{$compression} //= $format;
		is(rows($directory), $intact_rows, "$what: the rows of the plain segments");
		my ($from, $rows, $to) = (sql($read), sql("SELECT count(*) FROM verify_wal('$directory', '$names[0]', '$names[1]')"), sql($read));
		my $bytes = 0;
		$bytes += -s "$directory/$_$suffix" foreach @names[0, 1];
		# the first one is asked for its size, of the third one the first bytes are needed
		cmp_ok($to - $from, '<', $bytes + 300000, "$what: each file is read once");
		is(rows($directory, 2), $intact_rows, "$what: by workers");
		is(sql("SELECT string_agg(DISTINCT compression, ' ') || count(*) FILTER (WHERE right(segment, length('$suffix')) = '$suffix') FROM verify_wal('$directory')"),
			$compression . scalar(@names), "$what: named");
		is(sql("SELECT count(*) FROM verify_wal('$directory') a, verify_wal('$directory', a.segment, a.segment) s, verify_wal('$directory', left(a.segment, 24), left(a.segment, 24)) b
			WHERE a::text <> s::text OR a::text <> b::text"), 0, "$what: one by one");
		is(rows(archive($damaged, $suffix, $encode)), $damaged_rows, "$what: damage before the compression");
	}
}
ok($readable{gzip} || !-e '/usr/include/zlib.h', 'gzip is read where zlib.h is installed');

# --- a record over many segments ------------------------------------------------

# A walk reads each file once; its rows are those of walks that know nothing.
my $long = "$tmp/long";
mkdir $long;
$begin = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql($_) foreach q{SELECT pg_logical_emit_message(false, 'long', string_agg(md5(g::text), '')) FROM generate_series(1, 200000) g},
  q{SELECT count(pg_logical_emit_message(false, 'next', repeat('n', g))) FROM generate_series(1, 300) g},
  q{SELECT pg_logical_emit_message(false, 'long', string_agg(md5(g::text), '')) FROM generate_series(1, 100000) g},
  q{SELECT pg_switch_wal()};
my @long = split /\n/, sql("SELECT segment FROM verify_wal() WHERE segment >= '$begin' AND status IN ('ok', 'ok_switched') ORDER BY segment");
copy($node->data_dir . "/pg_wal/$_", "$long/$_") foreach @long;
cmp_ok(scalar @long, '>', 8, 'records over many segments');

sub walk_of
{
	my ($directory) = @_;
	my ($from, $rows, $to) = (sql($read), sql("SELECT string_agg(w::text, E'\\n') FROM verify_wal('$directory') w"), sql($read));
	my $alone = sql(qq{SELECT string_agg(s::text, E'\\n') FROM unnest('{@{[join ',', map { s{.*/}{}r } glob("$directory/0*")]}}'::text[]) WITH ORDINALITY n (name, i),
		verify_wal('$directory', n.name, n.name) s});
	my $size = 0;
	$size += -s $_ foreach glob("$directory/0*");
	return ($rows eq $alone ? $rows : "$rows\nbut one by one\n$alone", ($to - $from) / $size);
}
my ($of_long, $times) = walk_of($long);
unlike($of_long, qr/but one by one|corrupt/, 'a long record: the rows of its segments one by one');
cmp_ok($times, '<', 1.3, 'a long record: each plain file is read once');
foreach my $compression (sort keys %readable)
{
	my ($suffix, $encode) = @{ $readable{$compression} }[ 1, 4 ];
	my $directory = "$tmp/long_$compression";
	mkdir $directory;
	put_old("$directory/$_$suffix", $encode->(slurp_file("$long/$_"))) foreach @long;
	my ($rows, $times) = walk_of($directory);
	is(sql("SELECT count(*) FROM verify_wal('$directory') c JOIN verify_wal('$long') p USING (start_lsn, end_lsn, status, records, verified_bytes, crc32c)"),
		scalar @long, "$compression: a long record: the rows of the plain segments");
	unlike($rows, qr/but one by one/, "$compression: a long record: one by one");
	cmp_ok($times, '<', 1.3, "$compression: a long record: each file is decoded once");
}
# a page within the record, and its header
foreach my $at (40 * 8192 + 4000, 40 * 8192 + 16)
{
	my $file = "$long/$long[3]";
	my $was = AccelWal::peek($file, $at, 4);
	AccelWal::poke($file, $at, $was ^ "\x10\0\0\0");
	unlike((walk_of($long))[0], qr/but one by one/, "damage at $at within a long record: one by one");
	AccelWal::poke($file, $at, $was);
}

# --- how often a file is decoded ------------------------------------------------

# Records over the borders, of bytes that no format compresses.
my $over = "$tmp/over";
mkdir $over;
my $random = "$tmp/random";
{
	open(my $source, '<:raw', '/dev/urandom') or die $!;
	read($source, my $bytes, 17 * $MB) or die $!;
	put_old($random, $bytes);
}
$begin = sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
sql("SELECT count(pg_logical_emit_message(false, 'over', pg_read_binary_file('$random', g * 50000, 50000))) FROM generate_series(0, 17 * $MB / 50000 - 1) g");
sql('SELECT pg_switch_wal()');
my @over = split /\n/, sql("SELECT segment FROM verify_wal() WHERE segment >= '$begin' AND status = 'ok' ORDER BY segment");
copy($node->data_dir . "/pg_wal/$_", "$over/$_") foreach @over;
# (a border may be the end of one by chance)
cmp_ok(sql(qq{SELECT count(*) FROM unnest('{@{[join ',', @over[1 .. $#over]]}}'::text[]) name,
	verify_wal_segment(pg_read_binary_file('$over/' || name), name) WHERE unverified_head_bytes > 0}), '>', @over - 3, 'records over the borders of ' . @over . ' segments');
my $over_rows = sql("SELECT string_agg(concat_ws(' ', start_lsn, status, records, crc32c), E'\n') FROM verify_wal('$over')");

# The rows of a walk, and how many files of a segment's size were read for it: by
# this session and, with workers, by what the postmaster has reaped since.
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

sub read_in_walk
{
	my ($directory, $workers) = @_;
	my $processes = $workers ? "self, $postmaster" : 'self';
	my $by_all = "SELECT sum(substring(pg_read_file('/proc/' || p || '/io') FROM 'rchar: (\\d+)')::bigint) FROM unnest('{$processes}'::text[]) p";
	my ($from, $rows, $to) = (sql($by_all),
		sql("SELECT string_agg(concat_ws(' ', start_lsn, status, records, crc32c), E'\\n') FROM verify_wal('$directory', workers => $workers)"), sql($by_all));
	return ($rows, ($to - $from) / $MB);
}

foreach my $compression (sort keys %readable)
{
	my ($suffix, $encode) = @{ $readable{$compression} }[ 1, 4 ];
	my %folders = ($compression => "$tmp/over_$compression", "none, then $compression" => "$tmp/over_none_$compression");
	mkdir $_ foreach values %folders;
	foreach my $i (0 .. $#over)
	{
		put_old("$folders{$compression}/$over[$i]$suffix", $encode->(slurp_file("$over/$over[$i]")));
		my $stored = $i < 5 ? "$over/$over[$i]" : "$folders{$compression}/$over[$i]$suffix";
		copy($stored, $folders{"none, then $compression"}) or die $!;
	}
	foreach my $folder (sort keys %folders)
	{
		foreach my $workers (0, 2)
		{
			my ($rows, $files) = read_in_walk($folders{$folder}, $workers);
			is($rows, $over_rows, "$folder, $workers workers: records over borders are whole");
			# by workers, one more for each border of runs; and what starts them reads, some MB
			# (short runs: 38)
			cmp_ok($files, '<', @over + ($workers ? $workers + 7 : 3),
				"$folder, $workers workers: each file is decoded once, and one more at each border of runs") if $folder eq $compression;
		}
	}
}

# --- damage after the compression ---------------------------------------------

# Copies of a segment's file, each changed in its own way: what a query says of
# those that are reported neither by the status nor as other bytes, with the
# number of all, and which ones decode to the very bytes of the segment.
sub judged
{
	my ($segment, $suffix, $bytes, $count, $change) = @_;
	my $folder = "$tmp/copies";
	mkdir $folder;
	foreach my $i (0 .. $count - 1)
	{
		my $copy = $bytes;
		$change->(\$copy, $i);
		mkdir "$folder/$i";
		put_old("$folder/$i/$segment$suffix", $copy);
	}
	my ($same, $unreported) = split /\|/, sql("WITH judged AS (SELECT i, j.*, j.crc32c IS NOT DISTINCT FROM p.crc32c AS same
			FROM generate_series(0, $count - 1) i, verify_wal('$folder/' || i, '$segment', '$segment') j, verify_wal('$plain', '$segment', '$segment') p)
		SELECT string_agg(i::text, ' ') FILTER (WHERE status LIKE 'ok%' AND same),
			coalesce(string_agg(i || ' ' || status || ' ' || coalesce(message, ''), E'\n') FILTER (WHERE status LIKE 'ok%' AND NOT same), '') || ' of ' || count(*)
		FROM judged"), 2;
	foreach my $i (0 .. $count - 1)
	{
		unlink "$folder/$i/$segment$suffix";
		rmdir "$folder/$i";
	}
	return ($unreported, split(/ /, $same));
}

# In the long form, of each segment in turn.
my @flipped = $ENV{LONG} ? @names[ 1 .. $#names ] : $flipped_name;

foreach my $compression (sort keys %readable)
{
	my (undef, $suffix, undef, undef, $encode) = @{ $readable{$compression} };
	my (%harmless, $done);
	for ($done = 0; $done < $flips; $done += 100)
	{
		my $segment = $flipped[ $done / 100 % @flipped ];
		my $bytes = $encode->(slurp_file("$plain/$segment"));
		my $count = $flips - $done < 100 ? $flips - $done : 100;
		my @places;
		my ($unreported, @same) = judged($segment, $suffix, $bytes, $count, sub {
				my $at = int(rand(length($bytes)));
				# a third of them in the first and last bytes: headers, trailers
				$at = int(rand(30)) if $_[1] % 6 == 0;
				$at = length($bytes) - 1 - int(rand(30)) if $_[1] % 6 == 1;
				substr(${ $_[0] }, $at, 1) ^= chr(1 << int(rand(8)));
				push @places, $at;
				});
		is($unreported, " of $count", "$compression: $count flips, all reported but where the bytes are the same (seed $seed)");
		$harmless{ $places[$_] < 10 ? "at byte $places[$_]" : 'further on' }++ foreach @same;
	}
	note "$compression: $flips flips; decoded to the same bytes: ", join(', ', map { "$harmless{$_} $_" } sort keys %harmless) || 'none';
	my $bytes = $encode->(slurp_file("$plain/$flipped_name"));
	my $step = $ENV{LONG} ? 4096 : 32768;
	my $cuts = int((length($bytes) - 1) / $step) + 1;
	is_deeply([ judged($flipped_name, $suffix, $bytes, $cuts, sub { substr(${ $_[0] }, $_[1] * $step) = '' }) ],
		[" of $cuts"], "$compression: cut off at every $step bytes");
	is_deeply([ judged($flipped_name, $suffix, $bytes, 30, sub { substr(${ $_[0] }, -1 - $_[1]) = '' }) ],
		[' of 30'], "$compression: the last bytes are cut off");

	# what is said, and what came before is judged
	my $folder = "$tmp/said_$compression";
	mkdir $folder;
	my $half = int(length($bytes) / 2);
	put_old("$folder/$flipped_name$suffix", substr($bytes, 0, $half));
	like(sql("SELECT status, findings, records > 0 AND verified_bytes + skipped_bytes + unverified_head_bytes + unverified_tail_bytes < $MB, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		qr/^corrupt\|1\|t\|the compressed data ends early, at offset $half$/, "$compression: cut off: said, with what came before");
	is(sql("SELECT reason || ' ' || status || ' ' || (file_offset > 8192) FROM verify_wal_findings('$folder', '$flipped_name')"),
		'compressed_truncated corrupt true', "$compression: cut off: as a finding");
	put_old("$folder/$flipped_name$suffix", "$bytes garbage");
	is(sql("SELECT status, findings, message, verified_bytes > 0 FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		'corrupt|1|unexpected data after the end of the compressed data, at offset ' . length($bytes) . '|t', "$compression: trailing garbage");
	if ($compression eq 'gzip')
	{
		my ($crc, $length) = unpack('LL', substr($bytes, -8));
		put_old("$folder/$flipped_name$suffix", substr($bytes, 0, -8) . pack('LL', $crc ^ 1, $length));
		is(sql("SELECT status, findings, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
			sprintf('corrupt|1|incorrect checksum of the compressed data before offset %u, calculated %08X but expected %08X', length($bytes), $crc, $crc ^ 1), 'gzip: another CRC-32');
		put_old("$folder/$flipped_name$suffix", substr($bytes, 0, -8) . pack('LL', $crc, $length - 1));
		is(sql("SELECT status, findings, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
			'corrupt|1|incorrect length ' . ($length - 1) . ' of the compressed data before offset ' . length($bytes) . ", expected $length", 'gzip: another length');
	}
	put_old("$folder/$flipped_name$suffix", '');
	is(sql("SELECT status, compression, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		"corrupt|$compression|the compressed data ends early, at offset 0", "$compression: an empty file");
	put_old("$folder/$flipped_name$suffix", 'x' . substr($bytes, 1));
	is(sql("SELECT status, compression, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		"corrupt|$compression|the compressed data is invalid at offset 0", "$compression: another first byte");
	put_old("$folder/$flipped_name$suffix", $encode->(substr(slurp_file("$plain/$flipped_name"), 0, 500000)));
	is(sql("SELECT status, findings, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		"size_mismatch|1|WAL segment has 500000 bytes, expected $MB", "$compression: a short segment");
	put_old("$folder/$flipped_name$suffix", $encode->(slurp_file("$plain/$flipped_name") . "\0"));
	is(sql("SELECT status, findings, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		"size_mismatch|1|the decompressed WAL segment has more than $MB bytes", "$compression: a long one");
	put_old("$folder/$flipped_name$suffix", $encode->('no WAL ' x 100000));
	is(sql("SELECT status, message FROM verify_wal('$folder', '$flipped_name', '$flipped_name')"),
		'not_verifiable|no page of the file is valid: it is encrypted, compressed or no WAL', "$compression: of something else");
	unlink "$folder/$flipped_name$suffix";

	# a stream that a receiver still writes to
	put_old("$folder/$flipped_name$suffix.partial", substr($bytes, 0, $half));
	is(sql("SELECT status, findings, records > 0, segment FROM verify_wal('$folder')"),
		"ok_partial|0|t|$flipped_name$suffix.partial", "$compression: a partial one, still written");

	# a receiver that was started again writes over the older file, in other steps
	my %over = (stopped => $encode->(substr(slurp_file("$plain/$flipped_name"), 0, 200000)), 'at work' => substr($bytes, 0, $half));
	foreach my $state (sort keys %over)
	{
		put_old("$folder/$flipped_name$suffix.partial", $over{$state} . substr($bytes, length($over{$state}) + 1000));
		is(sql("SELECT status, is_finding, records > 0 FROM verify_wal('$folder')"), 'not_verifiable|f|t', "$compression: a partial one over an older one, $state");
	}
	put_old("$folder/$flipped_name$suffix.partial", substr($bytes, 0, $half));

	# 300 MB of zeros
	my $zeros = substr($encode->("\0" x (100 * $MB)), 0);
	put_old("$folder/$names[0]$suffix", $zeros x 3);
	my ($before, $row, $after) = (sql($read), sql("SELECT status, findings > 0 FROM verify_wal('$folder', '$names[0]', '$names[0]')"), sql($read));
	is($row, 'corrupt|t', "$compression: a bomb");
	cmp_ok($after - $before, '<', 900000, "$compression: a bomb is not read to its end");
}
my ($peak) = sql(q{SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::int});
cmp_ok($peak, '<', 400 * 1024, "memory is bounded ($peak kB, shared buffers included)");

SKIP:
{
	skip 'zstd is not read here', 1 unless $readable{zstd};
	put_old("$tmp/window", '');
	mkdir "$tmp/wide";
	put_old("$tmp/wide/$name.zst", "\x28\xB5\x2F\xFD\0\xA8\x0B\0\0\0");
	is(sql("SELECT status, findings, message FROM verify_wal('$tmp/wide', '$name', '$name')"),
		'not_verifiable|0|decompression needs a window of more than 128 MB', 'zstd: a window of 2 GB');
}

SKIP:
{
	skip 'lz4 is not read here', 1 unless $readable{lz4};
	my $directory = archive($plain, '.lz4', $lz4);
	my ($whole) = run_command([ 'lz4', '-c', '-1', '-B4', '--content-size', "$plain/$names[1]" ]);
	put_old("$directory/$names[1].lz4", substr($whole, 0, int(length($whole) / 2)));
	is(sql("SELECT string_agg(segment || ' ' || status, ', ') FROM verify_wal('$directory') WHERE status NOT LIKE 'ok%'"),
		"$names[1].lz4 corrupt", 'lz4: a file that tells its length, cut off, is the only one that is damaged');
}

# --- formats that are not read -------------------------------------------------

my $others = "$tmp/others";
mkdir $others;
put_old("$others/$names[0].xz", "\xFD7zXZ\0 and so on");
put_old("$others/$names[1].gz", 'Salted__ by pgBackRest');
put_old("$others/$names[2].br", 'whatever');
put_old("$others/$names[3]", "BZh91AY&SY and so on");
is(sql("SELECT string_agg(compression || ' ' || status || ' ' || findings || ' ' || split_part(message, ',', 1), E'\\n') FROM verify_wal('$others')"),
	join("\n", map { "$_ not_verifiable 0 the file is in format $_" } 'xz', 'encrypted', 'brotli', 'bzip2'), 'formats that are not read');
# of "lz4 -l"; and what begins as LZ4 and Zstandard alike
my $skippable = "\x5F\x2A\x4D\x18\x05\0\0\0skips";
put_old("$others/$names[4]", "\x02\x21\x4C\x18 and so on");
my $row_of_one = q{SELECT concat_ws(' ', compression, status, findings, message) FROM verify_wal};
my $whole = q{SELECT concat_ws(' ', compression, crc32c, findings) FROM verify_wal};
is(sql("$row_of_one('$others', '$names[4]', '$names[4]')"), 'lz4_legacy not_verifiable 0 the file is in format lz4_legacy, which is not read here: restore the segment, or give its bytes to verify_wal_segment(bytea, text)', 'LZ4 legacy frames');
foreach my $compression (grep { $readable{$_} } 'lz4', 'zstd')
{
	put_old("$others/$names[4]", $skippable x 2 . $readable{$compression}->[4]->(slurp_file("$plain/$names[4]")));
	is(sql("$whole('$others', '$names[4]', '$names[4]')"), "$compression " . sql("SELECT concat_ws(' ', crc32c, findings) FROM verify_wal('$plain', '$names[4]', '$names[4]')"),
		"$compression: after skippable frames, named as nothing");
	# frames of holes, 4 GB each
	put_old("$others/$names[4]", '');
	AccelWal::poke("$others/$names[4]", $_ * (2**32 + 7), "\x5F\x2A\x4D\x18\xFF\xFF\xFF\xFF") foreach 0 .. 19;
	my ($from, $row, $to) = (sql($read), sql("$row_of_one('$others', '$names[4]', '$names[4]')"), sql($read));
	like($row, qr/^\w+ not_verifiable 0 0 bytes came out of the first \d+ bytes of the compressed data: it is not read further$/, "$compression: 80 GB that are skipped");
	cmp_ok($to - $from, '<', 60 * $MB, "$compression: 80 GB that are skipped are not read");
}
SKIP:
{
	skip 'zstd is not read here', 1 unless $readable{zstd};
	put_old("$others/$names[4]", "\x28\xB5\x2F\xFD\x21\x01\x01\x09\0\0x");
	is(sql("$row_of_one('$others', '$names[4]', '$names[4]')"), 'zstd not_verifiable 0 decompression needs a dictionary', 'zstd: a dictionary');
}
unlink "$others/$names[4]";
copy("$plain/$names[0]", "$others/$names[0].gz");
is(sql("SELECT compression || ' ' || status FROM verify_wal('$others', '$names[0].gz', '$names[0].gz')"), 'none ok', 'the bytes decide, not the name');

# --- names, folders, nothing ---------------------------------------------------

is(sql("SELECT status, segment, start_lsn IS NOT NULL, message FROM verify_wal('$plain', '00000001000000FF00000001', '00000001000000FF00000001')"),
	'missing|00000001000000FF00000001|t|the segment is not there', 'an explicit name that does not exist');
is(sql("SELECT status, reason FROM verify_wal_findings('$plain', '00000001000000FF00000001')"), 'missing|file_missing', 'as a finding');
is(sql("SELECT status FROM verify_wal('$plain', '$name.gz', '$name.gz')"), 'missing', 'its other name does not exist');
is(sql("SELECT segment, status, compression IS NULL FROM verify_wal(NULL, '$name', '$name')") =~ /^$name\|/ ? 'ok' : '', 'ok', 'in pg_wal');
my $nothing = "$tmp/nothing";
mkdir $nothing;
put_old("$nothing/$_", 'x') foreach 'README', '000000010000000000000001.00000028.backup.old', '00000002.history.old';
mkdir "$nothing/$_" foreach 'base', '0000000100000000';
is(sql("SELECT status, segment IS NULL, timeline_id IS NULL, message FROM verify_wal('$nothing')"),
	'not_verifiable|t|t|none of the 4 entries of the directory is named as a WAL segment', 'a directory without segments');
copy("$plain/$name", "$nothing/0000000100000000/$name");
is(sql("SELECT segment, status FROM verify_wal('$nothing')"), "0000000100000000/$name|ok", 'a folder of segments');
is(sql("SELECT segment, status FROM verify_wal('$nothing', '$name', '$name')"), "0000000100000000/$name|ok", 'found there by its name');
my $sha1 = sha1_hex(slurp_file("$plain/$name"));
copy("$plain/$name", "$nothing/$name-$sha1");
is(sql("SELECT string_agg(segment || ' ' || status, ', ') FROM verify_wal('$nothing')"),
	"$name-$sha1 ok, 0000000100000000/$name ok", 'two names of a segment: both are judged');
# a segment that could be in there is not missing
chmod 0, "$nothing/0000000100000000";
my (undef, undef, $err) = $node->psql('postgres', "SELECT status FROM verify_wal('$nothing', '$name', '$name')");
chmod 0700, "$nothing/0000000100000000";
like($err, qr/ERROR:.*Permission denied/, 'a folder that may not be read');

# --- pgBackRest: the SHA-1 of a segment in its name -------------------------------

my $digests = "$tmp/digests";
mkdir $digests;
my %sha1 = map { $_ => sha1_hex(slurp_file("$plain/$_")) } @names;
copy("$plain/$_", "$digests/$_-$sha1{$_}") foreach @names;
is(rows($digests), $intact_rows, 'SHA-1 in the names: the rows of the plain segments');
is(rows($digests, 2), $intact_rows, 'SHA-1 in the names: by workers');
SKIP:
{
	skip 'gzip is not read here', 1 unless $readable{gzip};
	my $compressed = "$tmp/digests_gzip";
	mkdir $compressed;
	put_old("$compressed/$_-$sha1{$_}.gz", gzipped(slurp_file("$plain/$_"))) foreach @names;
	is(rows($compressed), $intact_rows, 'SHA-1 in the names of compressed files: of the segments');
}
# other contents that are as sound
my ($marked) = grep { slurp_file("$plain/$_") =~ /MARK7-{60}/ } @names;
my ($at, $record) = AccelWal::variant($node, slurp_file("$plain/$marked"));
my $digested = "$marked-$sha1{$marked}";
AccelWal::poke("$plain/$marked", $at, $record);
is(sql("SELECT status, findings FROM verify_wal('$plain', '$marked', '$marked')"), $marked eq $names[-1] ? 'ok_switched|0' : 'ok|0', 'WAL does not tell other contents');
my $other = sha1_hex(slurp_file("$plain/$marked"));
copy("$plain/$marked", "$digests/$digested");
is(sql("SELECT segment, status, findings, message FROM verify_wal('$digests') WHERE findings > 0"),
	"$digested|corrupt|1|incorrect SHA-1 in the name of the file, calculated " . substr($other, 0, 16) . '... but expected ' . substr($sha1{$marked}, 0, 16) . '...',
	'another SHA-1 than that in the name');
is(sql("SELECT reason, file_offset FROM verify_wal_findings('$digests', '$digested')"), 'file_digest|0', 'another SHA-1: as a finding');
AccelWal::poke("$digests/$digested", $at + 30, 'damage');
is(sql("SELECT count(*) > 0, count(*) FILTER (WHERE reason = 'file_digest') FROM verify_wal_findings('$digests', '$digested')"), 't|0', 'where WAL tells of damage, that is all');

$psql->quit;
$node->stop;
done_testing();
