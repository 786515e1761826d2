"""S3 (and CloudWatch and STS) behind the same URL: moto's server in a process of its own.

process.py  starts and stops it
serve.py    what runs in it
disk.py     moto's objects kept on disk and sent from there
folders.py  local folders that stand as buckets
forward.py  requests passed on to it, streamed both ways
"""
