"""TensorRT plans: ordered here, built where TensorRT and the GPU are, read and judged here again."""
