"""S3 (and CloudWatch, STS and Application Auto Scaling) behind the same URL: moto's services in a separate process.

process.py       starts and stops it
serve.py         what runs in it
application.py   the services, chosen by the signature alone
uploads.py       bodies without their chunks, compared with their checksums
checksums.py     the checksums that S3 knows
disk.py          keeps moto's objects on disk and sends them from there
copies.py        the conditions and limits of copied parts
parameters.py    of STS and CloudWatch, compared with botocore's models; percentiles and scaling alarms are refused
fault.py         what is refused, in words that forward.py puts into the format of the service
forward.py       passes requests on to it, streamed both ways
"""
