/*
 * kernel.c
 *	  SQL functions that show and test the table of kernels.
 */
#include "compat.h"

#include <strings.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "func/func.h"

static Datum feature_array(uint32 needs);
static const char *selection_reason(const ChecksumKernel *kernel,
									char reason[CHECKSUM_REASON_SIZE]);

static char *
kernel_names(ChecksumAlgorithm algorithm)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < checksum_kernel_count; i++)
		if (checksum_kernel_table[i].algorithm == algorithm)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
							 checksum_kernel_table[i].name);
	return names.data;
}

const ChecksumKernel *
accel_kernel_of(ChecksumAlgorithm algorithm, text *name)
{
	char	   *wanted = text_to_cstring(name);
	const ChecksumKernel *kernel = checksum_find(algorithm, wanted);
	char		reason[CHECKSUM_REASON_SIZE];

	if (kernel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized kernel \"%s\"", wanted),
				 errhint("The kernels are: %s.",
						 kernel_names(algorithm))));
	if (!checksum_available(kernel))
	{
		checksum_unavailable_reason(kernel, reason);
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("kernel \"%s\" cannot run here: %s", wanted, reason)));
	}
	return kernel;
}

SQL_FUNCTION(accel_checksum_kernels)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];
		char		reason[CHECKSUM_REASON_SIZE];
		Datum		values[8];
		bool		nulls[8] = {0};

		values[0] = CStringGetTextDatum(checksum_algorithm_name(kernel->algorithm));
		values[1] = CStringGetTextDatum(kernel->name);
		values[2] = CStringGetTextDatum(kernel->arch);
		values[3] = feature_array(kernel->needs);
		values[4] = BoolGetDatum(checksum_compiled(kernel));
		values[5] = BoolGetDatum(checksum_available(kernel));
		values[6] = BoolGetDatum(checksum_selected(kernel->algorithm) == kernel);
		values[7] = CStringGetTextDatum(selection_reason(kernel, reason));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

SQL_FUNCTION(accel_checksum_self_test)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < checksum_kernel_count; i++)
	{
		const ChecksumKernel *kernel = &checksum_kernel_table[i];
		ChecksumSelfTest result;
		Datum		values[5];
		bool		nulls[5] = {0};

		CHECK_FOR_INTERRUPTS();
		if (!checksum_compiled(kernel) ||
			(kernel->needs & ~(checksum_features() | CHECKSUM_POLICY_REFERENCE)))
			continue;
		checksum_self_test(kernel, false, &result);
		values[0] = CStringGetTextDatum(checksum_algorithm_name(kernel->algorithm));
		values[1] = CStringGetTextDatum(kernel->name);
		values[2] = Int64GetDatum(result.cases);
		values[3] = Int64GetDatum(result.failures);
		values[4] = CStringGetTextDatum(result.first_failure);
		nulls[4] = result.failures == 0;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static Datum
feature_array(uint32 needs)
{
	Datum		names[CHECKSUM_NFEATURES];
	int			n = 0;

	for (int i = 0; i < CHECKSUM_NFEATURES; i++)
		if ((needs >> i) & 1)
			names[n++] = CStringGetTextDatum(checksum_feature_name(i));
	return PointerGetDatum(construct_array(names, n, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

static const char *
selection_reason(const ChecksumKernel *kernel,
				 char reason[CHECKSUM_REASON_SIZE])
{
	const ChecksumKernel *chosen = checksum_selected(kernel->algorithm);
	uint32		absent = kernel->preferred & ~checksum_features();

	checksum_unavailable_reason(kernel, reason);
	if (reason[0] != '\0')
		return reason;
	if (kernel == chosen)
		return kernel == checksum_select(kernel->algorithm,
										 checksum_features(), 0) ?
			"the best kernel for this CPU" : "in use";
	if (kernel->needs & CHECKSUM_POLICY_REFERENCE)
		return "the reference, never selected by itself";
	if (kernel->algorithm == CHECKSUM_crc32c && kernel == checksum_for_server())
		return "for the server's own CRC-32C, as 512-bit vectors lower this CPU's clock";
	if (absent != 0)
	{
		snprintf(reason, CHECKSUM_REASON_SIZE, "preferred on CPUs with %s",
				 checksum_feature_name(ffs((int) absent) - 1));
		return reason;
	}
	return kernel > chosen ? "a better kernel is in use" :
		"another kernel is forced";
}
