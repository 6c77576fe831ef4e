/*
 * cluster.c
 *	  The SQL function that verifies files with a CRC-32C of their own.
 */
#include "compat.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "cluster/slru_files.h"
#include "func/cluster.h"
#include "func/func.h"
#include "host/file_path.h"

#define ROW_COLUMNS		8

/* ---- what the server's catalogs say ---- */

static uint64
query(const char *statement)
{
	int			result = SPI_execute(statement, true, 0);

	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

static Datum
value_of(uint64 row, int column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
						 column, &isnull);
}

/* Those that DROP DATABASE left half dropped have no files to judge. */
static void
ask_databases(ClusterServer *server, MemoryContext context)
{
	uint64		n = query("SELECT oid, dattablespace FROM pg_catalog.pg_database "
						  "WHERE datconnlimit OPERATOR(pg_catalog.>=) -1 ORDER BY oid");
	ClusterDatabase *databases = MemoryContextAlloc(context,
													(n + 1) * sizeof(*databases));

	for (uint64 i = 0; i < n; i++)
	{
		databases[i].oid = DatumGetObjectId(value_of(i, 1));
		databases[i].tablespace = DatumGetObjectId(value_of(i, 2));
	}
	server->databases = databases;
	server->ndatabases = n;
}

static void
ask_prepared(ClusterServer *server, MemoryContext context)
{
	uint64		n = query("SELECT transaction, dbid, ownerid, prepared FROM pg_catalog.pg_prepared_xact()");
	ClusterPrepared *prepared = MemoryContextAlloc(context,
												   (n + 1) * sizeof(*prepared));

	for (uint64 i = 0; i < n; i++)
	{
		prepared[i].xid = DatumGetTransactionId(value_of(i, 1));
		prepared[i].database = DatumGetObjectId(value_of(i, 2));
		prepared[i].owner = DatumGetObjectId(value_of(i, 3));
		prepared[i].prepared_at = DatumGetTimestampTz(value_of(i, 4));
	}
	server->prepared = prepared;
	server->nprepared = n;
}

static void
ask_server(ClusterServer *server)
{
	MemoryContext context = CurrentMemoryContext;

	memset(server, 0, sizeof(*server));
	server->live = &cluster_live;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	ask_databases(server, context);
	ask_prepared(server, context);
	SPI_finish();
}

void
accel_cluster_files(const char *directory, bool direct, ClusterRowFn row,
					void *arg)
{
	ClusterServer server;
	bool		own = directory == NULL || cluster_files_own(directory);
	ClusterFilesResult result;

	if (own)
		ask_server(&server);
	result = cluster_files_scan(own ? "." : directory, own ? &server : NULL,
								true, direct, NULL, row, arg);
	if (result == CLUSTER_FILES_FAILED)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open directory \"%s\": %m", directory)));
	if (result == CLUSTER_FILES_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a directory", directory)));
	if (result == CLUSTER_FILES_NO_CLUSTER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a data directory", directory),
				 errdetail("File \"PG_VERSION\" is missing.")));
	slru_files_scan(own ? "." : directory, own ? &server : NULL, row, arg);
}

/* ---- rows ---- */

static void
emit_row(void *arg, const ClusterRow *row)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		values[ROW_COLUMNS];
	bool		nulls[ROW_COLUMNS] = {false};
	char		words[CLUSTER_MESSAGE_SIZE];
	const char *status = cluster_status_name(row->verdict.status);

	cluster_verdict_words(&row->verdict, row->kind, row->live, words);
	values[0] = CStringGetTextDatum(row->path);
	values[1] = CStringGetTextDatum(cluster_kind_name(row->kind));
	values[2] = CStringGetTextDatum(status);
	values[3] = BoolGetDatum(status_is_finding(status));
	values[4] = Int64GetDatum((int64) row->verdict.stored_crc);
	values[5] = Int64GetDatum((int64) row->verdict.computed_crc);
	nulls[4] = nulls[5] = !row->verdict.has_crc;
	values[6] = Int64GetDatum(row->bytes);
	nulls[6] = row->bytes < 0;
	values[7] = CStringGetTextDatum(words);
	nulls[7] = words[0] == '\0';
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* verify_cluster_files(directory text, direct_io boolean) */
SQL_FUNCTION(accel_verify_cluster_files)
{
	char	   *directory = NULL;

	if (!PG_ARGISNULL(0))
		directory = file_path_parse(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	InitMaterializedSRF(fcinfo, 0);
	accel_cluster_files(directory, accel_boolean(fcinfo, 1, false), emit_row,
						fcinfo->resultinfo);
	return (Datum) 0;
}
