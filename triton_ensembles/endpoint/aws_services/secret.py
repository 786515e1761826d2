"""The header with the secret that the S3 process demands of each request."""

SECRET = "X-Triton-Ensembles-Secret"
