"""BERT for masked words."""

import numpy as np
import tritonclient.http as httpclient
from place import FILES, HTTP
from scipy.special import softmax
from transformers import BertTokenizer, TensorType

BEST = 5


class BertBase:
    def infer(self, payload):
        tokenizer = BertTokenizer.from_pretrained(FILES / "tokenizer")
        tokens = tokenizer(text=payload["text"], return_tensors=TensorType.NUMPY)
        client = httpclient.InferenceServerClient(url=HTTP)
        if not client.is_model_ready("bert_base", "1"):
            raise RuntimeError("bert_base is not ready")
        inputs = []
        for name in ("input_ids", "token_type_ids", "attention_mask"):
            inputs.append(httpclient.InferInput(name, list(tokens[name].shape), "INT64"))
            inputs[-1].set_data_from_numpy(tokens[name].astype(np.int64))
        wanted = [httpclient.InferRequestedOutput("output", binary_data=False)]
        logits = client.infer("bert_base", inputs, model_version="1", outputs=wanted).as_numpy("output")
        place = int(np.argmax(tokens["input_ids"][0] == tokenizer.mask_token_id))
        scores = softmax(logits[0, place])
        best = np.argsort(-scores)[:BEST]
        words = tokenizer.convert_ids_to_tokens(best.tolist())
        return [{"token": word, "score": float(scores[each])} for word, each in zip(words, best, strict=True)]
