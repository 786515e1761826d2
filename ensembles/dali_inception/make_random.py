"""InceptionV3 with seeded random weights as a frozen GraphDef, for machines that cannot download the real one.

The same architecture and same tensors as inception_v3_2016_08_28_frozen.pb: ``input`` FP32 [batch, 299, 299, 3] in
[-1, 1] -> ``InceptionV3/Predictions/Softmax`` FP32 [batch, 1001]. Its answers mean nothing; its speed is the real one.

The build runs it as a maker's script: ``python ensembles/dali_inception/make_random.py OUTPUT JOB``, with the option
``seed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.script import main

if TYPE_CHECKING:
    import keras

CLASSES = 1001
OUTPUT = "InceptionV3/Predictions/Softmax"


def make(job: Job) -> Facts:
    import keras
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    seed = int(job.options["seed"])
    model = keras.applications.InceptionV3(weights=None, classes=CLASSES, input_shape=(299, 299, 3))
    _fill(model, seed)
    spec = tf.TensorSpec((None, 299, 299, 3), tf.float32, name="input")
    frozen = convert_variables_to_constants_v2(tf.function(model).get_concrete_function(spec))
    with tf.Graph().as_default() as graph:
        image = tf.compat.v1.placeholder(tf.float32, (None, 299, 299, 3), name="input")
        (probabilities,) = tf.import_graph_def(
            frozen.graph.as_graph_def(),
            input_map={frozen.inputs[0].name: image},
            return_elements=[frozen.outputs[0].name],
            name="InceptionV3/Body",
        )
        tf.identity(probabilities, name=OUTPUT)
        definition = tf.compat.v1.graph_util.extract_sub_graph(graph.as_graph_def(), [OUTPUT])
    job.output.write_bytes(definition.SerializeToString(deterministic=True))
    return {"seed": seed, "classes": CLASSES}


def _fill(model: keras.Model, seed: int) -> None:
    """He-normal kernels from numpy's PCG64, whose stream is the same in every release.

    Keras' own Glorot kernels halve the signal at every ReLU, and after 94 layers all images would look alike.
    """
    generator = np.random.default_rng(seed)
    for layer in model.layers:
        for weight in layer.weights:
            if weight.name == "kernel":
                fan_in = int(np.prod(weight.shape[:-1]))
                values = generator.standard_normal(weight.shape, dtype=np.float32)
                weight.assign(values * np.float32(np.sqrt(2.0 / fan_in)))


if __name__ == "__main__":
    main(make)
