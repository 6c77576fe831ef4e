# Devices: some lose writes.  The page cache has the page that was written, the device an
# older one below it.  verify_lost_writes sees them with direct_io, and without it when
# the page cache has forgotten them.
#
# What lay on the device before is put there again, below the file system.  heal_block
# writes what memory has of it.
use strict;
use warnings;
use Accel;
use AccelWal;
use Device;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $none = Device::missing('ext4');
plan(skip_all => $none) if defined $none;

my $seed = $ENV{ACCEL_SEED} || time;
srand($seed);
note("seed $seed");

my $wal = Device::folder('ext4') . '/lost_wal';
my $node = Accel::new_node('main', extra => [ '--wal-segsize=1', "--waldir=$wal" ], conf => <<'CONF');
autovacuum = off
fsync = on
bgwriter_lru_maxpages = 0
wal_keep_size = 64MB
max_wal_size = 1GB
min_wal_size = 2MB
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql('CREATE EXTENSION crc32c_accel');

my $words = "string_agg(concat_ws(' ', relation, fork, blkno, status), ', ' ORDER BY relation::text, blkno)";
sub found { return sql("SELECT $words FROM verify_lost_writes($_[0])"); }
sub heals { return sql("SELECT concat_ws('|', status, copy, message) FROM heal_block($_[0])"); }
sub refused { my ($code, $out, $err) = $node->psql('postgres', $_[0]); return $err; }

# A table on a device, which other scripts have, too.  Where its file is.
sub make_table
{
	my ($fs, $table, $rows) = @_;
	my $folder = Device::folder($fs) . "/lost_$table";
	mkdir $folder;
	sql("CREATE TABLESPACE $table LOCATION '$folder'");
	sql("CREATE TABLE $table (g int, b text) WITH (fillfactor = 50) TABLESPACE $table; INSERT INTO $table SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, $rows) g; VACUUM (FREEZE) $table; CHECKPOINT");
	return $node->data_dir . '/' . sql("SELECT pg_relation_filepath('$table')");
}

# Puts bytes on the device below a block.
sub put
{
	my ($fs, $path, $blkno, $page) = @_;
	foreach my $half (0, 4096)
	{
		AccelWal::poke(Device::image($fs), Device::place_of($path, $blkno * 8192 + $half), substr($page, $half, 4096));
	}
	return;
}

foreach my $fs ('ext4', 'xfs')
{
  SKIP:
	{
		my $why = Device::missing($fs);
		skip("$fs: $why", 1) if defined $why;
		my $t = "l_$fs";
		my $path = make_table($fs, $t, 4000);
		my $blocks = (-s $path) / 8192;
		my %old = map { $_ => AccelWal::peek($path, $_ * 8192, 8192) } 0 .. $blocks - 1;
		sql("UPDATE $t SET g = -g WHERE ctid::text LIKE '%,1)'; CHECKPOINT");
		my @changed = grep { $old{$_} ne AccelWal::peek($path, $_ * 8192, 8192) } sort { $a <=> $b } keys %old;
		cmp_ok(scalar(@changed), '>', 400, "$fs: blocks were written anew");
		is(found('direct_io => true'), '', '... and none was lost');
		ok(Device::leaves_cache($path, sub { found('direct_io => true') }), '... which leaves the page cache as it was');

		sql("CALL verify_database(ARRAY['$t'::regclass], cluster_files => false, record_digests => true)");
		my $known = sub { return sql("SELECT string_agg(blkno || ' ' || status, ',' ORDER BY blkno) FROM verify_page_digests('$t'$_[0]) WHERE status <> 'not_verifiable'") };
		is($known->(', direct_io => true'), '', '... by the page ledger, too');

		# adjacent ones, and some far apart
		my %chosen = map { $_ => 1 } @changed[ 0 .. 39 ], map { $changed[ rand @changed ] } 1 .. 60;
		my @lost = sort { $a <=> $b } keys %chosen;
		my %zero = map { $_ => 1 } @lost[ 3, 7 ];
		my $all = join ', ', map { "$t main $_ " . ($zero{$_} ? 'zeroed_page' : 'stale_page') } @lost;
		my %new = map { $_ => AccelWal::peek($path, $_ * 8192, 8192) } @lost;
		my $kept = Device::keep($path);
		put($fs, $path, $_, $zero{$_} ? "\0" x 8192 : $old{$_}) foreach @lost;
		is(found(''), '', "$fs: an older page on the device below the page cache: nothing without direct_io");
		is(found('direct_io => true'), $all, '... each with it');
		is(found('direct_io => true, max_rate => 20000'), $all, '... with a bound on the rate');
		is($known->(''), '', '... nor by the page ledger');
		is($known->(', direct_io => true'), join(',', map { "$_ stale_page" } grep { !$zero{$_} } @lost), '... which knows all older pages with it');
		my $said = sql("SELECT string_agg(message, E'\\n' ORDER BY blkno) FROM verify_lost_writes(direct_io => true) WHERE blkno IN ($lost[0], $lost[3])");
		my $wants = 'WAL wants \S*?[0-9A-F]+/[0-9A-F]+ or later; the page cache holds the page with LSN [0-9A-F]+/[0-9A-F]+; shared buffers hold the page with LSN [0-9A-F]+/[0-9A-F]+, which will not be written unless it changes';
		like($said, qr{^a write was lost: the page on the device has LSN [0-9A-F]+/[0-9A-F]+, $wants\n}, '... in words');
		like($said, qr{\na write was lost: the page on the device is all zero, WAL wants LSN [0-9A-F]+/[0-9A-F]+ or later; the page cache holds the page with LSN}, '... of zeros');
		is(sql("SELECT string_agg(l.blkno::text, ',') FROM verify_lost_writes(direct_io => true) l, verify_page(read_disk_page('$t', 'main', l.blkno), l.blkno) p WHERE p.lsn < l.expected_lsn OR l.disk_lsn >= l.expected_lsn"),
			'', '... by what the device has, not the page cache');
		is(sql("SELECT string_agg(blkno || status, ',' ORDER BY blkno) FROM verify_relation('$t', direct_io => true)"),
			join(',', map { "${_}bad_on_device_cached_ok" } sort { $a <=> $b } keys %zero), '... which are good pages to verify_relation, but zeros');

		# the script for every night
		my $night = sub {
			local @ENV{qw(PGHOST PGPORT DIRECT_IO MAX_RATE)} = ($node->host, $node->port, @_);
			my ($out, $err) = run_command([ 'sh', 'docs/examples/verify_all.sh', 'lost_writes' ]);
			return join '', ($out // '') =~ /^postgres\|public\.$t\|main\|\d+\|\w+_page\|/mg, $err =~ /(max_rate)/g;
		};
		is($night->('false', 50000), '', "$fs: verify_all.sh lost_writes, the page cache");
		is(scalar(() = $night->('true', 50000) =~ /_page/g), scalar(@lost), '... the device');
		is($night->('true', -1), 'max_rate', '... at its rate');

		# what changes is written anew
		sql("UPDATE $t SET b = 'x' WHERE ctid IN ('($lost[0],2)', '($lost[3],2)'); CHECKPOINT");
		my @left = grep { $_ != $lost[0] && $_ != $lost[3] } @lost;
		$all = join ', ', map { "$t main $_ " . ($zero{$_} ? 'zeroed_page' : 'stale_page') } @left;
		is(found('direct_io => true'), $all, "$fs: what the server changes again is healed");

		# the page of the page cache is written to the device
		my $both = 'healed|proven|the page was written from shared buffers and read back from the device';
		is(heals("'$t', 'main', $left[0]"), 'healthy|the page on disk is good', "$fs: heal_block sees no lost write of the device without direct_io");
		is(heals("'$t', 'main', $left[0], direct_io => true"), $both, '... and writes the page with it');
		is(heals("'$t', 'main', $lost[7], direct_io => true"), $both, '... over zeros, too');
		is(heals("'$t', 'main', $left[0], direct_io => true"), 'healthy|the page on disk is good', '... once');
		sql("UPDATE $t SET b = 'y' WHERE ctid = '($left[1],2)'");
		is(heals("'$t', 'main', $left[1], direct_io => true"), 'healthy|sane|the device does not hold the page, but a dirty page in shared buffers is yet to be written: CHECKPOINT writes it', '... not what a checkpoint will write');
		sql('CHECKPOINT');
		@left = grep { $_ != $left[0] && $_ != $left[1] && $_ != $lost[7] } @left;
		$all = join ', ', map { "$t main $_ " . ($zero{$_} ? 'zeroed_page' : 'stale_page') } @left;
		is(found('direct_io => true'), $all, '... and verify_lost_writes finds it there');

		undef $kept;
		Device::drop_cached($path);
		is(found(''), $all, "$fs: the page cache forgot them: all without direct_io");
		Device::drop_cached($path);
		is(found('direct_io => true'), $all, '... and with it');
		unlike(sql("SELECT string_agg(message, ' ') FROM verify_lost_writes(direct_io => true)"), qr/the page cache holds/, '... which has nothing to tell of the page cache');

		# shared buffers alone have it
		foreach my $direct ('false', 'true')
		{
			my $blkno = shift @left;
			my ($hex) = unpack('H*', $new{$blkno});
			is(sql("SELECT status FROM restore_block('$t', 'main', $blkno, page => '\\x$hex')"), 'bad_on_disk_cached_ok', "$fs: restore_block sees that a clean buffer was not written");
			my $first = heals("'$t', 'main', $blkno, direct_io => $direct");
			if (int($node->pg_version) >= 19)	# sets the checksum in shared buffers, too
			{
				like($first, qr/^healed\|proven\|/, "... so does heal_block, direct_io $direct");
				next;
			}
			like($first, qr/^no_good_copy\|sane\|shared buffers hold a page that is sane by its header, but not proven by its checksum/, "... so does heal_block, direct_io $direct");
			like(heals("'$t', 'main', $blkno, allow_unproven => true, direct_io => $direct"), qr/^healed\|sane\|/, '... which writes it');
		}
		is(found('direct_io => true'), join(', ', map { "$t main $_ " . ($zero{$_} ? 'zeroed_page' : 'stale_page') } @left), '... and verify_lost_writes finds both there');
		sql("DROP TABLE $t");
	}
}

# What the device has is newer than what the page cache has: the WAL tells which is right.
{
	my $path = make_table('ext4', 'newer', 500);
	my $other = make_table('ext4', 'other', 500);
	my $old = AccelWal::peek($path, 3 * 8192, 8192);
	my $foreign = AccelWal::peek($other, 5 * 8192, 8192);
	sql("UPDATE newer SET g = -g WHERE ctid = '(3,1)'; CHECKPOINT");
	my $new = AccelWal::peek($path, 3 * 8192, 8192);
	$node->stop;
	AccelWal::poke($path, 3 * 8192, $old);
	system('sync', $path) == 0 or die 'sync';
	$node->start;
	my $kept = Device::keep($path);
	put('ext4', $path, 3, $new);
	put('ext4', $path, 5, $foreign);
	like(heals("'newer', 'main', 3, direct_io => true"), qr{^no_good_copy\|shared buffers hold an older page: it has LSN [0-9A-F/]+, and WAL changed the block up to [0-9A-F/]+: a write was lost$},
		'a newer page on the device below an older one in the page cache: heal_block does not write it');
	is(AccelWal::peek(Device::image('ext4'), Device::place_of($path, 3 * 8192), 4096), substr($new, 0, 4096), '... anywhere');
	is(heals("'newer', 'main', 5, direct_io => true"), 'healed|proven|the page was written from shared buffers and read back from the device',
		'a page of another table on the device, with a later LSN: it does, by the WAL');
	is(sql("SELECT count(*) FROM newer WHERE ctid >= '(5,0)' AND ctid < '(6,0)' AND b = repeat(md5(g::text), 30)") > 0, 1, '... the right one');
	undef $kept;
	Device::drop_cached($path);
	is(heals("'newer', 'main', 3, direct_io => true"), 'healthy|the page on disk is good', '... and what the page cache forgot is not in the way');
	sql('DROP TABLE newer, other');
}

# WAL is read from the device, too.
{
	my $path = make_table('ext4', 'beside', 500);
	sql('SELECT pg_switch_wal()') for 1 .. 3;
	sql("CHECKPOINT; SELECT count(pg_logical_emit_message(false, 'x', repeat('x', 1000))) FROM generate_series(1, 3000); CHECKPOINT");
	my @segments = map { m{([0-9A-F]{24})$} } sort glob("$wal/0000000100000000????????");
	my ($last) = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
	my ($middle) = grep { $_ lt $last } reverse @segments;
	my $of = sub { return sql("SELECT string_agg(status || ' ' || (message ~ 'segment $middle'), ',') FROM verify_lost_writes($_[0])") };
	my $kept = Device::keep("$wal/$middle");
	is($of->('direct_io => true'), '', 'WAL on a device');
	Device::damage('ext4', Device::place_of("$wal/$middle", 300000));
	is($of->(''), '', '... damaged below the page cache: nothing without direct_io');
	is($of->('direct_io => true'), 'not_verifiable true', '... which tells of it');

	my $archive = Device::folder('ext4') . '/lost_archive';
	mkdir $archive;
	copy("$wal/$_", "$archive/$_") or die foreach grep { $_ lt $last } @segments;
	system('sync', glob("$archive/*")) == 0 or die 'sync';
	Device::mend();
	is($of->("'$archive', direct_io => true"), '', 'an archive on a device');
	my $images = sub { return sql("SELECT string_agg(status || ' ' || (segment = '$middle'), ',') FROM verify_wal_images('$archive', direct_io => $_[0])") };
	is($images->('true'), '', '... its images');
	my $kept_too = Device::keep("$archive/$middle");
	Device::damage('ext4', Device::place_of("$archive/$middle", 300000));
	is($of->("'$archive'"), '', '... damaged below the page cache: nothing without direct_io');
	is($of->("'$archive', direct_io => true"), 'not_verifiable true', '... which tells of it');
	is($images->('false'), '', '... verify_wal_images: nothing without direct_io');
	like($images->('true'), qr/^not_verifiable/, '... which tells of it');
	sql('DROP TABLE beside');
}

# Beside writers no write is lost.  The server keeps the WAL of the last two checkpoints.
{
	make_table('ext4', 'storm', 4000);
	my $seconds = $ENV{ACCEL_STORM_SECONDS} || 5;
	my $until = time + $seconds;
	my $script = $node->basedir . '/update.sql';
	append_to_file($script, "\\set g random(1, 4000)\nUPDATE storm SET b = repeat(md5(g::text || now()), 30) WHERE g = :g;\n");
	sql('CREATE INDEX ON storm (g)');
	my @starts = (sql('SELECT pg_current_wal_lsn()')) x 2;
	my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-T', $seconds, '-f', $script, $node->connstr('postgres') ],
		'>', \my $said, '2>&1');
	my ($scans, $bad) = (0, '');
	while (time < $until)
	{
		push @starts, sql('SELECT pg_current_wal_lsn()');
		sql('CHECKPOINT');
		$bad .= sql("SELECT string_agg(l::text, ' ') FROM verify_lost_writes(start_lsn => '" . shift(@starts) . "', direct_io => true) l");
		$scans++;
	}
	$writers->finish;
	cmp_ok($scans, '>', 1, 'beside writers');
	is($bad, '', '... nothing');
	sql('DROP TABLE storm');
}

# verify_cluster holds the device against the WAL, too, and a finding stays open as long as
# the device has it.
{
	my $path = make_table('ext4', 'everywhere', 500);
	my $old = AccelWal::peek($path, 3 * 8192, 8192);
	my $none = Device::missing('tmpfs');
	make_table('tmpfs', 'memory', 100) if !defined $none;
	my $start = sql('SELECT pg_current_wal_lsn()');
	sql("UPDATE everywhere SET g = -g WHERE ctid = '(3,1)'; CHECKPOINT");
	my $call = sub { my ($code, $out, $err) = $node->psql('postgres', "CALL verify_cluster(include_catalogs => false, cluster_files => false, direct_io => $_[0])"); return $err; };
	my $open = "SELECT string_agg(concat_ws(' ', relation_name, blkno, status), ', ') FROM verify_bad_blocks WHERE healed_at IS NULL";
	my $kept = Device::keep($path);
	unlike($call->('true'), qr/lost write/, 'verify_cluster, the device: no write is lost') if defined $none;
	put('ext4', $path, 3, $old);
	unlike($call->('false'), qr/lost write in block/, 'verify_cluster: nothing without direct_io');
	is(sql($open), '', '... nothing is open');
	my $said = $call->('true');
	like($said, qr/WARNING:  lost write in block 3 of relation public.everywhere\nDETAIL:  stale_page: block 3: a write was lost: the page on the device has LSN .*the page cache holds the page with LSN/, '... a lost write with it');
	is(sql($open), 'everywhere 3 stale_page', '... which is open');
	if (!defined $none)
	{
		like($said, qr/WARNING:  could not look for lost writes in all WAL\nDETAIL:  blocks in tablespace "memory" were not judged: its file system does not read past its page cache\.\n/, '... a tablespace that cannot be read so does not end the search');
		is(sql("SELECT count(*) FROM verify_findings WHERE run = (SELECT max(run) FROM verify_runs) AND relid IS NULL AND status = 'not_verifiable' AND message ~ 'tablespace \"memory\"'"), '1', '... and is one row');
		sql('DROP TABLE memory');
	}
	unlike($call->('false'), qr/lost write in block/, '... which a run without direct_io does not see');
	is(sql($open), 'everywhere 3 stale_page', '... and does not close');
	sql("SELECT prune_history('0')");
	is(sql($open), 'everywhere 3 stale_page', '... nor is it forgotten');
	sql("UPDATE everywhere SET g = -g WHERE ctid = '(3,2)'; CHECKPOINT");
	is(sql($open), '', '... until the page is written anew');
	unlike($call->('true'), qr/lost write in block/, '... and found to be so');
	sql('DROP TABLE everywhere');
}

# File systems that do not read past their page cache
foreach my $fs ('tmpfs', 'journal')
{
  SKIP:
	{
		my $why = Device::missing($fs);
		skip("$fs: $why", 1) if defined $why;
		make_table($fs, "no_$fs", 100);
		my $start = sql("SELECT pg_current_wal_lsn()");
		sql("UPDATE no_$fs SET g = -g; CHECKPOINT");
		is(found("start_lsn => '$start'"), '', "$fs: without direct_io");
		like(refused("SELECT * FROM verify_lost_writes(start_lsn => '$start', direct_io => true)"),
			qr/ERROR:  file system of "pg_tblspc[^"]+" does not read past its page cache\nDETAIL:  Its type is/, '... is refused with direct_io');
		sql("DROP TABLE no_$fs");
	}
}

$node->stop;
done_testing();
