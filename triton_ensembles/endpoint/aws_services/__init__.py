"""S3 (and CloudWatch, STS and Application Auto Scaling) behind the same URL: moto's services in a separate process.

``process.py`` starts and stops it, ``serve.py`` runs in it, and ``forward.py`` passes requests on to it.
"""
