import json

import numpy as np

# triton_python_backend_utils is available in every Triton Python model.
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Your Python model must use the same class name. Every Python model
    that is created must have "TritonPythonModel" as the class name.
    """

    def initialize(self, args):
        self.model_config = model_config = json.loads(args["model_config"])
        output_config = pb_utils.get_output_config_by_name(model_config, "sentiment")
        self.output_dtype = pb_utils.triton_string_to_numpy(output_config["data_type"])

    def execute(self, requests):
        responses = []
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "text")

            # Create inference request object for the tokenizer
            tokenize_request = pb_utils.InferenceRequest(
                model_name="bls_tokenizer", requested_output_names=["input_ids"], inputs=[text]
            )
            tokenize_response = tokenize_request.exec()
            if tokenize_response.has_error():
                raise pb_utils.TritonModelException(tokenize_response.error().message())
            input_ids = pb_utils.get_output_tensor_by_name(tokenize_response, "input_ids")

            # Long texts have a model of their own
            model_name = "classifier_long" if input_ids.as_numpy().shape[1] > 6 else "classifier_short"
            infer_response = pb_utils.InferenceRequest(
                model_name=model_name, requested_output_names=["logits"], inputs=[input_ids]
            ).exec()
            if infer_response.has_error():
                raise pb_utils.TritonModelException(infer_response.error().message())
            logits = pb_utils.get_output_tensor_by_name(infer_response, "logits").as_numpy()

            names = np.where(logits[:, 1] > logits[:, 0], b"positive", b"negative").astype(self.output_dtype)
            responses.append(
                pb_utils.InferenceResponse(
                    output_tensors=[pb_utils.Tensor("sentiment", names), pb_utils.Tensor("logits", logits)]
                )
            )
        return responses

    def finalize(self):
        print("Cleaning up...")
