"""Tar and gzip in both directions: archives written, read and cloned; folders read the same way."""
