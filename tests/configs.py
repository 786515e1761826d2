"""Config.pbtxt of small models: of a step, and of an ensemble of steps in a row."""

ON_CPU = "instance_group [ { kind: KIND_CPU count: 1 } ]\n"


def tensors(inputs: str = "X:FP32:-1", outputs: str = "Y:FP32:-1") -> str:
    """Write ``input`` and ``output``; tensors are words like ``X:FP32:-1,3``."""
    return f"input [ {_entries(inputs)} ]\noutput [ {_entries(outputs)} ]\n"


def _entries(words: str) -> str:
    fields = (word.replace(",", ", ").split(":") for word in words.split())
    return ", ".join(f'{{ name: "{name}" data_type: TYPE_{kind} dims: [ {dims} ] }}' for name, kind, dims in fields)


def in_a_row(*steps: str, taken: str = "X", written: str = "Y") -> str:
    """Write the platform and the scheduling of an ensemble that hands ``taken`` through ``steps``: each is ``MODEL
    INPUT OUTPUT``, or only ``MODEL`` with X and Y. The tensors between them are T1, T2 and so on."""
    names = [taken, *(f"T{number}" for number in range(1, len(steps))), written]
    uses = []
    for step, source, target in zip(steps, names, names[1:], strict=False):
        model, key_in, key_out = step.split() if " " in step else (step, "X", "Y")
        uses.append(
            f'    {{\n      model_name: "{model}"\n      model_version: -1\n'
            f'      input_map {{ key: "{key_in}", value: "{source}" }}\n'
            f'      output_map {{ key: "{key_out}", value: "{target}" }}\n    }}'
        )
    return 'platform: "ensemble"\nensemble_scheduling {\n  step [\n' + ",\n".join(uses) + "\n  ]\n}\n"
