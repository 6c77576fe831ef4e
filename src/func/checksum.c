/*
 * checksum.c
 *	  SQL functions that compute checksums of bytea values.
 *
 * CRCs are bigint in 0..4294967295, finished values.  A value that lies out of
 * line uncompressed is read in slices, so memory stays bounded.  A compressed
 * one is decompressed whole, since decompression can only start at its
 * beginning.
 */
#include "compat.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "miscadmin.h"

#include "func/func.h"
#include "kernel/checksum.h"

/*
 * bytes between two checks for interrupts, and per read of out-of-line values
 */
#define SLICE_BYTES		(128 * TOAST_MAX_CHUNK_SIZE)

static uint32 crc_datum(ChecksumCrcFn kernel, uint32 crc, Datum value);

uint32
accel_crc_argument(const char *name, int64 crc)
{
	accel_check_range(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, name, crc, 0,
					  PG_UINT32_MAX);
	return (uint32) crc;
}

SQL_FUNCTION(accel_crc32c)
{
	PG_RETURN_INT64(crc_datum(checksum_crc32c, 0, PG_GETARG_DATUM(0)));
}

SQL_FUNCTION(accel_crc32)
{
	PG_RETURN_INT64(crc_datum(checksum_crc32, 0, PG_GETARG_DATUM(0)));
}

SQL_FUNCTION(accel_crc32c_extend)
{
	uint32		crc = accel_crc_argument("crc", PG_GETARG_INT64(0));

	PG_RETURN_INT64(crc_datum(checksum_crc32c, crc, PG_GETARG_DATUM(1)));
}

SQL_FUNCTION(accel_crc32_extend)
{
	uint32		crc = accel_crc_argument("crc", PG_GETARG_INT64(0));

	PG_RETURN_INT64(crc_datum(checksum_crc32, crc, PG_GETARG_DATUM(1)));
}

static uint64
length_argument(int64 length)
{
	accel_check_range(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "len2", length, 0,
					  PG_INT64_MAX);
	return (uint64) length;
}

SQL_FUNCTION(accel_crc32c_combine)
{
	PG_RETURN_INT64(checksum_crc32c_combine(accel_crc_argument("crc1", PG_GETARG_INT64(0)),
											accel_crc_argument("crc2", PG_GETARG_INT64(1)),
											length_argument(PG_GETARG_INT64(2))));
}

SQL_FUNCTION(accel_crc32_combine)
{
	PG_RETURN_INT64(checksum_crc32_combine(accel_crc_argument("crc1", PG_GETARG_INT64(0)),
										   accel_crc_argument("crc2", PG_GETARG_INT64(1)),
										   length_argument(PG_GETARG_INT64(2))));
}

SQL_FUNCTION(accel_crc32c_bytes)
{
	uint32		crc = accel_crc_argument("crc", PG_GETARG_INT64(0));
	bytea	   *result = palloc(VARHDRSZ + 4);

	SET_VARSIZE(result, VARHDRSZ + 4);
	for (int i = 0; i < 4; i++)
		VARDATA(result)[i] = (char) (crc >> (24 - 8 * i));
	PG_RETURN_BYTEA_P(result);
}

static uint32
crc_bytes(ChecksumCrcFn kernel, uint32 reg, const char *data, Size len)
{
	while (len > 0)
	{
		Size		piece = Min(len, SLICE_BYTES);

		CHECK_FOR_INTERRUPTS();
		reg = kernel(reg, data, piece);
		data += piece;
		len -= piece;
	}
	return reg;
}

static uint32
crc_out_of_line(ChecksumCrcFn kernel, uint32 reg, struct varlena *value,
				int32 size)
{
	for (int32 offset = 0; offset < size; offset += SLICE_BYTES)
	{
		struct varlena *slice = detoast_attr_slice(value, offset, SLICE_BYTES);

		reg = crc_bytes(kernel, reg, VARDATA_ANY(slice),
						VARSIZE_ANY_EXHDR(slice));
		pfree(slice);
		if (offset > PG_INT32_MAX - SLICE_BYTES)
			break;
	}
	return reg;
}

/* Extends a finished CRC by a bytea datum, toasted or not. */
static uint32
crc_datum(ChecksumCrcFn kernel, uint32 crc, Datum value)
{
	struct varlena *attr = (struct varlena *) DatumGetPointer(value);
	struct varatt_external pointer;
	struct varlena *plain;
	uint32		reg = crc ^ CHECKSUM_CRC_INIT;

	if (VARATT_IS_EXTERNAL_ONDISK(attr))
	{
		VARATT_EXTERNAL_GET_POINTER(pointer, attr);
		if (!VARATT_EXTERNAL_IS_COMPRESSED(pointer))
			return crc_out_of_line(kernel, reg, attr,
								   VARATT_EXTERNAL_GET_EXTSIZE(pointer)) ^
				CHECKSUM_CRC_INIT;
	}
	plain = pg_detoast_datum_packed(attr);
	reg = crc_bytes(kernel, reg, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));
	if (plain != attr)
		pfree(plain);
	return reg ^ CHECKSUM_CRC_INIT;
}
