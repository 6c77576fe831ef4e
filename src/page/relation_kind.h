/*
 * relation_kind.h
 *	  What kind of pages a fork of a relation holds.
 */
#ifndef ACCEL_PAGE_RELATION_KIND_H
#define ACCEL_PAGE_RELATION_KIND_H

#include "compat.h"

#include "common/relpath.h"
#include "utils/relcache.h"

#include "page/kind.h"

/* PAGE_KIND_ANY where the access method is none that we know. */
extern PageKind relation_page_kind(Relation rel, ForkNumber fork);

/*
 * Is every change of the fork's pages in the WAL, with a reference to the
 * block?  Hint bits are not.
 */
extern bool relation_wal_is_complete(Relation rel, ForkNumber fork);

#endif							/* ACCEL_PAGE_RELATION_KIND_H */
