"""The peers: other servers of the same model, in a virtual environment of their own."""
