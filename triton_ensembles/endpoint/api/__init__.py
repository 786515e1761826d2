"""SageMaker's API as boto3 speaks it: control plane (JSON 1.1) and runtime (REST)."""
