/*
 * options.c
 *	  The command line.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/digits.h"
#include "page/format.h"
#include "program/help.auto.h"
#include "program/host.h"
#include "program/options.h"
#include "wal/version.h"

#ifndef PROGRAM_VERSION
#define PROGRAM_VERSION	"unknown"
#endif

#define JOBS_MAX	1024
#define RATE_MAX	INT64_C(2147483647)

/* Long options without a letter. */
enum
{
	OPTION_BACKUP = 256,
	OPTION_BINDIR,
	OPTION_BLOCK,
	OPTION_BLOCK_SIZE,
	OPTION_CLUSTER,
	OPTION_DATABASE,
	OPTION_DIRECT_IO,
	OPTION_FORMAT,
	OPTION_MAX_RATE,
	OPTION_METRICS,
	OPTION_NO_PAGES,
	OPTION_ON_FINDING,
	OPTION_OUT,
	OPTION_PRIOR,
	OPTION_RELATION,
	OPTION_REPORT,
	OPTION_REVERIFY_AFTER,
	OPTION_SEGMENT_SIZE,
	OPTION_SERVER_VERSION,
	OPTION_SETTLED_AFTER,
	OPTION_SINCE,
	OPTION_STATE,
	OPTION_SYSTEM,
	OPTION_TARGET,
	OPTION_TIMELINE,
	OPTION_TO,
	OPTION_UNTIL,
	OPTION_WAL,
	OPTION_WINDOWS
};

#define OF_WAL	(COMMAND_WAL | COMMAND_SEGMENT | COMMAND_FETCH | COMMAND_IMAGES)
#define OF_BACKUPS	(COMMAND_BACKUP | COMMAND_BACKUPS)
#define OF_FILES	(COMMAND_CLUSTER | OF_BACKUPS)
#define READING	(OF_WAL | OF_FILES)
#define OF_ARCHIVE	(COMMAND_WAL | COMMAND_IMAGES)
#define SUMMED	(OF_ARCHIVE | OF_FILES)
#define REMEMBERING	(COMMAND_WAL | COMMAND_BACKUPS)

/* In the order of long_options. */
static const int used_by[] = {
	COMMAND_RECOVER, COMMAND_RECOVER, COMMAND_RECOVER, COMMAND_IMAGES,
	COMMAND_RECOVER, COMMAND_RECOVER, READING | COMMAND_RECOVER, READING,
	COMMAND_WAL | OF_BACKUPS, READING, SUMMED, OF_BACKUPS, COMMAND_SEGMENT,
	COMMAND_RECOVER, COMMAND_BACKUP, REMEMBERING | COMMAND_BACKUP, READING,
	COMMAND_RECOVER, COMMAND_SEGMENT, REMEMBERING, OF_WAL | OF_BACKUPS,
	OF_WAL | OF_BACKUPS, COMMAND_BACKUPS, OF_ARCHIVE, REMEMBERING,
	OF_WAL | OF_BACKUPS, COMMAND_RECOVER, OF_ARCHIVE | COMMAND_RECOVER,
	COMMAND_FETCH, OF_ARCHIVE, READING, COMMAND_RECOVER | OF_BACKUPS,
	COMMAND_BACKUPS
};

static const struct option long_options[] = {
	{"backup", required_argument, NULL, OPTION_BACKUP},
	{"bindir", required_argument, NULL, OPTION_BINDIR},
	{"block", required_argument, NULL, OPTION_BLOCK},
	{"block-size", required_argument, NULL, OPTION_BLOCK_SIZE},
	{"cluster", required_argument, NULL, OPTION_CLUSTER},
	{"database", required_argument, NULL, OPTION_DATABASE},
	{"direct-io", no_argument, NULL, OPTION_DIRECT_IO},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"jobs", required_argument, NULL, 'j'},
	{"max-rate", required_argument, NULL, OPTION_MAX_RATE},
	{"metrics", required_argument, NULL, OPTION_METRICS},
	{"no-pages", no_argument, NULL, OPTION_NO_PAGES},
	{"on-finding", required_argument, NULL, OPTION_ON_FINDING},
	{"out", required_argument, NULL, OPTION_OUT},
	{"prior", required_argument, NULL, OPTION_PRIOR},
	{"progress", no_argument, NULL, 'P'},
	{"quiet", no_argument, NULL, 'q'},
	{"relation", required_argument, NULL, OPTION_RELATION},
	{"report", required_argument, NULL, OPTION_REPORT},
	{"reverify-after", required_argument, NULL, OPTION_REVERIFY_AFTER},
	{"segment-size", required_argument, NULL, OPTION_SEGMENT_SIZE},
	{"server-version", required_argument, NULL, OPTION_SERVER_VERSION},
	{"settled-after", required_argument, NULL, OPTION_SETTLED_AFTER},
	{"since", required_argument, NULL, OPTION_SINCE},
	{"state", required_argument, NULL, OPTION_STATE},
	{"system-identifier", required_argument, NULL, OPTION_SYSTEM},
	{"target-lsn", required_argument, NULL, OPTION_TARGET},
	{"timeline", required_argument, NULL, OPTION_TIMELINE},
	{"to", required_argument, NULL, OPTION_TO},
	{"until", required_argument, NULL, OPTION_UNTIL},
	{"verbose", no_argument, NULL, 'v'},
	{"wal", required_argument, NULL, OPTION_WAL},
	{"windows", no_argument, NULL, OPTION_WINDOWS},
	{NULL, 0, NULL, 0}
};

_Noreturn static void
refuse(const char *what, const char *value)
{
	program_warn("%s: \"%s\"", what, value);
	fprintf(stderr, "Try \"" PROGRAM_NAME " --help\".\n");
	exit(EXIT_FAILED);
}

static uint64_t
parse_number(const char *value, const char *option, uint64_t least,
			 uint64_t most)
{
	uint64_t	number;
	const char *end = digits_read(value, most, &number);
	char		what[128];

	if (end != NULL && *end == '\0' && number >= least)
		return number;
	snprintf(what, sizeof(what), "%s must be a number from %llu to %llu", option,
			 (unsigned long long) least, (unsigned long long) most);
	refuse(what, value);
}

/* A number with a unit, d, h, min or s. */
static int64_t
parse_time(const char *value, const char *refused)
{
	static const struct
	{
		const char *unit;
		int64_t		seconds;
	}			units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	uint64_t	number;
	const char *unit = digits_read(value, 1000000, &number);

	for (size_t i = 0; unit != NULL && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return (int64_t) number * units[i].seconds * 1000000;
	refuse(refused, value);
}

static WalName
parse_segment(const char *value)
{
	WalName		name;
	WalName		digits;

	if (!wal_name_parse(value, &name))
		refuse("not the name of a WAL segment", value);
	memset(&digits, 0, sizeof(digits));
	digits.timeline = name.timeline;
	digits.high = name.high;
	digits.low = name.low;
	return digits;
}

/* In megabytes. */
static uint32_t
parse_segment_size(const char *value)
{
	uint64_t	size = parse_number(value, "--segment-size", 1, WAL_SEGMENT_MAX / WAL_SEGMENT_MIN);

	if (!wal_power_of_two(size, 1, WAL_SEGMENT_MAX / WAL_SEGMENT_MIN))
		refuse("--segment-size must be a power of two", value);
	return (uint32_t) size * WAL_SEGMENT_MIN;
}

/* Of relations, in kilobytes. */
static uint32_t
parse_block_size(const char *value)
{
	uint64_t	size = parse_number(value, "--block-size", 1, 32);

	if (!wal_power_of_two(size, 1, 32))
		refuse("--block-size must be a power of two", value);
	return (uint32_t) size * 1024;
}

/* Returns the magic number of the pages that a version writes. */
static uint16_t
parse_version(const char *value)
{
	const WalVersion *version;

	for (size_t i = 0; (version = wal_version_at(i)) != NULL; i++)
		if (version->supported && strcmp(version->name, value) == 0)
			return version->magic;
	refuse("--server-version must be a major version that can be verified", value);
}

static Format
parse_format(const char *value)
{
	if (strcmp(value, "text") == 0)
		return FORMAT_TEXT;
	if (strcmp(value, "json") == 0)
		return FORMAT_JSON;
	if (strcmp(value, "nagios") == 0)
		return FORMAT_NAGIOS;
	refuse("--format must be text, json or nagios", value);
}

static bool
parse_on_finding(const char *value)
{
	if (strcmp(value, "fail") == 0)
		return true;
	if (strcmp(value, "report") == 0)
		return false;
	refuse("--on-finding must be report or fail", value);
}

static WalLsn
parse_lsn(const char *value)
{
	unsigned	high;
	unsigned	low;
	int			end = -1;

	if (sscanf(value, "%8X/%8X%n", &high, &low, &end) != 2 || value[end] != '\0' ||
		(high == 0 && low == 0))
		refuse("not an LSN", value);
	return (WalLsn) high << 32 | low;
}

static void
add_value(OptionValues *values, const char *value)
{
	HOST_MAKE_ROOM(values->values, values->count, values->room);
	values->values[values->count++] = value;
}

/* An option of the command that verifies backups. */
static void
parse_backup_option(Options *options, int option, const char *value)
{
	switch (option)
	{
		case OPTION_NO_PAGES:
			options->no_pages = true;
			break;
		case OPTION_PRIOR:
			add_value(&options->prior, value);
			break;
		case OPTION_SETTLED_AFTER:
			options->settled_after = parse_time(value, "--settled-after must be a number and d, h, min or s");
			break;
		case OPTION_WAL:
			add_value(&options->wal, value);
			break;
		case OPTION_WINDOWS:
			options->windows = true;
			break;
	}
}

/* An option of the command that recovers blocks. */
static void
parse_recover_option(Options *options, int option, const char *value)
{
	switch (option)
	{
		case OPTION_BACKUP:
			options->backup = value;
			break;
		case OPTION_BINDIR:
			options->bindir = value;
			break;
		case OPTION_BLOCK:
			add_value(&options->blocks, value);
			break;
		case OPTION_CLUSTER:
			options->cluster = value;
			break;
		case OPTION_DATABASE:
			options->database = (uint32_t) parse_number(value, "--database", 1, UINT32_MAX);
			break;
		case OPTION_RELATION:
			add_value(&options->relations, value);
			break;
		case OPTION_OUT:
			options->out = value;
			break;
		case OPTION_TARGET:
			options->target = parse_lsn(value);
			break;
		default:
			parse_backup_option(options, option, value);
	}
}

/* An option of the commands that are given files. */
static void
parse_file_option(Options *options, int option, const char *value)
{
	switch (option)
	{
		case OPTION_ON_FINDING:
			options->fail_on_finding = parse_on_finding(value);
			break;
		case OPTION_REPORT:
			options->report = value;
			break;
		case OPTION_TO:
			options->to = value;
			break;
		default:
			parse_recover_option(options, option, value);
	}
}

static void
parse_option(Options *options, int option, const char *value)
{
	switch (option)
	{
		case 'j':
			options->jobs = (int) parse_number(value, "--jobs", 1, JOBS_MAX);
			break;
		case 'P':
			options->progress = true;
			break;
		case 'q':
			options->quiet = true;
			break;
		case 'v':
			options->verbose = true;
			break;
		case OPTION_BLOCK_SIZE:
			options->block_size = parse_block_size(value);
			break;
		case OPTION_FORMAT:
			options->format = parse_format(value);
			break;
		case OPTION_MAX_RATE:
			options->max_rate = (int64_t) parse_number(value, "--max-rate", 0, RATE_MAX);
			break;
		case OPTION_METRICS:
			options->metrics = value;
			break;
		case OPTION_DIRECT_IO:
			options->direct = true;
			break;
		case OPTION_REVERIFY_AFTER:
			options->reverify_after = parse_time(value, "--reverify-after must be a number and d, h, min or s");
			break;
		case OPTION_SEGMENT_SIZE:
			options->segment_size = parse_segment_size(value);
			break;
		case OPTION_SERVER_VERSION:
			options->magic = parse_version(value);
			break;
		case OPTION_SINCE:
			options->since = parse_segment(value);
			break;
		case OPTION_STATE:
			options->state = value;
			break;
		case OPTION_SYSTEM:
			options->system = parse_number(value, "--system-identifier", 1, UINT64_MAX);
			break;
		case OPTION_TIMELINE:
			options->timeline = (uint32_t) parse_number(value, "--timeline", 1, UINT32_MAX);
			break;
		case OPTION_UNTIL:
			options->until = parse_segment(value);
			options->until.kind = WAL_KIND_MISSING; /* after all of its files */
			break;
		default:
			parse_file_option(options, option, value);
	}
}

static void
parse_command(Options *options, const char *name)
{
	static const struct
	{
		const char *name;
		Command		command;
		const char *label;
	}			commands[] = {
		{"wal", COMMAND_WAL, "WAL"}, {"segment", COMMAND_SEGMENT, "WAL"},
		{"fetch", COMMAND_FETCH, "WAL"}, {"kernels", COMMAND_KERNELS, "KERNELS"},
		{"recover", COMMAND_RECOVER, "BLOCKS"}, {"images", COMMAND_IMAGES, "WAL"},
		{"cluster", COMMAND_CLUSTER, "CLUSTER"}, {"backup", COMMAND_BACKUP, "BACKUP"},
		{"backups", COMMAND_BACKUPS, "BACKUPS"}
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name) == 0)
		{
			options->command = commands[i].command;
			options->command_name = commands[i].name;
			options->label = commands[i].label;
			return;
		}
	refuse("unknown command", name);
}

/* Help and version are asked for anywhere before "--". */
static void
answer_questions(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
	{
		bool		help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0;

		if (help)
			fputs(program_help, stdout);
		else if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
			puts(PROGRAM_NAME " " PROGRAM_VERSION);
		else
			continue;
		exit(fflush(stdout) == 0 ? EXIT_SOUND : EXIT_FAILED);
	}
}

static void
check_recover(const Options *options)
{
	if (options->backup == NULL && options->cluster == NULL)
		refuse("--backup or --cluster is missing for command", options->command_name);
	if (options->backup != NULL && options->cluster != NULL)
		refuse("not together with --cluster", "--backup");
	if (options->bindir == NULL)
		refuse("--bindir is missing for command", options->command_name);
	if (options->out == NULL || options->out[0] == '\0')
		refuse("--out is missing for command", options->command_name);
	if (options->blocks.count == 0 && options->database == 0)
		refuse("--block or --database is missing for command", options->command_name);
	if (options->blocks.count > 0 && options->database != 0)
		refuse("not together with --database", "--block");
	if (options->cluster != NULL && options->database != 0)
		refuse("not together with --database", "--cluster");
	if (options->relations.count > 0 && options->database == 0)
		refuse("only together with --database", "--relation");
}

static void
check(const Options *options)
{
	bool		bounded = options->since.timeline != 0 || options->until.timeline != 0;

	if ((options->command & (COMMAND_KERNELS | COMMAND_RECOVER)) ? options->noperands != 0 :
		(options->command & SUMMED) ? options->noperands != 1 :
		options->noperands == 0)
		refuse("wrong number of arguments to command", options->command_name);
	if (options->command == COMMAND_FETCH && options->to == NULL)
		refuse("--to is missing for command", options->command_name);
	if (options->command == COMMAND_RECOVER)
		check_recover(options);
	if ((options->command & OF_BACKUPS) && options->wal.count > 1)
		refuse("only one for this command", "--wal");
	if (options->until.timeline != 0 && options->timeline != 0)
		refuse("not together with --timeline", "--until");
	if (options->state != NULL && (bounded || options->timeline != 0))
		refuse("not together with --since, --until and --timeline", "--state");
	if (options->reverify_after >= 0 && options->state == NULL)
		refuse("only together with --state", "--reverify-after");
	if (options->since.timeline != 0 && options->until.timeline != 0 &&
		wal_name_compare(&options->since, &options->until) > 0)
		refuse("not before --since", "--until");
}

void
options_parse(Options *options, int argc, char **argv)
{
	int			option;
	int			index;

	memset(options, 0, sizeof(*options));
	options->reverify_after = options->settled_after = -1;
	options->jobs = 1;
	options->block_size = PAGE_BYTES;
	answer_questions(argc, argv);
	if (argc < 2)
		refuse("no command", "");
	parse_command(options, argv[1]);
	opterr = 0;
	while ((index = -1, option = getopt_long(argc - 1, argv + 1, ":j:Pqv", long_options, &index)) != -1)
	{
		if (option == '?' || option == ':')
			refuse(option == ':' ? "option without its value" : "invalid option",
				   argv[optind]);
		for (size_t i = 0; index < 0 && long_options[i].name != NULL; i++)
			if (long_options[i].val == option)
				index = (int) i;
		if (!(used_by[index] & options->command))
			refuse("not an option of this command", long_options[index].name);
		parse_option(options, option, optarg);
	}
	options->operands = argv + 1 + optind;
	options->noperands = argc - 1 - optind;
	check(options);
}
