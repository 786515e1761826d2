"""What the ensembles of this project are sent, and how their answers are read."""
