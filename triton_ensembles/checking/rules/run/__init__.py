"""Rules of `check --run`: about what the real server did with the models."""
