"""Application Auto Scaling of an endpoint's instances: moto keeps targets and policies, this follows them.

policy.py         target tracking: how many instances a policy wants, by its metric, and which of several gets it
metric_values.py  what CloudWatch knows of a metric
autoscaler.py     changes the endpoints' instance counts
"""
