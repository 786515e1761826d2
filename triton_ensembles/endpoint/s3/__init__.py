"""S3 (and CloudWatch and STS) behind the same URL: moto's server in a separate process.

process.py  starts and stops it
serve.py    what runs in it
disk.py     keeps moto's objects on disk and sends them from there
forward.py  passes requests on to it, streamed both ways
"""
