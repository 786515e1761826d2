"""Habits of a model.py that work locally and not on an endpoint."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, EXECUTE_LINE, class_model, initializing
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import Function, With, argument, method_of
from triton_ensembles.checking.python.source import PythonFile, every_call, every_file
from triton_ensembles.checking.python.values import text_of
from triton_ensembles.checking.rule import Finding, Model, Server, warning

GOOD = class_model()
# Full names of functions that download something whatever their arguments are.
_DOWNLOADING = (
    {"huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download", "torch.utils.model_zoo.load_url"}
    | {"torch.hub.load_state_dict_from_url", "torch.hub.download_url_to_file", "requests.get", "requests.post"}
    | {"urllib.request.urlopen", "urllib.request.urlretrieve", "httpx.get", "wget.download", "gdown.download"}
    | {"nltk.download", "spacy.cli.download", "tensorflow.keras.utils.get_file", "keras.utils.get_file"}
)
# Methods and classes that download when their first argument is the name of a model and not a folder.
_PRETRAINED = "from_pretrained"
_BY_NAME = {"sentence_transformers.SentenceTransformer", "sentence_transformers.CrossEncoder", "torch.hub.load"}
_NAMES = ("pretrained_model_name_or_path", "model_name_or_path", "repo_or_dir", "identifier")


@warning(
    "model.py downloads nothing from the internet",
    source="AWS: network isolation; the example ensemble of AWS calls AutoTokenizer.from_pretrained in initialize",
    bad=initializing(
        "import urllib.request\n",
        "try:",
        '    self.weights = urllib.request.urlopen("https://example.com/weights")',
        "except OSError:",
        "    self.weights = None",
    ),
    server=Server.UNTESTED,
)
def model_py_download(model: Model) -> Iterator[Finding]:
    for file, call, name in every_call(model):
        if target := _downloaded(file, call, name):
            message = f"{name.rpartition('.')[2] or 'this call'} downloads {target} from the internet"
            effect = "with network isolation the model does not load, and elsewhere each load waits for the download"
            cure = 'put the files into the version folder, Path(args["model_repository"]) / args["model_version"]'
            yield Finding(file.place(call), message, effect, cure)


def _downloaded(file: PythonFile, call: ast.Call, name: str) -> str:
    local = next((keyword.value for keyword in call.keywords if keyword.arg == "local_files_only"), None)
    if isinstance(local, ast.Constant) and local.value is True:
        return ""
    if name in _DOWNLOADING:
        return "files"
    function = name.rpartition(".")[2] or method_of(call)
    if function != _PRETRAINED and name not in _BY_NAME:
        return ""
    if name == "torch.hub.load" and text_of(file, argument(call, 2, "source")) == "local":
        return ""
    nodes = [keyword.value for keyword in call.keywords if keyword.arg in _NAMES]
    model = text_of(file, nodes[-1] if nodes else argument(call, 0, ""))
    return f"'{model[:80]}'" if model and not model.startswith(("/", ".", "~")) else ""


@warning(
    "execute closes the files that it opens",
    source="the example ensemble of AWS opens logs.txt for every request and never closes it",
    bad=class_model(
        EXECUTE.replace(EXECUTE_LINE, f'{EXECUTE_LINE}        open("/tmp/log.txt", "a").write("request")\n')
    ),
)
def model_py_open_files(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for execute in file.nodes:
            if not isinstance(execute, Function) or execute.name != "execute":
                continue
            nodes = list(ast.walk(execute))
            managed = {item.context_expr for node in nodes if isinstance(node, With) for item in node.items}
            attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            if attributes & {"close", "enter_context", "closing"}:
                continue
            for call, name in file.calls(execute):
                if name == "open" and call not in managed and flow_of(file).is_builtin(call.func):
                    effect = "every request may leave a file open, until they fail with OSError: Too many open files"
                    cure = "read it once in initialize, write with pb_utils.Logger, or use: with open(…) as file:"
                    yield Finding(file.place(call), "execute opens a file here and never closes it", effect, cure)
