/*
 * live.c
 *	  What the running server's locks and memory say of its own cluster's
 *	  files.
 *
 * By reading 15 to 19, these locks make a look at a file decisive.
 *
 *	pg_control		UpdateControlFile() writes in place, always under
 *					ControlFileLock exclusive.
 *
 *	relation map	write_relmap_file() runs under RelationMappingLock exclusive,
 *					in place on 15.  The files of the mapping that it replaces are
 *					dropped after it.
 *
 *	two-phase		CheckPointTwoPhase() writes in place while it holds
 *					TwoPhaseStateLock shared, so here it is exclusive.
 *
 *	slot			A directory comes and goes under ReplicationSlotAllocationLock
 *					exclusive, and its file is renamed into place.
 */
#include "compat.h"

#include "access/genam.h"
#include "access/multixact.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "catalog/pg_database.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/inval.h"
#include "utils/relmapper.h"
#include "utils/syscache.h"

#include "cluster/control.h"
#include "cluster/live.h"

static int
live_major(void)
{
	return SERVER_MAJOR;
}

static const char *
live_tablespace_folder(void)
{
	return TABLESPACE_VERSION_DIRECTORY;
}

static LWLock *
lock_of(ClusterKind kind)
{
	switch (kind)
	{
		case CLUSTER_CONTROL:
			return ControlFileLock;
		case CLUSTER_RELATION_MAP:
			return RelationMappingLock;
		case CLUSTER_TWO_PHASE:
			return TwoPhaseStateLock;
		case CLUSTER_SLOT:
			return ReplicationSlotAllocationLock;
		default:
			return NULL;
	}
}

static void
live_lock(ClusterKind kind)
{
	LWLock	   *lock = lock_of(kind);

	if (lock != NULL)
		LWLockAcquire(lock, kind == CLUSTER_TWO_PHASE ? LW_EXCLUSIVE : LW_SHARED);
}

static void
live_unlock(ClusterKind kind)
{
	LWLock	   *lock = lock_of(kind);

	if (lock != NULL)
		LWLockRelease(lock);
}

static bool
live_in_recovery(void)
{
	return RecoveryInProgress();
}

static uint64_t
live_redo(void)
{
	XLogRecPtr	redo;
	TimeLineID	timeline;

	GetOldestRestartPoint(&redo, &timeline);
	return redo;
}

/* ---- pg_control ---- */

/*
 * The state changes together with what RecoveryInProgress() says, under
 * ControlFileLock.
 */
static bool
state_fits(uint32 state)
{
	return RecoveryInProgress() ?
		state == CLUSTER_STATE_IN_RECOVERY ||
		state == CLUSTER_STATE_IN_ARCHIVE_RECOVERY :
		state == CLUSTER_STATE_IN_PRODUCTION;
}

static void
check_control(const ClusterFile *file, uint64_t redo, ClusterVerdict *verdict)
{
	ClusterControl control;

	if (!cluster_control_read(file->head, &control))
		return;
	if (control.system != GetSystemIdentifier())
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_SYSTEM, control.system,
							GetSystemIdentifier());
	else if (!state_fits(control.state))
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_STATE, control.state,
							RecoveryInProgress() ?
							CLUSTER_STATE_IN_ARCHIVE_RECOVERY :
							CLUSTER_STATE_IN_PRODUCTION);
	else if (control.redo != redo)
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_CONTROL_REDO, control.redo, redo);
}

/* ---- prepared transactions ---- */

/* What is not in the list may have been finished, or be replayed. */
static void
check_two_phase(const ClusterServer *server, const ClusterFile *file,
				ClusterVerdict *verdict)
{
	ClusterPrepared found = cluster_state_prepared(file->head);

	for (size_t i = 0; i < server->nprepared; i++)
	{
		const ClusterPrepared *own = &server->prepared[i];

		if (own->xid == found.xid &&
			(own->database != found.database || own->owner != found.owner ||
			 own->prepared_at != found.prepared_at))
			cluster_verdict_set(verdict, CLUSTER_FOREIGN,
								CLUSTER_REASON_TWO_PHASE_OTHER, 0, own->xid);
	}
}

/* ---- replication slots ---- */

/* Copies the slot in use of this name. */
static bool
find_slot(const char *name, ReplicationSlotPersistentData *data)
{
	bool		found = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < SLOT_PLACES && !found; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		if (!slot->in_use || strcmp(NameStr(slot->data.name), name) != 0)
			continue;
		SpinLockAcquire(&slot->mutex);
		*data = slot->data;
		SpinLockRelease(&slot->mutex);
		found = true;
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

/*
 * A persistent slot's file has had its plugin since the slot is persistent,
 * while one that is being made gets it late.  A standby that synchronizes
 * slots may change the plugin before it writes.
 */
static void
check_slot(const ClusterFile *file, ClusterVerdict *verdict)
{
	ReplicationSlotPersistentData data;
	const uint8_t *head = file->head;

	if (!find_slot(file->slot, &data))
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_SLOT_UNKNOWN, 0, 0);
	else if (verdict->status == CLUSTER_OK &&
			 cluster_load32(head + CLUSTER_SLOT_PERSISTENCY) == RS_PERSISTENT &&
			 !RecoveryInProgress() &&
			 (cluster_load32(head + CLUSTER_SLOT_DATABASE) != data.database ||
			  memcmp(head + CLUSTER_SLOT_PLUGIN, NameStr(data.plugin), NAMEDATALEN) != 0))
		cluster_verdict_set(verdict, CLUSTER_FOREIGN,
							CLUSTER_REASON_SLOT_OTHER, 0, 0);
}

static size_t
live_slots_max(void)
{
	return (size_t) SLOT_PLACES;
}

static size_t
live_slots(char (*names)[CLUSTER_NAME_SIZE], size_t room)
{
	size_t		n = 0;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < SLOT_PLACES && n < room; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		if (slot->in_use && slot->data.persistency == RS_PERSISTENT)
			strlcpy(names[n++], NameStr(slot->data.name), CLUSTER_NAME_SIZE);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return n;
}

static bool
live_has_slot(const char *name)
{
	ReplicationSlotPersistentData data;

	return find_slot(name, &data);
}

static void
live_check(const ClusterServer *server, const ClusterFile *file,
		   uint64_t redo, ClusterVerdict *verdict)
{
	if (file->kind == CLUSTER_SLOT)
		check_slot(file, verdict);
	else if (verdict->status != CLUSTER_OK)
		return;
	else if (file->kind == CLUSTER_CONTROL)
		check_control(file, redo, verdict);
	else if (file->kind == CLUSTER_TWO_PHASE)
		check_two_phase(server, file, verdict);
}

/* ---- relation maps ---- */

/*
 * A transaction that has rewritten mapped catalogs itself sees its own, until
 * it commits.  So one with an identifier is not asked.
 */
static bool
live_knows_map(bool shared, uint32_t database)
{
	return (shared || database == MyDatabaseId) &&
		!TransactionIdIsValid(GetTopTransactionIdIfAny());
}

static uint32_t
live_mapped(bool shared, uint32_t relation)
{
	AcceptInvalidationMessages();
	return RelationMapOidToFilenumber(relation, shared);
}

/* ---- databases ---- */

/*
 * They are as vac_truncate_clog() has them, by the catalog as it is now.  A
 * database that DROP DATABASE left half dropped holds nothing back.
 */
static void
live_oldest(uint32_t *xid, uint32_t *multi)
{
	Relation	rel = table_open(DatabaseRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	row;
	bool		first = true;

	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(row);

		if (form->datconnlimit < -1)
			continue;
		if (first || TransactionIdPrecedes(form->datfrozenxid, *xid))
			*xid = form->datfrozenxid;
		if (first || MultiXactIdPrecedes(form->datminmxid, *multi))
			*multi = form->datminmxid;
		first = false;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* Is it there, and in which tablespace?  A half dropped one is not. */
static bool
look_up_database(ClusterDatabase *database)
{
	HeapTuple	row = SearchSysCache1(DATABASEOID,
									  ObjectIdGetDatum(database->oid));
	bool		there = false;

	if (HeapTupleIsValid(row))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(row);

		database->tablespace = form->dattablespace;
		there = form->datconnlimit >= -1;
		ReleaseSysCache(row);
	}
	return there;
}

static void
live_unlock_database(const ClusterDatabase *database)
{
	UnlockSharedObject(DatabaseRelationId, database->oid, 0, AccessShareLock);
}

static bool
live_lock_database(ClusterDatabase *database)
{
	LockSharedObject(DatabaseRelationId, database->oid, 0, AccessShareLock);
	if (look_up_database(database))
		return true;
	live_unlock_database(database);
	return false;
}

const ClusterLive cluster_live = {
	.major = live_major,
	.tablespace_folder = live_tablespace_folder,
	.lock = live_lock,
	.unlock = live_unlock,
	.in_recovery = live_in_recovery,
	.redo = live_redo,
	.check = live_check,
	.oldest = live_oldest,
	.knows_map = live_knows_map,
	.mapped = live_mapped,
	.slots = live_slots,
	.slots_max = live_slots_max,
	.has_slot = live_has_slot,
	.lock_database = live_lock_database,
	.unlock_database = live_unlock_database
};
