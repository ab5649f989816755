"""Stand-ins for hosts that the product talks to."""
