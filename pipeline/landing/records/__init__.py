"""Where the records of a file stand: its framing and documents, found without holding the file."""
