/*
 * without_accelerate.c
 *	  In place of accelerate.c in a library built by WITHOUT=accelerate.  The
 *	  server's pointer is neither looked for nor written.
 */
#include "compat.h"

#include "miscadmin.h"

#include "server/accelerate.h"

static const char *const reason = "this library was built without accelerate";
static bool accelerate_preloaded = false;

void
accelerate_init(bool preloaded)
{
	accelerate_preloaded = preloaded;
}

/* An assign hook calls this, so it raises no error. */
void
accelerate_switch(bool wanted)
{
	if (wanted && !IsUnderPostmaster)
		ereport(LOG,
				(errmsg("crc32c_accel: the server's CRC-32C cannot be accelerated: %s", reason)));
}

void
accelerate_kernel_changed(void)
{
}

void
accelerate_get_status(AccelerateStatus *status)
{
	memset(status, 0, sizeof(*status));
	status->preloaded = accelerate_preloaded;
	strlcpy(status->self_test, "not run", sizeof(status->self_test));
	strlcpy(status->reason, reason, sizeof(status->reason));
}
