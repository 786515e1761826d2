"""Rules about recipes: what the build refuses."""
