import json
import logging

import numpy as np
import triton_python_backend_utils as pb_utils

logger = logging.getLogger(__name__)


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config):
        return auto_complete_model_config

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.threshold = float(parameters["threshold"]["string_value"])
        self.limit = float(parameters["limit"]["string_value"])
        logger.info("threshold %s", self.threshold)

    def execute(self, requests):
        responses = []
        for request in requests:
            tree, net, amount = (
                pb_utils.get_input_tensor_by_name(request, name).as_numpy()
                for name in ("tree_score", "net_score", "amount")
            )
            risk = (tree + net) / 2
            refuse = (risk > self.threshold) | (amount > self.limit)
            decision = np.where(refuse, "refuse", "accept").astype(np.object_)
            outputs = [pb_utils.Tensor("risk", risk.astype(np.float32)), pb_utils.Tensor("decision", decision)]
            responses.append(pb_utils.InferenceResponse(output_tensors=outputs))
        return responses
