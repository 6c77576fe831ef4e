/*
 * map_witness.h
 *	  What the visibility map knows about pages of a table.
 */
#ifndef ACCEL_PAGE_MAP_WITNESS_H
#define ACCEL_PAGE_MAP_WITNESS_H

#include "access/visibilitymapdefs.h"
#include "storage/bufpage.h"

#include "page/decide.h"

/* As in visibilitymap.c of the server, which keeps them to itself. */
#define MAP_BYTES		(BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define MAP_BLOCKS_PER_BYTE (BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define MAP_BLOCKS_PER_PAGE (MAP_BYTES * MAP_BLOCKS_PER_BYTE)

typedef struct MapWitness
{
	BlockNumber first;			/* so many blocks were initialized anyway */
	bool		possible;		/* a table whose map we understand */
	bool		opened;			/* fork, reader and page are there */
	bool		tidy;			/* reads leave the page cache as it was */
	bool		marks;			/* it tells which pages are marked all-visible */
	bool		usable;			/* page holds the bits */
	bool		fresh;			/* it was read since map_witness_forget() */
	BlockNumber block;			/* of the map, held in page, Invalid if none */
	Fork		fork;
	ForkReader	reader;
	BlockDecision *page;
} MapWitness;

extern void map_witness_init(MapWitness *witness, const Fork *fork);
extern void map_witness_close(MapWitness *witness);

/* What the map said so far may be out of date, so it is asked again. */
extern void map_witness_forget(MapWitness *witness);

/* Does the question below take a read of the map? */
extern bool map_witness_must_read(const MapWitness *witness,
								  BlockNumber blkno);

/*
 * One past the last block at or after blkno that has a bit in the map, 0 if
 * none has.  To be asked before the size of the file, which must reach there.
 */
extern BlockNumber map_witness_end(const Fork *fork, BlockNumber blkno);

/*
 * Does the map say that the page was initialized, or is it one that every fork
 * of its kind begins with?  Whatever happens to the map,
 * this raises no error.
 */
extern bool map_witness_initialized(MapWitness *witness, BlockNumber blkno);

/*
 * Does the map say that the page is marked all-visible?  And may it, as far as is
 * known without a read?
 */
extern bool map_witness_marked(MapWitness *witness, BlockNumber blkno);
extern bool map_witness_seems_marked(const MapWitness *witness,
									 BlockNumber blkno);

#endif							/* ACCEL_PAGE_MAP_WITNESS_H */
