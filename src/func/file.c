/*
 * file.c
 *	  SQL functions that compute the CRC-32C of files and large objects.
 *
 * Both give what crc32c() gives over the server's own functions that return
 * the bytes (pg_read_binary_file, lo_get).  They do not have the limit of a
 * gigabyte of these, and hold no more than one buffer.
 */
#include "compat.h"

#include "libpq/be-fsstubs.h"
#include "libpq/libpq-fs.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "func/func.h"
#include "host/file_path.h"
#include "kernel/checksum.h"

/* stays in the second-level cache, with a check for interrupts between two */
#define BUFFER_BYTES	(128 * 1024)

static int64 range_argument(FunctionCallInfo fcinfo, int argno,
							const char *name, int64 absent);
static uint32 crc_range(FileScan *scan, int64 offset, int64 length);

SQL_FUNCTION(accel_crc32c_file)
{
	int64		offset = range_argument(fcinfo, 1, "offset", 0);
	int64		length = range_argument(fcinfo, 2, "length", -1);
	bool		missing_ok = accel_boolean(fcinfo, 3, false);
	char	   *path;
	FileScan	scan;
	FileScanResult result;
	FileWindow *window = NULL;
	uint32		crc;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	path = file_path_parse(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (accel_boolean(fcinfo, 4, false))
		window = file_window_new(NULL);
	result = file_scan_open_direct(&scan, path, window);
	if (result == FILE_SCAN_MISSING && missing_ok)
		PG_RETURN_NULL();
	if (result != FILE_SCAN_OK)
		file_path_error(result, path);
	crc = crc_range(&scan, offset, length);
	file_scan_close(&scan);
	file_window_free(window);
	PG_RETURN_INT64(crc);
}

static int64
range_argument(FunctionCallInfo fcinfo, int argno, const char *name,
			   int64 absent)
{
	int64		value;

	if (PG_ARGISNULL(argno))
		return absent;
	value = PG_GETARG_INT64(argno);
	accel_check_range(ERRCODE_INVALID_PARAMETER_VALUE, name, value, 0,
					  PG_INT64_MAX);
	return value;
}

/*
 * A negative length means up to the end that the file had when it was opened.
 * A log that grows faster than it is read must not hold us for ever.  Files of
 * /proc have size 0 and are read to where they end.
 */
static uint32
crc_range(FileScan *scan, int64 offset, int64 length)
{
	char	   *buffer = palloc(BUFFER_BYTES);
	int64		present = Max(scan->size - offset, 0);
	uint32		reg = CHECKSUM_CRC_INIT;
	int64		done = 0;

	if (length < 0)
		length = scan->size > 0 ? present : PG_INT64_MAX - offset;
	length = Min(length, PG_INT64_MAX - offset);
	while (done < length)
	{
		size_t		wanted = Min(length - done, BUFFER_BYTES);
		ssize_t		got;
		const void *piece = file_scan_piece(scan, buffer, wanted,
											offset + done, &got);

		if (got < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\" at offset " INT64_FORMAT ": %m",
							scan->path, offset + done)));
		reg = checksum_crc32c(reg, piece, (size_t) got);
		done += got;
		if ((size_t) got < wanted)
			break;
	}
	if (done < Min(length, present))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("file \"%s\" was truncated while it was read",
						scan->path)));
	pfree(buffer);
	return reg ^ CHECKSUM_CRC_INIT;
}

/*
 * Goes through the server's own descriptors for large objects.  They check the
 * privileges (lo_compat_privileges included), take the snapshot and are closed
 * by a rollback.
 */
SQL_FUNCTION(accel_crc32c_lo)
{
	int			fd = DatumGetInt32(DirectFunctionCall2(be_lo_open,
													   PG_GETARG_DATUM(0),
													   Int32GetDatum(INV_READ)));
	char	   *buffer = palloc(BUFFER_BYTES);
	uint32		reg = CHECKSUM_CRC_INIT;
	int			got;

	while ((got = lo_read(fd, buffer, BUFFER_BYTES)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		reg = checksum_crc32c(reg, buffer, (size_t) got);
	}
	(void) DirectFunctionCall1(be_lo_close, Int32GetDatum(fd));
	pfree(buffer);
	PG_RETURN_INT64(reg ^ CHECKSUM_CRC_INIT);
}
