"""A project's folder, and the files in it that people write: recipes and example requests."""
