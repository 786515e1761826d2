"""The search for an ensemble's settings: fast enough, on this machine, and written where they belong."""
