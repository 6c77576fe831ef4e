# Shapes of load that pgbench does not have, with settings that nobody chose: what
# is sound must be found sound, on a primary, its standby, its archive, what
# pg_receivewal has received, and base backups.  Each round has other settings.
#
#	ACCEL_STORM_SECONDS		how long (default 8; above 40 in rounds of 15 to 35)
#	ACCEL_SEED				the seed that an earlier run has printed
#
# A row of %shape, %setting or %look is all that it takes to add one.
use strict;
use warnings;
use Accel;
use AccelWal;
use Cwd ();
use File::Basename ();
use File::Path ();
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Storm qw(fill in_background pick said_by session);
use Test::More;
use Time::HiRes qw(usleep);

my $seconds = $ENV{ACCEL_STORM_SECONDS} || 8;
my $seed = $ENV{ACCEL_SEED} // int(rand(2**31));
my $program = Cwd::getcwd() . '/crc32c_verify';
my $tmp = Storm::folder();
srand $seed;

# --- settings --------------------------------------------------------------------

my %in_segments = (max_wal_size => [qw(4 8 32)], min_wal_size => [2], wal_keep_size => [qw(0 0 8)]);
my %setting = (
	wal_level => [qw(minimal replica replica logical)], full_page_writes => [qw(on on off)], wal_compression => [qw(off pglz lz4 zstd)],
	wal_buffers => [qw(64kB 256kB 1MB 16MB)], wal_writer_delay => [qw(1ms 10ms 200ms 10s)], wal_writer_flush_after => [qw(0 8kB 64kB 1MB)],
	synchronous_commit => [qw(on off)], commit_delay => [qw(0 0 1000)], wal_skip_threshold => [qw(0 64kB 2MB)],
	wal_init_zero => [qw(on off)], wal_recycle => [qw(on off)], wal_log_hints => [qw(on off)], wal_consistency_checking => [ "''", "''", "''", 'all' ],
	checkpoint_timeout => [qw(30s 1h)], checkpoint_completion_target => [qw(0.1 0.9)], summarize_wal => [qw(on off)],
	shared_buffers => [qw(1MB 2MB 16MB)], bgwriter_lru_maxpages => [qw(0 1000)], backend_flush_after => [qw(0 128kB)], io_method => [qw(sync worker)],
	autovacuum => [qw(on on off)], max_parallel_maintenance_workers => [qw(0 2)], track_commit_timestamp => [qw(on off)]);
my $always = join '', map { "$_\n" } 'max_connections = 60', 'max_worker_processes = 16', 'max_prepared_transactions = 20', 'max_locks_per_transaction = 200',
  'autovacuum_naptime = 1', 'bgwriter_delay = 10', 'deadlock_timeout = 100ms', 'max_standby_streaming_delay = 2s', 'max_standby_archive_delay = 2s',
  'allow_in_place_tablespaces = on', 'restart_after_crash = on', 'log_statement = none';

# --- shapes ----------------------------------------------------------------------

# <1-9> a number, <a|b> one of both, <size> of 30 bytes to megabytes, <t> a table,
# <d> a database, <g> a name for a prepared transaction
my %shape = (
	message => q[SELECT pg_logical_emit_message(<true|false>, 'm', repeat('m', <size>))],
	messages => q[SELECT pg_logical_emit_message(random() < 0.5, 'm', repeat('m', (30 * exp(random() * 8))::int)) FROM generate_series(1, <1-200>)],
	to_page => q[SELECT pg_logical_emit_message(false, 'x', repeat('x', greatest(1, <0-4> * 8192 + 8192 - ((pg_current_wal_insert_lsn() - '0/0') % 8192)::int - 60 + <0-80> - 40))) FROM generate_series(1, <1-20>)],
	to_segment => q[SELECT pg_logical_emit_message(false, 'x', repeat('x', (s - 200 - (pg_current_wal_insert_lsn() - '0/0') % s - ((s - (pg_current_wal_insert_lsn() - '0/0') % s) / 8192)::int * 24 + <0-400>)::int)) FROM (SELECT pg_size_bytes(current_setting('wal_segment_size')) AS s) o WHERE s <= 1048576 OR (pg_current_wal_insert_lsn() - '0/0') % s > s / 2],
	toast => q[INSERT INTO <t> SELECT g, (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, <1-3000>) x WHERE g > 0) FROM generate_series(1, <1-8>) g],
	wide => q[INSERT INTO <t> SELECT g, repeat('w', <size>) FROM generate_series(1, 2) g],
	copy => q[COPY <t> (a, b) FROM PROGRAM 'seq -f "%.0f,row of many" <1-5000>' (FORMAT csv)],
	copy_freeze => q[BEGIN; TRUNCATE <t>; COPY <t> (a, b) FROM PROGRAM 'seq -f "%.0f,frozen" <1-5000>' (FORMAT csv, FREEZE); <COMMIT|COMMIT|ROLLBACK>],
	grow => q[INSERT INTO shared SELECT g, repeat('s', <1-2000>) FROM generate_series(1, <1-2000>) g],
	update => q[UPDATE <t> SET b = b || 'u' WHERE a % <1-20> = 0],
	delete => q[DELETE FROM <t> WHERE a > <1-3000>],
	index => q[DROP INDEX IF EXISTS <t>_i; CREATE INDEX <t>_i ON <t> <(a)|USING hash (a)|USING brin (a)|USING gin (to_tsvector('simple', left(b, 900)))|USING gist (point(a, length(b)))|USING spgist (point(a, length(b)))|USING spgist (left(b, 400))|(a) WITH (fillfactor = 30)>],
	concurrent => q[DROP INDEX CONCURRENTLY IF EXISTS <t>_c; CREATE INDEX CONCURRENTLY <t>_c ON <t> USING <btree|hash|brin> (a)],
	reindex => q[REINDEX TABLE <CONCURRENTLY|> <t>],
	reindex_catalog => q[<REINDEX TABLE pg_class|REINDEX TABLE pg_attribute|VACUUM FULL pg_class|VACUUM FULL pg_shdepend|REINDEX TABLE pg_tablespace|VACUUM FULL pg_type|VACUUM FULL pg_largeobject>],
	create_as => q[DROP TABLE IF EXISTS <t> CASCADE; CREATE <|UNLOGGED> TABLE <t> AS SELECT g AS a, repeat('c', <1-300>) AS b FROM generate_series(1, <1-5000>) g],
	view => q[DROP MATERIALIZED VIEW IF EXISTS <v>; CREATE MATERIALIZED VIEW <v> AS SELECT a, b FROM <t>; REFRESH MATERIALIZED VIEW <v>],
	subtransactions => q[DO $$ BEGIN FOR i IN 1 .. <1-3000> LOOP BEGIN INSERT INTO <t> VALUES (i, 'sub'); <|IF i % 3 = 0 THEN RAISE 'no'; END IF;> EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$],
	relations => q[DO $$ BEGIN FOR i IN 1 .. <1-100> LOOP EXECUTE format('CREATE TABLE IF NOT EXISTS many_%s_%s (a serial PRIMARY KEY, b text)', pg_backend_pid(), i); END LOOP; END $$; DO $$ BEGIN FOR i IN 1 .. 100 LOOP EXECUTE format('DROP TABLE IF EXISTS many_%s_%s', pg_backend_pid(), i); END LOOP; END $$],
	prepared => q[BEGIN; INSERT INTO <t> SELECT g, 'p' FROM generate_series(1, <1-500>) g; <|TRUNCATE <t>;|CREATE TABLE <g>t (a int);> PREPARE TRANSACTION '<g>'],
	finish => q[SELECT format('<COMMIT|COMMIT|ROLLBACK> PREPARED %L', gid) FROM pg_prepared_xacts WHERE database = current_database() \gexec],
	truncate => q[TRUNCATE <t>],
	drop => q[DROP TABLE IF EXISTS <t> CASCADE; CREATE <UNLOGGED|> TABLE <t> (a int, b text)],
	cluster => q[CLUSTER <t> USING <t>_i],
	full => q[VACUUM (FULL) <t>],
	vacuum => q[VACUUM (<FREEZE|ANALYZE|DISABLE_PAGE_SKIPPING|INDEX_CLEANUP off>) <t>],
	cut => q[DELETE FROM <t> WHERE ctid > '(<0-20>,1)'; VACUUM <t>; INSERT INTO <t> SELECT g, 'again' FROM generate_series(1, <1-3000>) g],
	space => q[ALTER TABLE <t> SET TABLESPACE <pg_default|elsewhere>],
	logged => q[ALTER TABLE <t> SET <LOGGED|UNLOGGED>],
	rewrite => q[ALTER TABLE <t> DROP COLUMN IF EXISTS c, ADD COLUMN c float DEFAULT random()],
	alter_type => q[ALTER TABLE <t> ALTER a TYPE <bigint|int>],
	temporary => q[CREATE TEMP TABLE IF NOT EXISTS here (a int, b text) ON COMMIT <DROP|DELETE ROWS|PRESERVE ROWS>; INSERT INTO here SELECT g, 'temporary' FROM generate_series(1, <1-5000>) g],
	sequence => q[CREATE SEQUENCE IF NOT EXISTS <q>; SELECT count(nextval('<q>')) FROM generate_series(1, <1-200>); SELECT setval('<q>', <1-99>); ALTER SEQUENCE <q> INCREMENT <1-9>],
	object => q[SELECT lo_unlink(oid) FROM pg_largeobject_metadata ORDER BY random() LIMIT 1; SELECT lo_from_bytea(0, repeat('o', <size>)::bytea)],
	database => q[DROP DATABASE IF EXISTS <d>; CREATE DATABASE <d> TEMPLATE <template0|template1|other> STRATEGY <wal_log|file_copy>],
	move => q[ALTER DATABASE <d> SET TABLESPACE <pg_default|elsewhere>],
	drop_database => q[DROP DATABASE IF EXISTS <d> <|WITH (FORCE)>],
	switch => q[SELECT pg_switch_wal()],
	restore_point => q[SELECT pg_create_restore_point('point')],
	checkpoint => q[CHECKPOINT],
	abort => q[BEGIN; INSERT INTO <t> SELECT g, repeat('a', <1-900>) FROM generate_series(1, <1-3000>) g; CREATE TABLE aborted AS SELECT * FROM <t>; ROLLBACK],
	hint => q[SELECT count(*), max(a) FROM <t>],
	lock => q[BEGIN; SELECT count(*) FROM (SELECT 1 FROM <t> LIMIT 500 FOR <SHARE|UPDATE|KEY SHARE>) l; SAVEPOINT s; UPDATE <t> SET b = 'locked' WHERE a < 9; <COMMIT|ROLLBACK TO s; COMMIT>],
	notify => q[NOTIFY n, 'x'],
	slot => q[SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = 'decoded' AND NOT active; SELECT pg_create_logical_replication_slot('decoded', 'test_decoding'); SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, NULL)],
	decode => q[SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, 100)],
	origin => q[SELECT pg_replication_origin_advance('origin', pg_current_wal_lsn())],
	cancel => q[SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'parallel worker', 'autovacuum worker') ORDER BY random() LIMIT 1],
	kill => q[SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'parallel worker') ORDER BY random() LIMIT 1],
);

# --- looks -----------------------------------------------------------------------

# A row is something that must not be said.  <io> are arguments of all that read,
# <archive>, <received> and <data> folders.  What the server has removed by now is
# no gap.
my $bad = "status !~ '^ok'";
my $gap = "$bad AND NOT (status = 'missing' AND is_gone(segment))";
my $there = "NOT (status = 'not_verifiable' AND is_gone(segment))";
my $block = 'SELECT o, b, x.* FROM some_relation() o, some_block(o) b';
my %look = (
	wal => "SELECT * FROM verify_wal(<io>) WHERE $gap",
	wal_range => "SELECT * FROM verify_wal(start_lsn => some_lsn(), <io>) WHERE $gap",
	wal_part => "SELECT w.* FROM some_lsn() a, some_lsn() b, verify_wal(start_lsn => least(a, b), end_lsn => greatest(a, b), <io>) w WHERE $gap",
	wal_segment => "SELECT w.* FROM some_segment() s, verify_wal(NULL, s, s) w WHERE $gap",
	wal_findings => "SELECT w.* FROM some_segment() s, verify_wal_findings(NULL, s) w WHERE NOT (status = 'missing' AND is_gone(s))",
	wal_archive => "SELECT * FROM verify_wal('<archive>', <io>) WHERE $bad",
	wal_archive_again => "CALL verify_wal_archive('<archive>', <io>)",
	wal_received => "SELECT * FROM verify_wal('<received>', <io>) WHERE $bad",
	images => "SELECT * FROM verify_wal_images() WHERE $there",
	images_since => "SELECT * FROM verify_wal_images(start_lsn => some_lsn()) WHERE $there",
	images_archive => "SELECT * FROM verify_wal_images('<archive>')",
	lost => "SELECT * FROM verify_lost_writes(direct_io => <direct>) WHERE $there",
	lost_since => "SELECT * FROM verify_lost_writes(start_lsn => some_lsn(), direct_io => <direct>) WHERE $there",
	lost_archive => "SELECT * FROM verify_lost_writes('<archive>', direct_io => <direct>) WHERE $there",
	relation => 'SELECT r.* FROM some_relation() o, verify_relation(o, include_toast => true, include_indexes => true, <io>) r',
	relations => "SELECT format('SELECT * FROM verify_relation(%s)', oid) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND (oid >= 16384 OR random() < 0.1) \\gexec",
	files => 'SELECT o, f.* FROM some_relation() o, relation_files(o) f WHERE is_finding',
	page_digests => 'SELECT count(*) FROM some_relation() o, page_digests(o, masked => <true|false>) HAVING count(*) < 0',
	database => 'CALL verify_database(record_digests => <record>, <io>)',
	cluster => 'CALL verify_cluster(record_digests => <record>, lost_writes => <true|false>, <io>)',
	ledger => "SELECT * FROM verify_page_digests(<io>) WHERE status <> 'not_verifiable'",
	cluster_files => "SELECT * FROM verify_cluster_files() WHERE $bad",
	heal => "$block, heal_block(o, 'main', b) x WHERE status <> 'healthy'",
	restore => "$block, read_disk_page(o, 'main', b) p, restore_block(o, 'main', b, p) x WHERE status <> 'healthy' AND message !~ 'all zeros\$'",
	history => "$block, wal_block_history(o, 'main', b) x WHERE kind = 'gap' AND NOT is_gone(segment)",
	image => "$block, wal_block_history(o, 'main', b) h, wal_page_image(o, 'main', b, NULL, h.lsn) p, verify_page(p, b) x WHERE kind = 'image' AND status <> 'ok'",
	backup => \&look_at_backup,
	program_cluster => '! cluster -q <data>',
	program_wal => '! wal -q <data>/pg_wal',
	program_archive => '! wal -q <archive>',
	program_received => '! wal -q <received>',
	program_images => '! images -q <archive>');

# What others at work explain, and what docs/ calls not verifiable, and why.  A backup
# lacks files of a database that was moved, or copied and dropped, while it was made.
my $excused = join '|', 'canceling statement due to', 'terminating (?:connection|background worker|parallel worker)', 'parallel worker .* lost',
  'server closed the connection', 'connection to (?:the )?server', 'This probably means', 'before or while processing', 'the database system is',
  'deadlock detected', 'Process \d+ waits', 'does not exist', 'could not open (?:relation|database)', 'being accessed', 'is being verified', 'tuple concurrently',
  'requested WAL segment', 'no valid WAL record starts at', 'data checksums are disabled', 'temporary relations live', 'is being (?:built|dropped) concurrently',
  'unlogged relations have no contents', 'no WAL is written of unlogged relations', 'no segment in common', 'there is no segment of WAL',
  'is named as a WAL segment', 'was written within a minute', 'only DROP DATABASE is possible', 'the file was there when', 'block \d+ is not in fork',
  'pg_database has no row', '/(?:PG_VERSION|pg_filenode\.map)\b.*recovery reads it for the record', 'a database is copied from this folder', 'by pg_class of its database.*recovery reads it for the record', '\.(?:gz|lz4)\.partial\b.*\bnot_verifiable\b', 'could not verify \d+ more relations';		# after as many that were named

# --- sessions --------------------------------------------------------------------

my %of_shape = (
	(map { my ($letter, $count) = @$_; $letter => sub { $letter . int rand $count } } [ t => 5 ], [ d => 2 ], [ v => 3 ], [ q => 3 ], [ g => 1000 ]),
	size => sub { int(30 * exp(rand log 100_000)) });

sub load
{
	my ($node, @shapes) = @_;
	my $out = session($node, 'load', join '', map { fill($shape{ pick(@shapes) }, \%of_shape) } 1 .. 30);
	usleep(200_000) if $out =~ /^psql: error/m;
	return;
}

# A server that is killed as it ends a segment archives that one when a checkpoint
# is about to remove it (XLogArchiveCheckDone).  So long the archive has a gap.
my @data;
sub is_unarchived
{
	my ($segment) = $_[0] =~ /\b([0-9A-F]{24})\b.*the segment is not there/ or return 0;
	return scalar grep { -e "$_/$segment" && !-e "$_/archive_status/$segment.ready" && !-e "$_/archive_status/$segment.done" } map { "$_/pg_wal" } @data;
}

# Notes what a look says that it must not say.  The line that counts findings counts
# those that are excused, too.
sub judge
{
	my ($what, $out) = @_;
	my ($bad, $excuses) = ('', 0);

	$out =~ s/\nDETAIL: */: /g;
	$out =~ s/^.*: 0 (?:with )?findings, 0 not verifiable$//mg;
	foreach (split /\n/, $out)
	{
		next if /^\s*$/ || /^(?:NOTICE|HINT|LINE|CONTEXT|QUERY|\s)/ || /INFO: .*(?: 0 findings|; 0 bad)/;
		if (/$excused/ || is_unarchived($_)) { $excuses++; }
		elsif (!$excuses || !/^INFO: /) { $bad .= "$_\n"; }
	}
	append_to_file("$tmp/found", POSIX::strftime('%H:%M:%S', localtime) . " $what:\n$bad" . ($out eq $bad ? '' : "... in: $out") . "\n") if $bad ne '';
	append_to_file("$tmp/count", "$what\n");
	return;
}

sub look
{
	my ($node, $of, @looks) = @_;
	my $name = pick(@looks);
	my $call = $look{$name};
	return judge($node->name . ' backup', $call->($node, $of)) if ref $call;
	$call = fill($call, $of);
	return judge($node->name . " $call", $call =~ /^! (.*);/ ? said_by('', $program, split / /, $1) : session($node, 'look', $call));
}

# A base backup, maybe one that is incremental to another
sub look_at_backup
{
	my ($node, $of) = @_;
	my $path = "$tmp/backups/$$";
	my @prior = $of->{summarize_wal} eq 'on' && pick(0, 1) ? "$path.0" : ();
	my @options = map { @$_ } pick([], [], ['--format=tar'], [ '--format=tar', '--gzip' ]), [ '--wal-method=' . pick('stream', 'fetch') ],
		@prior ? [] : pick([ '--manifest-checksums=' . pick(qw(NONE CRC32C SHA256)) ], ['--no-manifest']);
	my @backup = ('pg_basebackup', '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync', @options, '-D');
	my $out = '';

	mkdir "$tmp/backups";
	said_by('', @backup, @prior) if @prior;
	said_by('', @backup, $path, map { "--incremental=$_/backup_manifest" } @prior);
	if ($? == 0)
	{
		my $array = join ', ', map { "'$_'" } @prior;
		$out = pick(0, 1) ? said_by('', $program, 'backup', '-q', '-j', 2, (map { "--prior=$_" } @prior), $path) :
		  session($node, 'look', fill("SELECT * FROM verify_backup('$path', prior_backups => ARRAY[$array]::text[], <io>) WHERE $bad", $of));
		$out .= session($node, 'look', "CALL verify_backups('$tmp/backups');\n") if rand() < 0.3;
	}
	File::Path::rmtree([ $path, @prior ]);
	return $out;
}

# pg_receivewal, which is stopped now and then
sub receive
{
	my ($node, $of) = @_;
	said_by('', 'timeout', 2 + int rand 6, 'pg_receivewal', '-D', $of->{received}, '-h', $node->host, '-p', $node->port, '--no-loop', '--slot=received', '--status-interval=1', @{ $of->{receiving} });
	usleep(100_000);
	return;
}

# --- a round ---------------------------------------------------------------------

# Chooses the settings of a round: what they are, and what a look wants to know.
sub choose
{
	my ($major) = @_;
	my $segment = pick(1, 1, 1, 16, 64);
	my %of = map { $_ => pick(@{ $setting{$_} }) } sort keys %setting;
	chomp(my $built = `pg_config --configure`);

	$of{$_} = pick(@{ $in_segments{$_} }) * $segment . 'MB' foreach sort keys %in_segments;
	$of{wal_compression} = 'pglz' if $of{wal_compression} =~ /lz4|zstd/ && $built !~ /with-$of{wal_compression}/;
	my $minimal = $of{wal_level} eq 'minimal';
	$of{archive_mode} = $minimal ? 'off' : pick(qw(off on on));
	$of{max_wal_senders} = $minimal ? 0 : 10;
	$of{summarize_wal} = 'off' if $minimal || $major < 17;
	# redo masks pages that were never logged, or are cut off later, and fails
	my $calm = pick(0, 0, 1);
	$of{wal_consistency_checking} = "''" if $minimal || !$calm;
	my %skip = (io_method => $major < 18, summarize_wal => $major < 17);
	my $conf = join '', map { $skip{$_} ? () : "$_ = $of{$_}\n" } sort keys %of;
	return ($conf, (%of, segment => $segment, minimal => $minimal, checksums => pick(0, 1, 1), standby => !$minimal && pick(0, 1, 1),
			receiving => $minimal || pick(0, 1) ? undef : pick([], ['--compress=1'], ['--synchronous']), calm => $calm, databases => pick(0, 1)));
}

# Says why a server does not start, since its log goes with it.
sub start_up
{
	my ($node) = @_;
	return if $node->start(fail_ok => 1);
	my @log = split /\n/, slurp_file($node->logfile);
	die join("\n", $node->name . ' does not start:', @log > 40 ? @log[ -40 .. -1 ] : @log) . "\n";
}

sub make_primary
{
	my ($round) = @_;
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my ($conf, %of) = choose($major);
	@of{qw(archive received)} = map { "$tmp/$_$round" } qw(archive received);
	mkdir $of{$_} foreach qw(archive received);
	$conf .= "archive_command = 'cp %p $of{archive}/.%f && mv $of{archive}/.%f $of{archive}/%f'\n";
	$of{conf} = join ' ', map { $_ // '' } "segment=$of{segment} checksums=$of{checksums} calm=$of{calm} databases=$of{databases}", $conf =~ s/ = /=/gr =~ s/\n/ /gr;
	my $node = Accel::new_node("primary$round", checksums => $of{checksums}, allows_streaming => 1, extra => ["--wal-segsize=$of{segment}"], conf => $always . $conf);
	start_up($node);
	foreach (split /;\n(?=CREATE|SELECT)/, $Storm::objects)
	{
		$node->safe_psql('postgres', $_);
	}
	$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('received', true)") if $of{receiving};
	my $direct = Accel::sometimes_direct($node, 'pg_class') ne 'false';
	$of{direct} = sub { $direct ? pick(qw(false false false true)) : 'false' };
	$of{io} = sub { 'workers => ' . int(rand 4) . ', direct_io => ' . $of{direct}->() };
	$of{record} = sub { pick('false', 'true') };
	$of{data} = $node->data_dir;
	push @data, $of{data};
	return ($node, \%of);
}

sub make_standby
{
	my ($primary, $of, $name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	my $how = $of->{archive_mode} eq 'on' ? pick(qw(stream archive both)) : 'stream';
	$primary->backup("for_$name");
	$standby->init_from_backup($primary, "for_$name", has_streaming => $how ne 'archive');
	$standby->append_conf('postgresql.conf', "restore_command = 'cp $of->{archive}/%f %p'") if $how ne 'stream';
	$standby->append_conf('postgresql.conf', "archive_mode = off\nhot_standby_feedback = " . pick('on', 'off') . "\nrecovery_prefetch = " . pick('on', 'off') . "\nwal_retrieve_retry_interval = 100ms");
	$standby->set_standby_mode;
	start_up($standby);
	$of->{conf} .= " standby=$how";
	return $standby;
}

# Shapes and looks that fit the round.  After a crash who does not ask the server sees
# maps that redo puts back, and segments that are half removed.  A standby that crashes
# may lose a database that was moved (t/130), and a backup of one may end before the
# record of a database that it has dropped meanwhile.
sub fitting
{
	my ($of) = @_;
	my $logical = $of->{wal_level} eq 'logical' && !Accel::missing_modules('test_decoding');
	my @shapes = grep { ($logical || !/slot|decode/) && ($of->{databases} || !/database|move/)
		  && ($of->{calm} ? !/kill|cancel/ : !$of->{standby} || !/^move$/) } sort keys %shape;
	my @looks = grep { ($of->{calm} || !/^program_(?:cluster|wal)$/) && (!$of->{minimal} || !/backup/)
		  && ($of->{archive_mode} eq 'on' || !/archive|program_images/) && ($of->{receiving} || !/received/)
		  && ($of->{checksums} || !/^(?:image|heal|restore)$/) } sort keys %look;
	return (\@shapes, \@looks);
}

# Crashes and restarts while all others are at work
sub disturb
{
	my ($primary, $standby) = @_;
	my $event = pick('crash', 'restart', 'kill', 'standby', 'none');
	if ($event eq 'crash' || $event eq 'restart')
	{
		$primary->stop($event eq 'crash' ? 'immediate' : 'fast');
		start_up($primary);
	}
	elsif ($event eq 'kill')
	{
		my ($code, $pid) = $primary->psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE application_name IN ('load', 'look') ORDER BY random() LIMIT 1});
		kill 'KILL', $pid if $code == 0 && $pid;
		Accel::comes_back($primary);
	}
	elsif ($event eq 'standby' && $standby)
	{
		$standby->stop(pick('immediate', 'fast'));
		start_up($standby);
	}
	return;
}

# All WAL since the backup that was taken before all load is in the archive.
sub judge_window
{
	my ($node, $of) = @_;
	my $root = File::Basename::dirname($of->{base});
	my (undef, $segment) = $node->psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	my $archived = defined $segment && $node->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver");

	judge($node->name . ': window', !$archived ? 'nothing is archived' : session($node, 'look', "CALL verify_backups('$root', '$of->{archive}');
		SELECT * FROM verify_backup_windows('$root', '$of->{archive}') WHERE is_finding OR to_lsn IS NULL;"));
	return;
}

# Some blocks of permanent relations, as PATH:BLKNO
sub some_blocks
{
	my ($node) = @_;
	my (undef, $blocks) = $node->psql('postgres', q{CHECKPOINT; SELECT path || ':' || blkno FROM (SELECT oid, pg_relation_filepath(oid) AS path FROM pg_class
		WHERE relpersistence = 'p' AND relkind IN ('r', 'i', 'S', 't', 'm') AND (oid >= 16384 OR random() < 0.2)) r, some_block(oid) AS b(blkno) ORDER BY random() LIMIT 20});
	return split /\n/, $blocks // '';
}

chomp(my $bindir = `pg_config --bindir`);
sub recover
{
	my ($node, $of, @what) = @_;
	return said_by('', $program, 'recover', "--backup=$of->{base}", "--wal=$of->{archive}", '--wal=' . $node->data_dir . '/pg_wal', "--bindir=$bindir", @what);
}

# What redo makes of blocks since the backup that was taken before all load is what
# the server has made of them: the LSN, and where tuples begin and end.
sub judge_recovered
{
	my ($node, $of, @blocks) = @_;
	my $data = $node->data_dir;
	my $out = "$tmp/recovered" . $node->name;
	my $said = recover($node, $of, "--out=$out", map { "--block=$_" } @blocks);
	my ($different, $same) = ('', 0);

	foreach my $block (@blocks)
	{
		my ($path, $blkno) = $block =~ /^(.*):(\d+)$/;
		next if !-e "$out/$path.$blkno";
		my @heads = map { AccelWal::peek($_->[0], $_->[1], 8) . AccelWal::peek($_->[0], $_->[1] + 12, 6) } [ "$data/$path", $blcksz * $blkno ], [ "$out/$path.$blkno", 0 ];
		$same++;
		$different .= "$block: " . join(' is not ', map { unpack 'H*' } @heads) . "\n" if $heads[0] ne $heads[1];
	}
	note("$same of " . @blocks . ' blocks are recovered');
	$said =~ s/^(?:.*: (?:not )?recovered|\d+ blocks are tracked).*$//mg;
	judge($node->name . ': recovered', "$said$different");
	return;
}

# A permanent table as it is, to be made again: its OID's database, the files of it and
# of the catalogs that were rewritten, and its rows
my $rows_of = q{SELECT count(*), sum(hashtextextended(t::text, 0)) FROM %s t};
sub some_table
{
	my ($node) = @_;
	my (undef, $said) = $node->psql('postgres', q{
		WITH r AS (SELECT oid, relname, reltoastrelid FROM pg_class WHERE relname ~ '^t[0-4]$' AND relpersistence = 'p' ORDER BY random() LIMIT 1),
			f AS (SELECT oid FROM r UNION SELECT reltoastrelid FROM r UNION SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM r UNION SELECT reltoastrelid FROM r)
				UNION SELECT oid FROM pg_class WHERE oid < 16384 AND pg_relation_filenode(oid) >= 16384)
		SELECT (SELECT relname FROM r), (SELECT oid FROM pg_database WHERE datname = 'postgres'), string_agg(pg_relation_filepath(oid), ' ') FROM f});
	my ($name, $database, $files) = split /\|/, $said // '';
	return if !$files;
	return { name => $name, database => $database, files => [ split / /, $files ], rows => scalar $node->safe_psql('postgres', sprintf $rows_of, $name) };
}

# What redo makes of a table since that backup has its rows.
sub judge_recovered_table
{
	my ($node, $of, $table) = @_;
	local $ENV{PATH} = "$bindir:$ENV{PATH}";
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $out = "$tmp/table" . $node->name;
	my $said = recover($node, $of, "--out=$out", "--database=$table->{database}", map { "--relation=$_" } @{ $table->{files} });
	$said =~ s/^(?:\d+ relations and the catalogs|recovered up to).*$//mg;
	if ($said !~ /\S/)
	{
		$said .= said_by('', 'sh', 'docs/examples/start_alone.sh', "$out/data", $port);
		my $rows = said_by('', 'psql', '-XAtq', '-h', $node->host, '-p', $port, '-d', 'postgres', '-c', sprintf $rows_of, $table->{name});
		chomp $rows;
		$said .= "$table->{name}: $rows is not $table->{rows}\n" if $rows ne $table->{rows};
		$said .= said_by('', 'pg_ctl', '-s', '-w', '-D', "$out/data", '-m', 'fast', 'stop');
		note("$table->{name}: $rows");
	}
	judge($node->name . ': recovered table', $said);
	return;
}

# When nobody writes, what is left is as good, and so do the servers' own tools say.
sub look_afterwards
{
	my ($node, $of, $looks) = @_;
	Accel::comes_back($node);
	if ($node->name =~ /standby/ && pick(0, 1, 1))
	{
		$node->promote;
		session($node, 'load', join '', map { fill($shape{$_}, \%of_shape) } qw(copy switch message));
	}
	session($node, 'load', fill($shape{finish}, \%of_shape)) if $node->name =~ /primary/;
	look($node, $of, @$looks) foreach 1 .. 6;
	my $how = pick('fast', 'immediate');
	my $data = $node->data_dir;
	my $base = $node->name =~ /primary/ && $of->{base};
	my @blocks = $how eq 'fast' && $base ? some_blocks($node) : ();
	my $table = @blocks && some_table($node);
	judge_window($node, $of) if $base;
	$node->stop($how);
	judge_recovered($node, $of, @blocks) if @blocks;
	judge_recovered_table($node, $of, $table) if $table;
	judge($node->name . " stopped ($how): @$_", said_by('', @$_)) foreach [ $program, 'cluster', '-q', $data ], $of->{calm} ? [ $program, 'wal', '-q', "$data/pg_wal" ] : ();
	judge($node->name . ': pg_checksums', said_by('', 'pg_checksums', '--check', '-D', $data) =~ /^Bad checksums:\s+0$/m ? '' : 'bad') if $of->{checksums} && $how eq 'fast';
	judge($node->name . ': log', join "\n", grep { /PANIC:|TRAP:|process \(PID \d+\) was terminated by signal (?!9:)|leak/ } split /\n/, slurp_file($node->logfile));
	return;
}

sub one_round
{
	my ($round, $length) = @_;
	my ($primary, $of) = make_primary($round);
	my ($shapes, $looks) = fitting($of);
	if ($of->{archive_mode} eq 'on' && $of->{checksums} && $length >= 15)
	{
		mkdir "$tmp/bases$round";
		$of->{base} = "$tmp/bases$round/b";
		judge('a backup', said_by('', 'pg_basebackup', '-h', $primary->host, '-p', $primary->port, '-D', $of->{base}, '--checkpoint=fast', '--no-sync'));
	}
	my $standby = $of->{standby} ? make_standby($primary, $of, "standby$round") : undef;
	my %of_standby = $standby ? (%$of, data => $standby->data_dir, record => 'false') : ();
	my @of_standby = grep { !/^(?:heal|restore)$/ && !($of->{databases} && /^backup$/) } @$looks;
	my $until = time + $length;

	foreach (1 .. 5)
	{
		my @some = $_ == 1 ? @$shapes : map { pick(@$shapes) } 1 .. 12;
		in_background($until, sub { load($primary, @some) });
	}
	in_background($until, sub { look($primary, $of, @$looks) }) foreach 1 .. 3;
	in_background($until, sub { look($standby, \%of_standby, @of_standby) }) foreach $standby ? (1, 2) : ();
	in_background($until, sub { receive($primary, $of) }) if $of->{receiving};
	while (time < $until)
	{
		usleep(1_500_000 + rand 2_000_000);
		disturb($primary, $standby) if !$of->{calm} && time < $until;
	}
	Storm::wait_for_all();
	look_afterwards($standby, \%of_standby, \@of_standby) if $standby;
	look_afterwards($primary, $of, $looks);
	$_->clean_node foreach grep { defined } $primary, $standby;
	return $of->{conf};
}

diag("shapes: ACCEL_SEED=$seed");
my $end = time + $seconds;
my ($round, $found) = (0, '');
while ($round == 0 || time < $end - 10)
{
	my $conf = eval { one_round(++$round, $seconds > 40 ? 15 + rand 20 : $seconds) };
	if (!defined $conf)
	{
		is($@, '', "round $round ends");
		Storm::wait_for_all();
		last;
	}
	my $count = () = slurp_file("$tmp/count") =~ /\n/g;
	$found .= "round $round: $conf\n" . slurp_file("$tmp/found") if -e "$tmp/found";
	note("round $round, $count looks: $conf");
	unlink "$tmp/found", "$tmp/count";
}
is($found, '', "nothing is found in $round rounds");
done_testing();
