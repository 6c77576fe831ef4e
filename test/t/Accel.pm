# Accel.pm: what the TAP tests share.
#
# Runs under test/server.sh, which stages the extension and names the settings
# that make a server find it (ACCEL_STAGED_CONF).
package Accel;

use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Exporter 'import';
use File::Find ();
use File::Path ();
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes qw(usleep);

# A cluster that finds the staged extension.  Options: checksums => 0 (default
# 1), conf => text for postgresql.conf, extra => [initdb options],
# allows_streaming => 1 (passed on).  Not started.  No checkpoint comes because a
# script takes long, and no WAL goes that a standby still wants, unless its conf
# says so.
sub new_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $checksums = $opt{checksums} // 1;
	my @extra = @{ $opt{extra} // [] };

	push @extra, '--data-checksums' if $checksums;
	push @extra, '--no-data-checksums'
	  if !$checksums && $node->pg_version >= 18;
	$node->init(extra => \@extra,
		allows_streaming => $opt{allows_streaming} // 0);
	configure($node);
	$node->append_conf('postgresql.conf', 'checkpoint_timeout = 1h');
	$node->append_conf('postgresql.conf', 'wal_keep_size = 1GB') if $opt{allows_streaming};
	$node->append_conf('postgresql.conf', $opt{conf}) if $opt{conf};
	return $node;
}

# Makes a cluster (one from a backup, say) find the staged extension.
sub configure
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', slurp_file($ENV{ACCEL_STAGED_CONF}));
	return;
}

# Has a cluster that is not started summarize its WAL, which incremental backups
# need.  Returns false where the server is too old for that.
sub summarize_wal
{
	my ($node) = @_;
	return 0 if $node->pg_version < 17;
	$node->append_conf('postgresql.conf', 'summarize_wal = on');
	return 1;
}

# Those of the given contrib modules that the installation lacks (a Python
# wheel's has none).
sub missing_modules
{
	my (@modules) = @_;
	chomp(my $folder = `pg_config --pkglibdir`);
	return grep { !-e "$folder/$_.so" } @modules;
}

# A size that the server was built with: BLCKSZ, RELSEG_SIZE, XLOG_BLCKSZ.
my $built;

sub built_with
{
	my ($name) = @_;
	if (!defined $built)
	{
		chomp(my $headers = `pg_config --includedir-server`);
		$built = slurp_file("$headers/pg_config.h");
	}
	return $built =~ /^#define $name (\d+)$/m ? $1 : die "no $name";
}

# Bytes of a page of a relation and of WAL, and blocks of a segment file.
our ($blcksz, $wal_blcksz, $relseg_size) = map { built_with($_) } qw(BLCKSZ XLOG_BLCKSZ RELSEG_SIZE);
our @EXPORT = qw($blcksz $wal_blcksz $relseg_size);

# A relation is named by the path of its first segment file.  The file of a block,
# and where it begins there:
sub place
{
	my ($path, $block) = @_;
	my $segment = int($block / $relseg_size);
	return ($path . ($segment ? ".$segment" : ''), $block % $relseg_size * $blcksz);
}

# All its segment files.
sub segments
{
	my ($path) = @_;
	my @files = ($path);
	push @files, "$path." . @files while -e "$path." . @files;
	return @files;
}

sub blocks
{
	my ($path) = @_;
	my $bytes = 0;
	$bytes += -s $_ // 0 foreach segments($path);
	return $bytes / $blcksz;
}

sub contents { return join '', map { slurp_file($_) } segments($_[0]); }

# Cuts it to some blocks, or extends it by zeros.
sub resize
{
	my ($path, $blocks) = @_;
	my $last = int($blocks / $relseg_size);
	my @files = segments($path);

	foreach my $segment (0 .. $last)
	{
		my ($file) = place($path, $segment * $relseg_size);
		append_to_file($file, '');
		truncate $file, ($segment < $last ? $relseg_size : $blocks % $relseg_size) * $blcksz or die "$file: $!";
	}
	unlink @files[ $last + 1 .. $#files ];
	return;
}

# Ends the script as skipped where the installation lacks one.
sub need_modules
{
	my @missing = missing_modules(@_);
	Test::More::plan(skip_all => "this installation lacks @missing") if @missing;
	return;
}

# An SQL expression that has half of what a storm reads come from the device, and none
# where a relation's file system does not read past its page cache.
sub sometimes_direct
{
	my ($node, $relation) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "SELECT verify_relation_summary('$relation', 'main', direct_io => true)");
	return 'random() < 0.5' if $code == 0;
	Test::More::note("nothing is read from the device: $err");
	return 'false';
}

# Builds the library that stands before system calls; returns its path.
sub fault_shim
{
	my $shim = PostgreSQL::Test::Utils::tempdir() . '/shim.so';
	my $headers = `pg_config --includedir-server`;
	chomp $headers;
	system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', '-Wl,-z,lazy',
		'-fno-builtin', '-U_FORTIFY_SOURCE', "-I$headers", '-o', $shim,
		'test/fault/shim.c', '-ldl');
	return $shim;
}

# Runs a query (or several) in a session that stops before its nth call of a kind on files
# whose path holds the pattern (a write: in the middle of it), and does something
# meanwhile.  "nth+": before each one from the nth on.  The node runs under the shim and
# has fault_arm().
sub stopped_at
{
	my ($node, $call, $nth, $pattern, $query, $meanwhile) = @_;
	my $data = $node->data_dir;
	my ($out, $err) = ('', '');
	my $again = $nth =~ s/\+$// ? 'true' : 'false';
	my $stops = 0;

	unlink "$data/fault_paused", "$data/fault_go";
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
			map { ('-c', $_) } "SELECT fault_arm('$call', 'pause', $nth, $again, '$pattern')",
			ref $query ? @$query : $query ],
		'<', \undef, '>', \$out, '2>', \$err);
	while (seen_stopped($data, $session))
	{
		$stops++;
		$meanwhile->();
		unlink "$data/fault_paused";
		append_to_file("$data/fault_go", '');
		last if $again eq 'false';
	}
	$meanwhile->() if !$stops;
	append_to_file("$data/fault_go", '');
	$session->finish;
	unlink "$data/fault_paused", "$data/fault_go";
	$out =~ s/^\n//;
	chomp $out;
	return ($stops ? $out : 'never stopped', $err);
}

# Takes what a command of IPC::Run has said; false when it has ended.  It can end
# between pump_nb's looking whether it runs, and ours.
sub still_runs
{
	my ($run) = @_;

	eval { $run->pump_nb; 1 } or $@ =~ /^process ended prematurely/ or die $@;
	return $run->pumpable;
}

# Waits until the session stops; false when it has ended.
sub seen_stopped
{
	my ($data, $session) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	while (!-e "$data/fault_paused" && time < $until)
	{
		usleep(5000);
		last if !still_runs($session);
	}
	return -e "$data/fault_paused";
}

# Waits until a query says that something is so while a session of IPC::Run is at
# work; false when the session has ended without it.
sub seen_in
{
	my ($node, $session, $query) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $until)
	{
		return 1 if $node->safe_psql('postgres', $query) eq 't';
		return 0 if !still_runs($session);
		usleep(20_000);
	}
	return 0;
}

# Whether a database takes connections.  (psql gets no input: where it has ended
# before that is written, IPC::Run would die.)
sub accepts
{
	my ($node, $database) = @_;
	return IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr($database // 'postgres'), '-c', 'SELECT 1' ],
		'<', \undef, '>', \my $out, '2>', \my $err);
}

# SQL that waits until somebody holds a lock on a relation, within a session that
# is there already: it may be held for less than it takes to start one.  The last
# row says whether that was seen: who is stopped meanwhile sees nothing.
sub until_locked
{
	my ($relation) = @_;
	return qq{SET accel.seen = no; DO \$\$ BEGIN
	FOR i IN 1 .. 6000 LOOP
		IF EXISTS (SELECT FROM pg_locks WHERE relation = '$relation'::regclass AND granted) THEN SET accel.seen = yes; RETURN; END IF;
		PERFORM pg_sleep(0.005);
	END LOOP; END \$\$; SHOW accel.seen};
}

# Waits until a server that restarts by itself does.
sub comes_back
{
	my ($node) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	while (time < $until)
	{
		return 1 if accepts($node);
		usleep(100_000);
	}
	return 0;
}

# Kills a server and all that it has started, and waits until they are gone.
sub kill_all
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my @processes = ($postmaster, split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children"));
	$node->kill9;
	kill 'KILL', @processes;
	for (1 .. 6000)
	{
		last if !grep { kill 0, $_ } @processes;
		usleep(10_000);
	}
	return;
}

# The argument of verify_database() for the relations that SQL selects.
sub relations
{
	my ($node, $where, $database) = @_;
	my $array = $node->safe_psql($database // 'postgres',
		"SELECT quote_literal(array_agg(oid ORDER BY oid)) FROM pg_class WHERE $where");
	return "relations => $array";
}

# Locks a relation in a session of its own, so that what comes to it waits there.
sub gate
{
	my ($node, $relation, $database) = @_;
	my $gate = $node->background_psql($database // 'postgres');
	$gate->query_safe("BEGIN; LOCK TABLE $relation IN ACCESS EXCLUSIVE MODE");
	return $gate;
}

# Waits until somebody stands before that gate.
sub wait_at_gate
{
	my ($node, $relation, $database) = @_;
	return $node->poll_query_until($database // 'postgres',
		"SELECT count(*) > 0 FROM pg_locks WHERE relation = '$relation'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())");
}

# Stops a server and makes the next one of it by pg_upgrade, which is not started.  That
# is of the next major version, if the test has a line "# Next:" and there is one, else of
# the same.  Options: name => its name and how =>
# pg_upgrade's option.  Returns nothing if it cannot be done.
sub upgrade
{
	my ($node, $conf, %opt) = @_;
	my ($bindir, $settings) = @ENV{qw(ACCEL_NEXT_BINDIR ACCEL_NEXT_CONF)};
	my $old_bindir = $node->config_data('--bindir');
	my @install = $bindir ? (install_path => $bindir =~ s/\/bin$//r) : ();

	# 15.20 marks columns in a way that the wheel's 16, which is older, does not take
	$node->safe_psql($_, q[UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '{pg_attver=%'])
	  foreach split /\n/, $node->safe_psql('postgres', 'SELECT datname FROM pg_database WHERE datallowconn');
	$node->stop;
	my $next = PostgreSQL::Test::Cluster->new($opt{name} // 'next', @install);
	$bindir //= $old_bindir;
	$next->init(extra => ['--data-checksums'], allows_streaming => 1);
	$next->append_conf('postgresql.conf', slurp_file($settings // $ENV{ACCEL_STAGED_CONF}) . $conf);
	chomp(my $here = `pwd`);
	chdir PostgreSQL::Test::Utils::tempdir() or die;
	my ($output, $errors) = run_command([ "$bindir/pg_upgrade", '--old-datadir' => $node->data_dir, '--new-datadir' => $next->data_dir,
		'--old-bindir' => $old_bindir, '--new-bindir' => $bindir, '--socketdir' => $node->host, '--old-port' => $node->port,
		'--new-port' => $next->port, $opt{how} // () ]);
	chdir $here or die;
	if ($output =~ /libraries that are missing/)
	{
		Test::More::note('pg_upgrade of this version looks for extensions in $libdir alone');
		return;
	}
	Test::More::like($output, qr/^Upgrade Complete$/m, join ' ', 'pg_upgrade', $opt{how} // ()) or Test::More::note($output, $errors);
	return $next;
}

# Starts a server with a library preloaded by the loader.
# Files as they are some time after they were written.
sub age
{
	my ($path) = @_;

	foreach my $file (split /\0/, qx(find '$path' -type f -print0))
	{
		my $mtime = (stat $file)[9];
		utime $mtime - 100, $mtime - 100, $file or die "$file: $!";
	}
	return;
}

# Makes such a base backup, with the folders above it.
sub base_backup
{
	my ($node, $path, @options) = @_;

	File::Path::make_path($path =~ s{[^/]+$}{}r);
	PostgreSQL::Test::Utils::system_or_bail('pg_basebackup', '-D', $path, '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', @options);
	age($path);
	return;
}

sub start_under
{
	my ($library, $node) = @_;
	local $ENV{LD_PRELOAD} = $library;
	$node->start;
	return;
}

# Sets a file or folder of a directory aside, and calls.
sub without
{
	my ($root, $path, $call) = @_;
	rename("$root/$path", "$root.aside") or die "$root/$path: $!";
	my @said = $call->($root);
	rename("$root.aside", "$root/$path") or die $!;
	return wantarray ? @said : $said[0];
}

# Copies what a server is at work on, which may remove files meanwhile.
sub copy_live
{
	my ($from, $to) = @_;
	my $said = '';
	IPC::Run::run([ 'cp', '-aL', $from, $to ], '2>', \$said);
	Test::More::BAIL_OUT($said) if grep { !/: No such file or directory$/ } split /\n/, $said;
	return;
}

# A base backup without a manifest that is made by hand.  It copies the server's files
# and calls, then copies once more what is named.  Returns the folder, and where the
# backup ends.
sub copy_by_hand
{
	my ($node, $copy, $later, $call) = @_;
	my $data = $node->data_dir;
	my $session = $node->background_psql('postgres');
	$session->query_safe(q{SELECT pg_backup_start('by hand', true)});
	copy_live($data, $copy);
	$call->();
	PostgreSQL::Test::Utils::system_or_bail('rm', '-rf', "$copy/postmaster.pid", map { "$copy/$_" } 'pg_wal', @$later);
	copy_live("$data/$_", "$copy/$_") foreach @$later;
	my ($end, $label) = split /\|/, $session->query_safe(q{SELECT lsn, labelfile FROM pg_backup_stop(false)}), 2;
	$session->quit;
	copy_live("$data/pg_wal", "$copy/pg_wal");
	PostgreSQL::Test::Utils::append_to_file("$copy/backup_label", $label =~ s/\n*$/\n/r);
	return wantarray ? ($copy, $end) : $copy;
}

# A manifest without checksums of a backup whose WAL ends there.
sub make_manifest
{
	my ($backup, $end) = @_;
	my ($start) = PostgreSQL::Test::Utils::slurp_file("$backup/backup_label") =~ m{^START WAL LOCATION: ([0-9A-F/]+)}m;
	my @files;
	unlink "$backup/backup_manifest";
	File::Find::find({ no_chdir => 1, follow_fast => 1, wanted => sub {
		my $path = $File::Find::name =~ s{^\Q$backup\E/}{}r;
		push @files, sprintf('{ "Path": "%s", "Size": %d }', $path, -s $_) if -f $_ && $path !~ /^pg_wal/;
	} }, $backup);
	my $text = sprintf qq(%s\n"Files": [\n%s],\n"WAL-Ranges": [%s],\n), '{ "PostgreSQL-Backup-Manifest-Version": 1,', join(",\n", sort @files),
	  sprintf('{ "Timeline": 1, "Start-LSN": "%s", "End-LSN": "%s" }', $start, $end);
	PostgreSQL::Test::Utils::append_to_file("$backup/backup_manifest", $text . '"Manifest-Checksum": "' . sha256_hex($text) . "\"}\n");
	return;
}

1;
