"""What `make demo` sends: some sentences, and two real photographs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tritonclient.http as http

from triton_ensembles.examples.client import classify, classify_pixels, embed
from triton_ensembles.examples.imagenet import pixels

SENTENCES = (
    "A cat sleeps on the sofa.",
    "The kitten is taking a nap on the couch.",
    "Die Katze schläft auf dem Sofa.",
    "Interest rates rose by half a point.",
)


def photographs() -> list[Path]:
    """The two JPEG photographs that scikit-learn ships: a palace in China and a flower."""
    import sklearn.datasets

    folder = Path(sklearn.datasets.__file__).parent / "images"
    return [folder / "china.jpg", folder / "flower.jpg"]


def ask(name: str, url: str, say: Callable[[str], None]) -> None:
    """Send the example requests of the ensemble ``name`` to the server at ``url`` and say what it answers."""
    with http.InferenceServerClient(url) as client:
        if name == "bert_trt":
            vectors = embed(client, SENTENCES)
            say(f"finaloutput {vectors.shape} {vectors.dtype}; cosine to the first sentence:")
            for sentence, vector in zip(SENTENCES, vectors, strict=True):
                say(f"  {float(vectors[0] @ vector):6.3f}  {sentence}")
        elif name == "dali_inception":
            for path in photographs():
                say(f"{path.name}")
                for probability, index, label in classify(client, path.read_bytes()):
                    say(f"  {probability:6.3f}  {index:4}  {label}")
        elif name == "resnet_pytorch":
            for path in photographs():
                say(f"{path.name}")
                for logit, index, label in classify_pixels(client, pixels(path.read_bytes())):
                    say(f"  {logit:6.3f}  {index:4}  {label}")
        else:
            config = client.get_model_config(name)
            say(f"no example requests for {name}; it takes {[tensor['name'] for tensor in config['input']]}")
