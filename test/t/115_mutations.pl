# WAL archives and backups that are damaged at random: the program's rows are those
# of SQL, whatever was done to the files.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use Digest::SHA qw(sha1_hex);
use File::Path qw(remove_tree);
use IO::Compress::Gzip qw(gzip);
use Mutation;
use PostgreSQL::Test::Utils;
use Test::More;

# changes in all, and the seed that repeats them with the same files
my $wanted = $ENV{ACCEL_MUTATIONS} // ($ENV{LONG} ? 10000 : 400);
my $seed = $ENV{ACCEL_WAL_SEED} // time;
srand $seed;
note "seed $seed";

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nwal_compression = on\nwal_keep_size = 512MB\n");
my $version = $node->pg_version;
Accel::summarize_wal($node);
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# --- what is damaged -----------------------------------------------------------------

sub backup
{
	my ($name, @options) = @_;
	system_or_bail('pg_basebackup', '-D', "$dir/$name", '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '-l', "label of $name", @options);
	return "$dir/$name";
}

sql('CREATE EXTENSION crc32c_accel; UPDATE pg_database SET datistemplate = false');
sql("DROP DATABASE $_") foreach qw(template0 template1);
my $begin = sql("SELECT pg_switch_wal(); SELECT pg_logical_emit_message(true, 'a', 'b'); SELECT pg_walfile_name(pg_current_wal_lsn())") =~ s/.*\n//sr;
sql(q{
	CREATE TABLE t (id int PRIMARY KEY, filler text);
	INSERT INTO t SELECT g, repeat(md5(g::text), 8) FROM generate_series(1, 3000) g;
	CHECKPOINT;
	UPDATE t SET filler = filler || 'x' WHERE id % 3 = 0;
	SELECT pg_logical_emit_message(false, 'test', string_agg(md5(g::text), '')) FROM generate_series(1, 50000) g;
	SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 500) g;
	SELECT pg_switch_wal()});
my $plain = backup('plain');
my $tar = backup('tar', '-Ft');
my @more;
if ($version >= 17)
{
	sql("UPDATE t SET filler = 'y' WHERE id % 10 = 0; SELECT pg_switch_wal()");
	push @more, backup('incremental', "--incremental=$plain/backup_manifest");
}
sql("SELECT count(pg_logical_emit_message(false, 'test', repeat('z', g))) FROM generate_series(1, 500) g; SELECT pg_switch_wal()");
my $own = $node->data_dir . '/pg_wal';
my @names = split /\n/, sql("SELECT segment FROM verify_wal() WHERE status IN ('ok', 'ok_switched') AND segment >= '$begin' ORDER BY 1");
cmp_ok(scalar @names, '>=', 6, @names . ' segments');
my %plain = map { $_ => slurp_file("$own/$_") } @names;

# [suffix, what compresses a file's bytes]; programs that are not there are left out
sub through
{
	my ($command, $bytes) = @_;
	AccelWal::put("$dir/encoded", $bytes);
	open(my $pipe, '-|:raw', "$command <'$dir/encoded'") or die "$command: $!";
	my $out = do { local $/; <$pipe> };
	close $pipe;
	return $out;
}

sub gzipped
{
	my $out;
	gzip(\$_[0] => \$out, -Minimal => 1, -Level => 1) or die;
	return $out;
}
my @formats = ([ '', sub { $_[0] } ], [ '', sub { $_[0] } ], [ '.gz', \&gzipped ]);
push @formats, [ '.lz4', sub { through('lz4 -q -c -1 -B4', $_[0]) } ] if !system('command -v lz4 >/dev/null');
push @formats, [ '.zst', sub { through('zstd -q -c -1', $_[0]) } ] if !system('command -v zstd >/dev/null');
my %packed;

sub packed
{
	my ($name, $format) = @_;
	return $packed{"$name$format->[0]"} //= $format->[1]->($plain{$name});
}

# --- changes, and both sides asked -------------------------------------------------------

my ($changes, $rounds, %failed) = (0, 0);

# A round is right if both sides have the same rows.  Else what it read is kept.
sub same
{
	my ($what, $kept, $answer) = @_;
	return if $answer;
	diag "$what: seed $seed, round $rounds, changes $changes: see $kept";
	$failed{$kept} = 1;
	return;
}

sub same_rows
{
	my ($function, $root) = @_;
	same($function, $root, AccelProgram::compare($node, $function, $root));
	return;
}

sub begin_round
{
	my $root = "$dir/" . $rounds++;
	mkdir $root;
	return $root;
}

sub end_round
{
	my ($root) = @_;
	return if $failed{$root};
	remove_tree($root);
	return;
}

# A file of an archive, sound or damaged, before or after its compression, in one
# format and sometimes in a second one.
sub put_segment
{
	my ($root, $name, $time) = @_;
	my $format = Mutation::one_of(@formats);
	my $suffix = $format->[0];
	my $bytes;

	if (rand() < 0.5)
	{
		$bytes = packed($name, $format);
		$suffix = "-" . sha1_hex($plain{$name}) . $suffix if rand() < 0.1;
	}
	else
	{
		$changes++;
		$bytes = rand() < 0.5 ? Mutation::damage(packed($name, $format)) : $format->[1]->(Mutation::damage($plain{$name}));
		$suffix = Mutation::one_of('.partial', '.gz', '.zst', '.lz4', '-' . 'a' x 40, '') if rand() < 0.1;
	}
	# what is there may be a directory, or not to be written to
	rmdir "$root/$name$suffix" or unlink "$root/$name$suffix";
	AccelWal::put("$root/$name$suffix", $bytes);
	utime $time, $time, "$root/$name$suffix";
	return;
}

sub rename_some
{
	my ($root, $count) = @_;
	for (1 .. $count)
	{
		my @files = grep { -f $_ && !-l $_ } glob("$root/*");
		$changes++;
		Mutation::rename_file(Mutation::one_of(@files), @files, map { "$root/" . Mutation::one_of(@names) . $_->[0] } @formats);
	}
	return;
}

sub put_beside
{
	my ($root) = @_;
	my ($label) = slurp_file("$plain/backup_label") =~ /START WAL LOCATION: \S+ \(file (\w+)\)/;
	my %texts = ('00000002.history' => "1\t0/3000000\tno reason\n", "$label.00000028.backup" => slurp_file("$plain/backup_label"));

	foreach my $name (keys %texts)
	{
		$changes++;
		AccelWal::put("$root/$name", Mutation::damage_text($texts{$name}));
	}
	return;
}

sub archive_round
{
	my $root = begin_round();

	put_segment($root, $_, time - 3600) foreach @names, Mutation::one_of(@names);
	rename_some($root, int rand 3);
	put_beside($root) if rand() < 0.3;
	same_rows('verify_wal', $root);
	same_rows('verify_wal_images', $root) if rand() < 0.2;
	end_round($root);
	return;
}

# A copy of which some files are damaged.
sub damaged_copy
{
	my ($from, $to, $count) = @_;
	my @all;

	system_or_bail('cp', '-al', $from, $to);
	push @all, split /\n/, `find '$to' -type f -size +0 -size -64 | sort`;
	my @large = split /\n/, `find '$to' -type f -size +63 | sort`;
	my @known = grep { m{(?:backup_manifest|backup_label|PG_VERSION|pg_control|pg_wal/[0-9A-F]{24}|\.tar.*|pg_filenode.map)$} } @all, @large;
	for (1 .. $count)
	{
		my $from_these = Mutation::one_of(\@all, \@large, \@known);
		next if !@$from_these;
		my $path = Mutation::one_of(@$from_these);
		next if !-f $path || -l $path || !-r $path;
		$changes++;
		if (rand() < 0.1) { Mutation::rename_file($path, @known, $path =~ s/\d$/9/r) }
		else { Mutation::damage_file($path) }
	}
	return;
}

sub backup_round
{
	my $root = begin_round();
	my %of = (directory => "$root/backup");

	damaged_copy($plain, "$root/backup", 1 + int rand Mutation::one_of(3, 30));
	$of{check_pages} = 'false' if rand() < 0.2;
	same('verify_backup', $root, AccelProgram::compare_backup($node, \%of));
	same_rows('verify_cluster_files', "$root/backup");
	end_round($root);
	return;
}

sub chain_round
{
	my $root = begin_round();

	damaged_copy($plain, "$root/full", int rand 3);
	damaged_copy($more[0], "$root/incremental", 1 + int rand 5);
	same('verify_backup, a chain', $root,
		AccelProgram::compare_backup($node, { directory => "$root/incremental", prior_backups => "'$root/full'" }));
	end_round($root);
	return;
}

my %tar_of = ('' => $tar);
foreach my $format (map { substr $_->[0], 1 } @formats[ 2 .. $#formats ])
{
	$tar_of{$format} = "$dir/tar.$format" if BackupTar::compress($tar, "$dir/tar.$format", $format);
}

sub tar_round
{
	my $root = begin_round();

	damaged_copy($tar_of{ Mutation::one_of(sort keys %tar_of) }, "$root/backup", 1 + int rand 2);
	same('verify_backup, archives', $root, AccelProgram::compare_backup($node, { directory => "$root/backup" }));
	end_round($root);
	return;
}

# --- what both remember of an archive ------------------------------------------------------

# A line per file, as the state file has it, without the times of runs.
sub remembered_by_sql
{
	my ($archive) = @_;
	return sql(qq{SELECT segment || ' ' || coalesce(size, 0) || ' ' || status || ' ' || start_open::int || ' ' || end_open::int
		|| ' ' || coalesce(lpad(upper(to_hex(crc32c)), 8, '0'), '-')
		FROM verify_wal_files WHERE directory = '$archive' AND status <> 'ok_expired' ORDER BY segment COLLATE "C"});
}

sub remembered_by_program
{
	my ($state) = @_;
	my @lines = slurp_file($state) =~ /^(\S+ \d+ -?\d+ \w+ [01] [01] \S+) -?\d+ -?\d+$/mg;
	return join "\n", sort map { s/^(\S+ \d+) -?\d+/$1/r } @lines;
}

sub state_round
{
	my $root = begin_round();
	my $time = time - 100000;
	my @known = AccelProgram::cluster_of($node);

	mkdir "$root/archive";
	foreach my $run (1 .. 5)
	{
		put_segment("$root/archive", $_, $time++) foreach $run == 1 ? @names : map { Mutation::one_of(@names) } 1 .. 2;
		rename_some("$root/archive", int rand 2) if $run > 1;
		my $again = rand() < 0.3;
		my ($code) = $node->psql('postgres', "CALL verify_wal_archive('$root/archive'" . ($again ? ", reverify_after => '0')" : ')'), stderr => \my $warnings);
		my ($status, $out, $err) = AccelProgram::verify('wal', '-v', "--state=$root/state", $again ? '--reverify-after=0s' : (), @known, "$root/archive");
		my ($sql, $program) = (remembered_by_sql("$root/archive"), remembered_by_program("$root/state"));
		same("verify_wal_archive, run $run", $root, is($program, $sql, "what is remembered, run $run")) if $program ne $sql;
		last if $failed{$root};
	}
	sql("DELETE FROM verify_wal_files WHERE directory = '$root/archive'");
	end_round($root);
	return;
}

# --- all ----------------------------------------------------------------------------------

my @kinds = (\&archive_round, \&archive_round, \&backup_round, \&tar_round, \&state_round, @more ? \&chain_round : ());
$AccelProgram::comparing = 1;    # as this script asks, and no more
while ($changes < $wanted && keys %failed < 5)
{
	$kinds[ $rounds % @kinds ]->();
}
is(keys %failed, 0, "$changes changes in $rounds rounds: the program's rows are those of SQL");
$node->stop;
done_testing();
