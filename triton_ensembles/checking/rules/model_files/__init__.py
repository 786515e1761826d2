"""Rules about the files that backends load."""
