# Torn pages: those that recovery restores are no findings, all others are.  The
# oracle is recovery itself, then pg_checksums and verify_database.
use strict;
use warnings;
use Accel;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($load_out, $load_err) = (q{}, q{});
# A backup meets a write of each client at most: in the long form there are many
# of them, and they wait rather than work.
my $clients = $ENV{LONG} ? 160 : 40;
my $connections = $clients + 20;
my $buffers = $ENV{LONG} ? '8MB' : '2MB';
local $ENV{TORN_PAUSE} = 50 if $ENV{LONG};
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $shim = "$dir/torn.so";
system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', "-DBLOCK=$blcksz", '-o', $shim, 'test/fault/torn.c', '-ldl');

my $conf = <<"CONF";
autovacuum = off
shared_buffers = $buffers
max_connections = $connections
max_wal_size = 1GB
checkpoint_timeout = 1h
max_wal_senders = 4
CONF
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => $conf);
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE hot (id int, v int, filler text) WITH (fillfactor = 50);
	INSERT INTO hot SELECT g, 0, repeat('x', 800) FROM generate_series(1, 12000) g;
	CREATE INDEX ON hot (id);
	CREATE TABLE cold AS SELECT g, repeat('c', 800) AS filler FROM generate_series(1, 500) g;
	CREATE TABLE dropped AS SELECT g, repeat('d', 800) AS filler FROM generate_series(1, 500) g;
	CREATE TABLE cut AS SELECT g, repeat('t', 800) AS filler FROM generate_series(1, 500) g;
	CREATE TABLE hashed AS SELECT g, g % 50 AS h FROM generate_series(1, 30000) g;
	CREATE INDEX hashed_h ON hashed USING hash (h);
	VACUUM FREEZE hot, cold, dropped, cut, hashed;
	DELETE FROM cut WHERE g > 100;
	DELETE FROM hashed WHERE g > 20000;
	CHECKPOINT});
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } qw(hot cold dropped cut hashed_h);
append_to_file("$dir/update.sql", "\\set id random(1, 12000)\nUPDATE hot SET v = v + 1 WHERE id = :id;\n");
$node->stop;
Accel::start_under($shim, $node);

# --- backups of a server that tears pages ------------------------------------------

sub load_begins
{
	my @args = ('pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $clients, '-j', 2, '-T', 600, '-f', "$dir/update.sql", 'postgres');
	return IPC::Run::start(\@args, '<', \undef, '>', \$load_out, '2>', \$load_err);
}

# pg_basebackup; does something when a share of all bytes has been sent.
sub backup
{
	my ($path, %at) = @_;
	my ($out, $err) = ('', '');
	my @sessions;
	my $run = IPC::Run::start([ 'pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port, '--checkpoint=fast',
			'--no-sync', '--no-verify-checksums', '--max-rate=10M' ], '<', \undef, '>', \$out, '2>', \$err);
	foreach my $share (sort keys %at)
	{
		for (my $i = 0; $i < 3000; $i++)
		{
			last if sql("SELECT CASE WHEN count(*) = 0 THEN $share > 0 ELSE max(backup_streamed) > $share * max(backup_total) END
				FROM pg_stat_progress_basebackup") eq 't';
			usleep(20000);
			last if !Accel::still_runs($run);
		}
		# a slow one must not keep the next one from its moment
		push @sessions, IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres'), map { ('-c', $_) } @{ $at{$share} } ],
			'<', \undef, '>', \$out, '2>', \$err);
	}
	ok($run->finish, 'pg_basebackup') or diag $err;
	$_->finish foreach @sessions;
	return;
}

my $backup = "$dir/backup";

my $load = load_begins();
my ($torn, $healed) = (0, 0);
sub backup_round
{
	my ($round, $to, %at) = @_;
	system('rm', '-rf', $to);
	usleep(500000);
	backup($to, %at);
	my ($bad, $good, $findings, $status) = split /\|/,
	  sql("SELECT bad_blocks, healed_blocks, findings, status FROM verify_backup_summary('$to')");
	is("$findings $status", '0 ok', "round $round: every torn page is restored by WAL ($bad)")
	  or diag sql("SELECT * FROM verify_backup('$to')");
	$torn += $bad;
	$healed += $good;
	return;
}
for (my $round = 1; $ENV{LONG} && $torn < 3000 && $round <= 100; $round++)
{
	backup_round($round, $backup);
}
backup_round('last', $backup, 0 => ['VACUUM hashed'], 0.6 => [ 'DROP TABLE dropped', 'VACUUM cut' ]);
# if reads have missed all torn pages so far
for (my $round = 1; $torn == 0 && $round <= 5; $round++)
{
	backup_round("after it $round", "$dir/more");
}
$load->signal('TERM');
$load->finish;
note("pgbench: $load_out $load_err");
cmp_ok($torn, '>=', 3000, "torn pages: $torn") if $ENV{LONG};
SKIP:
{
	# the storage tears pages, and reads may miss it; what is damaged below is certain
	skip 'no read met a page that was half written', 1 if $torn == 0;
	is($healed, $torn, "torn pages are healed, all of them: $torn");
}
is(sql("SELECT count(*) FROM verify_backup('$backup', include_healed => true) WHERE status <> 'ok_healed_by_wal'"), 0, 'include_healed shows healed ones alone');
ok(!system("pg_verifybackup $backup >/dev/null"), 'pg_verifybackup sees nothing');

# --- damage, judged, restored --------------------------------------------------------

sub flip
{
	my ($path, $block) = @_;
	open(my $file, '+<', $path) or die "$path: $!";
	seek($file, $block * 8192 + 5000, 0);
	read($file, my $byte, 1);
	seek($file, $block * 8192 + 12, 0);
	# pd_lower, pd_upper: pg_checksums passes over new pages
	read($file, my $header, 4);
	return if $header eq "\0" x 4;
	seek($file, $block * 8192 + 5000, 0);
	print $file chr(ord($byte) ^ 0x55);
	close($file);
	return;
}

sub copy_backup
{
	my ($to) = @_;
	system_or_bail('cp', '-a', $backup, $to);
	return $to;
}

sub blocks { return -s($_[0]) ? (-s $_[0]) / 8192 : 0; }

# Pages that are not in order: "file block" => status
sub judged
{
	my ($path) = @_;
	return map { /^(\S+ \d+) (\S+)$/ ? ($1 => $2) : () } split /\n/,
	  sql("SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('$path', include_healed => true) WHERE blkno IS NOT NULL");
}

sub with { my ($status, %pages) = @_; return join("\n", sort grep { $pages{$_} eq $status } keys %pages); }

my $restored = 0;
# Recovery of a copy up to where it is consistent, which is as far as the
# verdicts go; returns its node, or undef where recovery fails.
sub restore
{
	my ($path) = @_;
	my $copy = PostgreSQL::Test::Cluster->new('restored' . ++$restored);
	my $data = $copy->data_dir;
	system_or_bail('mkdir', '-p', $copy->basedir);
	system_or_bail('mv', $path, $data);
	chmod 0700, $data;
	$copy->append_conf('postgresql.conf', 'port = ' . $copy->port . "\nshared_buffers = 16MB\nrestore_command = 'false'\nrecovery_target = 'immediate'\nrecovery_target_action = 'promote'\n");
	append_to_file("$data/recovery.signal", '');
	return undef unless $copy->start(fail_ok => 1);
	$copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	return $copy;
}

sub bad_for_pg_checksums
{
	my ($node) = @_;
	my (undef, $err) = run_command([ 'pg_checksums', '-c', '-D', $node->data_dir ]);
	my @bad = $err =~ m{in file "[^"]*?((?:base|global)/[^"]*", block \d+)}g;
	s/", block// foreach @bad;
	return join("\n", sort @bad);
}

my $damaged = copy_backup("$dir/damaged");
foreach my $name (qw(hot cold dropped cut))
{
	next unless -e "$damaged/$file{$name}";
	flip("$damaged/$file{$name}", $_) foreach 0 .. blocks("$damaged/$file{$name}") - 1;
}
my %pages = judged($damaged);
my $corrupt = with('corrupt', %pages);
# on a slow machine the backup may have ended before much of it
my ($start, $end) = slurp_file("$backup/backup_manifest") =~ m{"Start-LSN": "([0-9A-F/]+)", "End-LSN": "([0-9A-F/]+)"};
my ($dump) = run_command([ 'pg_waldump', '-p', "$backup/pg_wal", '-s', $start, '-e', $end ]);

# How many blocks of a file WAL of the backup refers to.
sub blocks_in_wal
{
	my ($file) = @_;
	my ($node) = $file =~ m{(\d+)$};
	my %seen = map { $_ => 1 } grep { $_ < blocks("$backup/$file") } $dump =~ m{rel \d+/\d+/$node blk (\d+)}g;
	return scalar keys %seen;
}
my %count;
foreach my $page (keys %pages)
{
	my ($name) = grep { $page =~ /^$file{$_}(?:\.\d+)? / } keys %file;
	$count{$name // 'other'}{ $pages{$page} }++;
}
is(join(' ', sort keys %{ $count{cold} }), 'corrupt', 'no page that no WAL names is healed');
my $changed = blocks_in_wal($file{hot});
cmp_ok($count{hot}{ok_healed_by_wal} // 0, '>=', $changed < 100 ? $changed : 100, "changed pages are healed, of $changed: " . ($count{hot}{ok_healed_by_wal} // 0));
my $drop = -s "$backup/$file{dropped}" && $dump =~ m{COMMIT .*rels: [^;]*$file{dropped}\b};
is(join(' ', sort keys %{ $count{dropped} // {} }), $drop ? 'ok_healed_by_wal' : -s "$backup/$file{dropped}" ? 'corrupt' : '',
	'a dropped table needs no page: ' . ($count{dropped}{ok_healed_by_wal} // 0));
my ($left) = $dump =~ m{TRUNCATE $file{cut} to (\d+) blocks};
my $blocks = blocks("$backup/$file{cut}");
cmp_ok($count{cut}{ok_healed_by_wal} // 0, '>=', defined $left && $left < $blocks ? $blocks - $left : 0,
	'blocks that are cut off are not needed: ' . ($count{cut}{ok_healed_by_wal} // 0));
my $node2 = restore($damaged);
ok($node2, 'it is restored');
$node2->stop;
is(bad_for_pg_checksums($node2), $corrupt, 'after recovery exactly the corrupt pages are bad: ' . ($corrupt =~ tr/\n// + 1));
$node2->start;
is($node2->safe_psql('postgres', q{
		SET client_min_messages = error; CALL verify_database();
		SELECT DISTINCT concat_ws(' ', path, blkno) COLLATE "C" FROM verify_findings ORDER BY 1}),
	$corrupt, 'verify_database finds the same');
$node2->stop;

# --- a hash index: the first reference counts ----------------------------------------

my $all = copy_backup("$dir/hash_all");
flip("$all/$file{hashed_h}", $_) foreach 0 .. blocks("$all/$file{hashed_h}") - 1;
%pages = judged($all);
my @read = split /\n/, sql(qq{SELECT blkno FROM verify_backup('$all')
	WHERE path = '$file{hashed_h}' AND message LIKE '%recovery reads it%' ORDER BY blkno});
# all but those that are found: recovery must do without them
my %found = map { $_ => 1 } split /\n/, sql("SELECT blkno FROM verify_backup('$all') WHERE path = '$file{hashed_h}' AND blkno IS NOT NULL");
my @fine = grep { !$found{$_} } 0 .. blocks("$all/$file{hashed_h}") - 1;
note('hash index: ' . @fine . ' healed, ' . @read . ' read');
ok(@fine > 0 || blocks_in_wal($file{hashed_h}) == 0, 'pages of a hash index are healed: ' . @fine);
my $healing = copy_backup("$dir/hash_healed");
flip("$healing/$file{hashed_h}", $_) foreach @fine;
my $node3 = restore($healing);
ok($node3, 'with these damaged it is restored');
$node3->stop;
is(bad_for_pg_checksums($node3), '', 'and clean');
SKIP:
{
	skip 'no page of the hash index is read first', 1 unless @read;
	my $failing = copy_backup("$dir/hash_read");
	flip("$failing/$file{hashed_h}", $read[0]);
	is(restore($failing), undef, "a page whose first reference reads it stops recovery ($read[0])");
}

# --- WAL that is missing: nothing is decided --------------------------------------------

my $gap = copy_backup("$dir/gap");
my @segments = sort grep { /^[0-9A-F]{24}$/ } slurp_dir("$gap/pg_wal");
flip("$gap/$file{hot}", $_) foreach 0 .. 200;
unlink "$gap/pg_wal/$segments[0]";
%pages = judged($gap);
# (but of a map: one that is torn is made anew, whatever WAL says)
is(join(' ', sort keys %{ { map { $_ => 1 } grep { $_ ne 'ok_made_anew' } values %pages } }), 'undecided', 'without the first segment nothing is decided');
is(sql("SELECT bad_blocks > 200 AND healed_blocks = 0 AND status = 'damaged' FROM verify_backup_summary('$gap')"), 't', 'but a finding is there');

# its dirty pages would be written with a pause each
$node->stop('immediate');
done_testing();
