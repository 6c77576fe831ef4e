/*
 * control.c
 *	  The fields of pg_control, its CRC and its verdict.
 */
#include "cluster/control.h"
#include "cluster/format.h"
#include "kernel/checksum.h"

/* Where a version has its fields, by the headers of that server. */
typedef struct Layout
{
	int			major;
	uint32_t	version;		/* PG_CONTROL_VERSION */
	uint32_t	catalog;		/* CATALOG_VERSION_NO, 0 if not released */
	uint16_t	min_recovery;	/* minRecoveryPoint */
	uint16_t	block_size;		/* blcksz, then relseg_size */
	uint16_t	wal_block_size; /* xlog_blcksz, then xlog_seg_size */
	uint16_t	checksum_version;	/* data_checksum_version */
	uint16_t	crc;
	uint16_t	next_xid;		/* checkPointCopy.nextXid and what follows */
	bool		wide_offsets;	/* MultiXactOffset has 64 bits */
} Layout;

/* A new server version is one row. */
static const Layout layouts[] = {
	{19, 1905, 0, 144, 224, 236, 268, 308, 72, true},
	{18, 1800, 202506291, 136, 216, 224, 252, 292, 64, false},
	{17, 1700, 202406281, 136, 216, 224, 252, 288, 64, false},
	{16, 1300, 202307071, 136, 216, 224, 252, 288, 64, false},
	{15, 1300, 202209061, 136, 216, 224, 252, 288, 64, false},
};

#define NLAYOUTS	((int) (sizeof(layouts) / sizeof(layouts[0])))

static const Layout *
layout_of(int major)
{
	for (int i = 0; i < NLAYOUTS; i++)
		if (layouts[i].major == major)
			return &layouts[i];
	return NULL;
}

static const Layout *
layout_of_version(uint32_t version)
{
	for (int i = 0; i < NLAYOUTS; i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

static uint32_t
crc_of(const uint8_t *data, size_t len)
{
	return checksum_crc32c(CHECKSUM_CRC_INIT, data, len) ^ CHECKSUM_CRC_INIT;
}

static bool
has_crc_of(const uint8_t *data, const Layout *layout)
{
	return layout != NULL &&
		crc_of(data, layout->crc) == cluster_load32(data + layout->crc);
}

/* Is a sound file one of this release, with nothing after its data? */
static void
judge_sound(const ClusterFile *file, const Layout *layout,
			ClusterVerdict *verdict)
{
	uint32_t	version = cluster_load32(file->head + CLUSTER_CONTROL_VERSION);
	uint32_t	catalog = cluster_load32(file->head + CLUSTER_CONTROL_CATALOG);

	if (version != layout->version ||
		(layout->major == file->major && layout->catalog != 0 &&
		 catalog != layout->catalog))
	{
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_RELEASE, version,
							(uint64_t) layout->major);
		verdict->more = catalog;
		return;
	}
	for (uint64_t at = layout->crc + 4u; at < CLUSTER_CONTROL_SIZE; at++)
		if (file->head[at] != 0)
		{
			cluster_verdict_set(verdict, CLUSTER_BAD_FORMAT,
								CLUSTER_REASON_NOT_ZERO, at, 0);
			return;
		}
}

/*
 * The release that PG_VERSION names tells where the CRC is, so that a damaged
 * version field is damage, not another version.  A sound file of another
 * version is recognized by its own.
 */
void
cluster_control_judge(const ClusterFile *file, ClusterVerdict *verdict)
{
	const uint8_t *data = file->head;
	uint32_t	version = cluster_load32(data + CLUSTER_CONTROL_VERSION);
	const Layout *layout = layout_of(file->major);

	if (layout == NULL)
		layout = layout_of_version(version);
	if (layout == NULL)
	{
		cluster_verdict_set(verdict, CLUSTER_UNSUPPORTED_VERSION,
							version % 65536 == 0 && version != 0 ?
							CLUSTER_REASON_BYTE_ORDER : CLUSTER_REASON_VERSION,
							version, 0);
		return;
	}
	verdict->has_crc = true;
	verdict->stored_crc = cluster_load32(data + layout->crc);
	verdict->computed_crc = crc_of(data, layout->crc);
	if (verdict->stored_crc == verdict->computed_crc)
		judge_sound(file, layout, verdict);
	else if (version % 65536 == 0 && version != 0)
		cluster_verdict_set(verdict, CLUSTER_UNSUPPORTED_VERSION,
							CLUSTER_REASON_BYTE_ORDER, 0, 0);
	else if (has_crc_of(data, layout_of_version(version)))
	{
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_RELEASE, version,
							(uint64_t) layout->major);
		verdict->more = cluster_load32(data + CLUSTER_CONTROL_CATALOG);
	}
	else
		cluster_verdict_set(verdict, CLUSTER_CHECKSUM_MISMATCH,
							CLUSTER_REASON_CRC, 0, 0);
}

/* The offset has 4 bytes or, at a place that is aligned for it, 8. */
static void
read_ids(const uint8_t *at, bool wide, ClusterControl *control)
{
	const uint8_t *after = at + (wide ? 24 : 20);

	control->wide_offsets = wide;
	control->next_xid = (uint32_t) cluster_load64(at);
	control->epoch = (uint32_t) (cluster_load64(at) >> 32);
	control->next_multi = cluster_load32(at + 12);
	control->next_offset = wide ? cluster_load64(at + 16) :
		cluster_load32(at + 16);
	control->oldest_xid = cluster_load32(after);
	control->oldest_multi = cluster_load32(after + 8);
}

bool
cluster_control_read(const uint8_t *data, ClusterControl *control)
{
	const Layout *layout;

	control->version = cluster_load32(data + CLUSTER_CONTROL_VERSION);
	layout = layout_of_version(control->version);
	if (layout == NULL)
		return false;
	control->system = cluster_load64(data + CLUSTER_CONTROL_SYSTEM);
	control->catalog = cluster_load32(data + CLUSTER_CONTROL_CATALOG);
	control->state = cluster_load32(data + CLUSTER_CONTROL_STATE);
	control->checkpoint = cluster_load64(data + CLUSTER_CONTROL_CHECKPOINT);
	control->redo = cluster_load64(data + CLUSTER_CONTROL_REDO);
	control->timeline = cluster_load32(data + CLUSTER_CONTROL_TIMELINE);
	control->min_recovery = cluster_load64(data + layout->min_recovery);
	control->min_recovery_timeline =
		cluster_load32(data + layout->min_recovery + 8);
	control->block_size = cluster_load32(data + layout->block_size);
	control->relation_segment_blocks = cluster_load32(data + layout->block_size + 4);
	control->wal_block_size = cluster_load32(data + layout->wal_block_size);
	control->wal_segment_size = cluster_load32(data + layout->wal_block_size + 4);
	control->checksum_version = cluster_load32(data + layout->checksum_version);
	read_ids(data + layout->next_xid, layout->wide_offsets, control);
	return true;
}

static void
store32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void
store64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* After minRecoveryPoint come its timeline and three fields of a backup. */
bool
cluster_control_restart(uint8_t *data, const ClusterRestart *restart)
{
	const Layout *layout =
		layout_of_version(cluster_load32(data + CLUSTER_CONTROL_VERSION));

	if (!has_crc_of(data, layout) ||
		CLUSTER_CONTROL_REDO + restart->len > layout->min_recovery)
		return false;
	store32(data + CLUSTER_CONTROL_STATE, CLUSTER_STATE_IN_ARCHIVE_RECOVERY);
	store64(data + CLUSTER_CONTROL_CHECKPOINT, restart->checkpoint);
	memcpy(data + CLUSTER_CONTROL_REDO, restart->bytes, restart->len);
	store64(data + layout->min_recovery, restart->end);
	store32(data + layout->min_recovery + 8, restart->end_timeline);
	memset(data + layout->min_recovery + 16, 0, 17);
	store32(data + layout->crc, crc_of(data, layout->crc));
	return true;
}
