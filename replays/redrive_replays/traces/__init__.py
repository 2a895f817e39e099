"""Other tools' traces, read as runs that can be driven again."""

from redrive_replays.traces.importing import FileReport, import_bytes, import_file, import_files
from redrive_replays.traces.reading import Diagnostic
from redrive_replays.traces.table import IMPORTERS, Importer

__all__ = ["IMPORTERS", "Diagnostic", "FileReport", "Importer", "import_bytes", "import_file", "import_files"]
