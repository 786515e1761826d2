"""TensorRT plans: requested here, built on a machine with TensorRT and the GPU, read and judged here."""
