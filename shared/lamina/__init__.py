"""Progressive-disclosure retrieval over Markdown knowledge bases."""
