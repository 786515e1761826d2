"""How an answer of bert_base is shown: each text with its likeliest words."""


def show(inputs, outputs):
    for text, words, scores in zip(inputs["TEXT"].reshape(-1), outputs["TOKENS"], outputs["SCORES"], strict=True):
        found = ", ".join(f"{word.decode()} {score:.3f}" for word, score in zip(words, scores, strict=True))
        yield f"{text.decode()}  {found}"
