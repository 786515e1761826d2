"""A thousand ensembles on the local endpoint or a host, with memory for a tenth of them, for as long as an hour.

    python -m benchmarks.soak [--models 1000] [--requests 100000] [--clients 16] [--seconds 3600]
                                [--form host]

models.py    the ensembles, each with a constant of its own
subjects.py  the endpoint with clients of boto3, or the host with clients of tritonclient
traffic.py   clients, which call them by Zipf's law and compare each answer
watch.py     memory, open files, threads and processes, and how long the control plane takes, all the while
verdict.py   the faults of a run
"""
