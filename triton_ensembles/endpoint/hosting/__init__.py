"""Hosting: what SageMaker does between InvokeEndpoint and the container."""
