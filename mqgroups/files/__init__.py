"""Message groups as files: ``FileSink`` writes each group to a file, exactly once."""
