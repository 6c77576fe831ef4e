/*
 * options.h
 *	  The command line.
 */
#ifndef ACCEL_PROGRAM_OPTIONS_H
#define ACCEL_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/name.h"

typedef enum Command
{
	COMMAND_WAL = 1,			/* bits */
	COMMAND_SEGMENT = 2,
	COMMAND_FETCH = 4,
	COMMAND_KERNELS = 8,
	COMMAND_RECOVER = 16,
	COMMAND_IMAGES = 32,
	COMMAND_CLUSTER = 64,
	COMMAND_BACKUP = 128,
	COMMAND_BACKUPS = 256
} Command;

typedef enum Format
{
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_NAGIOS
} Format;

/* Values of an option that may be given several times. */
typedef struct OptionValues
{
	const char **values;
	size_t		count;
	size_t		room;
} OptionValues;

typedef struct Options
{
	Command		command;
	const char *command_name;
	const char *label;			/* of what is verified, for Nagios */
	char	  **operands;
	int			noperands;
	Format		format;
	bool		verbose;
	bool		quiet;
	bool		progress;
	uint64_t	system;			/* 0 if none was given */
	uint16_t	magic;			/* of the pages of the version, likewise */
	uint32_t	segment_size;	/* bytes, likewise */
	uint32_t	block_size;		/* of relations, in bytes */
	int64_t		max_rate;		/* kB/s, 0 without a bound */
	const char *metrics;		/* files, NULL if none */
	const char *state;
	const char *report;
	const char *to;
	bool		fail_on_finding;
	WalName		since;			/* with timeline 0 if not given */
	WalName		until;
	uint32_t	timeline;		/* 0 if not given */
	int64_t		reverify_after; /* microseconds, -1 if never */
	int64_t		settled_after;	/* microseconds, -1 if not given */
	int			jobs;
	bool		direct;			/* past the page cache */

	/* of backup, backups and recover */
	OptionValues wal;			/* folders */
	OptionValues prior;
	bool		no_pages;
	bool		windows;		/* of recovery, of backups */

	/* of recover */
	const char *backup;			/* folders */
	const char *cluster;
	const char *bindir;
	const char *out;
	OptionValues blocks;
	OptionValues relations;
	uint32_t	database;		/* 0 if not given */
	WalLsn		target;			/* 0 if not given */
} Options;

/* Prints help or a message and ends the program, where that is what to do. */
extern void options_parse(Options *options, int argc, char **argv);

#endif							/* ACCEL_PROGRAM_OPTIONS_H */
