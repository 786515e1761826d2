"""Counts and times by CloudWatch's names: for Prometheus, for CloudWatch's own API and for the status page.

names.py       the metrics, their namespaces and units
record.py      Metrics, which records every event and passes it on to the others
prometheus.py  GET /metrics
triton.py      Triton's own metrics of all instances, told apart by labels
cloudwatch.py  statistics per minute, for GetMetricStatistics and GetMetricData
latency.py     percentiles of the most recent requests
"""
