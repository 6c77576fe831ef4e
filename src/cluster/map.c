/*
 * map.c
 *	  Which file a mapped catalog has, by pg_filenode.map.
 *
 * Every map that ends with its own CRC has the same CRC-32C.  So a map in the
 * place of another one is found by what it says.  A shared one has the shared
 * catalogs.  The files of a map are there, and those of catalogs that are
 * never empty are not empty.  (A rewrite cuts the old file to nothing at
 * once.)
 */
#include "cluster/format.h"
#include "cluster/map.h"


uint64_t
cluster_map_size(int major)
{
	return major == 15 ? CLUSTER_MAP_SIZE_15 : CLUSTER_MAP_SIZE;
}

uint64_t
cluster_map_covered(uint64_t size)
{
	return CLUSTER_MAP_FIRST + 8 *
		(size == CLUSTER_MAP_SIZE_15 ? CLUSTER_MAP_MAX_15 : CLUSTER_MAP_MAX);
}

int
cluster_map_count(const uint8_t *data)
{
	return (int) cluster_load32(data + CLUSTER_MAP_COUNT);
}

ClusterMapping
cluster_map_entry(const uint8_t *data, int n)
{
	const uint8_t *entry = data + CLUSTER_MAP_FIRST + 8 * n;
	ClusterMapping mapping;

	mapping.relation = cluster_load32(entry);
	mapping.file = cluster_load32(entry + 4);
	return mapping;
}

uint32_t
cluster_map_find(const uint8_t *data, int count, uint32_t relation)
{
	for (int i = 0; i < count; i++)
		if (cluster_map_entry(data, i).relation == relation)
			return cluster_map_entry(data, i).file;
	return 0;
}

static void
judge_entries(const uint8_t *data, int count, ClusterVerdict *verdict)
{
	for (int i = 0; i < count; i++)
	{
		ClusterMapping mapping = cluster_map_entry(data, i);

		if (mapping.relation == 0 || mapping.file == 0)
		{
			cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
								CLUSTER_REASON_MAP_ZERO, mapping.relation,
								(uint64_t) i);
			verdict->more = mapping.file;
			return;
		}
		if (cluster_map_find(data, i, mapping.relation) != 0)
		{
			cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
								CLUSTER_REASON_MAP_TWICE, mapping.relation, 0);
			return;
		}
	}
}

/* Is it of its place? */
static void
judge_place(const ClusterFile *file, int count, ClusterVerdict *verdict)
{
	uint32_t	own = file->shared ? CLUSTER_PG_DATABASE : CLUSTER_PG_CLASS;
	uint32_t	other = file->shared ? CLUSTER_PG_CLASS : CLUSTER_PG_DATABASE;

	if (cluster_map_find(file->head, count, other) != 0)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							file->shared ? CLUSTER_REASON_MAP_LOCAL :
							CLUSTER_REASON_MAP_SHARED, 0, 0);
	else if (cluster_map_find(file->head, count, own) == 0)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_MAP_NONE, own, 0);
}

void
cluster_map_judge(const ClusterFile *file, ClusterVerdict *verdict)
{
	uint32_t	count = cluster_load32(file->head + CLUSTER_MAP_COUNT);
	uint64_t	covered = cluster_map_covered(file->size);
	uint32_t	most = (uint32_t) (covered - CLUSTER_MAP_FIRST) / 8;

	if (count == 0 || count > most)
		cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
							CLUSTER_REASON_MAP_COUNT, count, most);
	for (uint64_t at = covered + 4; at < file->size; at++)
		if (verdict->status == CLUSTER_OK && file->head[at] != 0)
			cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
								CLUSTER_REASON_NOT_ZERO, at, 0);
	if (verdict->status == CLUSTER_OK)
		judge_entries(file->head, (int) count, verdict);
	if (verdict->status == CLUSTER_OK)
		judge_place(file, (int) count, verdict);
}

/*
 * These are tables that initdb fills and that are never emptied, and their
 * indexes, which have a first block even over nothing.  The tables are
 * pg_class, pg_attribute, pg_proc and pg_type, and of the shared ones
 * pg_database, pg_authid and pg_tablespace.
 */
bool
cluster_map_never_empty(uint32_t relation)
{
	static const uint16_t filled[] = {
		1259, 2662, 2663, 3455,
		1249, 2658, 2659,
		1255, 2690, 2691,
		1247, 2703, 2704,
		1262, 2671, 2672,
		1260, 2676, 2677,
		1213, 2697, 2698,
	};

	for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++)
		if (filled[i] == relation)
			return true;
	return false;
}
