"""Archives and folders made in a test, from their members by name, and their faults."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from triton_ensembles.archive.folder import read_folder
from triton_ensembles.checking.checker import check, check_repositories
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.repository import Form, Repository
from triton_ensembles.checking.rule import Rule
from triton_ensembles.triton.destination import Destination

Content = str | bytes | tarfile.TarInfo | None

IO = """\
input [ { name: "X", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 4 ] } ]
"""
MODEL_PY = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensors = (pb_utils.get_input_tensor_by_name(request, "X").as_numpy() for request in requests)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]) for x in tensors]
"""


def python_step(environment: str = "") -> str:
    text = f'backend: "python"\nmax_batch_size: 8\n{IO}instance_group [ {{ count: 1, kind: KIND_CPU }} ]\n'
    if environment:
        text += f'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{environment}" }} }}\n'
    return text


def ensemble_of(step: str, platform: str = 'platform: "ensemble"') -> str:
    return f"""\
{platform}
max_batch_size: 8
{IO}ensemble_scheduling {{
  step [ {{ model_name: "{step}" model_version: -1
    input_map {{ key: "X" value: "X" }} output_map {{ key: "Y" value: "Y" }} }} ]
}}
"""


def members(name: str = "one", environment: str = "", model_py: str = MODEL_PY) -> dict[str, Content]:
    """An ensemble of a single Python step ``<name>.step``, as an archive without faults has it."""
    return {
        f"{name}/config.pbtxt": ensemble_of(f"{name}.step"),
        f"{name}/1/README.md": "keep",
        f"{name}.step/config.pbtxt": python_step(environment),
        f"{name}.step/1/model.py": model_py,
    }


def packed(files: Mapping[str, Content]) -> bytes:
    """A .tar.gz; None is a folder, a TarInfo whatever it says."""
    target = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=target, mode="wb", compresslevel=1, mtime=0) as compressed,  # the same bytes every time
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name, content in files.items():
            item = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
            data = data if isinstance(data, bytes) else b""
            if content is None:
                item.type = tarfile.DIRTYPE
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
    return target.getvalue()


def write(path: Path, files: Mapping[str, Content]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(files))
    return path


def faults(*paths: Path, **target: str) -> list[Fault]:
    return list(check(paths, Destination(**target)).faults)


def folder_faults(folder: Path, destination: Destination, rules: Iterable[Rule] = RULES) -> list[Fault]:
    """The faults of a folder that is a repository, also where no model is found in it, or one with a recipe."""
    form = Form.SOURCE if (folder / "ensemble.toml").is_file() else Form.FOLDER
    return list(check_repositories([Repository(folder, folder.name, form, read_folder(folder))], destination, rules))


def rules(*paths: Path, **target: str) -> set[str]:
    return {fault.rule for fault in faults(*paths, **target)}
