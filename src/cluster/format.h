/*
 * format.h
 *	  Files of a cluster that carry a CRC-32C of their own, as they lie on disk.
 *
 * These are facts of PostgreSQL's pg_control.h, relmapper.c, twophase.c and
 * xact.h, slot.c and slot.h, origin.c, snapbuild.c and blkreftable.h, valid
 * from 15 to 19.  What differs by version is in cluster/control.c and where a
 * comment says so.  The server's names are in the comments.  Everything is in
 * the byte order, and with the alignment, of the machine that wrote it.
 */
#ifndef ACCEL_CLUSTER_FORMAT_H
#define ACCEL_CLUSTER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/load.h"

/* pg_control is ControlFileData, then zeros */
#define CLUSTER_CONTROL_NAME		"global/pg_control"
#define CLUSTER_CONTROL_SIZE		8192	/* PG_CONTROL_FILE_SIZE */
#define CLUSTER_CONTROL_SYSTEM		0	/* system_identifier, 64 bits */
#define CLUSTER_CONTROL_VERSION		8	/* pg_control_version, 32 bits */
#define CLUSTER_CONTROL_CATALOG		12	/* catalog_version_no, 32 bits */
#define CLUSTER_CONTROL_STATE		16	/* DBState, 32 bits */
#define CLUSTER_CONTROL_CHECKPOINT	32	/* checkPoint, LSN */
#define CLUSTER_CONTROL_REDO		40	/* checkPointCopy.redo, LSN */
#define CLUSTER_CONTROL_TIMELINE	48	/* checkPointCopy.ThisTimeLineID, 32
										 * bits */

/* states */
#define CLUSTER_STATE_SHUTDOWNED	1	/* DB_SHUTDOWNED */
#define CLUSTER_STATE_SHUTDOWNED_IN_RECOVERY	2
#define CLUSTER_STATE_IN_RECOVERY	4	/* DB_IN_CRASH_RECOVERY, the first one
										 * of a server that recovers */
#define CLUSTER_STATE_IN_ARCHIVE_RECOVERY	5
#define CLUSTER_STATE_IN_PRODUCTION 6	/* DB_IN_PRODUCTION */

#define CLUSTER_PATH_SIZE			256 /* of a path from the data directory */
#define CLUSTER_FIRST_NORMAL		16384	/* FirstNormalObjectId */

/* pg_filenode.map is RelMapFile */
#define CLUSTER_MAP_NAME			"pg_filenode.map"
#define CLUSTER_MAP_MAGIC			UINT32_C(0x592717)
#define CLUSTER_MAP_COUNT			4	/* num_mappings, 32 bits */
#define CLUSTER_MAP_FIRST			8	/* pairs of OID and file, 32 bits each */
#define CLUSTER_MAP_MAX_15			62
#define CLUSTER_MAP_SIZE_15			512 /* the CRC, then 4 bytes of zero */
#define CLUSTER_MAP_MAX				64	/* since 16 */
#define CLUSTER_MAP_SIZE			524

/*
 * pg_twophase/<xid> is TwoPhaseFileHeader (xl_xact_prepare), then its arrays
 */
#define CLUSTER_TWO_PHASE_MAGIC		UINT32_C(0x57F94534)
#define CLUSTER_TWO_PHASE_LENGTH	4	/* total_len, the CRC included */
#define CLUSTER_TWO_PHASE_XID		8
#define CLUSTER_TWO_PHASE_DATABASE	12
#define CLUSTER_TWO_PHASE_PREPARED	16	/* prepared_at, 64 bits */
#define CLUSTER_TWO_PHASE_OWNER		24
#define CLUSTER_TWO_PHASE_GIDLEN	54	/* 16 bits, the final zero included */
#define CLUSTER_TWO_PHASE_HEADER	72
#define CLUSTER_TWO_PHASE_GID_MAX	200 /* GIDSIZE */
#define CLUSTER_TWO_PHASE_MIN		(CLUSTER_TWO_PHASE_HEADER + 8 + 8 + 4)

/* pg_replslot/<name>/state is ReplicationSlotOnDisk */
#define CLUSTER_SLOT_MAGIC			UINT32_C(0x1051CA1)
#define CLUSTER_SLOT_CRC			4
#define CLUSTER_SLOT_VERSION		8	/* covered from here on */
#define CLUSTER_SLOT_LENGTH			12	/* of what follows */
#define CLUSTER_SLOT_NAME			16	/* NameData */
#define CLUSTER_SLOT_DATABASE		80
#define CLUSTER_SLOT_PERSISTENCY	84
#define CLUSTER_SLOT_PLUGIN			129 /* NameData */
#define CLUSTER_SLOT_MIN			200
#define CLUSTER_NAME_SIZE			64	/* NAMEDATALEN */

/* pg_logical/snapshots/<LSN>.snap is SnapBuildOnDisk */
#define CLUSTER_SNAPSHOT_MAGIC		UINT32_C(0x51A1E001)
#define CLUSTER_SNAPSHOT_CRC		4
#define CLUSTER_SNAPSHOT_VERSION	8	/* covered from here on */
#define CLUSTER_SNAPSHOT_LENGTH		12	/* of the file */
#define CLUSTER_SNAPSHOT_MIN		16

/* pg_logical/replorigin_checkpoint is ReplicationStateOnDisk, then the CRC */
#define CLUSTER_ORIGINS_MAGIC		UINT32_C(0x1257DADE)
#define CLUSTER_ORIGINS_FIRST		4
#define CLUSTER_ORIGINS_MIN			8

/*
 * pg_wal/summaries/<TLI><LSN><LSN>.summary (since 17) is a block reference
 * table
 */
#define CLUSTER_SUMMARY_MAGIC		UINT32_C(0x652B137B)
#define CLUSTER_SUMMARY_MIN			(4 + 24 + 4)	/* an empty table */

/* What the judges want to see of the start of a file. */
#define CLUSTER_HEAD				CLUSTER_CONTROL_SIZE

/*
 * ReplicationStateOnDisk, which also shows if 64-bit members are aligned to 8
 * bytes here.
 */
typedef struct ClusterOrigin
{
	uint16_t	id;				/* roident */
	uint64_t	lsn;			/* remote_lsn */
} ClusterOrigin;

#define CLUSTER_ALIGNED_8	(offsetof(ClusterOrigin, lsn) == 8)

#define cluster_load16	load_native16
#define cluster_load32	load_native32
#define cluster_load64	load_native64

#endif							/* ACCEL_CLUSTER_FORMAT_H */
