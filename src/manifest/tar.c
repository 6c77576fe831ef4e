/*
 * tar.c
 *	  Members of a tar archive, one after the other.
 *
 * Headers are as in POSIX.1-2017, pax, "ustar Interchange Format" and "pax
 * Extended Header".  Long names (types L and K) and numbers of 256s are as in
 * the manual of GNU tar, "Basic Tar Format".
 */
#include <string.h>

#include "host/digits.h"
#include "manifest/tar.h"

/* a header's fields */
#define NAME_AT			0
#define NAME_LEN		100
#define SIZE_AT			124
#define SIZE_LEN		12
#define SUM_AT			148
#define SUM_LEN			8
#define TYPE_AT			156
#define MAGIC_AT		257
#define PREFIX_AT		345
#define PREFIX_LEN		155

/*
 * With its terminator it is that of POSIX.  GNU has blanks there, and no
 * prefix.
 */
#define MAGIC			"ustar"

/*
 * GNU tar fills up to its record, 10 kB by default.  More than this is none.
 */
#define TRAILER_MAX		(16 * 1024 * 1024)

static const uint8_t zeros[TAR_BLOCK];

void
tar_begin(TarReader *reader, TarReadFn read, void *arg)
{
	memset(reader, 0, offsetof(TarReader, block));
	reader->read = read;
	reader->arg = arg;
}

/* ---- input ---- */

static size_t
take(TarReader *reader, uint8_t *buffer, size_t len)
{
	size_t		got = reader->input_ended ? 0 :
		reader->read(reader->arg, buffer, len);

	reader->input_ended = got < len;
	reader->offset += got;
	return got;
}

/* Returns false if the archive ends before that. */
static bool
skip(TarReader *reader, uint64_t len)
{
	while (len > 0)
	{
		size_t		part = len < TAR_EXTENSION_MAX ? (size_t) len :
			TAR_EXTENSION_MAX;

		if (take(reader, reader->extension, part) < part)
			return false;
		len -= part;
	}
	return true;
}

size_t
tar_read(TarReader *reader, uint8_t *buffer, size_t len)
{
	size_t		wanted = len < reader->left ? len : (size_t) reader->left;
	size_t		got = take(reader, buffer, wanted);

	reader->left -= got;
	return got;
}

/* ---- fields ---- */

/*
 * Reads big-endian digits of 256.  Returns false if negative, or too large for
 * a file.
 */
static bool
binary_number(const uint8_t *field, size_t len, uint64_t *value)
{
	uint64_t	n = field[0] & 0x7F;

	for (size_t i = 1; i < len; i++)
	{
		if (n > (uint64_t) INT64_MAX >> 8)
			return false;
		n = n << 8 | field[i];
	}
	*value = n;
	return true;
}

/*
 * Reads octal digits with blanks before them.  If there are none it is a zero.
 */
static bool
number(const uint8_t *field, size_t len, uint64_t *value)
{
	size_t		at = 0;
	uint64_t	n = 0;

	if (field[0] & 0x80)
		return binary_number(field, len, value);
	while (at < len && field[at] == ' ')
		at++;
	for (; at < len && field[at] >= '0' && field[at] <= '7'; at++)
		n = n << 3 | (uint64_t) (field[at] - '0');
	*value = n;
	return at == len || field[at] == ' ' || field[at] == '\0';
}

/*
 * The sum of all bytes, those of its own field as blanks.  Some old programs
 * added signed ones.
 */
static bool
sum_is_right(const uint8_t *block)
{
	uint64_t	stored;
	int64_t		sum = 0;
	int64_t		signed_sum = 0;

	if (!number(block + SUM_AT, SUM_LEN, &stored))
		return false;
	for (size_t i = 0; i < TAR_BLOCK; i++)
	{
		uint8_t		byte = i - SUM_AT < SUM_LEN ? ' ' : block[i];

		sum += byte;
		signed_sum += (int8_t) byte;
	}
	return (int64_t) stored == sum || (int64_t) stored == signed_sum;
}

static bool
is_header(const uint8_t *block)
{
	uint64_t	size;

	return sum_is_right(block) && number(block + SIZE_AT, SIZE_LEN, &size) &&
		size <= INT64_MAX;
}

static bool
has_magic(const uint8_t *block)
{
	return memcmp(block + MAGIC_AT, MAGIC, strlen(MAGIC)) == 0;
}

static bool
is_zero(const uint8_t *block)
{
	return memcmp(block, zeros, TAR_BLOCK) == 0;
}

/* ---- names ---- */

/* A field that may lack a terminator, appended to a name. */
static void
append_field(char *name, const uint8_t *field, size_t len)
{
	const uint8_t *end = memchr(field, '\0', len);
	size_t		had = strlen(name);
	size_t		more = end != NULL ? (size_t) (end - field) : len;

	memcpy(name + had, field, more);
	name[had + more] = '\0';
}

static void
name_of_header(const uint8_t *block, char name[TAR_NAME_MAX])
{
	name[0] = '\0';
	if (memcmp(block + MAGIC_AT, MAGIC, sizeof(MAGIC)) == 0 &&
		block[PREFIX_AT] != '\0')
	{
		append_field(name, block + PREFIX_AT, PREFIX_LEN);
		strcat(name, "/");
	}
	append_field(name, block + NAME_AT, NAME_LEN);
}

/*
 * Strips "./" before and "/" after it, and says whether there was the latter.
 */
static bool
strip_name(char *name)
{
	char	   *start = name;
	size_t		len;
	bool		folder = false;

	while (start[0] == '.' && start[1] == '/')
	{
		start += 2;
		start += strspn(start, "/");
	}
	len = strlen(start);
	for (; len > 1 && start[len - 1] == '/'; len--)
		folder = true;
	if (len == 1 && start[0] == '.')
		len = 0;
	memmove(name, start, len);
	name[len] = '\0';
	return folder || len == 0;
}

/* ---- extensions ---- */

static bool
set_name(TarReader *reader, const uint8_t *name, size_t len)
{
	if (len >= TAR_NAME_MAX || memchr(name, '\0', len) != NULL)
		return false;
	memcpy(reader->name, name, len);
	reader->name[len] = '\0';
	reader->has_name = true;
	return true;
}

/* Reads decimal digits up to an end, which is none. */
static bool
decimal(const uint8_t *from, const uint8_t *to, uint64_t *value)
{
	return digits_read((const char *) from, INT64_MAX, value) == (const char *) to;
}

static bool
is_key(const uint8_t *key, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(key, name, len) == 0;
}

/* "key=value" of pax. */
static bool
parse_pax(TarReader *reader, const uint8_t *pair, size_t len)
{
	static const char sparse[] = "GNU.sparse.";
	const uint8_t *equals = memchr(pair, '=', len);
	size_t		key;

	if (equals == NULL)
		return false;
	key = (size_t) (equals - pair);
	if (is_key(pair, key, "path"))
		return set_name(reader, equals + 1, len - key - 1);
	if (is_key(pair, key, "size"))
	{
		reader->has_size = decimal(equals + 1, pair + len, &reader->size);
		return reader->has_size;
	}
	if (len > strlen(sparse) && memcmp(pair, sparse, strlen(sparse)) == 0)
		reader->sparse = true;
	return true;
}

/* Records "length key=value\n", where length is that of all of it. */
static bool
read_pax(TarReader *reader, size_t len)
{
	const uint8_t *at = reader->extension;
	const uint8_t *end = at + len;

	while (at < end)
	{
		const uint8_t *blank = memchr(at, ' ', (size_t) (end - at));
		uint64_t	record;

		if (blank == NULL || !decimal(at, blank, &record) ||
			record > (uint64_t) (end - at) ||
			record < (uint64_t) (blank - at) + 2 || at[record - 1] != '\n' ||
			!parse_pax(reader, blank + 1, (size_t) (at + record - 1 - (blank + 1))))
			return false;
		at += record;
	}
	return true;
}

static bool
read_long_name(TarReader *reader, size_t len)
{
	const uint8_t *end = memchr(reader->extension, '\0', len);

	return set_name(reader, reader->extension,
					end != NULL ? (size_t) (end - reader->extension) : len);
}

/*
 * The data of an extension, and what they say.  One that is cut off is noticed
 * by whoever reads on.
 */
static bool
read_extension(TarReader *reader, uint8_t type)
{
	size_t		len = (size_t) reader->left;

	if (type != 'x' && type != 'L')
		return true;
	if (reader->left > TAR_EXTENSION_MAX)
		return false;
	if (tar_read(reader, reader->extension, len) < len)
		return true;
	return type == 'x' ? read_pax(reader, len) : read_long_name(reader, len);
}

/* ---- members ---- */

static bool
is_extension(uint8_t type)
{
	return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

static TarKind
kind_of(const TarReader *reader, uint8_t type, bool folder)
{
	if (reader->sparse)
		return TAR_OTHER;
	switch (type)
	{
		case '\0':
		case '0':
		case '7':
			return folder ? TAR_DIRECTORY : TAR_FILE;
		case '5':
			return TAR_DIRECTORY;
		case '2':
			return TAR_LINK;
		default:
			return TAR_OTHER;
	}
}

/* Whatever their size field says. */
static bool
has_no_data(uint8_t type)
{
	return type >= '1' && type <= '6';
}

static void
set_data(TarReader *reader, uint64_t size)
{
	reader->left = size;
	reader->padding = (uint32_t) (-size % TAR_BLOCK);
}

/* They are of one member alone. */
static void
drop_extensions(TarReader *reader)
{
	reader->has_name = reader->has_size = reader->sparse = false;
}

static void
begin_member(TarReader *reader, TarMember *member)
{
	uint8_t		type = reader->block[TYPE_AT];
	bool		folder;

	(void) number(reader->block + SIZE_AT, SIZE_LEN, &member->size);
	if (reader->has_size)
		member->size = reader->size;
	if (has_no_data(type))
		member->size = 0;
	if (reader->has_name)
		memcpy(member->name, reader->name, sizeof(member->name));
	else
		name_of_header(reader->block, member->name);
	folder = strip_name(member->name);
	member->kind = kind_of(reader, type, folder);
	member->offset = reader->begin;
	set_data(reader, member->size);
	drop_extensions(reader);
}

/* ---- headers ---- */

static TarResult
say(TarDamage *damage, TarReason reason, uint64_t offset, uint64_t skipped)
{
	damage->reason = reason;
	damage->offset = offset;
	damage->skipped = skipped;
	return TAR_DAMAGE;
}

/*
 * To the next header, or to where zeros begin that may be the end.  Extensions
 * were of the member that is passed over.
 */
static TarResult
find_header(TarReader *reader, TarDamage *damage, uint64_t from)
{
	drop_extensions(reader);
	while (take(reader, reader->block, TAR_BLOCK) == TAR_BLOCK)
	{
		if (has_magic(reader->block) && is_header(reader->block))
		{
			reader->has_block = true;
			return say(damage, TAR_NO_HEADER, from,
					   reader->offset - TAR_BLOCK - from);
		}
	}
	reader->ended = true;
	return say(damage, TAR_NO_HEADER, from, reader->offset - from);
}

/* After the two blocks of zeros there are more of them, up to the end. */
static TarResult
read_trailer(TarReader *reader, TarDamage *damage)
{
	uint64_t	from = reader->offset;
	size_t		got;

	reader->ended = true;
	do
	{
		got = take(reader, reader->block, TAR_BLOCK);
		if (memcmp(reader->block, zeros, got) != 0 ||
			reader->offset - from > TRAILER_MAX)
			return say(damage, TAR_TRAILING, reader->offset - got, 0);
	} while (got == TAR_BLOCK);
	return TAR_END;
}

/* After the first block of zeros. */
static TarResult
read_end(TarReader *reader, TarDamage *damage)
{
	uint64_t	from = reader->offset - TAR_BLOCK;

	if (take(reader, reader->block, TAR_BLOCK) < TAR_BLOCK)
	{
		reader->ended = true;
		return say(damage, TAR_NO_END, from, 0);
	}
	if (is_zero(reader->block))
		return read_trailer(reader, damage);
	if (!is_header(reader->block))
		return find_header(reader, damage, from);
	reader->has_block = true;
	drop_extensions(reader);
	return say(damage, TAR_NO_HEADER, from, TAR_BLOCK);
}

/*
 * Skips what is left of the present member.  Returns false if the archive ends
 * before that.
 */
static bool
skip_member(TarReader *reader)
{
	bool		done = skip(reader, reader->left + reader->padding);

	reader->left = reader->padding = 0;
	return done;
}

/* Reads the next header into block.  Returns TAR_MEMBER if it is there. */
static TarResult
read_header(TarReader *reader, TarDamage *damage)
{
	size_t		got;
	uint64_t	from = reader->offset;

	if (reader->has_block)
	{
		reader->has_block = false;
		return TAR_MEMBER;
	}
	got = take(reader, reader->block, TAR_BLOCK);
	if (got < TAR_BLOCK)
	{
		reader->ended = true;
		return say(damage, got == 0 ? TAR_NO_END : TAR_TRUNCATED, from, got);
	}
	if (is_zero(reader->block))
		return read_end(reader, damage);
	if (!is_header(reader->block))
		return find_header(reader, damage, from);
	return TAR_MEMBER;
}

static TarResult
cut_off(TarReader *reader, TarDamage *damage)
{
	reader->ended = true;
	return say(damage, TAR_TRUNCATED, reader->offset, 0);
}

/* Extensions change what the header after them says. */
TarResult
tar_next(TarReader *reader, TarMember *member, TarDamage *damage)
{
	TarResult	result;
	bool		first = true;

	while (!reader->ended)
	{
		uint8_t		type;
		uint64_t	size = 0;

		if (!skip_member(reader))
			return cut_off(reader, damage);
		result = read_header(reader, damage);
		if (result != TAR_MEMBER)
			return result;
		if (first)
			reader->begin = reader->offset - TAR_BLOCK;
		first = false;
		type = reader->block[TYPE_AT];
		if (!is_extension(type))
		{
			begin_member(reader, member);
			return TAR_MEMBER;
		}
		(void) number(reader->block + SIZE_AT, SIZE_LEN, &size);
		set_data(reader, size);
		if (!read_extension(reader, type))
			return say(damage, TAR_BAD_EXTENSION, reader->begin, 0);
	}
	return TAR_END;
}
