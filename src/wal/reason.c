/*
 * reason.c
 *	  The words of verdicts on WAL.
 */
#include <stdio.h>

#include "decode/format.h"
#include "wal/reason.h"
#include "wal/version.h"

/* for the formats of wal/reason.def */
#define AT		(verdict->at)
#define V		((unsigned long long) verdict->value)
#define E		((unsigned long long) verdict->expected)
#define M		((unsigned long long) verdict->more)
#define LSN(x)	(unsigned) ((x) >> 32), (unsigned) (x)

const char *
wal_reason_name(WalReason reason)
{
	static const char *const names[] = {
		"",
#define WAL_REASON(id, name, ...) name,
#include "wal/reason.def"
#undef WAL_REASON
	};

	return reason < WAL_REASONS ? names[reason] : "";
}

bool
wal_reason_unreadable(WalReason reason)
{
	switch (reason)
	{
		case WAL_REASON_FILE_READ:
		case WAL_REASON_FILE_COMPRESSED:
		case WAL_REASON_COMPRESSED_WINDOW:
		case WAL_REASON_COMPRESSED_DICTIONARY:
		case WAL_REASON_COMPRESSED_EXCESS:
		case WAL_REASON_COMPRESSED_MEMORY:
		case WAL_REASON_COMPRESSED_LIBRARY:
			return true;
		default:
			return false;
	}
}

/* Tells why the segment before or after one could not help to judge it. */
static const char *
neighbour_words(uint64_t neighbour, const char *where)
{
	static const char *const words[][2] = {
		[WAL_NEIGHBOUR_OK] = {"the segment before is not", "the segment after is not"},
		[WAL_NEIGHBOUR_MISSING] = {"the segment before is not there", "the segment after is not there"},
		[WAL_NEIGHBOUR_DAMAGED] = {"the segment before is damaged", "the segment after is damaged"},
		[WAL_NEIGHBOUR_SHORT] = {"the segment before is truncated", "the segment after is truncated"},
		[WAL_NEIGHBOUR_FOREIGN] = {"the segment before is of another system", "the segment after is of another system"},
		[WAL_NEIGHBOUR_UNREADABLE] = {"the segment before cannot be read", "the segment after cannot be read"},
		[WAL_NEIGHBOUR_ALONE] = {"bytes stand alone", "bytes stand alone"},
	};

	return words[neighbour <= WAL_NEIGHBOUR_ALONE ? neighbour : 0][where[0] == 'a'];
}

void
wal_verdict_words(const WalVerdict *verdict, char words[WAL_MESSAGE_SIZE])
{
	words[0] = '\0';
	switch (verdict->reason)
	{
		case WAL_REASON_NONE:
		case WAL_REASONS:
			break;
#define WAL_REASON(id, name, ...) \
		case WAL_REASON_##id: \
			snprintf(words, WAL_MESSAGE_SIZE, __VA_ARGS__); \
			break;
#include "wal/reason.def"
#undef WAL_REASON
	}
}

void
wal_trouble_words(const WalVerdict *verdict, WalStatus status,
				  char words[WAL_MESSAGE_SIZE])
{
	wal_verdict_words(verdict, words);
	if (words[0] == '\0')
		snprintf(words, WAL_MESSAGE_SIZE, "%s", wal_status_name(status));
}
