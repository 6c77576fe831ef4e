#!/bin/sh
# private.sh [COMPILER]: moves this machine's PostgreSQL 15 to /opt/pg, as if it
# had been built there without Debian's patch, perhaps by another compiler.
set -eu
mkdir -p /opt/pg/lib /opt/pg/share /opt/pg/include
cp -a /usr/lib/postgresql /opt/pg/lib/
cp -a /usr/share/postgresql /opt/pg/share/
cp -a /usr/include/postgresql /opt/pg/include/
rm -rf /usr/lib/postgresql /usr/share/postgresql /usr/include/postgresql
sed -i 's/extension_destdir/extension_nowhere/g' /opt/pg/lib/postgresql/15/bin/postgres
if [ -n "${1:-}" ]; then
	pgxs=/opt/pg/lib/postgresql/15/lib/pgxs/src/Makefile.global
	sed -i "s/^CC = gcc\$/CC = $1/" "$pgxs"
	mv /opt/pg/lib/postgresql/15/bin/pg_config /opt/pg/lib/postgresql/15/bin/pg_config.real
	cat >/opt/pg/lib/postgresql/15/bin/pg_config <<END
#!/bin/sh
[ "\$1" != --cc ] || { echo $1; exit; }
exec "\$(dirname "\$0")/pg_config.real" "\$@"
END
	chmod 755 /opt/pg/lib/postgresql/15/bin/pg_config
fi
