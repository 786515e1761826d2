"""The contenders: the limit, the ensembles in the real server, the reference, and the peers."""
