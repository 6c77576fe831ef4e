# A server starts from what is called sound, and does not start, or starts with
# less, from what is not: each kind of loss is made, verified, and started.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use File::Copy qw(move);
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nfull_page_writes = on\nshared_buffers = 1MB\nmax_wal_size = 1GB\n");
my $shim = Accel::fault_shim();
Accel::start_under($shim, $node);
my $port = PostgreSQL::Test::Cluster::get_free_port();

sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE t AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 20000) g;
	CREATE INDEX ON t (g)});
my $table = sql(q{SELECT pg_relation_filepath('t')});

# What is found, a line each; the arguments after the directory as given.
sub findings
{
	my ($backup, $more) = @_;
	return sql(q{SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('} . $backup . "'"
		  . ($more // '') . ') ORDER BY 1');
}

sub backup
{
	my ($name, @options) = @_;
	my $path = "$dir/$name";
	system_or_bail('pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '-l', "label of $name", @options);
	return $path;
}

# A copy of a folder.  Its files are those of the folder, so they are removed and
# made anew, never changed.
my $copies = 0;
sub copied
{
	my ($from, $how) = @_;
	my $to = "$dir/copy" . ++$copies;
	system_or_bail('cp', $how // '-al', $from, $to);
	return $to;
}

# A server on a copy: "starts", with the rows that a table has, t if none is named, or
# why it does not.
sub start_of
{
	my ($backup, $database, $table) = (@_, 'postgres', 't');
	my $copy = copied($backup, '-a');
	append_to_file("$copy/postgresql.conf",
		"port = $port\nlisten_addresses = ''\nunix_socket_directories = '$dir'\nlogging_collector = off\narchive_mode = off\nfsync = off\nlog_min_messages = warning\n");
	my $said = 'starts';
	if (system("pg_ctl -D '$copy' -l '$copy.log' -s -w start >'$dir/said' 2>&1"))
	{
		($said) = slurp_file("$copy.log") =~ /(?:FATAL|PANIC):\s+(.*)/;
		$said = 'no start: ' . ($said // 'and no reason');
	}
	else
	{
		chomp(my $rows = `psql -XAtq -h '$dir' -p $port -d $database -c 'SELECT count(*) FROM $table' 2>&1`);
		$said .= " $rows";
	}
	system("pg_ctl -D '$copy' -s -m immediate -w stop >'$dir/said' 2>&1");
	system('rm', '-rf', $copy, "$copy.log");
	return $said;
}

my $backup = backup('plain');
is(findings($backup), '', 'an intact backup');
is(start_of($backup), 'starts 20000', 'it starts');
my $tar = backup('tar', '--format=tar');

# --- folders ---------------------------------------------------------------------------

my @folders = qw(pg_commit_ts pg_logical/mappings pg_logical/snapshots pg_multixact/members pg_multixact/offsets
  pg_notify pg_replslot pg_subtrans pg_tblspc pg_twophase pg_xact);
foreach my $folder (@folders)
{
	my $less = copied($backup);
	system_or_bail('rm', '-rf', "$less/$folder");
	like(findings($less), qr{^\Q$folder\E missing$}m, "without $folder: found");
	like(start_of($less), qr{^no start: }, "without $folder: no start");
	append_to_file("$less/$folder", '');
	like(findings($less), qr{^\Q$folder\E missing$}m, "a file in the place of $folder: found");
	system('rm', '-rf', $less);
}

# what object stores, zip and rsync -m leave of it
my $less = copied($backup);
system_or_bail('find', $less, '-mindepth', '1', '-type', 'd', '-empty', '-delete');
my $found = findings($less);
like($found, qr{^$_ missing$}m, "no empty folders: $_") foreach qw(pg_notify pg_serial pg_snapshots);
unlike($found, qr{pg_(?:stat|dynshmem|stat_tmp|wal)\b}, 'no empty folders: those that the server makes, or does without');
mkdir "$less/$_" foreach map { /^(\S+) missing$/ ? $1 : () } split /\n/, $found;
is(findings($less), '', 'those that are needed made by hand');
is(start_of($less), 'starts 20000', 'it starts again');
system('rm', '-rf', $less);

# An archive without its members that are folders: files make those that they are in.
my $base = BackupTar::bytes_of("$tar/base.tar");
my $flat = "$dir/flat";
system_or_bail('cp', '-a', $tar, $flat);
my $bytes = $base;
$bytes = BackupTar::without($bytes, $_) foreach grep { m{/$} || !/\./ && /^(?:base|global|pg_\w+)$/ } map { $_->[0] } BackupTar::members($base);
BackupTar::put_bytes("$flat/base.tar", $bytes);
my $plain = BackupTar::extract($flat, "$dir/flat_plain");
is(findings($flat), findings($plain), 'an archive without folders: what is found is what is found in it extracted');
like(findings($flat), qr{^pg_notify missing$}m, 'an archive without folders: found');
unlike(findings($flat), qr{^(?:base|global|pg_xact) missing$}m, 'an archive without folders: those that files are in');
like(start_of($plain), qr{^no start: }, 'an archive without folders: no start');
is(findings($tar), '', 'an archive with folders');

# --- a copy made by hand: the end of the WAL, the label ----------------------------------

sub put_text
{
	my ($path, $text) = @_;
	unlink $path;
	AccelWal::put($path, $text);
	return;
}

sub gzip { system_or_bail('gzip', '-f', $_[0]); return; }
sub segments { return sort grep { /^[0-9A-F]{24}$/ } slurp_dir("$_[0]/pg_wal"); }

# The copy is older than some changes, which are in its WAL alone.
my $hot = "$dir/hot";
sql($_) foreach 'CREATE TABLE w (filler text)', 'CREATE TABLE dropped AS SELECT 1 AS i';
my $gone = sql(q{SELECT pg_relation_filepath('dropped')});
my $database = $gone =~ s{/\d+$}{}r;
my $session = $node->background_psql('postgres');
$session->query_safe(q{SELECT pg_backup_start('hot', true)});
system_or_bail('cp', '-a', $node->data_dir, $hot);
system_or_bail('rm', '-rf', "$hot/postmaster.pid", "$hot/backup_label", glob("$hot/pg_wal/*"));
sql($_) foreach q{UPDATE t SET filler = 'early' WHERE g = 1}, q{INSERT INTO t SELECT g, 'later' FROM generate_series(20001, 25000) g},
  'DROP TABLE dropped', 'CHECKPOINT', q{INSERT INTO w SELECT repeat('w', 100) FROM generate_series(1, 10000)}, 'SELECT pg_switch_wal()';
my $late_block = sql(q{SELECT (ctid::text::point)[0]::int FROM t WHERE g = 10000});
sql(q{DELETE FROM t WHERE g = 10000});
system_or_bail('cp', '-a', $node->data_dir . '/global/pg_control', "$hot/global/pg_control");
my $label = $session->query_safe(q{SELECT labelfile FROM pg_backup_stop(false)}) . "\n";
$label =~ s/\n+$/\n/;
$session->quit;
put_text("$hot/backup_label", $label);
AccelWal::copy_files($node->data_dir . '/pg_wal', "$hot/pg_wal");
# pages that were being written when they were copied
AccelWal::poke("$hot/$table", 8192 * $_ + 4000, 'torn' x 100) foreach 0, $late_block;

my $none = 'backup_manifest ok_no_manifest';
is(findings($hot), $none, 'a copy made by hand');
is(findings($hot, ', include_healed => true'), join("\n", sort $none, "$table 0 ok_healed_by_wal", "$table $late_block ok_healed_by_wal"), 'its torn pages');
is(start_of($hot), 'starts 24999', 'a copy made by hand: it starts');
is(sql("SELECT status, findings, message FROM verify_backup_summary('$hot')"), 'ok|0|there is no manifest: files were compared with nothing',
	'that there is no manifest is no finding');
my ($began) = $label =~ m{START WAL LOCATION: (\S+)};
ok(sql("SELECT end_lsn > '$began' FROM verify_backup_summary('$hot')") eq 't', 'the end of its WAL is known');

# [ what, change of a copy, findings, of a start ]
my $no_start = qr{^no start: };
my $cut = qr{^\Q$table\E $late_block undecided\npg_wal missing$}m;
my ($first) = $label =~ /\(file (\w+)\)/;
my @needed = grep { $_ ge $first } segments($hot);
my @losses = (
	[ 'the tail of the WAL', sub { unlink map { "$_[0]/pg_wal/$_" } @needed[ 2 .. $#needed ] }, $cut, $no_start ],
	[ 'a segment, to random bytes', sub { put_text("$_[0]/pg_wal/$needed[1]", pack('C*', map { int rand 256 } 1 .. 1024 * 1024)) },
		qr{^pg_wal/$needed[1] corrupt$}m, $no_start ],
	[ 'a segment, to a compressed one', sub { gzip("$_[0]/pg_wal/$needed[1]") }, qr{^pg_wal/$needed[1].gz bad_format$}m, $no_start ],
	[ 'a segment, to a folder', sub { my $in = "$_[0]/pg_wal/" . substr($needed[1], 0, 16); mkdir $in; rename "$_[0]/pg_wal/$needed[1]", "$in/$needed[1]" },
		qr{^pg_wal/\w+/$needed[1] bad_format$}m, $no_start ],
	[ 'the label', sub { unlink "$_[0]/backup_label" }, qr{^backup_label undecided$}m, qr{^(?:no start: |starts (?!24999))} ],
	[ 'the label\'s line ends', sub { put_text("$_[0]/backup_label", $label =~ s/\n/\r\n/gr) }, qr{^backup_label bad_format$}m, $no_start ],
	[ 'the checkpoint', sub { put_text("$_[0]/backup_label", $label =~ s{(CHECKPOINT LOCATION: )\S+}{$1$began}r) },
		qr{^backup_label bad_format$}m, $no_start ],
	[ 'the server it is from', sub { put_text("$_[0]/backup_label", $label =~ s/FROM: primary/FROM: standby/r) },
		qr{^backup_label bad_format$}m, $no_start ],
	[ 'the version of a database', sub { unlink "$_[0]/$database/PG_VERSION" }, qr{^$database/PG_VERSION missing$}m, qr{^starts .*FATAL: } ],
	[ 'the release of a database', sub { put_text("$_[0]/$database/PG_VERSION", "1\n") }, qr{^$database/PG_VERSION bad_format$}m, qr{^starts .*FATAL: } ],
	[ 'the map of a database', sub { unlink "$_[0]/$database/pg_filenode.map" }, qr{^$database/pg_filenode.map missing$}m, qr{^starts .*FATAL: } ],
	[ 'both', sub { unlink map { "$_[0]/$database/$_" } qw(PG_VERSION pg_filenode.map) },
		qr{^$database/PG_VERSION missing\n$database/pg_filenode.map missing$}m, qr{^starts .*FATAL: } ],
	[ 'the first file of a table', sub { rename "$_[0]/$table", "$_[0]/$table.1" }, qr{^\Q$table\E missing$}m, qr{^(?:no start: |starts (?!24999))} ],
	[ 'the first file of what pg_class does not name', sub { put_text("$_[0]/$database/99999.1", '') }, qr{^\Q$database\E/99999 undecided$}m, qr{^starts 24999} ],
);
foreach (@losses)
{
	my ($what, $change, $like, $start) = @$_;
	my $changed = copied($hot);
	$change->($changed);
	like(findings($changed), $like, "lost: $what: found");
	like(start_of($changed), $start, "lost: $what: what a start does");
	system('rm', '-rf', $changed);
}

# between both copies of a dropped table's files
my $between = copied($hot);
rename "$between/$gone", "$between/$gone.1";
is(findings($between), $none, 'the first file of a table that was dropped meanwhile');
is(start_of($between), 'starts 24999', 'the first file of a table that was dropped meanwhile: it starts');
system('rm', '-rf', $between);

# a segment that cannot be read may be sound
sql("CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C");
foreach my $call (qw(open read))
{
	my $said = sql("SELECT WHERE fault_arm('$call', 'eio', 1, true, 'hot/pg_wal/$needed[1]') IS NULL;
		SELECT concat_ws(' ', path, blkno, status) FROM verify_backup('$hot') ORDER BY 1; SELECT fault_fired() > 0");
	like($said, qr{^pg_wal/$needed[1] io_error$}m, "EIO, $call: the segment could not be read");
	unlike($said, qr{ (?:corrupt|bad_format)$}m, "EIO, $call: nothing is called damaged");
	like($said, qr{^t$}m, "EIO, $call: it came");
}

# --- what the server makes anew ----------------------------------------------------------

sql($_) foreach 'CREATE UNLOGGED TABLE u AS SELECT g FROM generate_series(1, 1000) g', 'VACUUM t', 'CHECKPOINT';
my $unlogged = sql(q{SELECT pg_relation_filepath('u')});
my $maps = backup('maps');
system_or_bail('cp', '-a', $node->data_dir . "/$unlogged", "$maps/$unlogged");
unlink "$maps/backup_manifest";
AccelWal::poke("$maps/$_", 4000, 'torn' x 100) foreach "${table}_fsm", "${table}_vm", $unlogged;
is(findings($maps), $none, 'torn pages of maps and of an unlogged relation');
is(findings($maps, ', include_healed => true'), join("\n", sort $none, map { "$_ 0 ok_made_anew" } "${table}_fsm", "${table}_vm", $unlogged), 'they are named');
is(start_of($maps), 'starts ' . sql('SELECT count(*) FROM t'), 'the server makes them anew');

# --- a catalog that is rewritten meanwhile ------------------------------------------------

# the map is copied before, the files are after it
my $rewriting = $node->background_psql('postgres');
$rewriting->query_safe("SELECT pg_backup_start('rewritten', true)");
my $map = slurp_file($node->data_dir . "/$database/pg_filenode.map");
sql($_) foreach 'VACUUM FULL pg_type', 'CHECKPOINT';
my $rewritten = "$dir/rewritten";
system_or_bail('cp', '-a', $node->data_dir, $rewritten);
AccelWal::put("$rewritten/$database/pg_filenode.map", $map);
AccelWal::put("$rewritten/backup_label", $rewriting->query_safe('SELECT labelfile FROM pg_backup_stop(false)') . "\n");
$rewriting->quit;
unlink "$rewritten/postmaster.pid", glob("$rewritten/pg_wal/0*");
system_or_bail('cp', $_, "$rewritten/pg_wal") foreach glob($node->data_dir . '/pg_wal/0*');
is(findings($rewritten), $none, 'the map of a catalog that was rewritten meanwhile');
is(findings($rewritten, ', include_healed => true'), join("\n", sort $none, "$database/pg_filenode.map ok_healed_by_wal"), 'it is named');
is(start_of($rewritten), 'starts ' . sql('SELECT count(*) FROM t'), 'the server writes it again');
unlink "$rewritten/$database/PG_VERSION";
is(findings($rewritten), "$none\n$database/PG_VERSION missing", 'no map restores PG_VERSION');

# --- a database that is made meanwhile ----------------------------------------------------

# its map is written, and not all files that this names are there
my @mapped = split /\n/, $node->safe_psql('template1', q{SELECT pg_relation_filenode(oid) FROM pg_class
	WHERE relfilenode = 0 AND NOT relisshared AND relkind = 'r' ORDER BY ctid});
my $making = $node->background_psql('postgres');
Accel::stopped_at($node, 'open', 1, "base/50000/$mapped[2]\$", 'CREATE DATABASE made OID 50000 STRATEGY wal_log', sub {
	$making->query_safe("SELECT pg_backup_start('made', true)");
	system_or_bail('cp', '-a', $node->data_dir . '/base/50000', "$dir/half_made");
});
ok(-s "$dir/half_made/$mapped[0]" && !-e "$dir/half_made/$mapped[2]", 'half of its files');
my $half = "$dir/half";
system_or_bail('cp', '-a', $node->data_dir, $half);
system_or_bail('rm', '-rf', "$half/base/50000", "$half/postmaster.pid", glob("$half/pg_wal/0*"));
move("$dir/half_made", "$half/base/50000");
AccelWal::put("$half/backup_label", $making->query_safe('SELECT labelfile FROM pg_backup_stop(false)') . "\n");
$making->quit;
system_or_bail('cp', $_, "$half/pg_wal") foreach glob($node->data_dir . '/pg_wal/0*');
is(findings($half), $none, 'a database that was made meanwhile');
is(findings($half, ', include_healed => true'), join("\n", sort $none, 'base/50000/pg_filenode.map ok_healed_by_wal'), 'its map is named, once');
is(start_of($half, 'made', 'pg_class'), 'starts ' . $node->safe_psql('made', 'SELECT count(*) FROM pg_class'), 'the server makes the rest');
my $halved = copied($half);
unlink "$halved/base/50000/$mapped[0]";
is(findings($halved), "$none\nbase/50000/pg_filenode.map not_verifiable", 'one of its files is lost that was there');
unlike(start_of($halved, 'made', 'pg_class'), qr/^starts \d/, 'one of its files is lost that was there: what a start does');
system('rm', '-rf', $half, glob "$dir/copy*");

# --- a standby ----------------------------------------------------------------------------

my $standby = PostgreSQL::Test::Cluster->new('standby');
$node->backup('first');
$standby->init_from_backup($node, 'first', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $of_standby = "$dir/of_standby";
system_or_bail('pg_basebackup', '-D', $of_standby, '-h', $standby->host, '-p', $standby->port, '--checkpoint=fast', '--no-sync');
my $bare = copied($of_standby);
unlink "$bare/backup_manifest", "$bare/standby.signal";
is(findings($of_standby), '', 'a backup from a standby');
is(findings($bare), $none, 'a backup from a standby without a manifest');
unlike(sql("SELECT coalesce(end_lsn::text, 'unknown') FROM verify_backup_summary('$bare')"), qr/unknown/, 'the end of its WAL is known');

# WAL that the standby has replayed since, and pages that it has written
sql($_) foreach q{UPDATE t SET filler = 'more' WHERE g % 10 = 0}, 'SELECT pg_switch_wal()', 'CHECKPOINT';
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
$standby->stop;
my $control = AccelWal::peek($standby->data_dir . '/global/pg_control', 0, 8192);
foreach ([ 'with a manifest', $of_standby, '' ], [ 'without a manifest', $bare, $none ])
{
	my ($what, $path) = @$_;
	my $changed = copied($path);
	unlink "$changed/standby.signal";
	put_text("$changed/global/pg_control", $control);
	# as one restores: the server does not ask without it
	append_to_file("$changed/recovery.signal", '');
	put_text("$changed/postgresql.auto.conf", "restore_command = 'false'\n");
	like(findings($changed), qr{^(?:global/pg_control bad_format|pg_wal/\w+ missing|pg_wal missing)$}m, "a later pg_control, $what: found");
	like(start_of($changed), $no_start, "a later pg_control, $what: no start");
	system('rm', '-rf', $changed);
}

# --- data directories ---------------------------------------------------------------------

# as a snapshot of a running server has it: pages are newer than the checkpoint
sql($_) foreach 'CHECKPOINT', 'SELECT pg_switch_wal()', q{UPDATE t SET filler = 'again'}, q{INSERT INTO w SELECT repeat('w', 100) FROM generate_series(1, 10000)};
my $at = sql('SELECT pg_current_wal_flush_lsn()');
my $rows = sql('SELECT count(*) FROM t');
$node->stop('immediate');
my $crashed = copied($node->data_dir, '-a');
unlink "$crashed/postmaster.pid";
$node->start;
is(findings($crashed), $none, 'a server that crashed');
is(start_of($crashed), "starts $rows", 'a server that crashed: it starts');
my $last_file = sql("SELECT pg_walfile_name('$at')");
unlink map { "$crashed/pg_wal/$_" } grep { $_ ge $last_file } segments($crashed);
like(findings($crashed), qr{ lsn_in_future$}m, 'its newest WAL is gone: a page is newer');
system('rm', '-rf', $crashed);

$node->stop;
my $stopped = copied($node->data_dir, '-a');
$node->start;
is(findings($stopped), $none, 'a server that was stopped');
is(start_of($stopped), "starts $rows", 'a server that was stopped: it starts');
my $xact = (sort(slurp_dir("$stopped/pg_xact")))[-1];
rename "$stopped/pg_xact/$xact", "$stopped/xact";
is(findings($stopped), "$none\npg_xact/$xact missing", 'the status of its transactions is gone: found');
like(start_of($stopped), qr{^(?:no start: |starts (?!$rows))}, 'the status of its transactions is gone: what a start does');
rename "$stopped/xact", "$stopped/pg_xact/$xact";
unlink map { "$stopped/pg_wal/$_" } segments($stopped);
like(findings($stopped), qr{^pg_wal missing$}m, 'its WAL is gone: found');
like(start_of($stopped), $no_start, 'its WAL is gone: no start');

$node->stop;
done_testing();
