"""ONNX Runtime, without its telemetry.

Since 1.29 ``import onnxruntime`` reports to its maker unless this variable is set, and leaves a file in /tmp.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
