"""Models without inputs or outputs: Triton loads most of them, and no request to them makes sense."""

from collections.abc import Iterator

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Finding, Model, warning
from triton_ensembles.triton.model_config import CONFIG

# That of pytorch refuses such a model: pytorch-tensors-missing.
_BACKENDS = ("python", "dali", "fil", "openvino")


@warning(
    "A model has inputs and outputs",
    source="core r24.10 infer_request.cc Normalize; python_backend r24.10; measured on 2.51.0",
    bad=python_model(inputs=""),
    good=python_model(),
)
def tensors_missing(model: Model) -> Iterator[Finding]:
    entry = model.get(CONFIG)
    if entry is None or entry.data is None or model.file.faults:  # what seems to be missing may be there
        return
    if model.is_ensemble or model.backend.name not in _BACKENDS:
        return
    missing = [kind for kind in ("input", "output") if not getattr(model.config, kind)]
    if missing:
        effect = "Triton loads it, and " + (
            "refuses every request with an input: expected 0 inputs"
            if "input" in missing
            else "answers without any output"
        )
        cure = f'write {missing[0]} [ {{ name: "…", data_type: TYPE_…, dims: [ … ] }} ]'
        yield Finding(model.at(), f"this config.pbtxt has no {' and no '.join(missing)}", effect, cure)
