/*
 * version.c
 *	  The versions of WAL, by the magic number of its pages.
 */
#include "wal/version.h"

/*
 * The newest comes first, and a new server version is one row.  PostgreSQL 19
 * dropped XLP_BKP_REMOVABLE and gave its bit to
 * XLP_FIRST_IS_OVERWRITE_CONTRECORD.
 */
static const WalVersion versions[] = {
	{0xD122, true, 0x0004, 0x0007, 22, "19"},
	{0xD118, true, 0x0008, 0x000F, 21, "18"},
	{0xD116, true, 0x0008, 0x000F, 21, "17"},
	{0xD113, true, 0x0008, 0x000F, 21, "16"},
	{0xD110, true, 0x0008, 0x000F, 21, "15"},
	{0xD10D, false, 0, 0x000F, 21, "14"},
	{0xD106, false, 0, 0x0007, 21, "13"},
	{0xD101, false, 0, 0x0007, 21, "12"},
	{0xD098, false, 0, 0x0007, 21, "11"},
	{0xD097, false, 0, 0x0007, 21, "10"},
	{0xD093, false, 0, 0x0007, 21, "9.6"},
	{0xD087, false, 0, 0x0007, 19, "9.5"},
};

#define NVERSIONS	(sizeof(versions) / sizeof(versions[0]))

const WalVersion *
wal_version_at(size_t n)
{
	return n < NVERSIONS ? &versions[n] : NULL;
}

const WalVersion *
wal_version(uint16_t magic)
{
	for (size_t i = 0; i < NVERSIONS; i++)
		if (versions[i].magic == magic)
			return &versions[i];
	return NULL;
}

const WalVersion *
wal_version_supported(uint16_t magic)
{
	const WalVersion *version = wal_version(magic);

	return version != NULL && version->supported ? version : NULL;
}

const char *
wal_version_name(uint16_t magic)
{
	const WalVersion *version = wal_version(magic);

	return version != NULL ? version->name : NULL;
}
