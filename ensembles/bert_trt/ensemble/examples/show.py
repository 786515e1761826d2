"""How an answer of bert_trt is shown: how much each sentence is like the first one."""


def show(inputs, outputs):
    """The cosine of each vector (they have unit length) to the first one, beside its sentence."""
    vectors = outputs["finaloutput"]
    yield "cosine to the first sentence:"
    for sentence, vector in zip(inputs["INPUT0"].reshape(-1), vectors, strict=True):
        yield f"{float(vectors[0] @ vector):6.3f}  {sentence.decode()}"
