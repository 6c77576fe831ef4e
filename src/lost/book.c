/*
 * book.c
 *	  What WAL has proved of blocks so far, in bounded memory.
 *
 * Proofs lie one after the other, an entry per block, in the order in which
 * blocks were first seen.  A hash table with open addressing finds them, and
 * its slots hold numbers of entries.  It begins small and doubles, so that
 * what a short WAL touches stays in the cache.  Blocks come in no order, and
 * in a long WAL their slots and entries are in no cache.  So proofs are noted
 * first, and entered some at a time, with memory asked for all of them before
 * any is used.
 *
 * Ends of storage are noted in the order of the WAL, and examined when the
 * book is closed.  They are then sorted by storage and LSN.  Each knows the
 * lowest block that it or a later one cut off, so that one search per entry
 * suffices.
 */
#include <stdlib.h>

#include "lost/book.h"

#define SLOTS_FIRST		(4 * LOST_NOTES)
#define ENTRIES_MAX		(UINT32_MAX / 2)	/* slots hold numbers of 32 bits */

void
lost_book_open(LostBook *book, void *memory, size_t bytes,
			   uint32_t map_covers)
{
	size_t		ends_bytes = bytes / 8 / sizeof(LostEntry) * sizeof(LostEntry);
	size_t		most = (bytes - ends_bytes) /
		(sizeof(LostEntry) + 2 * sizeof(uint32_t));

	memset(book, 0, sizeof(*book));
	book->ends = memory;
	book->ends_room = ends_bytes / sizeof(LostEnd);
	book->entries = (LostEntry *) (void *) ((char *) memory + ends_bytes);
	book->most = most < ENTRIES_MAX ? most : ENTRIES_MAX;
	book->slots = (uint32_t *) (void *) (book->entries + book->most);
	book->map_covers = map_covers;
	lost_book_reopen(book);
}

void
lost_book_reopen(LostBook *book)
{
	book->nslots = SLOTS_FIRST;
	memset(book->slots, 0, book->nslots * sizeof(uint32_t));
	book->count = 0;
	book->nnotes = 0;
	book->nends = 0;
}

/* ---- which proof counts ---- */

/*
 * Does a block go where the table is cut off before its block first, and the
 * map where it has those from map_first on?  A block of the visibility map
 * does if all that it covers goes.  In the rest of the map bits are cleared
 * (visibilitymap_prepare_truncate), which leaves the LSN or raises it.
 */
static bool
goes(const LostBook *book, const WalBlockTag *tag, uint32_t first,
	 uint32_t map_first)
{
	if (tag->fork == WAL_FORK_MAIN)
		return first != LOST_STAYS && tag->block >= first;
	if (tag->fork == WAL_FORK_MAP)
		return map_first != LOST_STAYS &&
			(uint64_t) tag->block * book->map_covers >= map_first;
	return true;
}

static bool
matches(uint32_t of_event, uint32_t of_tag)
{
	return of_event == 0 || of_event == of_tag;
}

/* Did storage of an entry end since, and before lsn?  Of an open book. */
static bool
ended_before(const LostBook *book, const LostEntry *entry, WalLsn lsn)
{
	const WalBlockTag *tag = &entry->tag;

	for (size_t i = book->nends; i-- > 0 && book->ends[i].lsn > entry->lsn;)
	{
		const LostEvent *event = &book->ends[i].event;

		if (book->ends[i].lsn < lsn &&
			matches(event->tablespace, tag->tablespace) &&
			matches(event->database, tag->database) &&
			matches(event->relation, tag->relation) &&
			goes(book, tag, event->first, event->map_first))
			return true;
	}
	return false;
}

/*
 * Does a proof take the place of an older one?  That of an LSN says more than
 * that of a page, as long as its storage is there.
 */
static inline bool
replaces(const LostBook *book, const LostEntry *proof, const LostEntry *older)
{
	if (proof->lsn <= older->lsn)
		return false;
	return proof->proof != LOST_PROOF_NOT_ZERO ||
		older->proof == LOST_PROOF_NOT_ZERO ||
		ended_before(book, older, proof->lsn);
}

/* ---- proofs ---- */

/* Multiplies and folds, as Fibonacci hashing does (Knuth, volume 3, 6.4). */
static inline uint64_t
hash_of(const WalBlockTag *tag)
{
	const uint64_t ratio = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	h = ((uint64_t) tag->relation << 32 | tag->block) * ratio;

	h ^= (uint64_t) tag->tablespace << 8 ^ (uint64_t) tag->database << 4 ^
		tag->fork ^ h >> 32;
	return h * ratio;
}

/*
 * Where the slot of a block is looked for first, from the upper half of the
 * hash, without a division.
 */
static inline uint32_t *
place_of(const LostBook *book, const WalBlockTag *tag)
{
	return &book->slots[(hash_of(tag) >> 32) * book->nslots >> 32];
}

/* Searches from there on for the slot of the block's entry, or a free one. */
static inline uint32_t *
find_slot(const LostBook *book, uint32_t *slot, const WalBlockTag *tag)
{
	const uint32_t *end = book->slots + book->nslots;

	while (*slot != 0 &&
		   !wal_block_tag_equal(&book->entries[*slot - 1].tag, tag))
		if (++slot == end)
			slot = book->slots;
	return slot;
}

/* Enters a proof.  Returns false if the block is new and there is no room. */
static inline bool
enter(LostBook *book, const LostEntry *proof, uint32_t *place)
{
	uint32_t   *slot = find_slot(book, place, &proof->tag);

	if (*slot == 0)
	{
		if (book->count == book->most)
			return false;
		book->entries[book->count++] = *proof;
		*slot = (uint32_t) book->count;
	}
	else if (replaces(book, proof, &book->entries[*slot - 1]))
		book->entries[*slot - 1] = *proof;
	return true;
}

/* Makes room for so many notes.  Every second slot stays free. */
static void
grow(LostBook *book)
{
	size_t		nslots = book->nslots;

	while (nslots < (book->count + LOST_NOTES) * 2)
		nslots *= 2;
	if (nslots > book->most * 2)
		nslots = book->most * 2;
	if (nslots == book->nslots)
		return;
	book->nslots = nslots;
	memset(book->slots, 0, nslots * sizeof(uint32_t));
	for (size_t i = 0; i < book->count; i++)
	{
		const WalBlockTag *tag = &book->entries[i].tag;

		*find_slot(book, place_of(book, tag), tag) = (uint32_t) i + 1;
	}
}

/* Enters what was noted, for which there is room. */
static void
enter_notes(LostBook *book)
{
	for (size_t i = 0; i < book->nnotes; i++)
	{
		uint32_t	n = *book->notes[i].slot;

		if (n != 0)
			__builtin_prefetch(&book->entries[n - 1], 1);
	}
	for (size_t i = 0; i < book->nnotes; i++)
		enter(book, &book->notes[i].entry, book->notes[i].slot);
	book->nnotes = 0;
	grow(book);
}

bool
lost_book_prove(LostBook *book, const WalBlockTag *tag, LostProof proof,
				WalLsn lsn)
{
	LostNote   *note;

	if (book->count + book->nnotes == book->most)
		enter_notes(book);
	note = &book->notes[book->nnotes];
	note->slot = place_of(book, tag);
	__builtin_prefetch(note->slot);
	note->entry.tag = *tag;
	note->entry.proof = proof;
	note->entry.lsn = lsn;
	if (book->count == book->most)
		return enter(book, &note->entry, note->slot);
	if (++book->nnotes == LOST_NOTES)
		enter_notes(book);
	return true;
}

/* ---- ends of storage ---- */

bool
lost_book_end(LostBook *book, const LostEvent *event, WalLsn lsn)
{
	LostEnd    *end;

	if (book->nends == book->ends_room)
		return false;
	end = &book->ends[book->nends++];
	end->event = *event;
	end->lsn = lsn;
	return true;
}

static int
compare32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int
compare_storage(const LostEvent *a, const LostEvent *b)
{
	int			order = compare32(a->tablespace, b->tablespace);

	if (order == 0)
		order = compare32(a->database, b->database);
	return order != 0 ? order : compare32(a->relation, b->relation);
}

static int
compare_ends(const void *a, const void *b)
{
	const LostEnd *x = a;
	const LostEnd *y = b;
	int			order = compare_storage(&x->event, &y->event);

	return order != 0 ? order : (x->lsn > y->lsn) - (x->lsn < y->lsn);
}

/* Returns the first end of a storage after lsn, or NULL if there is none. */
static const LostEnd *
next_end(const LostBook *book, const LostEvent *storage, WalLsn lsn)
{
	LostEnd		wanted = {*storage, lsn + 1, 0, 0};
	size_t		low = 0;
	size_t		high = book->nends;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (compare_ends(&book->ends[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == book->nends ||
		compare_storage(&book->ends[low].event, storage) != 0)
		return NULL;
	return &book->ends[low];
}

bool
lost_book_ended(const LostBook *book, const WalBlockTag *tag, WalLsn lsn)
{
	const LostEvent relation = {tag->tablespace, tag->database, tag->relation,
	0, 0};
	const LostEvent database = {0, tag->database, 0, 0, 0};
	const LostEvent tablespace = {tag->tablespace, 0, 0, 0, 0};
	const LostEnd *end = next_end(book, &relation, lsn);

	if (end != NULL && goes(book, tag, end->least, end->map_least))
		return true;
	return next_end(book, &database, lsn) != NULL ||
		next_end(book, &tablespace, lsn) != NULL;
}

static void
sort_ends(LostBook *book)
{
	if (book->nends > 1)
		qsort(book->ends, book->nends, sizeof(LostEnd), compare_ends);
	for (size_t i = book->nends; i-- > 0;)
	{
		LostEnd    *end = &book->ends[i];

		end->least = end->event.first;
		end->map_least = end->event.map_first;
		if (i + 1 == book->nends ||
			compare_storage(&end[1].event, &end->event) != 0)
			continue;
		if (end[1].least < end->least)
			end->least = end[1].least;
		if (end[1].map_least < end->map_least)
			end->map_least = end[1].map_least;
	}
}

/* ---- asking an open book ---- */

const LostEntry *
lost_book_find(LostBook *book, const WalBlockTag *tag, WalLsn lsn)
{
	const LostEntry *entry;
	uint32_t	n;

	if (book->nnotes > 0)
		enter_notes(book);
	n = *find_slot(book, place_of(book, tag), tag);
	if (n == 0)
		return NULL;
	entry = &book->entries[n - 1];
	return ended_before(book, entry, lsn) ? NULL : entry;
}

uint32_t
lost_book_number(const WalBlockTag *tag)
{
	return (uint32_t) hash_of(tag);
}

void
lost_book_keep(LostBook *book, uint32_t share, uint32_t mask)
{
	size_t		n = 0;

	enter_notes(book);
	sort_ends(book);
	for (size_t i = 0; i < book->count; i++)
	{
		const LostEntry *entry = &book->entries[i];

		if ((lost_book_number(&entry->tag) & mask) == share &&
			!lost_book_ended(book, &entry->tag, entry->lsn))
			book->entries[n++] = *entry;
	}
	lost_book_reopen(book);
	book->count = n;
	book->nslots /= 2;			/* less than any, so that it is made anew */
	grow(book);
}

/* ---- closing ---- */

int
lost_tag_compare(const WalBlockTag *a, const WalBlockTag *b)
{
	int			order = compare32(a->tablespace, b->tablespace);

	if (order == 0)
		order = compare32(a->database, b->database);
	if (order == 0)
		order = compare32(a->relation, b->relation);
	if (order == 0)
		order = compare32(a->fork, b->fork);
	return order != 0 ? order : compare32(a->block, b->block);
}

static int
compare_entries(const void *a, const void *b)
{
	return lost_tag_compare(&((const LostEntry *) a)->tag,
							&((const LostEntry *) b)->tag);
}

void
lost_book_close(LostBook *book)
{
	size_t		n = 0;

	enter_notes(book);
	sort_ends(book);
	for (size_t i = 0; i < book->count; i++)
	{
		const LostEntry *entry = &book->entries[i];

		if (!lost_book_ended(book, &entry->tag, entry->lsn))
			book->entries[n++] = *entry;
	}
	book->count = n;
	if (n > 1)
		qsort(book->entries, n, sizeof(LostEntry), compare_entries);
}
