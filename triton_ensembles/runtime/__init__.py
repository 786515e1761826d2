"""The code that runs inside tritonserver: engines as Python backends, and fused ensembles."""
