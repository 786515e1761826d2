"""Downloads of a model.py, which work locally and not on an endpoint."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import class_model, initializing
from triton_ensembles.checking.python.nodes import argument, method_of
from triton_ensembles.checking.python.source import PythonFile, every_call
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
