/*
 * set.c
 *	  Blocks, or forks of relations, that are found by their tags.
 */
#include "host/host.h"
#include "recover/set.h"

/* A multiplicative hash.  Blocks of a relation are mostly neighbours. */
static size_t
hash_of(const WalBlockTag *tag)
{
	uint64_t	h = tag->relation;

	h = (h ^ tag->database) * UINT64_C(0x9E3779B97F4A7C15);
	h = (h ^ tag->tablespace) * UINT64_C(0x9E3779B97F4A7C15);
	h = (h ^ (h >> 32) ^ tag->fork) * UINT64_C(0x9E3779B97F4A7C15);
	h = (h ^ (h >> 32) ^ tag->block) * UINT64_C(0x9E3779B97F4A7C15);
	return (size_t) (h >> 32);
}

/* Returns the place of a tag, or the empty one where it belongs. */
static size_t
place_of(const RecoverSet *set, const WalBlockTag *tag)
{
	size_t		place = hash_of(tag) & (set->nplaces - 1);

	while (set->places[place] != 0 &&
		   !wal_block_tag_equal(&set->items[set->places[place] - 1].tag, tag))
		place = (place + 1) & (set->nplaces - 1);
	return place;
}

/* At most half of the places are in use. */
static void
make_places(RecoverSet *set)
{
	if (2 * (set->count + 1) <= set->nplaces)
		return;
	set->nplaces = set->nplaces == 0 ? 64 : set->nplaces * 2;
	set->places = host_grow(set->places, set->nplaces * sizeof(uint32_t));
	memset(set->places, 0, set->nplaces * sizeof(uint32_t));
	for (size_t i = 0; i < set->count; i++)
		set->places[place_of(set, &set->items[i].tag)] = (uint32_t) i + 1;
}

/* Returns the number of a tag's item plus one, or 0. */
static uint32_t
number_of(const RecoverSet *set, const WalBlockTag *tag)
{
	return set->count == 0 ? 0 : set->places[place_of(set, tag)];
}

RecoverBlock *
recover_set_find(const RecoverSet *set, const WalBlockTag *tag)
{
	uint32_t	found = number_of(set, tag);

	return found == 0 ? NULL : &set->items[found - 1];
}

RecoverBlock *
recover_set_add(RecoverSet *set, const WalBlockTag *tag)
{
	uint32_t	found = number_of(set, tag);
	RecoverBlock *item;

	if (found != 0)
		return &set->items[found - 1];
	make_places(set);
	HOST_MAKE_ROOM(set->items, set->count, set->room);
	item = &set->items[set->count];
	memset(item, 0, sizeof(*item));
	item->tag = *tag;
	set->places[place_of(set, tag)] = (uint32_t) ++set->count;
	return item;
}

void
recover_set_free(RecoverSet *set)
{
	host_free(set->items);
	host_free(set->places);
	memset(set, 0, sizeof(*set));
}
