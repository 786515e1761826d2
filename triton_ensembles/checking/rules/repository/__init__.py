"""Rules about the folders and names of a repository."""
