#!/bin/sh
# Nagios and Icinga: critical if a damaged block is open, or a file of the cluster
# is damaged.  Arguments go to check_postgres (--dbname, --host, ...).
exec "${CHECK_POSTGRES:-check_postgres}" --action=custom_query --valtype=integer --critical=1 \
	--query="SELECT bad_blocks + bad_files AS result FROM verify_metrics" "$@"
