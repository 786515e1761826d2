"""The staged repository, its manifest, and the proof that the server loads it."""
