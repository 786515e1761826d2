"""ensemble.toml, the recipe of an ensemble: its schema and its reader. Both the checker and the build use them."""
