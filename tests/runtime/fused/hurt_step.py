"""model.py of a step that does to its process what the id of a request says."""

import os
import signal
import sys
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        array = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        word = request.request_id()
        if word == "raise":
            raise ValueError("a bad row")
        if word == "sys.exit":
            sys.exit(4)
        if word == "os._exit":
            os._exit(5)
        if word == "child":  # which holds the ends of the pipes when the step is gone
            if os.fork():
                os._exit(6)
            time.sleep(20)
            os._exit(0)
        if word.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, word))
            signal.pause()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", array + 1)])
