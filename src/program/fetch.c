/*
 * fetch.c
 *	  The command that gives the first sound copy of a file of WAL.
 *
 * It is for restore_command.  Recovery ends at a damaged copy, without an error,
 * where nobody has asked for more.  Another archive may have a sound one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/checksum.h"
#include "program/alone.h"
#include "program/fetch.h"
#include "program/output.h"
#include "program/replace.h"

static bool
is_sound(WalStatus status)
{
	return status == WAL_OK || status == WAL_OK_SWITCHED ||
		status == WAL_OK_END_OF_WAL || status == WAL_OK_PARTIAL;
}

/* Writes what is decoded.  Returns false if reading fails. */
static bool
copy_bytes(WalFile *file, FILE * to, uint32_t *crc)
{
	uint8_t    *buffer = host_alloc(WAL_PIECE_BYTES);
	WalVerdict	failed = {WAL_REASON_NONE};
	uint32_t	reg = CHECKSUM_CRC_INIT;
	uint64_t	offset = 0;
	size_t		len;

	do
	{
		const uint8_t *piece = wal_file_piece(file, buffer, offset, WAL_PIECE_BYTES,
											  &len, &failed);

		host_interrupts();
		reg = checksum_crc32c(reg, piece, len);
		fwrite(piece, 1, len, to);
		offset += len;
	} while (len == WAL_PIECE_BYTES);
	host_free(buffer);
	*crc = reg ^ CHECKSUM_CRC_INIT;
	return failed.reason == WAL_REASON_NONE;
}

/* What was written must be what was judged. */
static bool
give(Output *output, Alone *alone, const char *path,
	 const WalSegmentResult *result)
{
	Replace		replace;
	uint32_t	crc;
	bool		done;

	if (!replace_begin(&replace, output->options->to))
	{
		output->failed = true;
		return false;
	}
	wal_file_restart(alone->file);
	done = copy_bytes(alone->file, replace.file, &crc) &&
		(!result->has_crc || crc == result->crc);
	if (!done)
		program_warn("\"%s\" has changed while it was read", path);
	if (!replace_end(&replace, done, false))
		done = false;
	output->failed = output->failed || !done;
	return done;
}

/* Gives a copy if it is sound.  Returns whether it did. */
static bool
try_copy(Output *output, const char *path, struct Throttle *throttle)
{
	Alone		alone;
	WalSegmentResult result;
	FileScanResult opened;
	bool		given = false;

	if (!alone_begin(&alone, path, throttle, output->options->direct))
		program_fail("\"%s\" has not the name of a file of WAL", path);
	opened = alone_open(&alone);
	if (opened == FILE_SCAN_OK)
	{
		alone_judge(&alone, output->options->system, output->options->magic, &result);
		output->read++;
		if (is_sound(result.status))
			given = give(output, &alone, path, &result);
		output_row(output, path, &result, NULL);
	}
	else if (opened != FILE_SCAN_MISSING)
	{
		program_warn("could not open \"%s\": %s", path, opened == FILE_SCAN_IRREGULAR ?
					 "not a regular file" : strerror(errno));
		output->failed = true;
	}
	alone_end(&alone);
	return given;
}

/* That there is none is what recovery asks to find its end, and no message. */
int
fetch_command(const Options *options)
{
	struct Throttle *throttle = program_throttle(options->max_rate);
	Options		own = *options;
	Output		output;
	bool		given = false;
	int			status;

	own.quiet = true;			/* no last line */
	output_begin(&output, &own, options->to);
	output.file = stderr;
	for (int i = 0; i < options->noperands && !given; i++)
	{
		host_interrupts();
		given = try_copy(&output, options->operands[i], throttle);
	}
	status = output_end(&output);
	return given ? EXIT_SOUND : status == EXIT_SOUND ? EXIT_FAILED : status;
}
