"""A model in OpenVINO's own form, model.xml: its inputs and outputs. Source: docs.openvino.ai, "OpenVINO IR format"."""

from collections.abc import Mapping
from typing import IO
from xml.parsers import expat

from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.model_files.protobuf import Budget, MalformedError

_BLOCK = 1 << 16
_LAYER = ["net", "layers", "layer"]  # graphs within operators have layers of their own, deeper
_PORT = [*_LAYER, "output", "port"]
# As runtime/backends/openvino/tensors.py has them.
_TYPES = {"BOOL": "BOOL", "FP16": "FP16", "FP32": "FP32", "FP64": "FP64"}
_TYPES |= {
    f"{short}{bits}": f"{long}{bits}" for short, long in (("I", "INT"), ("U", "UINT")) for bits in (8, 16, 32, 64)
}


def read_openvino(head: bytes, file: IO[bytes], budget: Budget) -> ModelFile | None:
    """``head`` is its beginning, which was read from ``file``. None where it is not certain how Triton would name its
    tensors, or whether it batches. Raises MalformedError, or TooLargeError."""
    graph = _Graph(budget)
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = graph.begin, graph.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = graph.text, _refuse
    try:
        while head:
            parser.Parse(head)
            head = file.read(_BLOCK)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise MalformedError from error
    tensors = graph.inputs(), graph.outputs()
    if graph.has_layouts or any(not tensor.name for tensor in (*tensors[0], *tensors[1])):
        return None
    return ModelFile(inputs=tensors[0], outputs=tensors[1])


def _refuse(*_: object) -> None:
    """Entities could make a few bytes gigabytes."""
    raise MalformedError


class _Graph:
    """The layers, their outputs and the edges between them, as far as they are read."""

    def __init__(self, budget: Budget) -> None:
        self.has_layouts = False
        self._budget = budget
        self._above: list[str] = []
        self._layer: Mapping[str, str] = {}
        self._layers: dict[str, Mapping[str, str]] = {}  # Parameter and Result, by their ids
        self._ports: dict[tuple[str, str], tuple[Mapping[str, str], list[int]]] = {}  # by layer and port: dims
        self._sources: dict[str, tuple[str, str]] = {}  # the port that a layer's only input comes from
        self._dims: list[int] | None = None
        self._text = ""

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._budget.spend()
        self._above.append(name)
        self._text = ""
        if self._above == _LAYER:
            self._layer = attributes
            if attributes.get("type") in ("Parameter", "Result"):
                self._layers[attributes.get("id", "")] = {"id": "", **attributes}
        elif self._above == _PORT:
            self._dims = []
            self._ports[self._layer.get("id", ""), attributes.get("id", "")] = attributes, self._dims
        elif self._above == ["net", "edges", "edge"]:
            source = attributes.get("from-layer", ""), attributes.get("from-port", "")
            self._sources[attributes.get("to-layer", "")] = source
        self.has_layouts |= name == "attribute" and attributes.get("name") == "layout"

    def text(self, text: str) -> None:
        self._text += text if self._above[-1] == "dim" else ""

    def end(self, name: str) -> None:
        if name == "dim" and self._above[:-1] == _PORT and self._dims is not None:
            self._dims.append(max(int(self._text), -1))
        self._above.pop()

    def inputs(self) -> tuple[ModelTensor, ...]:
        places = [place for place in self._ports if self._layers.get(place[0], {}).get("type") == "Parameter"]
        return tuple(self._tensor(place, "") for place in places)

    def outputs(self) -> tuple[ModelTensor, ...]:
        results = [layer for layer in self._layers.values() if layer["type"] == "Result"]
        places = [self._sources.get(layer["id"], ("", "")) for layer in results]
        return tuple(
            self._tensor(place, own.get("output_names", "")) for place, own in zip(places, results, strict=True)
        )

    def _tensor(self, place: tuple[str, str], names: str) -> ModelTensor:
        """Return a tensor, called "" where it has no name, or several: which OpenVINO takes is its own affair."""
        port, dims = self._ports.get(place, ({}, []))
        names = names or port.get("names", "")
        kind = _TYPES.get(port.get("precision", ""), "")
        return ModelTensor("" if "," in names else names, f"TYPE_{kind}" if kind else "", tuple(dims))
