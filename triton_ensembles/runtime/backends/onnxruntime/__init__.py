"""ONNX Runtime, without its telemetry.

Since 1.29 ``import onnxruntime`` starts to report to its maker from Linux, too, unless this variable is set, and leaves
a file in /tmp. Who serves models decides what leaves the machine.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
