"""Python-based backends for tritonserver, named after NVIDIA's native ones."""
