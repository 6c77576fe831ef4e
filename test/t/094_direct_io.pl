# Devices: what they hold below the page cache, which direct_io reads.
#
# A table lies on a file system of its own, whose device is a file.  There 1,000
# pages are damaged, below good ones in the page cache: an ordinary scan finds
# none, and direct_io all.  Then the page cache forgets them, and both agree.
use strict;
use warnings;
use Accel;
use AccelWal;
use Device;
use PostgreSQL::Test::Utils;
use Test::More;

my $none = Device::missing('ext4');
plan(skip_all => $none) if defined $none;

my $node = Accel::new_node('main', conf => "autovacuum = off\nfsync = on\nshared_buffers = 1MB\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h\ndata_sync_retry = on\nmax_worker_processes = 8\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');
sub sql { return $node->safe_psql('postgres', $_[0]); }

my $finding = "SELECT count(*), min(status), max(status) FROM verify_relation('%s'%s)";
sub found { return sql(sprintf($finding, @_)); }

# A table of at least so many pages on a device, checkpointed and cached.
sub make_table
{
	my ($fs, $table, $rows) = @_;
	my $folder = Device::folder($fs) . "/$table";
	mkdir $folder;
	sql("CREATE TABLESPACE $table LOCATION '$folder'");
	sql("CREATE TABLE $table TABLESPACE $table AS SELECT g, repeat(md5(g::text), 30) AS b FROM generate_series(1, $rows) g");
	sql("VACUUM (FREEZE) $table");
	sql('CHECKPOINT');
	my $path = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('$table')");
	my @pieces = Device::pieces($path);
	return ($path, \@pieces);
}

sub refused
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

sub random_blocks
{
	my ($count, $of) = @_;
	my %chosen;
	$chosen{ int(rand($of)) } = 1 while keys %chosen < $count;
	return sort { $a <=> $b } keys %chosen;
}

# Where three bytes are inverted in each of some blocks: {block => place}.  Not where the
# checksum would still be right, which happens to one page in 65,536.
sub damage
{
	my ($pieces, @blocks) = @_;
	my $file = $node->basedir . '/damaged';
	my %at;

	for (my @open = @blocks; @open;)
	{
		my $bytes = '';
		foreach my $blkno (@open)
		{
			$at{$blkno} = 24 + int(rand(4000));
			my $page = $pieces->[ $blkno * 2 ] . $pieces->[ $blkno * 2 + 1 ];
			substr($page, $at{$blkno}, 3) ^= "\xff" x 3;
			$bytes .= $page;
		}
		unlink $file;
		append_to_file($file, $bytes);
		@open = split /\n/, sql("SELECT b FROM unnest(ARRAY[" . join(',', @open) . "]) WITH ORDINALITY AS u (b, i), verify_page(pg_read_binary_file('$file', (i - 1) * 8192, 8192), b) v WHERE v.status = 'ok'");
	}
	return \%at;
}

my $seed = $ENV{ACCEL_SEED} || time;
srand($seed);
note("seed $seed");

foreach my $fs ('ext4', 'xfs')
{
  SKIP:
	{
		my $why = Device::missing($fs);
		skip("$fs: $why", 1) if defined $why;
		my ($path, $pieces) = make_table($fs, "t_$fs", 40000);
		my $count = @$pieces / 2;
		my $t = "t_$fs";

		is(found($t, ', direct_io => true'), '0||', "$fs: a healthy table: nothing");
		is(sql("SELECT verified_blocks = blocks, read_bytes = blocks * 8192, status FROM verify_relation_summary('$t', 'main', direct_io => true)"),
			't|t|ok', '... read whole');
		Device::drop_cached($path);
		is(found($t, ', direct_io => true'), '0||', '... that is not in the page cache');
		is(Device::cached($path), 0, '... where it does not come by that');
		ok(Device::leaves_cache($path, sub { found($t, ', direct_io => true') }), '... which stays as it was where it has some pages');
		my @bad = random_blocks(1000, $count);
		my $places = Device::places($fs, map { $pieces->[ $_ * 2 ] } @bad);
		my $all = '1000|bad_on_device_cached_ok|bad_on_device_cached_ok';
		my $kept = Device::keep($path);
		my $at = damage($pieces, @bad);
		Device::damage($fs, $places->{ $pieces->[ $_ * 2 ] } + $at->{$_}) foreach @bad;
		is(found($t, ''), '0||', "$fs: 1,000 pages damaged below the page cache: nothing without direct_io");
		is(found($t, ', direct_io => true'), $all, '... all with it');
		is(sql("SELECT string_agg(blkno::text, ',' ORDER BY blkno) FROM verify_relation('$t', direct_io => true)"), join(',', @bad), '... each of them');
		is(found($t, ', direct_io => true, workers => 2'), $all, '... with workers');
		is(sql("SELECT bad_blocks, status FROM verify_relation_summary('$t', 'main', direct_io => true, max_rate => 200000)"),
			'1000|bad_on_device_cached_ok', '... with a bound on the rate');
		is(sql("SELECT bool_and(message ~ '^checksum is \\d+, but should be \\d+; so the device has it, the page cache has a good page with LSN [0-9A-F/]+: heal_block\\(\\) with direct_io writes it\$') FROM verify_relation('$t', direct_io => true)"),
			't', '... in words');
		is(sql("SELECT status FROM heal_block('$t', 'main', $bad[0])"), 'healthy', '... heal_block sees nothing without direct_io');

		my $healed = "SELECT count(*) FROM unnest(ARRAY[" . join(',', @bad[0 .. 9]) . "]) b, heal_block('$t', 'main', b, direct_io => true) h WHERE h.status";
		is(sql("$healed = 'healed' AND copy = 'proven' AND message = 'the page was written from shared buffers and read back from the device'"),
			10, "$fs: heal_block heals with direct_io");
		is(sql("SELECT count(*) FROM verify_relation('$t', direct_io => true)"), 990, '... and they are good');
		is(sql("$healed = 'healthy'"), 10, '... and stay so');

		my @maps = ([ 'fsm', 0 ], [ 'fsm', 2 ], [ 'vm', 0 ]);
		my $kept_maps = Device::keep("${path}_fsm", "${path}_vm");
		Device::damage($fs, Device::place_of("${path}_$_->[0]", $_->[1] * 8192) + 100) foreach @maps;
		my $in_maps = "SELECT string_agg(fork || blkno || status, ' ' ORDER BY fork, blkno) FROM verify_relation('$t'%s) WHERE fork <> 'main'";
		is(sql(sprintf($in_maps, '')), '', '... maps damaged below the page cache: nothing without direct_io');
		is(sql(sprintf($in_maps, ', direct_io => true')), join(' ', map { "$_->[0]$_->[1]bad_on_device_cached_ok" } @maps), '... each page with it');
		Device::damage($fs, Device::place_of("${path}_$_->[0]", $_->[1] * 8192) + 100) foreach @maps;
		undef $kept_maps;

		undef $kept;
		Device::drop_cached($path);
		$node->restart;
		is(found($t, ''), "990|checksum_mismatch|checksum_mismatch", "$fs: the page cache forgot them: all without direct_io");
		Device::drop_cached($path);
		is(found($t, ', direct_io => true'), "990|checksum_mismatch|checksum_mismatch", '... and with it');
		cmp_ok(Device::cached($path), '<', 100, '... which leaves next to nothing there');
		sql("DROP TABLE $t");
	}
}

# The other way round: bad in the page cache alone.
{
	my ($path, $pieces) = make_table('ext4', 'other', 2000);
	my $places = Device::places('ext4', $pieces->[6], $pieces->[10]);
	my $bad = ~substr($pieces->[6], 100, 3) & "\xff" x 3;

	$node->restart;				# nothing of it in shared buffers
	my $kept = Device::keep($path);
	AccelWal::poke($path, 3 * 8192 + 100, $bad);
	is(found('other', ''), '1|checksum_mismatch|checksum_mismatch', 'damaged in a file, not written yet: both');
	is(AccelWal::peek(Device::image('ext4'), $places->{ $pieces->[6] } + 100, 3), $bad, '... it was written by that');
	AccelWal::poke(Device::image('ext4'), $places->{ $pieces->[6] } + 100, substr($pieces->[6], 100, 3));
	is(found('other', ''), '1|bad_in_page_cache|bad_in_page_cache', 'a good page on the device below a bad one in the page cache');
	like(sql("SELECT message FROM verify_relation('other')"),
		qr/so the page cache has it, the device has a good page with LSN/, '... in words');
	is(found('other', ', direct_io => true'), '0||', '... which is all that direct_io reads');
	undef $kept;
	Device::drop_cached($path);
	is(found('other', ''), '0||', '... and all there is when the page cache forgets it');

	# zeros on the device below a page
	$kept = Device::keep($path);
	AccelWal::poke(Device::image('ext4'), $places->{ $pieces->[10] }, "\0" x 4096);
	my ($second) = values %{ Device::places('ext4', $pieces->[11]) };
	AccelWal::poke(Device::image('ext4'), $second, "\0" x 4096);
	is(found('other', ''), '0||', 'zeros on the device below a page in the page cache');
	is(sql("SELECT blkno, status FROM verify_relation('other', direct_io => true)"), '5|bad_on_device_cached_ok', '... with direct_io');
	like(sql("SELECT message FROM verify_relation('other', direct_io => true)"), qr/^page is all zeros; /, '... in words');
	sql("DROP TABLE other");
}

# New pages are zeros in both.
{
	make_table('ext4', 'fresh', 2000);
	my $path = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('fresh')");
	$node->stop;
	my $size = -s $path;
	truncate($path, $size + 1000 * 8192);
	open(my $fh, '+<:raw', $path) or die;
	system('fallocate', '-o', $size + 1000 * 8192, '-l', 500 * 8192, $path) == 0 or die 'fallocate';
	close($fh);
	$node->start;
	is(sql("SELECT zero_blocks, bad_blocks FROM verify_relation_summary('fresh', 'main', direct_io => true)"),
		'1500|0', 'a hole and what was allocated in advance: new pages');
}

# Beside writers: nothing but the truth.
{
	make_table('ext4', 'storm', 20000);
	my $until = time + ($ENV{ACCEL_STORM_SECONDS} || 5);
	my $script = $node->basedir . '/update.sql';
	append_to_file($script, "\\set g random(1, 20000)\nUPDATE storm SET b = repeat(md5(g::text || now()), 30) WHERE g = :g;\n");
	sql('CREATE INDEX ON storm (g)');
	my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-T', $ENV{ACCEL_STORM_SECONDS} || 5, '-f', $script, $node->connstr('postgres') ],
		'>', \my $said, '2>&1');
	my ($scans, $blocks, $retried, $bad) = (0, 0, 0, '');
	while (time < $until)
	{
		my ($b, $r, $found) = split /\|/, sql("SELECT sum(blocks), sum(retried_blocks), string_agg(status || ' ' || message, ' ') FILTER (WHERE status <> 'ok') FROM verify_relation_summary('storm', include_indexes => true, direct_io => true)");
		sql('CHECKPOINT') if ++$scans % 5 == 0;
		$blocks += $b;
		$retried += $r;
		$bad .= $found // '';
	}
	$writers->finish;
	is($bad, '', 'beside writers: nothing');
	note("$scans scans of $blocks blocks, $retried of them read again");
	sql('DROP TABLE storm');
}

# Who flushes the block waits while the device and the page cache are compared.
# A dirty buffer has to stay where it is meanwhile: whoever evicts it writes the page.
my $shim = Accel::fault_shim();
{
	$node->stop;
	$node->append_conf('postgresql.conf', 'shared_buffers = 16MB');
	Accel::start_under($shim, $node);
	sql("CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C");
	my ($path, $pieces) = make_table('ext4', 'locked', 100);
	my ($file) = $path =~ m{([^/]+)$};
	my $place = Device::places('ext4', $pieces->[6])->{ $pieces->[6] };
	my $kept = Device::keep($path);
	Device::damage('ext4', $place + 100);
	sql('UPDATE locked SET g = g WHERE ctid = \'(3,1)\'');
	my $checkpoint;
	my $waits = 0;
	# the probe, all blocks, this one, the page cache's, then the one that is compared
	my ($out, $err) = Accel::stopped_at($node, 'read', 5, "/$file\$",
		"SELECT blkno, status, buffer_state FROM verify_relation('locked', direct_io => true)", sub {
		my ($said, $wrong) = ('', '');
		my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'CHECKPOINT' ],
			'<', \undef, '>', \$said, '2>', \$wrong);
		$waits = Accel::seen_in($node, $session, "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND wait_event ~ '^(BufferContent|BufferShareExclusive)\$'");
		$checkpoint = sub { $session->finish; return "$said$wrong"; };
	});
	ok($waits, 'a flush waits while the device is compared with the page cache');
	is("$out$err", '3|bad_on_device_cached_ok|dirty', '... so what was read is of one time');
	is($checkpoint->(), '', '... then the flush goes on');
	is(found('locked', ', direct_io => true'), '0||', '... and heals the device');

	# restore_block reads back what the device has, which is damaged once it is written
	undef $kept;
	my @good = (Device::pieces($path))[10, 11];
	my $of = Device::places('ext4', @good);
	my $peek = sub { return AccelWal::peek(Device::image('ext4'), $of->{ $good[0] }, 4096) };
	$node->stop;
	AccelWal::poke($path, 5 * 8192 + 100, ~substr($good[0], 100, 3) & "\xff" x 3);
	system('sync', $path) == 0 or die 'sync';
	Accel::start_under($shim, $node);
	my ($hex) = unpack('H*', join('', @good));
	($out, $err) = Accel::stopped_at($node, 'read', '1+', "/$file\$",
		"SELECT status, message FROM restore_block('locked', 'main', 5, page => '\\x$hex', allow_unproven => true)", sub {
		system('sync', $path) == 0 or die 'sync';
		Device::damage('ext4', $of->{ $good[0] } + 100) if substr($peek->(), 16) eq substr($good[0], 16);
	});
	is("$out$err", 'not_restored|the page was written, but was another one when it was read back', 'restore_block reads back from the device');
	sql('DROP TABLE locked');
}

# What is repaired is told to be so only when the device has it: its write-back fails,
# for want of space for what the device had not yet.
SKIP:
{
	my $why = Device::missing('full');
	skip("full: $why", 1) if defined $why;
	my ($path, $pieces) = make_table('full', 'repaired', 100);
	my ($file) = $path =~ m{([^/]+)$};
	my $filler = Device::folder('full') . '.disk/filler';
	my $of = Device::places('full', map { @{$pieces}[ $_ * 2, $_ * 2 + 1 ] } 3, 5);

	# The device forgets a block, and has no space for it, or has it again.
	my $fill = sub {
		my ($blkno) = @_;
		foreach (@{$pieces}[ $blkno * 2, $blkno * 2 + 1 ])
		{
			system('fallocate', '-p', '-o', $of->{$_}, '-l', 4096, Device::image('full')) == 0 or die 'fallocate';
		}
		system("head -c 64M /dev/zero >$filler 2>/dev/null");
		return;
	};

	# What a repair says if that happens when it has written the page, in the page cache.
	my $repair = sub {
		my ($blkno, $sql) = @_;
		my $before = AccelWal::peek($path, $blkno * 8192, 8192);
		my ($out, $err) = Accel::stopped_at($node, 'read', '1+', "/$file\$", $sql, sub {
			$fill->($blkno) if !-e $filler && AccelWal::peek($path, $blkno * 8192, 8192) ne $before;
		});
		ok(-e $filler, 'the device was full when the page was written');
		unlink $filler;
		return "$out$err";
	};

	$node->stop;				# what is in shared buffers then is of the page cache, checksums included
	Accel::start_under($shim, $node);
	my $kept = Device::keep($path);
	$fill->(3);
	is(sql("SELECT blkno, status FROM verify_relation('repaired', direct_io => true)"), '3|bad_on_device_cached_ok', 'a device without space: its damage is found');
	like(refused("SELECT heal_block('repaired', 'main', 3, direct_io => true)"),
		qr/ERROR:  could not write to file "[^"]+": .*HINT:  Nothing was changed\. Replace the storage\./s, '... heal_block changes nothing');
	unlink $filler;
	is($repair->(3, "SELECT status, message FROM heal_block('repaired', 'main', 3, direct_io => true)"),
		'not_healed|the page was written from shared buffers, but its write-back failed: No space left on device', '... says if the write-back fails');
	like(refused('CHECKPOINT'), qr/ERROR:  checkpoint request failed/, '... and the checkpointer is told, too');
	is(sql("SELECT blkno, status FROM verify_relation('repaired', direct_io => true)"), '3|bad_on_device_cached_ok', '... when the device has nothing of it');
	is(sql("SELECT status FROM heal_block('repaired', 'main', 3, allow_unproven => true, direct_io => true)"), 'healed', '... and heals where there is space again');
	undef $kept;

	my ($hex) = unpack('H*', join('', @{$pieces}[ 10, 11 ]));
	$node->stop;
	AccelWal::poke($path, 5 * 8192 + 100, ~substr($pieces->[10], 100, 3) & "\xff" x 3);
	system('sync', $path) == 0 or die 'sync';
	Accel::start_under($shim, $node);
	is($repair->(5, "SELECT status, message FROM restore_block('repaired', 'main', 5, page => '\\x$hex', allow_unproven => true)"),
		'not_restored|the page was written, but its write-back failed: No space left on device', 'restore_block says if the write-back fails');
	like(refused('CHECKPOINT'), qr/ERROR:  checkpoint request failed/, '... and the checkpointer is told, too');
	sql('DROP TABLE repaired');
}

$node->append_conf('postgresql.conf', 'shared_buffers = 1MB');
$node->restart;

# A server that reads past the page cache, too
SKIP:
{
	skip('debug_io_direct came with 16', 1) if $node->pg_version < 16;
	my $io = sql("SELECT count(*) FROM pg_settings WHERE name = 'io_method' AND 'io_uring' = ANY (enumvals)") ? "io_method = io_uring\n" : '';
	$node->append_conf('postgresql.conf', "debug_io_direct = data\n$io");
	$node->restart;
	my ($path, $pieces) = make_table('ext4', 'beside', 5000);
	is(found('beside', ', direct_io => true'), '0||', 'debug_io_direct: a healthy table');
	is(found('beside', ''), '0||', '... through the page cache');
	my $places = Device::places('ext4', $pieces->[6], $pieces->[10]);
	Device::damage('ext4', $places->{ $pieces->[$_] } + 100) foreach 6, 10;
	is(found('beside', ', direct_io => true'), '2|checksum_mismatch|checksum_mismatch', '... damaged on the device below the page cache, which the server does not read');
	sql('DROP TABLE beside');
	$node->append_conf('postgresql.conf', "debug_io_direct = ''\n");
	$node->restart;
}

# File systems that do not read past their page cache
foreach my $fs ('tmpfs', 'journal', 'btrfs', 'fuse', 'fuse_einval')
{
  SKIP:
	{
		my $why = Device::missing($fs);
		skip("$fs: $why", 1) if defined $why;
		my ($path) = make_table($fs, "no_$fs", 1000);
		my $type = $fs eq 'journal' ? 'ext4' : $fs =~ /^fuse/ ? 'FUSE' : $fs;
		is(found("no_$fs", ''), '0||', "$fs: a healthy table");
		like(refused("SELECT * FROM verify_relation('no_$fs', direct_io => true)"),
			qr/^psql:<stdin>:1: ERROR:  file system of "pg_tblspc[^"]+" does not read past its page cache\nDETAIL:  Its type is $type\.\nHINT:  Leave direct_io out/,
			'... is refused with direct_io');
		like(refused("SELECT * FROM verify_relation('no_$fs', direct_io => true, workers => 2, max_rate => 100000)"),
			qr/does not read past its page cache/, '... and by workers');
		sql("DROP TABLE no_$fs");
	}
}

# A write-back that fails is told once, and hides nothing from the checkpointer.
SKIP:
{
	my $why = Device::missing('full');
	skip("full: $why", 1) if defined $why;
	my ($path) = make_table('full', 'filled', 1000);
	my $filler = Device::folder('full') . '.disk/filler';
	system("head -c 64M /dev/zero >$filler 2>/dev/null");
	sql("UPDATE filled SET g = g + 1");
	sql("INSERT INTO filled SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 20000) g");
	my $found = "SELECT status, count(*) > 0, bool_or(message ~ 'a write-back of the page cache failed: ') FROM verify_relation('filled', direct_io => true) GROUP BY 1 ORDER BY 1";
	is(sql($found), "bad_on_device_cached_ok|t|f\nio_error|t|t", 'a write-back that fails is a finding of the file');
	my ($code, $out, $err) = $node->psql('postgres', 'CHECKPOINT');
	like($err, qr/ERROR:  checkpoint request failed/, '... and the checkpointer is told, too');
	unlink $filler;
}

$node->stop('immediate');
done_testing();
