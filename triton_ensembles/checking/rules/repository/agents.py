"""model_repository_agents: libraries that tritonserver runs before it loads a model."""

import posixpath
import re
from collections.abc import Iterator

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.field_rule import field_rule, items
from triton_ensembles.checking.rule import Destination, Finding, Model, Server, note, rule, warning
from triton_ensembles.ground.spelling import suggestion

SOURCE = (
    "core r24.10 repo_agent.cc TritonRepoAgentManager::CreateAgent, model_repository_manager.cc; measured on 2.51.0"
)
GOOD = python_model()
_used_agents = items("model_repository_agents.agents")
CHECKSUM = "checksum"  # server build.py enable_all: the only one of the images


def _agents(name: str = "", parameters: str = "") -> str:
    agents = f'agents [ {{ name: "{name}" {parameters} }} ]' if name else ""
    return python_model(f"model_repository_agents {{ {agents} }}")


def _parameter(key: str) -> str:
    return f'parameters {{ key: "{key}", value: "0123456789abcdef0123456789abcdef" }}'


@warning(
    "The repository agents of a model are those of Triton's images",
    bad=_agents("decrypt"),
    words="unable to find 'libtritonrepoagent_decrypt.so' for repo agent",
)
def repository_agent_unknown(model: Model) -> Iterator[Finding]:
    for path, agent in _used_agents(model):
        if agent.name != CHECKSUM:
            message = f"no image of Triton that NVIDIA publishes has a repository agent '{agent.name}'"
            effect = f"a server without it refuses the model: unable to find 'libtritonrepoagent_{agent.name}.so'"
            meant = suggestion(agent.name, [CHECKSUM], 'did you mean name: "{}"?')
            cure = meant or "delete it, or make sure that the server has it"
            yield Finding(model.at(*path, "name"), message, effect, cure)


@note(
    "The server has the repository agent checksum",
    bad=_agents(CHECKSUM),
    words="unable to find 'libtritonrepoagent_checksum.so' for repo agent",
)
def repository_agent_here(model: Model, destination: Destination) -> Iterator[Finding]:
    for path, agent in _used_agents(model):
        if agent.name == CHECKSUM and not destination.image:
            message = "NVIDIA's images have the repository agent checksum, and this project's own server does not"
            cure = "delete it: the manifest of an archive has the sha256 of its files"
            yield Finding(model.at(*path, "name"), message, "the model loads in the image only", cure)


@rule(
    "The repository agent checksum gets an MD5 of files that are there",
    source="checksum_repository_agent checksum.cc ParseAlgorithmAndFile, ReadFile, TRITONREPOAGENT_ModelAction",
    bad=_agents(CHECKSUM, parameters=_parameter("SHA256:config.pbtxt")),
    good=_agents(CHECKSUM, parameters=_parameter("MD5:config.pbtxt")),
    destination=Destination(image="24.09"),
    server=Server.UNTESTED,
    good_loads=False,
)
def repository_agent_checksum(model: Model) -> Iterator[Finding]:
    for path, agent in _used_agents(model):
        for key in sorted(agent.parameters) if agent.name == CHECKSUM else ():
            algorithm, colon, name = key.partition(":")
            file, value = posixpath.normpath(name), agent.parameters[key]
            if not colon or algorithm.lower() != "md5":
                words = "Unsupported checksum algorithm" if colon else "failed to parse key"
                message, cure = f"'{key}' is not MD5:<path of a file>", f'write key: "MD5:{name or key}"'
            elif not file.startswith(("/", "..")) and not model.is_made(file) and not model.get(file):
                words, message = "failed to open text file for read", f"there is no file '{name}' in the model's folder"
                cure = "name a file by its path from the model's folder, such as MD5:1/model.onnx"
            elif not re.fullmatch("[0-9a-f]{32}", value):
                words, message = "Mismatched MD5 hash for file", f"'{value}' is no MD5, which has 32 of 0-9 and a-f"
                cure = "write what md5sum prints"
            else:
                continue
            effect = f"Triton does not load the model: {words}"
            yield Finding(model.at(*path, "parameters", key), message, effect, cure)


# fmt: off
field_rule("repository-agents-empty", "model_repository_agents has an agent",
           at="model_repository_agents",
           when=lambda config: config.HasField("model_repository_agents") and not config.model_repository_agents.agents,
           says="model_repository_agents names no agent",
           effect="tritonserver crashes when it loads the model, and all its models are lost",
           cure="delete model_repository_agents", bad=_agents(), server=Server.DIES)
