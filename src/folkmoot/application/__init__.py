"""From a problem that people write down to its answer, kept in a folder."""
