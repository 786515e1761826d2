"""SageMaker's platform on a laptop: its API in front, the real Triton behind."""
