/*
 * main.c
 *	  crc32c_verify, the program for hosts without a server.
 */
#include <stdio.h>

#include "kernel/checksum.h"
#include "program/backup.h"
#include "program/backups.h"
#include "program/cluster.h"
#include "program/fetch.h"
#include "program/host.h"
#include "program/images.h"
#include "program/kernels.h"
#include "program/options.h"
#include "program/recover.h"
#include "program/segment.h"
#include "program/wal.h"

static int
run(const Options *options)
{
	switch (options->command)
	{
		case COMMAND_WAL:
			return wal_command(options);
		case COMMAND_SEGMENT:
			return segment_command(options);
		case COMMAND_FETCH:
			return fetch_command(options);
		case COMMAND_KERNELS:
			return kernels_command();
		case COMMAND_RECOVER:
			return recover_command(options);
		case COMMAND_IMAGES:
			return images_command(options);
		case COMMAND_CLUSTER:
			return cluster_command(options);
		case COMMAND_BACKUP:
			return backup_command(options);
		case COMMAND_BACKUPS:
			return backups_command(options);
	}
	return EXIT_FAILED;
}

int
main(int argc, char **argv)
{
	Options		options;
	char		words[32];

	options_parse(&options, argc, argv);
	if (options.format == FORMAT_NAGIOS)
	{
		snprintf(words, sizeof(words), "%s UNKNOWN - ", options.label);
		program_fail_as(words, 3);
	}
	if (options.segment_size != 0)
		program_segment_size(options.segment_size);
	program_catch_signals();
	checksum_init();
	return run(&options);
}
