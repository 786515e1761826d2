"""A thousand ensembles on the local endpoint, under a memory budget for a tenth of them, for as long as an hour.

    python -m benchmarks.soak [--models 1000] [--requests 100000] [--clients 16] [--seconds 3600]

models.py    the ensembles, each with a constant of its own
traffic.py   clients with boto3, which call them by Zipf's law and compare each answer
watch.py     memory, open files, threads and processes, and how long the control plane takes, all the while
verdict.py   the faults of a run
"""
