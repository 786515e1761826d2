import json

import numpy as np
import pandas as pd
import triton_python_backend_utils as pb_utils

COLUMNS = ["age", "months", "spend", "plan_premium"]


class TritonPythonModel:
    def execute(self, requests):
        sizes, frames = [], []
        for request in requests:
            records = pb_utils.get_input_tensor_by_name(request, "RECORD").as_numpy().ravel()
            frames.extend(json.loads(record) for record in records)
            sizes.append(len(records))
        df = pd.DataFrame(frames)
        df = pd.get_dummies(df, columns=["plan"]).reindex(columns=COLUMNS, fill_value=0)
        df = df.fillna({"age": 40.0, "months": 0.0, "spend": 0.0})
        features = df.to_numpy(dtype=np.float32)
        parts = np.split(features, np.cumsum(sizes)[:-1])
        return [pb_utils.InferenceResponse([pb_utils.Tensor("FEATURES", part)]) for part in parts]
