"""The explorer: pages for a person in a browser."""
