"""Model files, read without their frameworks: what kind of file it is, and the tensors that it declares.

Weights are skipped, not read: of a file of two gigabytes a few kilobytes are looked at. Nothing is executed.
"""
