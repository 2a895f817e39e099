"""Every run as tables for SQL, kept beside the log and never behind it; duckdb is loaded when something is asked."""

from redrive_projections.history.macros import MACROS, Macro
from redrive_projections.history.measures import LABELS, MEASURES, TALLIES, Measure, Told
from redrive_projections.history.notebook import Notebook, history
from redrive_projections.history.opened import History
from redrive_projections.history.parquet import schema_version, write_answer, write_tables
from redrive_projections.history.question import Answer, Questions, ask, rebuild
from redrive_projections.history.segments import beside
from redrive_projections.history.tables import Column, Table, schema
from redrive_projections.history.views import View, views

__all__ = [
    "LABELS",
    "MACROS",
    "MEASURES",
    "TALLIES",
    "Answer",
    "Column",
    "History",
    "Macro",
    "Measure",
    "Notebook",
    "Questions",
    "Table",
    "Told",
    "View",
    "ask",
    "beside",
    "history",
    "rebuild",
    "schema",
    "schema_version",
    "views",
    "write_answer",
    "write_tables",
]
