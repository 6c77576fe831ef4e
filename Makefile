# crc32c_accel: PGXS build.  One portable object: no -m flag anywhere, kernels
# carry their own target attributes and are chosen at run time.

MODULE_big = crc32c_accel
EXTENSION = crc32c_accel
PGFILEDESC = "crc32c_accel - checksums at hardware speed, online verification"

# Elsewhere than here (make -f .../Makefile), the folder of this file.
srcroot := $(filter-out ./,$(dir $(firstword $(MAKEFILE_LIST))))

here = $(sort $(patsubst $(srcroot)%,%,$(wildcard $(addprefix $(srcroot),$(1)))))
DATA = $(call here,sql/*--*.sql)
program_sources = $(call here,src/program/*.c src/recover/*.c)

# WITHOUT="heal accelerate" builds a library that writes no page and leaves the
# server's CRC-32C alone: other files stand in for those that do.
comma = ,
without = $(subst $(comma), ,$(WITHOUT))
writes_pages = $(addprefix src/,func/heal.c run/restore.c \
	$(addprefix repair/,backup_page.c block.c heal.c judge.c page_age.c restore.c))
left_out = $(if $(filter heal,$(without)),$(writes_pages),src/func/without_heal.c) \
	src/server/$(if $(filter accelerate,$(without)),,without_)accelerate.c
SOURCES = $(filter-out $(program_sources) $(left_out),$(call here,src/*.c src/*/*.c))
all_headers = $(wildcard $(srcroot)src/*.h $(srcroot)src/*/*.h \
	$(srcroot)src/*/*.def)
all_headers := $(filter-out %/signatures.auto.h %/help.auto.h,$(all_headers))
OBJS = $(SOURCES:.c=.o)

# The pg_regress scripts are those of sql/ that are no install scripts.
REGRESS = $(basename $(notdir $(filter-out $(DATA),$(call here,sql/*.sql))))

PG_CPPFLAGS = -I$(or $(srcroot),./)src $(if $(srcroot),-Isrc)

# What the library knows of the SQL objects that it serves.
sql_version := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcroot)$(EXTENSION).control)
install_script = $(srcroot)sql/$(EXTENSION)--$(sql_version).sql
signatures = src/func/signatures.auto.h

# The program for hosts without a server, of the same rooms.
program = crc32c_verify
help = src/program/help.auto.h
program_objects = $(program_sources:.c=.o)
rooms_library = src/program/rooms.a
SCRIPTS_built = $(program)
EXTRA_CLEAN = $(left_out:.c=.o) $(left_out:.c=.bc) $(signatures) $(help) $(program_objects) $(rooms_library) $(program).1

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error no PostgreSQL to build for at "$(PG_CONFIG)": install postgresql-server-dev-NN (Debian) or postgresqlNN-devel (RPM), or set PG_CONFIG)
endif
ifeq ($(wildcard $(shell $(PG_CONFIG) --includedir-server)/postgres.h),)
pg_major := $(shell $(PG_CONFIG) --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
$(error no server headers of PostgreSQL $(pg_major): install postgresql-server-dev-$(pg_major) (Debian) or postgresql$(pg_major)-devel (RPM))
endif

include $(PGXS)

# Libraries that decompress WAL archives: those that the server links, where
# their headers are installed, too.  Without one, its files are not verifiable,
# and their rows say so.  WITHOUT="lz4 zstd" builds as if they were not there, and
# what it does not know is an error.
library_fields = $(subst :, ,$(1))
probe = $(shell printf '\043include "pg_config.h"\n\043ifndef %s\n\043error\n\043endif\n\043include <%s>\nint main(void) { return 0; }\n' \
	$(word 2,$(1)) $(word 3,$(1)) | $(CC) $(CPPFLAGS) -xc - -l$(word 4,$(1)) -o /dev/null 2>/dev/null && echo $(word 1,$(1)):$(word 4,$(1)))
libraries := $(foreach library,ZLIB:HAVE_LIBZ:zlib.h:z LZ4:USE_LZ4:lz4frame.h:lz4 ZSTD:USE_ZSTD:zstd.h:zstd,\
	$(if $(filter $(without),$(lastword $(call library_fields,$(library)))),,$(call probe,$(call library_fields,$(library)))))
override CPPFLAGS := $(foreach library,$(libraries),-DDECODE_HAVE_$(firstword $(call library_fields,$(library)))) $(CPPFLAGS)
ifneq ($(filter-out z lz4 zstd heal accelerate,$(without)),)
$(error WITHOUT="$(WITHOUT)": it knows z, lz4, zstd, heal and accelerate)
endif
decoders = $(foreach library,$(libraries),-l$(lastword $(call library_fields,$(library))))
SHLIB_LINK += $(decoders)

# Documents go where the server's go, with the scripts that they name; what they
# link to and is not installed becomes words.  Messages name their folder, or
# DOCUMENTS: the address of a copy elsewhere.
documents = $(call here,*.md LICENSE docs/*.md docs/examples/*)
documents_folder = $(docdir)/extension/$(EXTENSION)
DOCUMENTS = $(documents_folder)
override CPPFLAGS := -DACCEL_DOCUMENTS='"$(DOCUMENTS)"' $(CPPFLAGS)
not_installed = (\.\.\/)?(bench|src|test)\/[^)]*

.PHONY: install-documents uninstall-documents
install: install-documents
install-documents:
	set -e; for file in $(documents); do \
		to='$(DESTDIR)$(documents_folder)'/$$file; \
		$(MKDIR_P) "$${to%/*}"; \
		$(INSTALL_DATA) "$(srcroot)$$file" "$$to"; \
		sed -E 's/!\[[^]]*\]\($(not_installed)\)//; s/\[([^]]*)\]\($(not_installed)\)/\1/g' "$(srcroot)$$file" >"$$to"; \
	done

uninstall: uninstall-documents
uninstall-documents:
	rm -rf '$(DESTDIR)$(documents_folder)'

# As a site, one searchable page a document, by mkdocs.
.PHONY: site
site:
	rm -rf site site.documents
	$(MAKE) -s install-documents DESTDIR= documents_folder='$(CURDIR)/site.documents'
	cp docs/site.css site.documents/
	mkdocs build --strict --quiet --config-file mkdocs.yml

ifneq ($(srcroot),)
$(shell mkdir -p $(dir $(OBJS) $(program_objects)))
endif

# PGXS tracks no headers: every object and every bitcode file depends on all of
# them (the whole build takes seconds).
$(OBJS) $(OBJS:.o=.bc): $(all_headers) $(srcroot)Makefile

# Only what is marked PGDLLEXPORT is exported.  CPPFLAGS reach the bitcode, too.
override CPPFLAGS += -fvisibility=hidden

# Pages have the size of the server's, whose headers those rooms do not see.
size_of = $(shell sed -n 's/^\#define $(1) \([0-9]*\)$$/\1/p' '$(includedir_server)/pg_config.h')
page_bytes := $(call size_of,BLCKSZ)
wal_page_bytes := $(call size_of,XLOG_BLCKSZ)
override CPPFLAGS := $(if $(page_bytes),-DPAGE_BYTES=$(page_bytes)) $(CPPFLAGS)

# Rooms that know the server.  All others, so new ones too, are compiled without its
# headers, and make check-layers reads from their objects that they use nothing of it.
knows_server = host/% page/% run/% func/% server/accelerate server/without_accelerate \
	wal/block_decompress wal/parallel cluster/live lost/disk lost/scan lost/server \
	$(addprefix repair/,backup_page block heal image page_age restore) \
	backup/parallel
rooms = $(patsubst src/%.c,%,$(filter-out src/guc.c src/module.c,$(SOURCES)))
server_free = $(addprefix src/,$(filter-out $(knows_server),$(rooms)) $(addprefix page/,judge kind ledger status) \
	$(addprefix host/,direct file_scan print))
$(server_free:=.o) $(server_free:=.bc) $(program_objects): override CPPFLAGS := \
	$(filter-out -I$(includedir_server) -I$(includedir_internal),$(CPPFLAGS))

# What none but the linker knows: the program takes the rooms that it needs from
# those that know no server, and no other library than the decoders.  One that
# needs the server does not link.
all: $(program) $(program).1
$(program_objects): $(all_headers) $(help) $(srcroot)Makefile
$(program_objects): override CPPFLAGS += -DPROGRAM_VERSION='"$(sql_version)"' \
	$(if $(wal_page_bytes),-DWAL_PAGE_BYTES=$(wal_page_bytes))
$(rooms_library): $(server_free:=.o)
	rm -f $@ && $(AR) crs $@ $^
$(program): $(program_objects) $(rooms_library)
	$(CC) $(CFLAGS) $^ $(LDFLAGS) $(LDFLAGS_EX) $(decoders) -o $@
$(help): $(srcroot)src/program/help.awk $(srcroot)src/program/help.txt
	awk -f $^ >$@.tmp && mv $@.tmp $@
$(program).1: $(srcroot)src/program/man.awk $(srcroot)src/program/help.txt $(srcroot)$(EXTENSION).control
	awk -v version=$(sql_version) -f $(wordlist 1,2,$^) >$@.tmp && mv $@.tmp $@

.PHONY: install-manual uninstall-manual
install: install-manual
install-manual: $(program).1
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man1'
	$(INSTALL_DATA) $< '$(DESTDIR)$(mandir)/man1'
uninstall: uninstall-manual
uninstall-manual:
	rm -f '$(DESTDIR)$(mandir)/man1/$(program).1'

# Of all sources: see src/host/build.c.
build_digest = $(shell cat $(addprefix $(srcroot),$(SOURCES)) $(all_headers) | cksum | tr ' ' -)
src/host/build.o src/host/build.bc: override CPPFLAGS += -DACCEL_BUILD='"$(build_digest)"'
src/host/build.o src/host/build.bc: $(addprefix $(srcroot),$(SOURCES))

$(signatures): $(srcroot)$(signatures:.auto.h=.awk) $(install_script) $(srcroot)$(EXTENSION).control
	awk -v version=$(sql_version) -f $< $(install_script) >$@.tmp && mv $@.tmp $@ || { rm -f $@.tmp; exit 1; }
src/func/signature.o src/func/signature.bc: $(signatures)

.PHONY: check-layers check-symbols check-generated generate
check-layers: $(OBJS) $(program_objects)
	sh $(srcroot)test/gates/layers.sh $(srcroot)src src $(bindir)/postgres $(server_free)

check-symbols: all
	sh $(srcroot)test/gates/symbols.sh crc32c_accel.so $(program)

# Constants are derived by our own generator and committed; this compares.
check-generated:
	python3 $(srcroot)src/kernel/gen_constants.py | cmp - $(srcroot)src/kernel/constants.auto.h
	python3 $(srcroot)src/program/gen_sha2.py | cmp - $(srcroot)src/program/sha2.auto.h

generate:
	python3 $(srcroot)src/kernel/gen_constants.py > $(srcroot)src/kernel/constants.auto.h
	python3 $(srcroot)src/program/gen_sha2.py > $(srcroot)src/program/sha2.auto.h

# The archive of a release, for PGXN: what git has of the last commit, the same bytes
# wherever it is made.  make sign puts the signature of gpg's default key, or KEY, beside it.
VERSION = $(shell sed -n 's/^\t"version": "\(.*\)",/\1/p' $(srcroot)META.json)
archive = $(EXTENSION)-$(VERSION).zip
.PHONY: dist sign
dist:
	TZ=UTC git -C $(or $(srcroot),.) -c core.autocrlf=false archive --format=zip -9 --prefix=$(EXTENSION)-$(VERSION)/ HEAD >$(archive)
	sha256sum $(archive) >$(archive).sha256
sign: dist
	gpg --yes --armor --detach-sign $(if $(KEY),--local-user '$(KEY)') $(archive)
