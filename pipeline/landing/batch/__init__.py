"""One batch: a chunk of records to rows and columns, named by its content, committed whole."""
