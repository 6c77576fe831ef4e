"""report_servers.py: the report's parts that measure whole servers."""
import measure


def part_pages(results, section, folder, plots):
    pass


def part_wal(results, section, folder, plots):
    pass


def part_server(results, section, folder, plots):
    pass


def part_checksums(results, section, folder, plots):
    pass


def part_dump(results, section, folder, plots):
    pass
