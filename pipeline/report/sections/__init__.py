"""The sections of the report, each from its rows to HTML."""
