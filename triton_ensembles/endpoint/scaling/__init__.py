"""Application Auto Scaling of an endpoint's instances: moto keeps targets and policies, this follows them.

policy.py      how many instances a policy wants, by its metric
autoscaler.py  changes the endpoints' instance counts
"""
