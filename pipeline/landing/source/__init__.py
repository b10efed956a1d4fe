"""What the user named, as files: paths, folders, globs, archives, streams; packed or not."""
