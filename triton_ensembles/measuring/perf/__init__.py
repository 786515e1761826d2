"""Measures built ensembles on the real server with perf_analyzer: a concurrency sweep with the time of every step."""
