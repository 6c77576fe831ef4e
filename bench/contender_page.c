/*
 * contender_page.c
 *	  The page checksum of the installed server, from its own header, as a shared
 *	  object for bench_kernels: a contender, not part of the extension.
 *
 * kernels.sh compiles it as the server's build does (-O2 -funroll-loops
 * -ftree-vectorize) and once more with -mavx2.
 */
#include "postgres_fe.h"

#include "storage/bufpage.h"
#include "storage/checksum.h"
#include "storage/checksum_impl.h"

extern void server_pages(const void *pages, size_t page_size, uint32 npages,
						 const uint32 *blknos, uint16 *sums);

void
server_pages(const void *pages, size_t page_size, uint32 npages,
			 const uint32 *blknos, uint16 *sums)
{
	char	   *page = (char *) pages;

	for (uint32 i = 0; i < npages; i++, page += BLCKSZ)
		sums[i] = pg_checksum_page(page, blknos[i]);
}
