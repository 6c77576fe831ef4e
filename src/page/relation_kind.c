/*
 * relation_kind.c
 *	  What kind of pages a fork of a relation holds.
 *
 * Only access methods of the server itself are known, by the OIDs that initdb
 * gives them.  One of an extension may lay out its pages, and the free space
 * maps of its relations, as it likes.
 */
#include "compat.h"

#include "access/brin_page.h"
#include "access/ginblock.h"
#include "access/gist.h"
#include "access/hash.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "page/relation_kind.h"

static const struct
{
	Oid			am;
	PageKind	kind;
}			am_kinds[] =

{
	{HEAP_TABLE_AM_OID, PAGE_KIND_HEAP},
	{BTREE_AM_OID, PAGE_KIND_BTREE},
	{HASH_AM_OID, PAGE_KIND_HASH},
	{GIST_AM_OID, PAGE_KIND_GIST},
	{GIN_AM_OID, PAGE_KIND_GIN},
	{SPGIST_AM_OID, PAGE_KIND_SPGIST},
	{BRIN_AM_OID, PAGE_KIND_BRIN},
};

/* page/kind.h is of this server's format. */
#define CHECK_SPECIAL(type, bytes) \
	StaticAssertDecl(MAXALIGN(sizeof(type)) == (bytes), #type)
#define CHECK_MARK(name, value) \
	StaticAssertDecl((name) == (value), #name)

CHECK_SPECIAL(BTPageOpaqueData, 16);
CHECK_MARK(MAX_BT_CYCLE_ID, 0xFF7F);
CHECK_SPECIAL(HashPageOpaqueData, 16);
CHECK_MARK(HASHO_PAGE_ID, 0xFF80);
CHECK_SPECIAL(GISTPageOpaqueData, 16);
CHECK_MARK(GIST_PAGE_ID, 0xFF81);
CHECK_SPECIAL(GinPageOpaqueData, 8);
CHECK_MARK(GIN_COMPRESSED, 0x80);
CHECK_SPECIAL(SpGistPageOpaqueData, 8);
CHECK_MARK(SPGIST_PAGE_ID, 0xFF82);
CHECK_SPECIAL(BrinSpecialSpace, 8);
CHECK_MARK(BRIN_PAGETYPE_META, 0xF091);
CHECK_MARK(BRIN_PAGETYPE_REGULAR, 0xF093);

/* and of its metapages */
CHECK_MARK(BTP_META, 0x08);
CHECK_MARK(LH_META_PAGE, 0x08);
CHECK_MARK(GIN_META, 0x08);
CHECK_MARK(SPGIST_META, 0x01);

PageKind
relation_page_kind(Relation rel, ForkNumber fork)
{
	PageKind	kind = PAGE_KIND_ANY;

	if (rel->rd_rel->relkind == RELKIND_SEQUENCE)
		kind = PAGE_KIND_SEQUENCE;
	for (int i = 0; i < (int) lengthof(am_kinds); i++)
		if (rel->rd_rel->relam == am_kinds[i].am)
			kind = am_kinds[i].kind;
	if (kind == PAGE_KIND_ANY || fork == MAIN_FORKNUM || fork == INIT_FORKNUM)
		return kind;
	return fork == FSM_FORKNUM ? PAGE_KIND_FSM : PAGE_KIND_VM;
}

/* A sequence counts on without WAL.  Maps are changed by records of tables. */
bool
relation_wal_is_complete(Relation rel, ForkNumber fork)
{
	bool		known = false;

	for (int i = 0; i < (int) lengthof(am_kinds); i++)
		known |= rel->rd_rel->relam == am_kinds[i].am;
	if (fork == INIT_FORKNUM)
		return known;
	return known && fork == MAIN_FORKNUM &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
}
