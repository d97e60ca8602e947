"""All reading and writing, one format or place per module."""
