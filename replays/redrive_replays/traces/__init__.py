"""Other tools' traces, read as runs that can be driven again."""

from redrive_replays.traces.importing import import_bytes, import_file, import_files
from redrive_replays.traces.material import Diagnostic
from redrive_replays.traces.report import FileReport, Progress
from redrive_replays.traces.table import IMPORTERS, Importer

__all__ = [
    "IMPORTERS",
    "Diagnostic",
    "FileReport",
    "Importer",
    "NoTrace",
    "Progress",
    "import_bytes",
    "import_file",
    "import_files",
]
