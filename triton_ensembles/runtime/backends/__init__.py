"""Python-based backends for tritonserver with the names of NVIDIA's native ones: the same config.pbtxt loads in both.

The server finds each in --backend-directory, as a link to ``served_model`` (see ``triton/stubs.py``). For each model
instance a stub process imports ``<backend>/model.py`` as a lone module: only its own folder is on ``sys.path``. So
``model.py`` first appends the folder that holds ``triton_ensembles`` (five levels up; resolved, because the server sees
the file through a link), behind the packages of the stub's own Python.

That Python is bare, so that plain Python steps have here what they have in NVIDIA's image. The engines come from the
Python that runs the project: the server hands its folders of packages to these backends in a variable.

Modules here import nothing else of ``triton_ensembles``, so that a stub loads no more than its backend needs.
"""

PACKAGES = "TRITON_ENSEMBLES_PACKAGES"
"""The variable with the site-packages of the Python that runs the project, joined by ":". ``served_model/model.py``
appends them to ``sys.path``."""

ENGINES = {
    "onnxruntime": ("model.onnx", "onnxruntime.onnx_session", "OnnxSession"),
    "tensorflow": ("model.graphdef", "tensorflow.graph_session", "GraphSession"),
    "openvino": ("model.xml", "openvino.compiled_model", "CompiledModel"),
    "pytorch": ("model.pt", "pytorch.torch_engine", "TorchEngine"),
    "dali": ("model.dali", "dali.dali_engine", "DaliEngine"),
}
"""By backend: the model's file, unless the config names another one, and the engine's module and class.

The constructor takes a ``ModelInstance``, and raises ``LoadError`` when the file and the config disagree.
``answer(requests)`` has a ``Result`` for each ``Request``, in
their order, and never raises an error that a request caused; ``close()`` frees memory and threads.
``shrink()``, where an engine has it, gives back what it keeps of the largest batch."""

COMPLETING = {backend: f"{backend}.completion" for backend in ("onnxruntime", "openvino", "dali", "tensorflow")}
"""By backend: the module whose ``complete(config, file)`` adds what a config leaves out and the file says."""
