"""The peers: other servers of the same model, in their own virtual environment."""
