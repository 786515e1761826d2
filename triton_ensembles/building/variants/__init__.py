"""Clones of one archive, as a table lists them: each row becomes the original under the row's name, in which the files
of a folder may take the place of those of the same path, and steps have parameters of their own."""
