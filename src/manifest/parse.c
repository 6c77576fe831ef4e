/*
 * parse.c
 *	  Parses the JSON of a backup's manifest.
 *
 * The grammar is that of RFC 8259.  A manifest nests three deep, and the reader
 * refuses the first thing that nests deeper, which bounds the stack.  Its
 * strings are paths, which bounds memory.  Bytes above 127 pass as they are, since a
 * path may have any.  An escape becomes UTF-8, and one of a zero is invalid, as
 * the server has it.
 */
#include <string.h>

#include "manifest/parse.h"

#define STRING_MAX		(8 * BACKUP_PATH_MAX)

typedef struct Parser
{
	ManifestReader *reader;
	const char *at;
	const char *end;
	bool		excessive;
	size_t		length;
	char text[	STRING_MAX + 1];	/* of the last string or scalar */
} Parser;

static bool parse_value(Parser *parser);

static bool
add(Parser *parser, char c)
{
	parser->excessive = parser->length == STRING_MAX;
	if (parser->excessive)
		return false;
	parser->text[parser->length++] = c;
	parser->text[parser->length] = '\0';
	return true;
}

/* ---- tokens ---- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next byte that is no blank, or 0 at the end. */
static char
peek(Parser *parser)
{
	while (parser->at < parser->end && is_blank(*parser->at))
		parser->at++;
	return parser->at < parser->end ? *parser->at : '\0';
}

/* Does nothing but blanks follow? */
static bool
is_at_end(Parser *parser)
{
	(void) peek(parser);
	return parser->at == parser->end;
}

static bool
accept(Parser *parser, char c)
{
	if (peek(parser) != c)
		return false;
	parser->at++;
	return true;
}

/* Four hexadecimal digits. */
static bool
parse_unit(Parser *parser, uint32_t *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++)
	{
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *digit;

		if (parser->at == parser->end || *parser->at == '\0' ||
			(digit = strchr(digits, *parser->at)) == NULL)
			return false;
		*unit = *unit * 16 + (uint32_t) (digit - digits < 16 ? digit - digits :
										 digit - digits - 6);
		parser->at++;
	}
	return true;
}

static bool
add_character(Parser *parser, uint32_t c)
{
	if (c < 0x80)
		return add(parser, (char) c);
	if (c < 0x800)
		return add(parser, (char) (0xC0 | c >> 6)) &&
			add(parser, (char) (0x80 | (c & 0x3F)));
	if (c < 0x10000)
		return add(parser, (char) (0xE0 | c >> 12)) &&
			add(parser, (char) (0x80 | (c >> 6 & 0x3F))) &&
			add(parser, (char) (0x80 | (c & 0x3F)));
	return add(parser, (char) (0xF0 | c >> 18)) &&
		add(parser, (char) (0x80 | (c >> 12 & 0x3F))) &&
		add(parser, (char) (0x80 | (c >> 6 & 0x3F))) &&
		add(parser, (char) (0x80 | (c & 0x3F)));
}

/* A character of two units has both, in their order. */
static bool
parse_unicode(Parser *parser)
{
	uint32_t	first;
	uint32_t	second;

	if (!parse_unit(parser, &first) || first == 0 ||
		(first >= 0xDC00 && first < 0xE000))
		return false;
	if (first < 0xD800 || first >= 0xE000)
		return add_character(parser, first);
	if (parser->end - parser->at < 2 || memcmp(parser->at, "\\u", 2) != 0)
		return false;
	parser->at += 2;
	return parse_unit(parser, &second) &&
		second >= 0xDC00 && second < 0xE000 &&
		add_character(parser, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
}

static bool
parse_escape(Parser *parser)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (parser->at == parser->end || *parser->at == '\0')
		return false;
	if (*parser->at == 'u')
	{
		parser->at++;
		return parse_unicode(parser);
	}
	name = strchr(names, *parser->at);
	if (name == NULL)
		return false;
	parser->at++;
	return add(parser, values[name - names]);
}

static bool
parse_string(Parser *parser)
{
	parser->length = 0;
	parser->text[0] = '\0';
	if (!accept(parser, '"'))
		return false;
	while (parser->at < parser->end && *parser->at != '"')
	{
		unsigned char c = (unsigned char) *parser->at;

		if (c < ' ')
			return false;
		parser->at++;
		if (!(c == '\\' ? parse_escape(parser) : add(parser, (char) c)))
			return false;
	}
	return accept(parser, '"');
}

/* Adds the digits that are next, at least one. */
static bool
parse_digits(Parser *parser)
{
	const char *begin = parser->at;

	while (parser->at < parser->end && is_digit(*parser->at))
		if (!add(parser, *parser->at++))
			return false;
	return parser->at > begin;
}

/* Adds the next byte, if it is one of these. */
static bool
parse_one_of(Parser *parser, const char *these)
{
	if (parser->at == parser->end || *parser->at == '\0' ||
		strchr(these, *parser->at) == NULL)
		return false;
	return add(parser, *parser->at++);
}

static bool
parse_number(Parser *parser)
{
	parser->length = 0;
	(void) parse_one_of(parser, "-");
	if (!parse_one_of(parser, "0") && !parse_digits(parser))
		return false;
	if (parse_one_of(parser, ".") && !parse_digits(parser))
		return false;
	if (!parse_one_of(parser, "eE"))
		return true;
	(void) parse_one_of(parser, "+-");
	return parse_digits(parser);
}

static bool
parse_word(Parser *parser)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
	{
		size_t		length = strlen(words[i]);

		if ((size_t) (parser->end - parser->at) < length ||
			memcmp(parser->at, words[i], length) != 0)
			continue;
		parser->at += length;
		parser->length = length;
		memcpy(parser->text, words[i], length + 1);
		return true;
	}
	return false;
}

/* ---- values ---- */

/* An error of the reader ends it, too. */
static bool
goes_on(const Parser *parser)
{
	return parser->reader->error == NULL;
}

static bool
parse_member(Parser *parser)
{
	if (!parse_string(parser))
		return false;
	manifest_field(parser->reader, parser->text);
	return goes_on(parser) && accept(parser, ':') && parse_value(parser);
}

/* The members of an object, or values of an array, and what ends them. */
static bool
parse_list(Parser *parser, char end, bool (*item) (Parser *parser))
{
	if (accept(parser, end))
		return true;
	do
		if (!item(parser))
			return false;
	while (accept(parser, ','));
	return accept(parser, end);
}

static bool
parse_nested(Parser *parser, bool object)
{
	parser->at++;
	(object ? manifest_object_start : manifest_array_start) (parser->reader);
	if (!goes_on(parser) ||
		!(object ? parse_list(parser, '}', parse_member) :
		  parse_list(parser, ']', parse_value)))
		return false;
	(object ? manifest_object_end : manifest_array_end) (parser->reader);
	return goes_on(parser);
}

static bool
parse_value(Parser *parser)
{
	char		c = peek(parser);
	bool		string = c == '"';
	bool		number = c == '-' || is_digit(c);

	if (c == '{' || c == '[')
		return parse_nested(parser, c == '{');
	if (!(string ? parse_string(parser) : number ? parse_number(parser) :
		  parse_word(parser)))
		return false;
	manifest_scalar(parser->reader, parser->text, string, number);
	return goes_on(parser);
}

ManifestParsed
manifest_parse(ManifestReader *reader, const char *bytes, size_t size,
			   size_t *at)
{
	Parser		parser = {reader, bytes, bytes + size, false, 0, ""};
	bool		whole = parse_value(&parser) && is_at_end(&parser);

	*at = (size_t) (parser.at - bytes);
	if (whole || !goes_on(&parser))
		return MANIFEST_PARSED;
	return parser.excessive ? MANIFEST_EXCESSIVE : MANIFEST_INVALID;
}
