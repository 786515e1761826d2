"""Instances, cold starts, latency and cost of a multi-model endpoint, before it is deployed.

Profiles of archives (``profiling``) and traffic make a ``workload``; every request of it is simulated (``simulation``)
for each form, instance type and count, with the local endpoint's own rules. ``plan`` chooses among them.
"""
