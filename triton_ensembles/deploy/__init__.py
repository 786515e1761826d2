"""From an archive to an answering endpoint on SageMaker, and back to nothing. Plain boto3.

Nothing here knows where it runs: boto3 itself follows AWS_ENDPOINT_URL, so the same commands deploy to AWS and to the
local endpoint (triton_ensembles.endpoint).
"""
