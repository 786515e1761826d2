"""How an answer of resnet is shown: the labels with their scores."""


def show(_inputs, outputs):
    for label, score in zip(outputs["LABELS"].reshape(-1), outputs["SCORES"].reshape(-1), strict=True):
        yield f"{score:6.3f}  {label.decode()}"
