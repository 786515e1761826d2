"""What is counted and timed, under CloudWatch's names: for Prometheus, for CloudWatch's own API, for the status page.

names.py       the metrics, their namespaces and units
record.py      Metrics: everything that happens comes in here
gathered.py    values wait until somebody looks, to be added up together
prometheus.py  GET /metrics
triton.py      Triton's own metrics, made distinct
cloudwatch.py  statistics by the minute, for GetMetricStatistics and GetMetricData
latency.py     percentiles of the last requests
"""

from triton_ensembles.endpoint.metrics.record import Call, Metrics

__all__ = ["Call", "Metrics"]
