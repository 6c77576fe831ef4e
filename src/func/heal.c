/*
 * heal.c
 *	  The SQL function heal_block, which writes a page.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "func/func.h"
#include "repair/heal.h"

static void refuse_unless_may_write(void);
static Datum heal_row(FunctionCallInfo fcinfo, const HealResult *result);

SQL_FUNCTION(accel_heal_block)
{
	Oid			relid = PG_GETARG_OID(0);
	ForkNumber	fork;
	BlockNumber blkno;
	HealResult	result;

	refuse_unless_may_write();
	fork = accel_fork_argument(PG_GETARG_TEXT_PP(1));
	blkno = accel_block_argument("blkno", PG_GETARG_INT64(2));
	heal_block(relid, fork, blkno, PG_GETARG_BOOL(3), PG_GETARG_BOOL(4),
			   &result);
	if (result.status == HEAL_HEALED || result.status == HEAL_NOT_HEALED)
		ereport(LOG,
				(errmsg("block %u of fork \"%s\" of relation \"%s\" was written again from shared buffers: %s",
						blkno, forkNames[fork], get_rel_name(relid),
						heal_status_name(result.status))));
	return heal_row(fcinfo, &result);
}

static void
refuse_unless_may_write(void)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to heal a block")));
	PreventCommandDuringRecovery("heal_block()");
	PreventCommandIfReadOnly("heal_block()");
}

static Datum
heal_row(FunctionCallInfo fcinfo, const HealResult *result)
{
	TupleDesc	desc;
	Datum		values[3] = {0};
	bool		nulls[3] = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = CStringGetTextDatum(heal_status_name(result->status));
	nulls[1] = result->copy == BLOCK_COPY_NONE;
	if (!nulls[1])
		values[1] = CStringGetTextDatum(result->copy == BLOCK_COPY_PROVEN ?
										"proven" : "sane");
	values[2] = CStringGetTextDatum(result->message);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}
