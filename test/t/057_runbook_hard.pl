# The scripts and recipes of docs/corruption.md where they are hard: a relation of
# two files, two damaged blocks, a server that runs, tablespaces, a configuration
# outside the data directory, writers, views; and what they must refuse.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Basename;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $examples = 'docs/examples';
my $document = slurp_file('docs/corruption.md');
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
$ENV{ALONE_CONF} = $ENV{ACCEL_STAGED_CONF};

# The configuration lies elsewhere, as on Debian.
my $node = Accel::new_node('main', allows_streaming => 'logical',
	conf => "autovacuum = off\nmax_replication_slots = 20\nmax_prepared_transactions = 3\n");
my $data = $node->data_dir;
mkdir "$dir/etc";
mkdir "$dir/space";
mkdir "$dir/spare";
rename "$data/pg_hba.conf", "$dir/etc/pg_hba.conf" or die $!;
$node->append_conf('postgresql.conf', "hba_file = '$dir/etc/pg_hba.conf'");
$node->start;
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel');

two_files();
refusals_of_put_page();
rescue_beside_writers();
copy_with_tablespace();
control_file();
drill();
$node->stop;
debian();
done_testing();

# --- helpers ---------------------------------------------------------------------

# A command of the document: that block of it which holds a text.
sub recipe
{
	my ($language, $text) = @_;
	my ($found) = grep { index($_, $text) >= 0 } $document =~ /^```$language\n(.*?)^```$/msg;
	die "docs/corruption.md has no block with \"$text\"" if !defined $found;
	return $found;
}

# The same with the folders of this test
sub placed
{
	my ($recipe, %names) = @_;
	%names = (good => "$dir/good", spare => "$dir/spare", %names);
	my $any = join '|', keys %names;
	return $recipe =~ s{(?<![\w.\$])/($any)\b}{$names{$1}}gr;
}

sub shell
{
	my ($command, %env) = @_;
	local @ENV{ keys %env } = values %env;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'sh', '-c', $command ], '<', \undef, '>', \$out, '2>', \$err);
	chomp $out;
	return ($ok, $out, $err);
}

sub script
{
	my ($name, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'sh', "$examples/$name", @arguments ], '<', \undef, '>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

sub refused
{
	my ($title, $why, $name, @arguments) = @_;
	my ($ok, undef, $err) = script($name, @arguments);
	ok(!$ok, "$title: refused");
	like($err, $why, "$title: says why");
	return;
}

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub alone
{
	my ($query) = @_;
	local $ENV{PGPORT} = $port;
	return ask($query);
}

sub flip
{
	my ($file, $offset) = @_;
	AccelWal::poke($file, $offset, AccelWal::peek($file, $offset, 1) ^ "\x10");
	return;
}

sub stop_alone { system_or_bail('pg_ctl', '-s', '-D', $_[0], '-m', 'fast', 'stop'); return; }

# --- a relation of two files --------------------------------------------------------

# Blocks of zeros up to the end of the first file, then rows in the second one.
sub two_files
{
	sql("CREATE TABLE big (id integer, name text); CHECKPOINT");
	my $path = sql("SELECT pg_relation_filepath('big')");
	my $per_file = sql("SELECT pg_size_bytes(current_setting('segment_size')) / 8192");
	$node->stop;
	truncate "$data/$path", $per_file * 8192 or die $!;
	$node->start;
	sql("INSERT INTO big SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g; CHECKPOINT; VACUUM (FREEZE) big; CHECKPOINT");
	$node->stop;
	mkdir "$dir/good";
	system_or_bail('cp', '-a', '--sparse=always', "$data/.", "$dir/good");
	flip("$data/$path.1", $_ * 8192 + 5000) foreach 3, 7;
	$node->start;
	is(sql("SELECT string_agg(path || ' ' || file_offset || ' ' || blkno - $per_file, ', ' ORDER BY blkno) FROM verify_relation('big')"),
		"$path.1 24576 3, $path.1 57344 7", 'two damaged blocks in the second file');

	documents_installed();

	is(sql(placed(recipe('sql', "restore_block('pg_description'") =~ s/pg_description/big/gr)),
		join("\n", (map { $per_file + $_ . '|restored' } 3, 7), '0'), 'the recipe for two damaged blocks in the second file');
	is(sql('SELECT count(*) FROM big'), '5000', 'every row is there');
	pages_from_wal($path, $per_file);
	sql('DROP TABLE big; CHECKPOINT');
	return;
}

# Three damaged blocks, of which WAL has the pages of two.
sub pages_from_wal
{
	my ($path, $per_file) = @_;
	sql('CHECKPOINT');
	sql(sprintf "DELETE FROM big WHERE ctid IN ('(%d,1)', '(%d,1)')", $per_file + 3, $per_file + 7);
	$node->stop;
	flip("$data/$path.1", $_ * 8192 + 5000) foreach 3, 5, 7;
	$node->start;
	is(sql(recipe('sql', "wal_page_image('accounts'") =~ s/accounts/big/gr),
		join("\n", (map { $per_file + $_ . '|restored' } 3, 7), '1'), 'pages from the WAL, of which one is not there');
	return;
}

# What a finding's HINT names is installed, and every link of it leads somewhere.
sub documents_installed
{
	my (undef, undef, $said) = $node->psql('postgres', q{CALL verify_database(relations => '{big}')});
	my $runbook = $said =~ m{HINT: .*See "(/[^"]+)"\.$}m ? $1 : "nothing in: $said";
	my $stage = dirname($ENV{ACCEL_STAGED_CONF}) . '/stage';
	my $folder = (-d $stage ? $stage : '') . dirname(dirname($runbook));
	my @documents = glob "$folder/*.md $folder/docs/*.md";
	ok(scalar(grep { $_ eq "$folder/docs/corruption.md" } @documents), "the runbook that a HINT names is installed: $runbook");
	my @dead = map { my $from = $_; grep { !-e dirname($from) . "/$_" } slurp_file($from) =~ /\]\((?!\w+:|#)([^)#]+)/g } @documents;
	is_deeply(\@dead, [], scalar(@documents) . ' documents, no dead link');
	return;
}

sub refusals_of_put_page
{
	my $path = sql("SELECT pg_relation_filepath('pg_class')");
	my ($file, $page) = ("$data/$path", "$dir/spare/page");
	append_to_file($page, "\0" x 8192);
	append_to_file("$page.short", "\0" x 8191);

	refused('a server that runs', qr/a server runs in/, 'put_page.sh', $file, 0, $page);
	$node->stop;
	my $was = slurp_file($file);    # as the shutdown's checkpoint left it
	refused('an offset within a page', qr/no multiple of 8192/, 'put_page.sh', $file, 100, $page);
	refused('the number of a block and a word', qr/is no offset/, 'put_page.sh', $file, 'x', $page);
	refused('an offset beyond the file', qr/ends before offset/, 'put_page.sh', $file, -s $file, $page);
	refused('a part of a page', qr/is no page of 8192 bytes/, 'put_page.sh', $file, 0, "$page.short");
	refused('a file that is not there', qr/there is no file/, 'put_page.sh', "$file.7", 0, $page);
	refused('a file outside a data directory', qr/is in no data directory/, 'put_page.sh', $page, 0, $page);
	ok(slurp_file($file) eq $was, 'a refusal writes nothing');
	my ($ok, undef, $err) = script('put_page.sh', $file, 8192, $page);
	ok($ok, 'a page is put back') or diag($err);
	ok(slurp_file("$page.before") eq substr($was, 8192, 8192), 'what was there is kept');
	refused('a second time', qr/is there already/, 'put_page.sh', $file, 8192, $page);
	system_or_bail('sh', "$examples/put_page.sh", $file, 8192, "$page.before");
	ok(slurp_file($file) eq $was, 'and it goes back');
	$node->start;
	return;
}

# --- the rescue ----------------------------------------------------------------------

# Writers, of the table and through a view, get an error or have their row in the
# table that is there afterwards.
sub rescue_beside_writers
{
	sql(q{CREATE TABLE customers (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text, gone integer, name text,
			domain text GENERATED ALWAYS AS (split_part(email, '@', 2)) STORED);
		ALTER TABLE customers DROP gone;
		INSERT INTO customers (email, name) SELECT 'c' || g || '@example.org', repeat('x', 100) FROM generate_series(1, 100000) g;
		UPDATE customers SET name = repeat(md5(id::text), 20000) WHERE id % 10000 = 0;
		CREATE VIEW customers_view AS SELECT * FROM customers;
		CREATE TABLE done (email text);
		CHECKPOINT});
	my $path = sql("SELECT pg_relation_filepath('customers')");
	$node->stop;
	flip("$data/$path", $_ * 8192 + 5000) foreach 50, 51, 900;
	$node->start;
	my $lost = sql(q{SET ignore_checksum_failure = on; SELECT count(*) FROM customers WHERE ctid >= '(50,0)' AND ctid < '(52,0)' OR ctid >= '(900,0)' AND ctid < '(901,0)'});
	$node->restart;

	sql(recipe('sql', 'CREATE TABLE customers_left_out'));
	is(sql('SELECT string_agg(blkno::text, \',\' ORDER BY blkno) FROM customers_left_out'), '50,51,900', 'three blocks are left out');
	my @writers = map { writer($_) } 'customers', 'customers_view';
	ok($node->poll_query_until('postgres', 'SELECT count(*) >= 20 FROM done'), 'writers are at work');
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ],
		'<', \recipe('sql', 'OVERRIDING SYSTEM VALUE SELECT %1$s'), '>', \$out, '2>', \$err);
	ok($ok, 'the rescue beside writers') or diag($err);
	my $rescued = sql(q{SELECT count(*) FROM done WHERE email LIKE 'customers@%'});
	ok($node->poll_query_until('postgres', "SELECT count(*) > $rescued + 5 FROM done WHERE email LIKE 'customers@%'"),
		'who writes into the table by its name goes on');
	append_to_file("$dir/end", '');
	$_->finish foreach @writers;

	is(sql("SELECT count(*) FROM customers WHERE email LIKE 'c%\@example.org'"), 100000 - $lost, 'every row of a sound block was rescued');
	is(sql("SELECT count(*) FROM done d WHERE NOT EXISTS (SELECT FROM customers c WHERE c.email = d.email)"), '0', 'no row of a writer is missing');
	is(sql("SELECT count(*) FROM customers WHERE domain IS DISTINCT FROM split_part(email, '\@', 2)"), '0', 'generated columns are right');
	is(sql("SELECT count(*) FROM customers WHERE id % 10000 = 0 AND name = repeat(md5(id::text), 20000)"), '10', 'long values are whole');
	my ($rc, undef, $said) = $node->psql('postgres', "INSERT INTO customers_view (email) VALUES ('late')");
	like($said, qr/was replaced: make what refers to it anew/, 'a write through a view fails, and is not lost');
	sql('DROP VIEW customers_view; DROP TABLE customers, customers_damaged');
	return;
}

# One INSERT after another, each in a session of its own; done has what was committed.
sub writer
{
	my ($into) = @_;
	my $command = qq{i=0; while [ ! -e "$dir/end" ]; do i=\$((i + 1));
		psql -XAtq -v ON_ERROR_STOP=1 -c "WITH w AS (INSERT INTO $into (email) VALUES ('$into\@' || \$i) RETURNING email) INSERT INTO done SELECT email FROM w";
		done};
	return IPC::Run::start([ 'sh', '-c', $command ], '<', \undef, '>', '/dev/null', '2>', '/dev/null');
}

# --- copies ------------------------------------------------------------------------------

sub copy_with_tablespace
{
	sql("CREATE TABLESPACE space LOCATION '$dir/space'");
	sql("CREATE TABLE far (id integer) TABLESPACE space; INSERT INTO far SELECT generate_series(1, 1000); CHECKPOINT");
	recycle();
	sql("SELECT pg_create_logical_replication_slot('slot' || g, 'pgoutput') FROM generate_series(1, 12) g");
	sql("CREATE SUBSCRIPTION sub CONNECTION 'dbname=postgres' PUBLICATION pub WITH (connect = false)");
	sql("BEGIN; CREATE TABLE prepared (id integer); PREPARE TRANSACTION 'prepared'");
	refused('a copy of a server that runs', qr/a server runs in/, 'copy_cluster.sh', $data, "$dir/copy");
	$node->stop;
	system_or_bail('sh', "$examples/copy_cluster.sh", $data, "$dir/copy");
	system_or_bail('sh', "$examples/copy_cluster.sh", "$dir/copy", "$dir/second");
	refused('a copy over a copy', qr/is there already/, 'copy_cluster.sh', $data, "$dir/copy");

	my @before = map { contents($_) } "$dir/space", "$dir/copy.tablespaces";
	system_or_bail('sh', "$examples/start_alone.sh", "$dir/second", $port);
	is(alone('SELECT count(*) FROM far'), '1000', 'a copy of the copy starts, with its tablespace');
	is(alone(stopped_findings("$dir/copy")), '', 'a stopped cluster with recycled WAL segments: no finding');
	alone('DELETE FROM far; CHECKPOINT');
	alone('INSERT INTO far VALUES (1); CHECKPOINT');
	is(alone('SELECT count(*) FROM pg_replication_slots'), '12', 'and its slots');
	is(alone('SELECT count(*) FROM pg_prepared_xacts'), '1', 'and a prepared transaction');
	is(alone("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical replication%'"), '0', 'no worker of a subscription');
	is(alone("SELECT string_agg(setting, ',' ORDER BY name) FROM pg_settings WHERE name IN
		('archive_mode', 'listen_addresses', 'max_logical_replication_workers', 'primary_conninfo', 'shared_preload_libraries')"),
		'off,,0,,', 'it keeps to itself');
	my @server = ('env', "PGDATA=$dir/second", "PGPORT=$port", 'sh', "$examples/server.sh");
	system_or_bail(@server, 'stop');
	system_or_bail(@server, 'start', '-P');
	is(alone('SHOW ignore_system_indexes') . alone('SHOW archive_mode'), 'onoff', 'server.sh starts it alone again, with an option');
	system_or_bail(@server, 'stop');
	is_deeply([ map { contents($_) } "$dir/space", "$dir/copy.tablespaces" ], \@before,
		'what is written in it reaches neither the original nor the first copy');

	mkdir "$dir/naive";
	system_or_bail('cp', '-a', "$data/.", "$dir/naive");
	refused('a copy with links into the original', qr/leads out of the copy/, 'start_alone.sh', "$dir/naive", $port);
	$node->start;
	sql("ROLLBACK PREPARED 'prepared'");
	sql('ALTER SUBSCRIPTION sub DISABLE');
	sql('ALTER SUBSCRIPTION sub SET (slot_name = NONE)');
	sql('DROP SUBSCRIPTION sub');
	sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
	return;
}

# Segments after the end of WAL that hold older WAL, as any server has them.
sub recycle
{
	sql("ALTER SYSTEM SET wal_keep_size = 0");
	$node->reload;
	foreach (1 .. 3)
	{
		sql('INSERT INTO far VALUES (0)');
		sql('SELECT pg_switch_wal()');
	}
	sql('CHECKPOINT');
	sql('DELETE FROM far WHERE id = 0');
	sql('ALTER SYSTEM RESET wal_keep_size');
	$node->reload;
	return;
}

# What verify_backup finds in a data directory
sub stopped_findings
{
	my ($folder) = @_;
	return "SELECT string_agg(concat_ws(' ', path, blkno, status), ', ') FROM verify_backup('$folder') WHERE status <> 'ok_no_manifest'";
}

sub contents
{
	my ($folder) = @_;
	return { map { ($_ => -l $_ ? readlink $_ : slurp_file($_)) } split /\n/, `find $folder -type f -o -type l` };
}

# --- pg_control ----------------------------------------------------------------------------

sub control_file
{
	$node->stop;
	system_or_bail('sh', "$examples/copy_cluster.sh", $data, "$dir/cold");
	$node->start;
	system_or_bail('pg_basebackup', '-D', "$dir/base", '-T', "$dir/space=$dir/base_space", '--checkpoint=fast', '--no-sync');
	sql('CHECKPOINT');
	my $oldest = sql('SELECT pg_walfile_name(pg_switch_wal())');
	sql('CREATE TABLE committed AS SELECT generate_series(1, 100) AS id');
	my $middle = sql('SELECT pg_walfile_name(pg_switch_wal())');
	sql('CREATE TABLE committed_since AS SELECT 1');
	$node->stop('immediate');
	system_or_bail('sh', "$examples/copy_cluster.sh", $data, "$dir/broken");
	system_or_bail('cp', '-a', "$dir/broken/.", "$dir/crashed");
	system_or_bail('cp', '-a', "$dir/broken/.", "$dir/hole");
	system_or_bail('cp', "$data/pg_wal/$oldest", "$dir/hole/pg_wal/$middle");
	AccelWal::poke("$dir/broken/global/pg_control", 0, "\0" x 512);

	refused('pg_control of a stopped server', qr/its state is "shut down"/, 'put_control.sh', "$dir/cold", "$dir/broken");
	AccelWal::poke("$dir/cold/global/pg_control", 100, "\xff\xff");
	refused('a damaged pg_control', qr/is damaged|cannot be read/, 'put_control.sh', "$dir/cold", "$dir/broken");
	chomp(my $segment = `LC_ALL=C pg_controldata -D "$dir/base" | sed -n "s/.*REDO WAL file: *//p"`);
	rename "$dir/broken/pg_wal/$segment", "$dir/$segment" or die $!;
	refused('pg_control whose WAL is gone', qr/where recovery begins/, 'put_control.sh', "$dir/base", "$dir/broken");
	rename "$dir/$segment", "$dir/broken/pg_wal/$segment" or die $!;
	system_or_bail('sh', "$examples/put_control.sh", "$dir/base", "$dir/broken");
	system_or_bail('sh', "$examples/start_alone.sh", "$dir/broken", $port);
	is(alone('SELECT count(*) FROM committed'), '100', 'pg_control of a base backup: what was committed since is there');
	stop_alone("$dir/broken");
	$node->start;
	is(sql(stopped_findings("$dir/crashed")), '', 'a crashed cluster: no finding');
	is(sql(stopped_findings("$dir/hole")), "pg_wal/$middle corrupt", 'an older segment among newer ones is one');
	return;
}

# --- the drill -----------------------------------------------------------------------------

sub drill
{
	sql('CREATE DATABASE "a=b c"');
	my @backup = ('pg_basebackup', '--checkpoint=fast', '--no-sync');
	system_or_bail(@backup, '-D', "$dir/sound", '-T', "$dir/space=$dir/sound_space");
	my ($ok, $out, $err) = script('restore_drill.sh', "$dir/sound", "$dir/restored", $port);
	ok($ok, 'a drill with a sound backup ends with 0') or diag($out, $err);
	rename "$dir/sound/backup_manifest", "$dir/manifest" or die $!;
	($ok, $out, $err) = script('restore_drill.sh', "$dir/sound", "$dir/restored4", $port);
	ok($ok, 'so does one without a manifest') or diag($out, $err);
	rename "$dir/manifest", "$dir/sound/backup_manifest" or die $!;

	# after the end of WAL a recycled segment is none; before the end of a backup it is
	my ($needed) = glob "$dir/sound/pg_wal/0*";
	my ($recycled) = glob "$dir/hole/pg_wal/0*";
	system_or_bail('mv', $needed, "$dir/needed");
	system_or_bail('cp', $recycled, $needed);
	like(sql(stopped_findings("$dir/sound")), qr/^pg_wal\/\w+ missing$/, 'a recycled segment in place of the WAL of a backup');
	system_or_bail('mv', "$dir/needed", $needed);

	my $path = sql("SELECT pg_relation_filepath('committed')");
	flip("$dir/sound/$path", 5000);
	($ok, $out) = script('restore_drill.sh', "$dir/sound", "$dir/restored2", $port);
	ok(!$ok, 'a damaged backup ends it with an error');
	like($out, qr{\Q$path\E}, 'and is named');
	ok(!-e "$dir/restored2", 'it is not restored');

	# damage that the manifest knows, as it was there before: the copy of a sound backup loses a page
	system_or_bail('sh', '-c', "printf x | dd of='$data/" . sql("SELECT pg_relation_filepath('committed')") . "' bs=1 seek=5000 conv=notrunc 2>/dev/null");
	system_or_bail(@backup, '--no-verify-checksums', '-D', "$dir/late", '-T', "$dir/space=$dir/late_space");
	($ok) = script('restore_drill.sh', "$dir/late", "$dir/restored3", $port);
	ok(!$ok, 'a base backup of a damaged cluster ends it with an error');
	return;
}

# --- Debian's layout -----------------------------------------------------------------------

# The recipes that stop and start the server, by Debian's tools: nothing global is touched.
sub debian
{
	my ($major) = `pg_config --bindir` =~ m{^/usr/lib/postgresql/(\d+)/bin$};
  SKIP:
	{
		skip 'no pg_createcluster for this server', 1 if !$major || system('command -v pg_createcluster >/dev/null');
		mkdir $_ foreach "$dir/socket", "$dir/debian_good";
		local %ENV = (%ENV, PG_CLUSTER_CONF_ROOT => "$dir/debian_etc", PGDATA => "$dir/debian", PGHOST => "$dir/socket");
		delete local @ENV{qw(PGCTLTIMEOUT)};
		$ENV{PGPORT} = PostgreSQL::Test::Cluster::get_free_port();
		my $said = '';
		IPC::Run::run([ 'pg_createcluster', '-d', $ENV{PGDATA}, '-l', "$dir/debian.log", '-p', $ENV{PGPORT}, '-s', $ENV{PGHOST},
				'--start-conf=manual', $major, 'main', '--', '-k', '-A', 'trust', '-N' ], '>&', \$said) or die $said;
		append_to_file("$dir/debian_etc/$major/main/conf.d/test.conf",
			"listen_addresses = ''\nexternal_pid_file = ''\nfsync = off\n" . slurp_file($ENV{ACCEL_STAGED_CONF}));
		my @server = ('sh', "$examples/server.sh");
		system_or_bail(@server, 'start');
		is(ask('SHOW config_file'), "$dir/debian_etc/$major/main/postgresql.conf", 'Debian: server.sh starts by the configuration in /etc');
		ask('CREATE EXTENSION crc32c_accel');
		my ($class, $index) = map { "$ENV{PGDATA}/" . ask("SELECT pg_relation_filepath('$_')") } 'pg_description', 'pg_class_oid_index';
		system_or_bail(@server, 'stop');
		system_or_bail('cp', '-a', "$ENV{PGDATA}/.", "$dir/debian_good");
		flip($class, $_ * 8192 + 5000) foreach 5, 7;
		system_or_bail(@server, 'start');
		AccelWal::put("$dir/debian_recipe", placed(recipe('sql', "restore_block('pg_description'"), good => "$dir/debian_good"));
		my ($ok, $out, $err) = shell("psql -XAtqf '$dir/debian_recipe'");
		is($out, "5|restored\n7|restored\n0", 'Debian: two blocks are put back') or diag($err);
		system_or_bail(@server, 'stop');
		AccelWal::poke($index, 8192 + 10, "\xff" x 10);
		system_or_bail(@server, 'start');
		($ok, $out, $err) = shell(recipe('sh', 'start -P'));
		ok($ok && $out eq '0', 'Debian: the index of a catalog is made anew') or diag($out, $err);
		like(`pg_lsclusters -h`, qr/^$major main \d+ online /, 'Debian: its tools see the server');
		system_or_bail(@server, 'stop');
	}
	return;
}

sub ask
{
	my (undef, $out) = shell(qq{psql -XAtqc "$_[0]"});
	return $out;
}
