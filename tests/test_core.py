"""The requirements of the core and of the extras: tests/test_wheel.py installs the core, and runs what it is for."""

import ast
import re
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name
from tritonclient.grpc import model_config_pb2

from checkout import ROOT
from tests.core import PROJECT, distributions
from triton_ensembles.ground.extras import MODULES
from triton_ensembles.triton.model_config_message import DESCRIPTOR

pytestmark = pytest.mark.slow


def test_every_package_that_is_imported_is_required_by_the_core_or_an_extra() -> None:
    """Otherwise an installed command ends in a traceback that no extra is named for."""
    owners = {module: {canonicalize_name(each) for each in names} for module, names in packages_distributions().items()}
    core, extras = distributions(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    brought = {module for modules in MODULES.values() for module in modules}
    for path in sorted((ROOT / "triton_ensembles").rglob("*.py")):
        if "templates" in path.parts:  # of new projects, whose requirements are their own
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            named = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            third = {module for name in named if (module := name.partition(".")[0]) in owners}
            if path.parent.name == "pytest_plugin":
                third.discard("pytest")  # which alone imports it
            unknown = {each for each in third if not owners[each] & core and each not in brought}
            assert not unknown, (path, unknown)
    for extra, modules in MODULES.items():
        installed = distributions(extras[extra])
        for module in modules:
            assert owners.get(module, installed) & installed, (extra, module)


@pytest.mark.parametrize("engine", ["openvino", "pytorch", "tensorflow", "dali"])
def test_the_extra_of_an_engine_is_enough_to_serve_its_models(engine: str) -> None:
    """Otherwise `pip install triton-ensembles[pytorch]` ends with an engine and no server."""
    extras = PROJECT["optional-dependencies"]
    assert distributions(extras["serve"]) < distributions(extras[engine])


def test_the_page_has_every_extra() -> None:
    """Otherwise nobody finds it, or somebody behind a slow line is surprised by gigabytes."""
    page = (ROOT / "docs" / "getting-started.md").read_text()
    rows = re.findall(r"^\| (none|`\[\w+\]`) \|.*?\| \d+ \|", page, re.MULTILINE)
    assert {*rows} == {"none", *(f"`[{name}]`" for name in PROJECT["optional-dependencies"] if name != "gateway")}


def test_the_messages_are_those_of_tritonclient() -> None:
    """To renew the file, write these bytes into it."""
    assert DESCRIPTOR.read_bytes() == model_config_pb2.DESCRIPTOR.serialized_pb
