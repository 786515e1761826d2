"""SageMaker's own rules for a multi-model endpoint: extraction, loading, eviction, routing, metric names."""
