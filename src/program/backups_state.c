/*
 * backups_state.c
 *	  The file that remembers the verdicts on backups.
 *
 * It has a backup per line, in words between single spaces.  Bytes of texts
 * other than letters, digits and some signs are in it as % and two hexadecimal
 * digits, and "-" is no text.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/digits.h"
#include "page/status.h"
#include "program/backups_state.h"
#include "program/host.h"

#define FIRST_LINE		PROGRAM_NAME " backups 1"

/* ---- verdicts to keep ---- */

/* Memory since a mark is released, so what is kept is no memory of the host's. */
static void *
keep(void *memory)
{
	if (memory == NULL)
		host_no_memory();
	return memory;
}

static BackupVerdict *
add_verdict(BackupsState *state)
{
	if (state->count == state->room)
	{
		state->room = state->room * 2 + 16;
		state->verdicts = keep(realloc(state->verdicts, state->room * sizeof(*state->verdicts)));
	}
	state->verdicts[state->count] = keep(malloc(sizeof(BackupVerdict)));
	return state->verdicts[state->count++];
}

/* ---- reading ---- */

/* Words of a line that are yet to be read.  One that is wrong ends them. */
typedef struct Words
{
	char	   *at;				/* NULL after the last one */
	bool		wrong;
} Words;

static char *
next_word(Words *words)
{
	char	   *word = words->at;
	char	   *end;

	if (word == NULL)
	{
		words->wrong = true;
		return NULL;
	}
	end = strchr(word, ' ');
	if (end != NULL)
		*end++ = '\0';
	words->at = end;
	return word;
}

static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns a text in memory of its own, NULL for none. */
static char *
next_text(Words *words)
{
	char	   *word = next_word(words);
	char	   *decoded;
	size_t		len = 0;

	if (word == NULL || strcmp(word, "-") == 0)
		return NULL;
	decoded = host_alloc(strlen(word) + 1);
	for (; *word != '\0'; word++)
	{
		if (*word != '%')
			decoded[len++] = *word;
		else if (digit_of(word[1]) >= 0 && digit_of(word[2]) >= 0)
		{
			decoded[len++] = (char) (digit_of(word[1]) * 16 + digit_of(word[2]));
			word += 2;
		}
		else
			words->wrong = true;
	}
	decoded[len] = '\0';
	return decoded;
}

static uint64_t
next_number(Words *words)
{
	char	   *word = next_word(words);
	uint64_t	number = 0;
	const char *end = word == NULL ? NULL : digits_read(word, UINT64_MAX, &number);

	words->wrong |= end == NULL || *end != '\0';
	return number;
}

/* Returns false for none. */
static bool
next_optional(Words *words, uint64_t *number)
{
	if (words->at != NULL && strncmp(words->at, "- ", 2) == 0)
	{
		next_word(words);
		return false;
	}
	*number = next_number(words);
	return true;
}

static void
parse_priors(Words *words, BackupVerdict *verdict)
{
	uint64_t	count = next_number(words);

	if (count > BACKUP_CHAIN_MAX)
	{
		words->wrong = true;
		return;
	}
	verdict->npriors = (int) count;
	verdict->priors = host_alloc((count + 1) * sizeof(char *));
	for (uint64_t i = 0; i < count; i++)
	{
		verdict->priors[i] = next_text(words);
		words->wrong |= verdict->priors[i] == NULL;
	}
}

static bool
parse_backup(BackupVerdict *verdict, char *line)
{
	Words		words = {line, false};

	verdict->backup = next_text(&words);
	verdict->status = next_text(&words);
	verdict->unfinished = next_number(&words) != 0;
	verdict->has_digest = next_optional(&words, &verdict->digest);
	verdict->verified_at = (int64_t) next_number(&words);
	verdict->taken_at = (int64_t) next_number(&words);
	verdict->has_system = next_optional(&words, &verdict->system);
	verdict->label = next_text(&words);
	verdict->format = next_text(&words);
	verdict->start = next_number(&words);
	verdict->end = next_number(&words);
	verdict->findings = (int64_t) next_number(&words);
	verdict->files = (int64_t) next_number(&words);
	verdict->bytes = (int64_t) next_number(&words);
	verdict->message = next_text(&words);
	verdict->manifest = next_text(&words);
	parse_priors(&words, verdict);
	return !words.wrong && words.at == NULL && verdict->backup != NULL &&
		verdict->status != NULL;
}

static bool
parse(void *arg, char *lines)
{
	BackupsState *state = arg;
	char	   *line;

	while ((line = state_file_line(&lines)) != NULL)
	{
		BackupVerdict verdict = {0};

		if (!parse_backup(&verdict, line))
			return false;
		*add_verdict(state) = verdict;
	}
	return lines[0] == '\0';
}

void
backups_state_open(BackupsState *state, const char *path,
				   const char *directory)
{
	state->file.path = path;
	state->file.directory = directory;
	state->file.first_line = FIRST_LINE;
	state->file.what = "directory";
	state_file_open(&state->file, parse, state);
	if (!state->file.damaged)
		return;
	program_warn("state file \"%s\" is damaged: every backup is read, and nothing is known of backups that are gone", path);
	state->count = 0;
}

BackupVerdict *
backups_state_find(const BackupsState *state, const char *backup)
{
	for (size_t i = 0; i < state->count; i++)
		if (strcmp(state->verdicts[i]->backup, backup) == 0)
			return state->verdicts[i];
	return NULL;
}

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : keep(strdup(text));
}

void
backups_state_remember(BackupsState *state, const BackupVerdict *verdict)
{
	BackupVerdict *kept = backups_state_find(state, verdict->backup);

	if (kept == NULL)
		kept = add_verdict(state);
	*kept = *verdict;
	kept->backup = copy_text(verdict->backup);
	kept->label = copy_text(verdict->label);
	kept->message = copy_text(verdict->message);
	kept->manifest = copy_text(verdict->manifest);
	kept->priors = keep(malloc(((size_t) verdict->npriors + 1) * sizeof(char *)));
	for (int i = 0; i < verdict->npriors; i++)
		kept->priors[i] = copy_text(verdict->priors[i]);
}

/* ---- writing ---- */

/* A line that grows. */
typedef struct Line
{
	char	   *bytes;
	size_t		count;
	size_t		room;
} Line;

static void
put_byte(Line *line, char c)
{
	HOST_MAKE_ROOM(line->bytes, line->count, line->room);
	line->bytes[line->count++] = c;
}

static void
put_bytes(Line *line, const char *bytes)
{
	for (; *bytes != '\0'; bytes++)
		put_byte(line, *bytes);
}

static void
put_text(Line *line, const char *text)
{
	put_byte(line, ' ');
	if (text == NULL)
		put_byte(line, '-');
	for (const char *c = text; c != NULL && *c != '\0'; c++)
	{
		unsigned char byte = (unsigned char) *c;
		char		escaped[4];

		snprintf(escaped, sizeof(escaped), "%%%02X", byte);
		if ((byte < 0x80 && isalnum(byte)) || strchr("/._:,", byte) != NULL)
			put_byte(line, *c);
		else
			put_bytes(line, escaped);
	}
}

static void
put_number(Line *line, bool known, uint64_t number)
{
	char		digits[24];

	snprintf(digits, sizeof(digits), " %" PRIu64, number);
	put_bytes(line, known ? digits : " -");
}

static void
print_backup(Line *line, const BackupVerdict *verdict)
{
	line->count = 0;
	put_text(line, verdict->backup);
	put_text(line, verdict->status);
	put_number(line, true, verdict->unfinished);
	put_number(line, verdict->has_digest, verdict->digest);
	put_number(line, true, (uint64_t) verdict->verified_at);
	put_number(line, true, (uint64_t) verdict->taken_at);
	put_number(line, verdict->has_system, verdict->system);
	put_text(line, verdict->label);
	put_text(line, verdict->format);
	put_number(line, true, verdict->start);
	put_number(line, true, verdict->end);
	put_number(line, true, (uint64_t) verdict->findings);
	put_number(line, true, (uint64_t) verdict->files);
	put_number(line, true, (uint64_t) verdict->bytes);
	put_text(line, verdict->message);
	put_text(line, verdict->manifest);
	put_number(line, true, (uint64_t) verdict->npriors);
	for (int i = 0; i < verdict->npriors; i++)
		put_text(line, verdict->priors[i]);
	put_byte(line, '\0');
}

bool
backups_state_write(BackupsState *state)
{
	Line		line = {NULL};

	if (!state_file_begin(&state->file))
		return false;
	for (size_t i = 0; i < state->count; i++)
		if (!state->verdicts[i]->gone)
		{
			print_backup(&line, state->verdicts[i]);
			state_file_put(&state->file, line.bytes + 1);	/* after its space */
		}
	host_free(line.bytes);
	return state_file_end(&state->file);
}
