"""Every run as tables for SQL, kept beside the log and never behind it; duckdb is loaded when something is asked."""

from redrive_projections.history.opened import History
from redrive_projections.history.question import Answer, ask, rebuild
from redrive_projections.history.segments import beside
from redrive_projections.history.tables import Column, Table, schema
from redrive_projections.history.views import View, views

__all__ = ["Answer", "Column", "History", "Table", "View", "ask", "beside", "rebuild", "schema", "views"]
