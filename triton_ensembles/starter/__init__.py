"""The files that ``new`` writes: a small ensemble, or one that exists; in an empty folder, a project around it."""
