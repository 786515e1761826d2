"""Rules about Python environments: packed ones, and wheels beside model.py."""
