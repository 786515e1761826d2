"""The demand of an archive on a machine, measured in the real server: the input of a capacity plan."""
