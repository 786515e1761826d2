"""Production variants: what SageMaker does between InvokeEndpoint and a container."""
