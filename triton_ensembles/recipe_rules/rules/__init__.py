"""The rules about recipes, the files that they name, and ensembles to be fused."""
