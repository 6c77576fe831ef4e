-- All databases every night, two hours at most, stalest relations first: what was
-- not reached comes first in the next night, and a large relation goes on where it
-- stood.  With findings the job fails, which cron.job_run_details shows; the
-- findings are in verify_findings.
SELECT cron.schedule('verify checksums', '30 1 * * *',
	$$CALL verify_cluster(max_rate => 100000, order_by => 'stalest', max_duration => '2 hours',
	fail_on_findings => true)$$);
-- Jobs connect to localhost by default, where Debian's pg_hba.conf wants a
-- password.  The socket does not (as a superuser).
UPDATE cron.job SET nodename = trim(split_part(current_setting('unix_socket_directories'), ',', 1))
	WHERE jobname = 'verify checksums';
