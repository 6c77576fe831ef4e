# Every example of the README runs and shows what it shows there.
#
# An example is a block ```sql in the form of psql: lines that begin with "=# "
# start a statement, the lines after its semicolon are its output.  After the
# line <!-- varies --> (kernels, rates, positions differ from machine to machine)
# only the columns of the result and that it has rows are compared.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main',
	conf => "shared_preload_libraries = 'crc32c_accel'\nwal_keep_size = '256MB'\n");
$node->start;
$node->command_ok([ 'pgbench', '-i', '-q', '-p', $node->port, '-h', $node->host, 'postgres' ], 'tables of pgbench');
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CHECKPOINT');

my ($examples, $other) = (0, 0);
my $varies = 0;
my @lines = split /\n/, slurp_file('README.md');
for (my $i = 0; $i < @lines; $i++)
{
	if ($lines[$i] =~ /^<!-- varies/) { $varies = 1; next; }
	if ($lines[$i] !~ /^```sql$/)
	{
		$varies = 0 if $lines[$i] =~ /\S/;
		next;
	}
	my $at = $i + 1;
	my @block;
	push @block, $lines[$i] while $lines[ ++$i ] !~ /^```$/;
	check_block($at, $varies, @block);
	$varies = 0;
}
cmp_ok($examples, '>', 3, "examples compared: $examples");
$node->stop;
done_testing();

# Pairs of statement and output
sub check_block
{
	my ($at, $varies, @block) = @_;
	my (@statements, @outputs);
	my $in_statement = 0;
	for my $line (@block)
	{
		if ($line =~ s/^=# //)
		{
			push @statements, '';
			push @outputs, '';
			$in_statement = 1;
		}
		elsif (!@statements)
		{
			fail("README line $at: an example begins with =# ");
			return;
		}
		if ($in_statement)
		{
			$statements[-1] .= "$line\n";
			$in_statement = 0 if $line =~ /;\s*(--.*)?$/;
		}
		else { $outputs[-1] .= "$line\n"; }
	}
	my ($out, $err) = ('', '');
	my $input = join('', map { "\\echo <<<$_>>>\n$statements[$_]" } 0 .. $#statements);
	run_psql($input, \$out, \$err);
	my %got = $out =~ /^<<<(\d+)>>>\n(.*?)(?=^<<<|\z)/msg;
	for my $n (0 .. $#statements)
	{
		my ($first) = split /\n/, $statements[$n];
		compare("README line $at: $first", $varies, $got{$n} // '', $outputs[$n], $err);
		$examples++;
	}
}

sub run_psql
{
	my ($input, $out, $err) = @_;
	IPC::Run::run([ 'psql', '-X', '-q', '-P', 'pager=off', '-v', 'VERBOSITY=terse', '-d', $node->connstr('postgres') ],
		'<', \$input, '>', $out, '2>', $err);
	return;
}

sub clean
{
	my ($text) = @_;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/^\(\d+ rows?\)\n//mg;	# shown or not
	$text =~ s/\n+\z//;
	return $text;
}

sub compare
{
	my ($title, $varies, $got, $expected, $err) = @_;
	($got, $expected) = (clean($got), clean($expected));
	if ($expected =~ /^(ERROR|WARNING|NOTICE):\s+(.*)/)
	{
		like($err, qr/\Q$2\E/, $title);
		return;
	}
	if ($varies)
	{
		# names of columns; widths follow the values
		my @names = map { my ($head) = split /\n/, $_; join '|', map { s/^\s+|\s+$//gr } split /\|/, $head // '' } $got, $expected;
		is($names[0], $names[1], $title) or diag($err);
		cmp_ok(scalar(split /\n/, $got), '>=', $expected =~ /\n/ ? 3 : 0, "$title: has rows");
		return;
	}
	is($got, $expected, $title) or diag($err);
	return;
}
