/*
 * server_crc.c
 *	  Finds the function pointer of the server's CRC-32C.
 *
 * Servers that choose a function at run time export the data symbol
 * pg_comp_crc32c, a pointer in writable memory.  Others have no such symbol,
 * or could have one of another kind.  A library loaded beside could bring its
 * own.  So the symbol is looked up when we run, never linked against.  It is
 * accepted only when
 *
 * - it belongs to the main program, not to a library,
 * - the dynamic symbol table calls it an object of the size of a pointer,
 * - it lies in memory that stays writable (not in the part that the loader
 *   makes read-only after relocation), and
 * - what it points to, once the server has chosen, is code of the main program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* RTLD_DEFAULT, dladdr1 */
#endif

#include "server/server_crc.h"

#if defined(__ELF__) && defined(__BYTE_ORDER__) && \
	__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <dlfcn.h>
#include <link.h>

typedef enum Place
{
	PLACE_ELSEWHERE,			/* not in the main program */
	PLACE_CODE,
	PLACE_READ_ONLY,
	PLACE_WRITABLE
} Place;

typedef struct Search
{
	uintptr_t	address;
	Place		place;
} Search;

static bool
segment_holds(const struct dl_phdr_info *program, const ElfW(Phdr) *segment,
			  uintptr_t address)
{
	return address - (program->dlpi_addr + segment->p_vaddr) <
		segment->p_memsz;
}

/* The first object that dl_iterate_phdr() visits is the main program. */
static int
search_program(struct dl_phdr_info *program, size_t size, void *arg)
{
	Search	   *search = arg;
	bool		relro = false;

	(void) size;
	for (int i = 0; i < program->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *segment = &program->dlpi_phdr[i];

		if (!segment_holds(program, segment, search->address))
			continue;
		if (segment->p_type == PT_GNU_RELRO)
			relro = true;
		else if (segment->p_type == PT_LOAD)
			search->place = segment->p_flags & PF_X ? PLACE_CODE :
				segment->p_flags & PF_W ? PLACE_WRITABLE : PLACE_READ_ONLY;
	}
	if (relro && search->place == PLACE_WRITABLE)
		search->place = PLACE_READ_ONLY;
	return 1;
}

static Place
place_of(uintptr_t address)
{
	Search		search = {address, PLACE_ELSEWHERE};

	dl_iterate_phdr(search_program, &search);
	return search.place;
}

/*
 * Asks the dynamic symbol table.  Where it cannot be asked, the place of the
 * symbol decides alone.
 */
static bool
is_pointer_object(void *address)
{
#ifdef __GLIBC__
	Dl_info		info;
	const ElfW(Sym) *symbol = NULL;

	return dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) != 0 &&
		symbol != NULL && info.dli_saddr == address &&
		ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
		symbol->st_size == sizeof(ChecksumCrcFn);
#else
	(void) address;
	return true;
#endif
}

static const char *
reason_against(void *address)
{
	if (address == NULL)
		return "this server was built without a run-time choice of its CRC-32C function";
	switch (place_of((uintptr_t) address))
	{
		case PLACE_ELSEWHERE:
			return "pg_comp_crc32c belongs to a library, not to the server";
		case PLACE_CODE:
			return "pg_comp_crc32c is a function in this server, not a pointer";
		case PLACE_READ_ONLY:
			return "pg_comp_crc32c is read-only in this server";
		case PLACE_WRITABLE:
			break;
	}
	return is_pointer_object(address) ? NULL :
		"pg_comp_crc32c is not a function pointer in this server";
}

void
server_crc_find(ServerCrc *server)
{
	void	   *address = dlsym(RTLD_DEFAULT, "pg_comp_crc32c");
	ChecksumCrcFn *pointer = address;
	Dl_info		info;

	*server = (ServerCrc) {.reason = reason_against(address)};
	if (server->reason != NULL)
		return;
	(void) (*pointer) (CHECKSUM_CRC_INIT, "", 1);
	server->own = *(ChecksumCrcFn volatile *) pointer;
	if (place_of((uintptr_t) server->own) != PLACE_CODE)
	{
		server->reason = "another library has replaced the server's CRC-32C function";
		return;
	}
	if (dladdr((void *) (uintptr_t) server->own, &info) != 0 &&
		info.dli_saddr == (void *) (uintptr_t) server->own)
		server->own_name = info.dli_sname;
	server->pointer = pointer;
}

#else							/* no ELF, or big-endian */

/*
 * Big-endian servers keep the register byte-reversed, so our kernels could not
 * stand in.  PostgreSQL builds no pointer for them anyway.
 */
void
server_crc_find(ServerCrc *server)
{
	*server = (ServerCrc) {
		.reason = "the server's CRC-32C can be replaced on little-endian ELF platforms only"
	};
}

#endif
