"""The ingest process: payloads to the spool, files to compiled circuits."""
