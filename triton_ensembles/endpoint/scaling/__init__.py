"""Application Auto Scaling of an endpoint's instances: moto keeps targets and policies, this follows them.

policy.py      target tracking: how many instances a policy wants, by its metric
steps.py       step scaling: how many a policy wants, by how far an alarm's metric is from its threshold
alarms.py      the states of the alarms that call such policies
statistics.py  what CloudWatch knows of a metric
schedule.py    when a scheduled action is due
wish.py        which policy gets what it wants
autoscaler.py  changes the endpoints' instance counts
"""
