# Documents.pm: runs the examples of README.md and docs/.
#
# Every block ```sql and ```sh of a document runs, in order, in one database per
# document.  Two forms of SQL:
#
#	- lines that begin with "=# " start a statement; the lines after its
#	  semicolon are its output;
#	- plain statements; a block ``` right after them is their output.
#
# Comments before a block say what a reader need not see:
#
#	<!-- varies -->				columns are compared, values are not
#	<!-- not run: why -->		the block is only shown
#	<!-- needs: NAME -->		skipped where this extension cannot be had
#	<!-- error: text -->		the block must fail with this text
#	<!-- setup: SQL -->			runs first; may have several lines
#	<!-- damage: KIND BLOCK RELATION [FORK] -->	on disk: flip, header or zero;
#								the server restarts; RELATION is an SQL expression
#	<!-- damage live: ... -->	the same without a restart
#
# With UPDATE=1 an output that differs is written into the document.
package Documents;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(run_document);

my %mutilate = (
	flip => sub { my ($page) = @_; substr($page, 5000, 1) ^= "\x10"; return $page; },
	header => sub { my ($page) = @_; substr($page, 10, 10, "\xff" x 10); return $page; },
	zero => sub { return "\0" x 8192; });

# Options: paths => {name in the document => folder of the test}, hooks => {word
# of a comment => what it does}.  Returns the number of examples that ran.
sub run_document
{
	my ($node, $file, %opt) = @_;
	my $run = {
		node => $node,
		file => $file,
		paths => $opt{paths} // {},
		hooks => $opt{hooks} // {},
		lines => [ split /\n/, slurp_file($file) ],
		examples => 0,
		edits => [] };
	(my $db = lc $file) =~ s/\W+/_/g;
	$run->{db} = $db;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION crc32c_accel');
	walk($run);
	$node->safe_psql('postgres', "DROP DATABASE $db WITH (FORCE)");
	update($run);
	return $run->{examples};
}

sub walk
{
	my ($run) = @_;
	my $lines = $run->{lines};
	my %before;

	for (my $i = 0; $i < @$lines; $i++)
	{
		if ($lines->[$i] =~ /^<!-- ([a-z ]+?)(?::\s*(.*?))?\s*(-->)?$/)
		{
			my ($word, $text, $closed) = ($1, $2 // '', $3);
			while (!$closed && $i < $#$lines)
			{
				$closed = $lines->[ ++$i ] =~ /-->/;
				$text .= "\n" . $lines->[$i] =~ s/\s*-->//r;
			}
			directive($run, $i + 1, \%before, $word, $text);
		}
		elsif ($lines->[$i] =~ /^```(\w*)$/)
		{
			my ($language, $at, @block) = ($1, $i + 1);
			push @block, $lines->[$i] while $lines->[ ++$i ] !~ /^```$/;
			block($run, $language, $at, $i, \%before, @block);
			%before = ();
		}
	}
	return;
}

sub directive
{
	my ($run, $at, $before, $word, $text) = @_;
	if ($word =~ /^(varies|not run|error|needs)$/) { $before->{$word} = $text || 1; }
	elsif ($word eq 'setup') { $run->{node}->safe_psql($run->{db}, $text); }
	elsif ($word =~ /^damage( live)?$/) { damage($run, $1, $text); }
	elsif ($run->{hooks}{$word}) { $run->{hooks}{$word}->($run, $text); }
	else { fail("$run->{file} line $at: unknown comment \"$word\""); }
	return;
}

# One page of a relation: while the server is down, or while it holds the page.
sub damage
{
	my ($run, $live, $text) = @_;
	my ($kind, $block, $relation, $fork) = $text =~ /^(\w+) (\d+) (.+?)(?: (fsm|vm))?$/
	  or die "$run->{file}: damage: $text";
	my $node = $run->{node};
	my $file = $node->safe_psql($run->{db}, "SELECT pg_relation_filepath($relation)")
	  . ($fork ? "_$fork" : '');

	$live ? $node->safe_psql($run->{db}, "CHECKPOINT; SELECT count(*) FROM " . $relation =~ s/'//gr) : $node->stop;
	mutilate($node->data_dir . "/$file", $kind, $block);
	$node->start if !$live;
	return;
}

sub mutilate
{
	my ($file, $kind, $block) = @_;
	my $page;

	open my $f, '+<:raw', $file or die "$file: $!";
	seek $f, $block * 8192, 0;
	read($f, $page, 8192) == 8192 or die "$file has no block $block";
	seek $f, $block * 8192, 0;
	print $f $mutilate{$kind}->($page);
	close $f;
	return;
}

sub block
{
	my ($run, $language, $at, $end, $before, @block) = @_;
	return if $language !~ /^(sql|sh)$/ || $before->{'not run'};
	if ($before->{needs} && !available($run, $before->{needs}))
	{
		note("$run->{file} line $at: skipped: no extension $before->{needs} here");
		return;
	}
	$run->{examples}++;
	if ($language eq 'sh') { shell($run, $at, $end, $before, @block); }
	elsif ($block[0] =~ /^=# /) { prompted($run, $at, $before, @block); }
	else { plain($run, $at, $end, $before, @block); }
	return;
}

sub available
{
	my ($run, $name) = @_;
	return $run->{node}->safe_psql($run->{db}, "SELECT count(*) FROM pg_available_extensions WHERE name = '$name'") > 0;
}

# The lines of the block ``` that comes next, and where it begins
sub output_after
{
	my ($run, $end) = @_;
	my $lines = $run->{lines};
	my $i = $end + 1;
	$i++ while $i < @$lines && $lines->[$i] =~ /^\s*$/;
	return if $i >= @$lines || $lines->[$i] !~ /^```$/;
	my $first = ++$i;
	$i++ while $lines->[$i] !~ /^```$/;
	return ($first, @{$lines}[ $first .. $i - 1 ]);
}

sub shell
{
	my ($run, $at, $end, $before, @block) = @_;
	my ($node, $out, $err) = ($run->{node}, '', '');
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = $run->{db};
	local $ENV{PGDATA} = $node->data_dir;
	my $ok = IPC::Run::run([ 'sh', '-e', '-c', with_paths($run, @block) ],
		'<', \undef, '>', \$out, '2>', \$err);
	judge($run, $at, $end, $before, $ok, $out, $err);
	return;
}

sub plain
{
	my ($run, $at, $end, $before, @block) = @_;
	my ($ok, $out, $err) = psql($run, [ '-v', 'ON_ERROR_STOP=1' ], with_paths($run, @block));
	judge($run, $at, $end, $before, $ok, $out, $err);
	return;
}

sub judge
{
	my ($run, $at, $end, $before, $ok, $out, $err) = @_;
	my $title = "$run->{file} line $at";
	if (defined $before->{error})
	{
		like($err, qr/\Q$before->{error}\E/, "$title: fails with \"$before->{error}\"");
	}
	else { ok($ok, "$title: runs") or diag("$out$err"); }
	my ($first, @expected) = output_after($run, $end);
	compare($run, $title, $before->{varies}, $first, $out, $err, @expected) if $first;
	return;
}

sub prompted
{
	my ($run, $at, $before, @block) = @_;
	my (@statements, @outputs, @first);
	my $in_statement = 0;
	for my $n (0 .. $#block)
	{
		my $line = $block[$n];
		if ($line =~ s/^=# //)
		{
			push @statements, '';
			push @outputs, [];
			$in_statement = 1;
		}
		if ($in_statement)
		{
			$statements[-1] .= "$line\n";
			$in_statement = 0 if $line =~ /;\s*(--.*)?$|^\\|\\g/;
			$first[$#statements] = $at + $n + 1;
		}
		else { push @{ $outputs[-1] }, $line; }
	}
	my ($ok, $out, $err) = psql($run, [], join '',
		map { "\\echo <<<$_>>>\n" . with_paths($run, $statements[$_]) } 0 .. $#statements);
	my %got = $out =~ /^<<<(\d+)>>>\n(.*?)(?=^<<<|\z)/msg;
	for my $n (0 .. $#statements)
	{
		my ($words) = split /\n/, $statements[$n];
		compare($run, "$run->{file} line $at: $words", $before->{varies}, $first[$n],
			$got{$n} // '', $err, @{ $outputs[$n] });
	}
	return;
}

sub with_paths
{
	my ($run, @block) = @_;
	my $text = join("\n", @block) . "\n";
	for my $name (sort { length $b <=> length $a } keys %{ $run->{paths} })
	{
		$text =~ s/(?<![\w.\/-])\Q$name\E(?![\w])/$run->{paths}{$name}/g;
	}
	return $text;
}

sub psql
{
	my ($run, $options, $input) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'psql', '-X', '-q', '-P', 'pager=off', @$options, '-d', $run->{node}->connstr($run->{db}) ],
		'<', \$input, '>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

sub clean
{
	my ($text) = @_;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/^\(\d+ rows?\)\n?//mg;	# shown or not
	$text =~ s/^\n+//;
	$text =~ s/\n+\z//;
	return $text;
}

# Messages (WARNING: ...) must be among those of psql, rows must be equal.
sub compare
{
	my ($run, $title, $varies, $first, $out, $err, @expected) = @_;
	my @words = grep { /^(ERROR|WARNING|NOTICE|INFO|DETAIL|HINT|CONTEXT):/ } @expected;
	my $rows = clean(join "\n", grep { !/^(ERROR|WARNING|NOTICE|INFO|DETAIL|HINT|CONTEXT):/ } @expected);
	my $got = clean($out);
	my $number = $varies ? sub { $_[0] =~ s/\d+(?:\.\d+)?/N/gr } : sub { $_[0] };

	$err =~ s/^psql:<stdin>:\d+: //mg;
	for my $line (@words)
	{
		my ($want) = $number->(with_paths($run, $line)) =~ s/\s+(?!\z)/ /gr =~ s/\s+\z//r;
		my $have = $number->($err) =~ s/[ \t]+/ /gr;
		like($have, qr/\Q$want\E/, "$title: $line");
	}
	my $same = $varies ? same_columns($title, $got, $rows) : is($got, $rows, $title);
	return if $same;
	diag($err) if $err ne '';
	push @{ $run->{edits} }, [ $first, scalar @expected, @words, split /\n/, $got ];
	return;
}

sub same_columns
{
	my ($title, $got, $rows) = @_;
	my $same = is(header($got), header($rows), "$title: columns");
	cmp_ok(scalar(split /\n/, $got), '>=', 3, "$title: has rows") if $rows =~ /\n.*\n/;
	return $same;
}

# Names of columns; widths follow the values.
sub header
{
	my ($text) = @_;
	my ($head) = split /\n/, $text;
	return '' if !defined $head;
	return 'expanded' if $head =~ /^-\[ RECORD/;
	return join '|', map { s/^\s+|\s+$//gr } split /\|/, $head;
}

sub update
{
	my ($run) = @_;
	return if !$ENV{UPDATE} || !@{ $run->{edits} };
	my @lines = @{ $run->{lines} };
	splice @lines, $_->[0], $_->[1], @{$_}[ 2 .. $#$_ ] for reverse @{ $run->{edits} };
	open my $f, '>', $run->{file} or die "$run->{file}: $!";
	print $f map { "$_\n" } @lines;
	close $f;
	return;
}

1;
