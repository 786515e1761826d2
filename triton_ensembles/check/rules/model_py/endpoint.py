"""What model.py does that works locally and not on an endpoint."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS
from triton_ensembles.check.python.source import PythonFile, argument, every_file
from triton_ensembles.check.python.values import text_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Server, rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE

GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
# Full names of functions that download something whatever their arguments are.
_DOWNLOADING = {
    "huggingface_hub.hf_hub_download",
    "huggingface_hub.snapshot_download",
    "torch.hub.load_state_dict_from_url",
    "torch.hub.download_url_to_file",
    "torch.utils.model_zoo.load_url",
    "requests.get",
    "requests.post",
    "urllib.request.urlopen",
    "urllib.request.urlretrieve",
    "httpx.get",
    "wget.download",
    "gdown.download",
    "nltk.download",
    "spacy.cli.download",
    "tensorflow.keras.utils.get_file",
    "keras.utils.get_file",
}
# Methods and classes that download when their first argument is the name of a model and not a folder.
_BY_NAME = {"from_pretrained"}
_CLASSES_BY_NAME = {"sentence_transformers.SentenceTransformer", "sentence_transformers.CrossEncoder", "torch.hub.load"}


@rule(
    "model.py downloads nothing from the internet",
    source="AWS: network isolation; the example ensemble of AWS calls AutoTokenizer.from_pretrained in initialize",
    bad=script_model(
        f"class {CLASS}:\n    def initialize(self, args):\n        import urllib.request\n\n        try:\n"
        '            self.weights = urllib.request.urlopen("https://example.com/weights")\n'
        f"        except OSError:\n            self.weights = None\n\n{EXECUTE}"
    ),
    severity=Severity.WARNING,
    server=Server.UNTESTED,
)
def model_py_download(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for call, name in file.calls():
            if what := _downloaded(file, call, name):
                yield Finding(
                    file.place(call),
                    f"{name.rpartition('.')[2] or 'this call'} downloads {what} from the internet",
                    "an endpoint in a VPC or with network isolation cannot load the model, and elsewhere each load "
                    "waits for the download while the caller gets ModelNotReadyException (429)",
                    "put the files into the version folder, and load them from "
                    'Path(args["model_repository"]) / args["model_version"]',
                )


def _downloaded(file: PythonFile, call: ast.Call, name: str) -> str:
    """What a call downloads, "" when it downloads nothing."""
    last = name.rpartition(".")[2] or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    if any(keyword.arg == "local_files_only" and _is_true(keyword.value) for keyword in call.keywords):
        return ""
    if name in _DOWNLOADING:
        return "files"
    if last in _BY_NAME or name in _CLASSES_BY_NAME:
        if text_of(file, argument(call, 2, "source")) == "local" and name == "torch.hub.load":
            return ""
        wanted = text_of(file, call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else None
        for keyword in call.keywords:
            if keyword.arg in ("pretrained_model_name_or_path", "model_name_or_path", "repo_or_dir", "identifier"):
                wanted = text_of(file, keyword.value)
        if wanted and not wanted.startswith(("/", ".", "~")):
            return f"'{wanted[:80]}'"
    return ""


@rule(
    "execute closes the files that it opens",
    source="the example ensemble of AWS opens logs.txt for every request and never closes it",
    bad=script_model(
        f"class {CLASS}:\n"
        + EXECUTE.replace("requests):\n", 'requests):\n        open("/tmp/log.txt", "a").write("request")\n')
    ),
    severity=Severity.WARNING,
)
def model_py_open_files(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for execute in file.nodes:
            if not isinstance(execute, ast.FunctionDef | ast.AsyncFunctionDef) or execute.name != "execute":
                continue
            managed = {
                id(item.context_expr)
                for node in ast.walk(execute)
                if isinstance(node, ast.With | ast.AsyncWith)
                for item in node.items
            }
            closes = any(
                isinstance(node, ast.Attribute) and node.attr in ("close", "enter_context", "closing")
                for node in ast.walk(execute)
            )
            for call, name in file.calls(execute):
                if name == "open" and "open" not in file.names and id(call) not in managed and not closes:
                    yield Finding(
                        file.place(call),
                        "execute opens a file here and never closes it",
                        "every request leaves a file open; once the process has too many (often 1024), requests fail "
                        "with OSError: Too many open files, unless the garbage collector closes them in time",
                        "read it once in initialize, write with pb_utils.Logger, or use: with open(…) as file:",
                    )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
