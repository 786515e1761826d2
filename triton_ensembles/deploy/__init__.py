"""From archives to an endpoint of SageMaker that answers requests, and its deletion, with boto3.

Nothing here depends on where it runs: boto3 itself follows AWS_ENDPOINT_URL, so the same commands deploy to AWS and to
the local endpoint (triton_ensembles.endpoint).
"""
