"""A graph as mermaid, which GitHub and many editors draw."""

import re

from triton_ensembles.graphs.dag import Graph, Role, label

_STYLES = """\
  classDef input fill:#e8f1fb,stroke:#3b76b5,color:#111
  classDef output fill:#e9f6ec,stroke:#3a8a4d,color:#111
  classDef inner fill:#f6f6f6,stroke:#999,color:#111
  classDef step fill:#fff,stroke:#444,color:#111"""


def mermaid(graph: Graph) -> str:
    """Draw a flowchart in a box that has the ensemble's name.

    Rounded boxes are the ensemble's inputs and outputs, square ones its steps. Arrows between steps are labeled with
    the tensor's names (in the writing model, the ensemble and the reading model), data type and dims; other arrows with
    the model's name for the tensor if it differs. Dashed arrows lead to models that a step calls, or runs as an
    ensemble.
    """
    lines = ["flowchart LR", f"  subgraph dag[{_text(label(graph.name))}]"]
    ids = {name: f"t{number}" for number, name in enumerate(graph.tensors)}
    writers = {edge.tensor: edge for edge in reversed(graph.edges) if edge.writes}
    ends = [tensor for tensor in graph.tensors.values() if tensor.role != Role.INNER or tensor.name not in writers]
    lines += [f"  {ids[tensor.name]}([{_text(label(tensor.name), tensor.shape)}]):::{tensor.role}" for tensor in ends]
    lines += [f"  s{step.number}[{_text(label(step.model), label(step.kind))}]:::step" for step in graph.steps]
    for edge in graph.edges:
        tensor = graph.tensors[edge.tensor]
        if edge.writes:
            if tensor.role != Role.INNER:
                lines.append(_arrow(f"s{edge.step}", ids[tensor.name], label(edge.other_name)))
            continue
        writer = writers.get(tensor.name)
        if tensor.role != Role.INNER or writer is None:
            lines.append(_arrow(ids[tensor.name], f"s{edge.step}", label(edge.other_name)))
        else:
            names = " → ".join(dict.fromkeys(map(label, (writer.key, tensor.name, edge.key))))
            lines.append(_arrow(f"s{writer.step}", f"s{edge.step}", names, tensor.shape))
    lines += [f"  s{caller} -.->|{graph.verb(caller)}| s{callee}" for caller, callee in graph.calls]
    lines.append("  end")
    if graph.note:
        lines.append(f"  outside[{_text(label(graph.note))}]:::inner")
    return "\n".join([*lines, _STYLES]) + "\n"


def _arrow(start: str, end: str, *lines: str) -> str:
    return f"  {start} -->|{_text(*lines)}| {end}" if any(lines) else f"  {start} --> {end}"


def _text(*lines: str) -> str:
    """Quoted, with characters that have a meaning in mermaid as entities."""
    escaped = (re.sub(r"[^\w .,→≤/:\[\]-]", lambda letter: f"#{ord(letter[0])};", line) for line in lines if line)
    return '"' + "<br/>".join(escaped) + '"'
