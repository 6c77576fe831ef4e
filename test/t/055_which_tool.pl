# docs/concepts.md, "Which tool finds what": each cell is tried on planted damage.
#
# The table is read from the document.  Each of its rows has an entry here, which
# says how the damage is planted and how each tool is asked, under each condition
# that matters.  %meaning says which answers a cell promises.  A row without an
# entry fails, and so does a cell without a meaning.
#
# Damage goes into the cluster, and into a base backup that was taken before.  A
# second backup is taken of the damaged cluster.  Every question is also asked
# before the damage, when nothing may be seen.
use strict;
use warnings;
use Accel;
use AccelWal;
use Digest::SHA qw(sha256_hex);
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

Accel::need_modules('amcheck');

use constant { BLOCK => 8192, SEGMENT => 1 << 30, MB => 1 << 20 };

my $document = 'docs/concepts.md';
my @tools = qw(crc32c_accel pg_checksums amcheck pg_verifybackup pg_waldump);
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $backup = "$dir/backup";		# taken before the damage
my $late = "$dir/late";			# taken after it
my %path;						# relation (and _fsm) => file
my %before;						# relation => its file at the first checkpoint
my %now;						# the same when the backup was taken
my %said;						# tool, or tool and where => what it printed
my %lost;						# WAL => relation => statuses by verify_lost_writes
my $future;						# a page of an LSN to come, checksum and all

# --- what a cell promises: condition => answer -----------------------------------
# "yes" and "no" hold under all conditions, "-" is never asked.

my $since = { 'changed since' => 'seen', 'changed before' => 'unseen' };
my $reads = { 'reads it' => 'error', 'does not read it' => 'unseen' };
my $for_backup = { 'of the backup' => 'seen', 'other' => 'unseen' };
my %meaning = (
	'backup' => { 'a backup' => 'seen', 'the cluster' => 'unseen' },
	'an error' => { 'reads it' => 'error' },
	'an error where it reads' => $reads,
	'yes, where it reads' => { 'reads it' => 'seen', 'does not read it' => 'unseen' },
	'if the file changed since the backup' => $since,
	'if the file changed' => $since,
	'yes, in the backup' => $since,
	'sometimes' => { 'table' => 'unseen', 'TOAST table' => 'seen' },
	'tables: those vacuumed; any page that WAL proves' => {
		'table, vacuumed' => 'seen', 'table, WAL kept' => 'seen', 'B-tree, WAL kept' => 'seen',
		'table' => 'unseen', 'B-tree' => 'unseen' },
	'tables: no; B-tree: yes' => { 'table, vacuumed' => 'unseen', 'table' => 'unseen', 'B-tree' => 'seen' },
	'only with SHA checksums' => { 'by CRC-32C' => 'unseen', 'by SHA-256' => 'seen' },
	'yes, if WAL of its last write is kept' => { 'WAL kept' => 'seen', 'WAL gone' => 'unseen' },
	'tables: those vacuumed; others if WAL of a write is kept' => { 'table, vacuumed' => 'seen', 'WAL kept' => 'seen', 'WAL gone' => 'unseen' },
	'if it contradicts another page' => { 'contradicts' => 'seen', 'does not' => 'unseen' },
	'yes (`heapallindexed`)' => { 'heapallindexed' => 'seen', 'without' => 'unseen' },
	'yes, for the WAL of the backup' => $for_backup,
	'yes, for the backup' => $for_backup,
	'yes, and stops there' => { 'the record' => 'seen', 'what follows' => 'unseen' });

# --- the rows of the document: damage and questions --------------------------------

my %entry = (
	'online' => {
		ask => {
			crc32c_accel => { '' => sub { runs('SELECT count(*) FROM verify_relation(\'pg_class\')') } },
			pg_checksums => { '' => sub { command('pg_checksums', '--check', '-D', data()) } },
			amcheck => { '' => sub { runs('SELECT count(*) FROM verify_heapam(\'pg_class\')') } },
			pg_verifybackup => {
				'a backup' => sub { command('pg_verifybackup', '-n', '-s', $backup) },
				'the cluster' => sub { command('pg_verifybackup', '-n', '-s', data()) } },
			pg_waldump => { '' => sub { command('pg_waldump', '-q', '-n', 1, '-p', data() . '/pg_wal', '-s', split /\|/, sql('SELECT redo_lsn, redo_wal_file FROM pg_control_checkpoint()')) } } } },
	'bit flip in a page' => {
		plant => sub { flip("$_[0]/$path{$_}", BLOCK + 5000) foreach 'flip', 'flip_map_fsm', 'flip_i' },
		ask => {
			crc32c_accel => accel(checksum_mismatch => 'flip', 'flip_map_fsm', 'flip_i'),
			pg_checksums => checksums('flip', 'flip_map_fsm', 'flip_i'),
			amcheck => {
				'reads it' => each_of(heapam('flip'), btree('flip_i')),
				'does not read it' => heapam('flip_map') },
			pg_verifybackup => changed('flip', 'flip_map_fsm', 'flip_i') } },
	'garbage after a zero header' => {
		plant => sub { poke($_[0], $_, BLOCK, "\0" x 24) foreach 'header', 'header_i' },
		ask => {
			crc32c_accel => accel(zero_header => 'header', 'header_i'),
			pg_checksums => checksums('header', 'header_i'),
			amcheck => { 'reads it' => each_of(heapam('header'), btree('header_i')) },
			pg_verifybackup => changed('header', 'header_i') } },
	'a page LSN after the end of WAL' => {
		plant => sub { poke($_[0], 'future', BLOCK, $future) },
		ask => {
			crc32c_accel => accel(lsn_in_future => 'future'),
			pg_checksums => checksums('future'),
			amcheck => { '' => heapam('future') },
			pg_verifybackup => changed('future') } },
	'missing or short segment in the middle' => {
		plant => sub {
			my ($root) = @_;
			grow_segments($root);
			cut($root, $_, BLOCK) foreach 'short', 'toast';
			unlink "$root/$path{missing}.1" or die $!;
		},
		ask => {
			crc32c_accel => { %{ accel(missing => 'missing') }, %{ accel(size_mismatch => 'short', 'toast') } },
			pg_checksums => checksums('missing', 'short', 'toast'),
			amcheck => { 'table' => heapam('short'), 'TOAST table' => heapam('toasted') },
			pg_verifybackup => {
				'changed since' => changed('missing', 'short', 'toast')->{'changed since'},
				'changed before' => changed('short', 'toast')->{'changed before'} } } },
	'zeroed page' => {
		plant => sub { poke($_[0], $_, BLOCK, "\0" x BLOCK) foreach 'zero', 'zero_new', 'zero_i' },
		ask => {
			crc32c_accel => {
				'table, vacuumed' => on_page('zero', 'zeroed_page'),
				'table, WAL kept' => by_wal('kept', 'zero_new', 'zeroed_page'),
				'B-tree, WAL kept' => by_wal('kept', 'zero_i', 'zeroed_page'),
				'table' => each_of(on_page('zero_new'), by_wal('gone', 'zero_new')),
				'B-tree' => each_of(on_page('zero_i'), by_wal('gone', 'zero_i')) },
			pg_checksums => checksums('zero', 'zero_new', 'zero_i'),
			amcheck => { 'table, vacuumed' => heapam('zero'), 'table' => heapam('zero_new'), 'B-tree' => btree('zero_i') },
			pg_verifybackup => changed('zero', 'zero_new', 'zero_i') } },
	'page of another kind of relation' => {
		plant => sub {
			my ($root) = @_;
			my %page = map { $_ => AccelWal::peek("$root/$path{$_}", BLOCK, BLOCK) } 'kind', 'kind_i';
			poke($root, 'kind_map_fsm', 2 * BLOCK, AccelWal::peek("$root/$path{kind}", 2 * BLOCK, BLOCK));
			poke($root, 'kind_i', BLOCK, $page{kind});
			poke($root, 'kind', BLOCK, $page{kind_i});
		},
		ask => {
			crc32c_accel => accel(wrong_page_kind => 'kind', 'kind_i', 'kind_map_fsm'),
			pg_checksums => checksums('kind', 'kind_i', 'kind_map_fsm'),
			amcheck => { 'reads it' => each_of(heapam('kind'), btree('kind_i')), 'does not read it' => heapam('kind_map') },
			pg_verifybackup => changed('kind', 'kind_i', 'kind_map_fsm') } },
	'older version of a page' => {
		plant => sub { poke($_[0], $_, BLOCK, substr($before{$_}, BLOCK, BLOCK)) foreach 'old', 'old_i' },
		ask => {
			crc32c_accel => {
				'WAL kept' => each_of(map { by_wal('kept', $_, 'stale_page') } 'old', 'old_i'),
				'WAL gone' => each_of(map { (on_page($_), by_wal('gone', $_)) } 'old', 'old_i') },
			pg_checksums => checksums('old', 'old_i'),
			amcheck => { 'contradicts' => btree('old_i'), 'does not' => heapam('old') },
			pg_verifybackup => changed('old', 'old_i') } },
	'blocks cut off at the end of the last file' => {
		plant => sub { cut($_[0], $_, (-s "$_[0]/$path{$_}") - BLOCK) foreach 'cut', 'cut_i' },
		ask => {
			crc32c_accel => {
				'table, vacuumed' => on_page('cut', 'size_mismatch'),
				'WAL kept' => each_of(map { by_wal('kept', $_, 'missing_block') } 'cut', 'cut_i'),
				'WAL gone' => each_of(on_page('cut_i'), by_wal('gone', 'cut_i')) },
			pg_checksums => checksums('cut', 'cut_i'),
			amcheck => { 'reads it' => btree('cut_i'), 'does not read it' => heapam('cut') },
			pg_verifybackup => changed('cut', 'cut_i') } },
	'rows and index entries disagree' => {
		sql => q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'apart_i'::regclass;
			INSERT INTO apart SELECT -g, 'no entry' FROM generate_series(1, 5) g;
			UPDATE pg_index SET indisready = true WHERE indexrelid = 'apart_i'::regclass},
		ask => {
			crc32c_accel => { '' => each_of(map { (on_page($_), by_wal('kept', $_)) } 'apart', 'apart_i') },
			pg_checksums => checksums('apart', 'apart_i'),
			amcheck => { 'heapallindexed' => btree('apart_i'), 'without' => btree('apart_i', 'false') },
			pg_verifybackup => { '' => changed('apart', 'apart_i')->{'changed before'} } } },
	'bit flip in a relation map' => {
		plant => sub { flip("$_[0]/$path{map}", 100) },
		ask => {
			crc32c_accel => { '' => in_cluster('map', 'checksum_mismatch') },
			pg_checksums => checksums('map'),
			amcheck => { 'reads it' => elsewhere('template1') },
			pg_verifybackup => changed('map') } },
	'older version of a relation map' => {
		plant => sub { AccelWal::put("$_[0]/$path{map_shop}", $before{map_shop}) },
		ask => {
			crc32c_accel => { '' => in_cluster('map_shop', 'bad_format') },
			pg_checksums => checksums('map_shop'),
			amcheck => { 'reads it' => elsewhere('shop') },
			pg_verifybackup => { 'by CRC-32C' => changed('map_shop')->{'changed since'}, 'by SHA-256' => by_sha('map_shop') } } },
	'bit flip in a WAL record' => {
		ask => {
			crc32c_accel => { '' => wal_findings('one', 1) },
			pg_waldump => { 'the record' => waldump_fails('one'), 'what follows' => waldump_shows('one', 2) },
			pg_verifybackup => { 'of the backup' => backup_with('flipped'), 'other' => backup_with('other') } } },
	'damage after the first bad WAL record' => {
		ask => {
			crc32c_accel => { '' => wal_findings('two', 2) },
			pg_waldump => { '' => sub { is_seen($said{'pg_waldump two'} =~ s{$dir/two}{$dir/one}gr ne $said{'pg_waldump one'}) } },
			pg_verifybackup => { '' => sub { is_seen($said{'pg_verifybackup two'} ne $said{'pg_verifybackup flipped'}) } } } },
	'missing WAL segment' => {
		ask => {
			crc32c_accel => { '' => wal_findings('gap', 1) },
			pg_waldump => { '' => waldump_fails('gap') },
			pg_verifybackup => { 'of the backup' => backup_with('missing'), 'other' => backup_with('without') } } });

# --- the cluster ------------------------------------------------------------------

my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'],
	conf => <<'CONF');
autovacuum = off
jit = off
fsync = off
checkpoint_timeout = 1h
wal_keep_size = 512MB
bgwriter_lru_maxpages = 0
CONF
$node->start;
make_tables();
my @rows = table();
is(join("\n", map { $_->{damage} } grep { !$entry{ $_->{damage} } } @rows), '', 'each row of the document is tried here');
is(join("\n", grep { my $name = $_; !grep { $_->{damage} eq $name } @rows } sort keys %entry), '', 'each row tried here is in the document');

my %cells = map { $_ => 1 } map { @{$_}{@tools} } @rows;
is(join("\n", grep { !$cells{$_} } sort keys %meaning), '', 'each meaning here is that of a cell');

take_backup($backup);
make_wal();
add_segments($backup);
$node->stop;
ask_offline();
$node->start;
ask_wal();
like($said{$backup}, qr/successfully verified/, 'nothing is seen before the damage: pg_verifybackup') or diag $said{$backup};
my %healthy = map { $_ => answers($_) } keys %entry;
foreach my $row (grep { !/^online$|WAL (record|segment)$/ } sort keys %entry)
{
	is(join(', ', noticed($healthy{$row})), '', "nothing is seen before the damage: $row");
}

sql($_) foreach grep { $_ } map { $_->{sql} } values %entry;
$node->stop;
foreach my $plant (grep { $_ } map { $_->{plant} } values %entry)
{
	$plant->($_) foreach data(), $backup;
}
ask_offline();
$node->start;
ask_wal();
late_backup();
my %seen = map { $_ => answers($_) } grep { $_ ne 'online' } keys %entry;
$seen{online} = $healthy{online};
foreach my $row (grep { $seen{ $_->{damage} } } @rows)
{
	compare($row, $_, $seen{ $row->{damage} }{$_} // {}) foreach @tools;
}
$node->stop('immediate');
done_testing();

# --- the document -------------------------------------------------------------------

# Its rows: what the columns are called => the cell
sub table
{
	my ($section) = slurp_file($document) =~ /^## Which tool finds what\n(?:[^|\n].*\n|\n)*((?:\|.*\n)+)/m;
	my ($head, undef, @lines) = map { [ split /\s*\|\s*/, s/^\|\s*//r ] } $section =~ /^(\|.*\|)$/mg;
	is("@$head", "damage @tools", 'the columns of the document');
	return map { my %row; @row{@$head} = @$_; \%row } @lines;
}

sub compare
{
	my ($row, $tool, $seen) = @_;
	my $cell = $row->{$tool};
	my %all = (yes => 'seen', no => 'unseen');
	my $want = $meaning{$cell};

	$want = { map { $_ => $all{$cell} } %$seen ? keys %$seen : '' } if $all{$cell};
	$want = {} if $cell eq '-';
	return fail("$row->{damage}, $tool: \"$cell\" has a meaning here") if !$want;
	my %got = %$seen;
	if (!grep { $_ eq 'error' } values %$want)
	{
		s/error/seen/, s/^seen and seen$/seen/ foreach values %got;
	}
	return is_deeply(\%got, $want, "$row->{damage}, $tool: $cell");
}

# --- questions: each gives a sub that answers "seen", "unseen" or "error" ------------

sub answers
{
	my ($row) = @_;
	my $ask = $entry{$row}{ask};
	my %answers;

	foreach my $tool (keys %$ask)
	{
		$answers{$tool}{$_} = $ask->{$tool}{$_}->() foreach keys %{ $ask->{$tool} };
	}
	return \%answers;
}

sub noticed
{
	my ($answers) = @_;
	my @noticed;

	foreach my $tool (sort keys %$answers)
	{
		push @noticed, map { "$tool $_" } grep { $answers->{$tool}{$_} ne 'unseen' } sort keys %{ $answers->{$tool} };
	}
	return @noticed;
}

# One answer for several questions; no known one if they differ
sub each_of
{
	my (@ask) = @_;
	return sub {
		my %answers = map { $_->() => 1 } @ask;
		return join ' and ', sort keys %answers;
	};
}

sub is_seen { return $_[0] ? 'seen' : 'unseen'; }

# verify_relation: this status for the relation, or any
sub on_page
{
	my ($relation, $status) = @_;
	my ($name, $fork) = split /_(?=fsm$)/, $relation;
	return sub {
		my $got = sql("SELECT string_agg(DISTINCT status, ',') FROM verify_relation("
			  . ($name eq 'toast' ? "(SELECT reltoastrelid FROM pg_class WHERE relname = 'toasted')" : "'$name'")
			  . ($fork ? ", '$fork')" : ')'));
		return is_seen($got eq ($status // $got) && $got ne '');
	};
}

# verify_lost_writes: the same, with WAL that is kept or gone
sub by_wal
{
	my ($wal, $relation, $status) = @_;
	return sub {
		my $got = $lost{$wal}{$relation} // '';
		return is_seen($got eq ($status // $got) && $got ne '');
	};
}

sub accel
{
	my ($status, @relations) = @_;
	return { map { $_ => on_page($_, $status) } @relations };
}

sub checksums
{
	return { map { my $relation = $_; $relation => sub { is_seen($said{pg_checksums} =~ m{/\Q$path{$relation}\E"}) } } @_ };
}

sub changed
{
	my (@relations) = @_;
	my $names = sub {
		my ($which) = @_;
		return each_of(map { my $relation = $_; sub { is_seen(($said{$which} // '') =~ m{"\Q$path{$relation}\E(?:\.\d)?"}) } } @relations);
	};
	return { 'changed since' => $names->($backup), 'changed before' => $names->($late) };
}

# amcheck: rows or an error
sub check
{
	my ($query) = @_;
	return sub {
		my ($status, $out) = $node->psql('postgres', $query);
		return $status != 0 ? 'error' : is_seen($out > 0);
	};
}

# (as pg_amcheck asks)
sub heapam { return check("SELECT count(*) FROM verify_heapam('$_[0]', check_toast => true)"); }

sub btree
{
	my ($index, $heapallindexed) = @_;
	return check("SELECT count(*) - 1 FROM bt_index_parent_check('$index', " . ($heapallindexed // 'true') . ', true)');
}

# ... in another database
sub elsewhere
{
	my ($database) = @_;
	return sub {
		return (runs("SELECT count(*) FROM pg_class", $database) eq 'seen') ? 'unseen' : 'error';
	};
}

sub in_cluster
{
	my ($file, $status) = @_;
	return sub { is_seen($status eq sql("SELECT status FROM verify_cluster_files() WHERE path = '$path{$file}'")) };
}

# A manifest that has the SHA-256 of the file
sub by_sha
{
	my ($file) = @_;
	return sub {
		my $manifest = slurp_file("$backup/backup_manifest");
		rewrite_manifest($backup, sub {
			$_[0] =~ s/("Path": "$path{$file}".*"Checksum-Algorithm": ")CRC32C(", "Checksum": ")\w+/$1 . 'SHA256' . $2 . sha256_hex($now{$file})/e
			  or die "the manifest lacks $path{$file}";
		});
		my $answer = is_seen(output('pg_verifybackup', $backup) =~ /"$path{$file}"/);
		AccelWal::put("$backup/backup_manifest", $manifest);
		return $answer;
	};
}

sub wal_findings
{
	my ($folder, $findings) = @_;
	return sub {
		return is_seen($findings == sql("SELECT sum(findings) FROM verify_wal('$dir/$folder')"));
	};
}

sub waldump_fails { my ($folder) = @_; return sub { is_seen($said{"pg_waldump $folder"} =~ /error: /) }; }

# Does it print records of this segment?
sub waldump_shows
{
	my ($folder, $segment) = @_;
	return sub { is_seen($said{"pg_waldump $folder"} =~ /$said{"segment $segment"}/) };
}

sub backup_with { my ($what) = @_; return sub { is_seen($said{"pg_verifybackup $what"} !~ /successfully verified/) }; }

sub runs
{
	my ($query, $database) = @_;
	return is_seen(($node->psql($database // 'postgres', $query))[0] == 0);
}

sub command { return is_seen(system(join(' ', map { "'$_'" } @_) . " >$dir/said 2>&1") == 0); }

sub output
{
	my $out;
	IPC::Run::run([@_], '<', \undef, '>', \$out, '2>&1');
	return $out;
}

# --- the cluster and its backups ------------------------------------------------------

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub data { return $node->data_dir; }

# Tables of their own for each row; what changes after the first checkpoint is kept
# as it was.  WAL of the second half alone stands for WAL that is gone.
sub make_tables
{
	my @tables = qw(flip flip_map header future missing short zero zero_new kind kind_map old old_of_i cut cut_of_i apart);

	sql('CREATE EXTENSION crc32c_accel; CREATE EXTENSION amcheck');
	sql("CREATE TABLE $_ AS SELECT g, repeat('x', 100) AS b FROM generate_series(1, 4000) g") foreach @tables;
	sql('CREATE INDEX flip_i ON flip (g); CREATE INDEX header_i ON header (g); CREATE INDEX zero_i ON zero_new (g)');
	sql('CREATE INDEX kind_i ON kind (g); CREATE INDEX old_i ON old_of_i (g); CREATE INDEX cut_i ON cut_of_i (g)');
	sql('CREATE INDEX apart_i ON apart (g); CREATE TABLE toasted (t text); ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL');
	sql("INSERT INTO toasted SELECT repeat('t', 10000) FROM generate_series(1, 20)");
	$node->safe_psql('postgres', "VACUUM FREEZE $_") foreach 'toasted', grep { $_ ne 'zero_new' } @tables;
	sql('CHECKPOINT');

	$path{$_} = sql("SELECT pg_relation_filepath('$_')") foreach @tables, map { "${_}_i" } qw(flip header zero kind old cut apart);
	$path{toast} = sql("SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'toasted'");
	$path{$_} = $path{ s/_fsm$//r } . '_fsm' foreach 'flip_map_fsm', 'kind_map_fsm';
	$before{$_} = slurp_file(data() . "/$path{$_}") foreach 'old', 'old_i';

	sql('CREATE DATABASE shop');
	$path{map} = sql("SELECT 'base/' || oid || '/pg_filenode.map' FROM pg_database WHERE datname = 'template1'");
	$path{map_shop} = sql("SELECT 'base/' || oid || '/pg_filenode.map' FROM pg_database WHERE datname = 'shop'");
	$before{map_shop} = slurp_file(data() . "/$path{map_shop}");
	$node->safe_psql('shop', 'VACUUM FULL pg_class');
	$now{map_shop} = slurp_file(data() . "/$path{map_shop}");

	sql('DELETE FROM old WHERE g % 3 = 0; INSERT INTO old_of_i SELECT g / 10, \'more\' FROM generate_series(1, 4000) g; CHECKPOINT');
	sql('SELECT pg_switch_wal()');
	$said{late} = sql('CHECKPOINT; SELECT pg_walfile_name(redo_lsn) FROM pg_control_checkpoint()');

	$future = AccelWal::peek(data() . "/$path{future}", BLOCK, BLOCK);
	substr($future, 0, 8) = pack('LL', 0x7000, 0);
	substr($future, 8, 2) = pack('S', sql("SELECT computed_checksum FROM verify_page('\\x" . unpack('H*', $future) . "', 1)"));
	return;
}

sub take_backup
{
	my ($where) = @_;
	system_or_bail('pg_basebackup', '-D', $where, '-h', $node->host, '-p', $node->port,
		'--checkpoint=fast', '--no-sync', '--no-verify-checksums');
	return;
}

# A backup of the damaged cluster, without the relation whose files are long
sub late_backup
{
	my @long = grep { -e } map { data() . "/$path{missing}$_" } '', '.2';
	my $aside = $node->basedir;

	rename $_, $aside . '/' . s{.*/}{}r or die $! foreach @long;
	take_backup($late);
	rename $aside . '/' . s{.*/}{}r, $_ or die $! foreach @long;
	$said{$late} = output('pg_verifybackup', $late);
	return;
}

# Files of relations of several segments (holes: new pages).
my %segments;

sub grow_segments
{
	my ($root) = @_;
	%segments = map { ("$path{$_}" => SEGMENT, "$path{$_}.1" => BLOCK) } 'missing', 'short', 'toast';
	$segments{"$path{missing}.1"} = SEGMENT;
	$segments{"$path{missing}.2"} = BLOCK;
	foreach my $file (keys %segments)
	{
		append_to_file("$root/$file", '');
		truncate("$root/$file", $segments{$file}) or die $!;
	}
	return;
}

# The backup has had them from the beginning: its manifest says so, as it would
# with --manifest-checksums=NONE.
sub add_segments
{
	my ($root) = @_;
	grow_segments($root);
	my $known = join '|', map { quotemeta } keys %segments;
	my $entries = join '', map { qq({ "Path": "$_", "Size": $segments{$_}, "Last-Modified": "2026-01-01 00:00:00 GMT" },\n) } sort keys %segments;

	rewrite_manifest($root, sub {
		$_[0] =~ s/^\{ "Path": "(?:$known)".*\},?\n//mg;
		$_[0] =~ s/("Files": \[\n)/$1$entries/;
		$_[0] =~ s/\},\n\]/}\n]/;
	});
	return;
}

sub rewrite_manifest
{
	my ($root, $change) = @_;
	my ($text) = slurp_file("$root/backup_manifest") =~ /^(.*)"Manifest-Checksum"/s;

	$change->($text);
	AccelWal::put("$root/backup_manifest", $text . '"Manifest-Checksum": "' . sha256_hex($text) . "\"}\n");
	return;
}

sub poke { my ($root, $relation, $offset, $bytes) = @_; AccelWal::poke("$root/$path{$relation}", $offset, $bytes); return; }

sub flip
{
	my ($file, $offset) = @_;
	AccelWal::poke($file, $offset, AccelWal::peek($file, $offset, 1) ^ "\x10");
	return;
}

sub cut { my ($root, $relation, $size) = @_; truncate("$root/$path{$relation}", $size) or die $!; return; }

# --- WAL: folders of segments, damaged each in its way ----------------------------------

sub make_wal
{
	my @name;
	my %marker;

	sql('SELECT pg_switch_wal()');
	foreach my $n (0 .. 3)
	{
		sql("SELECT pg_logical_emit_message(false, 'test', 'marker ' || g || repeat('w', 1000)) FROM generate_series(1, 100) g");
		push @name, sql('SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
		sql('SELECT pg_switch_wal()');
	}
	foreach my $folder (qw(clean one two gap))
	{
		mkdir "$dir/$folder";
		system_or_bail('cp', (map { data() . "/pg_wal/$_" } @name), "$dir/$folder");
	}
	my $bytes = slurp_file("$dir/clean/$name[1]");
	flip("$dir/$_/$name[1]", index($bytes, 'marker 20')) foreach 'one', 'two';
	flip("$dir/two/$name[1]", index($bytes, 'marker 80'));
	unlink "$dir/gap/$name[1]" or die $!;
	foreach my $folder (qw(clean one two gap))
	{
		$said{"pg_waldump $folder"} = output('pg_waldump', '-p', "$dir/$folder", $name[0], $name[3]);
	}
	$said{"segment $_"} = segment_lsn($name[$_]) foreach 0 .. 3;
	unlike($said{'pg_waldump clean'}, qr/error: /, 'nothing is seen before the damage: pg_waldump');
	is(waldump_shows('clean', $_)->(), 'seen', "pg_waldump prints records of segment $_") foreach 0 .. 3;
	is(wal_findings('clean', 0)->(), 'seen', 'nothing is seen before the damage: WAL');
	damage_wal_of_backup("$dir/one/$name[1]", $name[1]);
	return;
}

# The LSNs of a segment of 1 MB as pg_waldump prints them
sub segment_lsn
{
	my ($high, $low) = $_[0] =~ /^.{8}(.{8})(.{8})$/ or die;
	return sprintf 'lsn: %X/0*%X.{5},', hex $high, hex $low;
}

# WAL that the backup needs, and other WAL beside it
sub damage_wal_of_backup
{
	my ($other, $name) = @_;
	my ($start, $end) = slurp_file("$backup/backup_manifest") =~ /"Start-LSN": "([^"]+)", "End-LSN": "([^"]+)"/;
	my $segment = "$backup/pg_wal/" . sql("SELECT pg_walfile_name('$start')");
	my @records = output('pg_waldump', '-p', "$backup/pg_wal", '-s', $start, '-e', $end) =~ /lsn: (\S+),/g;
	my $verify = sub { $said{"pg_verifybackup $_[0]"} = output('pg_verifybackup', '-s', $backup) };
	my $hit = sub { flip($segment, AccelWal::record_byte(AccelWal::number($records[ $_[0] ]), 26, MB) % MB) };

	cmp_ok(scalar(@records), '>', 2, 'WAL of the backup has several records');
	is(sql("SELECT pg_walfile_name('$start') = pg_walfile_name(pg_lsn '$end' - 1)"), 't', '... in one segment');
	$verify->('without');
	system_or_bail('cp', $other, "$backup/pg_wal");
	$verify->('other');
	unlink "$backup/pg_wal/$name";
	$hit->(1);
	$verify->('flipped');
	$hit->(-1);
	$verify->('two');
	$hit->($_) foreach 1, -1;
	rename $segment, "$dir/aside";
	$verify->('missing');
	rename "$dir/aside", $segment;
	return;
}

# --- tools that answer for all relations at once ------------------------------------------

sub ask_offline
{
	$said{pg_checksums} = output('pg_checksums', '--check', '-D', data());
	$said{$backup} = output('pg_verifybackup', $backup);
	return;
}

# With all WAL, and without that of the tables.
sub ask_wal
{
	my $gone = "$dir/gone";
	mkdir $gone;
	system_or_bail('cp', (grep { m{/[0-9A-F]{24}$} && s{.*/}{}r ge $said{late} } glob(data() . '/pg_wal/*')), $gone);
	foreach my $wal ([ 'kept', '' ], [ 'gone', "'$gone'" ])
	{
		my $rows = sql("SELECT relation, string_agg(DISTINCT status, ',') FROM verify_lost_writes($wal->[1]) GROUP BY 1");
		$lost{ $wal->[0] } = { map { split /\|/ } split /\n/, $rows };
	}
	return;
}
