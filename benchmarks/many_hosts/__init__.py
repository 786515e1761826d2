"""Four hosts on this machine behind the real HAProxy, with the config of `export haproxy`: docs/many-machines.md.

    python -m benchmarks.many_hosts [--models 300] [--requests 3000] [--clients 16] [--only hits|faults]

hosts.py     hosts and the balancer as processes

The clients are benchmarks/soak's, with tritonclient.http: they never try again, and compare each answer.
"""
