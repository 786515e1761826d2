"""What an archive takes of a machine, measured in the real server: the input of a capacity plan."""
