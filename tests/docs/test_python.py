"""The code of docs/python.md, where every name for import has an example with what it prints, and of docs/pytest.md."""

import ast
import inspect
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import triton_ensembles
from checkout import ROOT
from tests.docs.blocks import Block, blocks_of, type_smallest_ensemble
from tests.running import outcome

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "python.md"
EXAMPLES = [(code, text) for code, text in pairwise(blocks_of(PAGE)) if code.kind == "python"]


def imported(code: str) -> set[str]:
    """The names that a text imports from triton_ensembles."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    return {name.name for node in found if node.module == "triton_ensembles" for name in node.names}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the smallest ensemble, as the README has it typed in."""
    folder = tmp_path_factory.mktemp("project")
    type_smallest_ensemble(folder)
    return folder


@pytest.mark.parametrize(
    ("code", "output"),
    EXAMPLES,
    ids=lambda block: "+".join(sorted(imported(block.text))) if block.kind == "python" else "",
)
def test_an_example_prints_what_it_says(code: Block, output: Block, project: Path) -> None:
    assert output.kind == "text"
    done = outcome(sys.executable, "-c", code.text, cwd=project, PYTHONPATH=str(ROOT))
    assert done.stdout == output.text, done.stderr


def test_every_name_has_its_chapter_and_its_example() -> None:
    names = triton_ensembles.__all__
    assert len(names) == 10
    assert all(inspect.getdoc(getattr(triton_ensembles, name)) for name in names)  # the hint of an editor
    text = PAGE.read_text(encoding="utf-8")
    headings = (line[3:] for line in text.splitlines() if line.startswith("## "))
    assert sorted(", ".join(headings).split(", ")) == sorted(names)
    for code, _ in EXAMPLES:
        assert imported(code.text) <= {*names}
    assert set().union(*(imported(code.text) for code, _ in EXAMPLES)) == {*names}


def test_import_is_light_and_names_are_found_in_any_order() -> None:
    """Otherwise every script of a user takes a second longer, and `check` in every pre-commit hook."""
    code = """import sys
import triton_ensembles
own = {name.partition(".")[2] for name in sys.modules if name.startswith("triton_ensembles.")}
assert own == {"version", "checking", "checking.extensions"}, own  # where the rules about recipes are announced
import triton_ensembles.checking.rule, triton_ensembles.commands.check, triton_ensembles.graphs.dag
assert "pydantic" not in sys.modules  # the schema of recipes
from triton_ensembles import check, graph
assert not {"numpy", "boto3", "torch", "asyncio"} & {*sys.modules}
print(check([sys.argv[1]]).failed, graph(sys.argv[1])[:9])
"""
    done = outcome(sys.executable, "-c", code, ROOT / "ensembles" / "bert_trt")
    assert done.stdout == "False flowchart\n", done.stderr


def test_type_checkers_of_users_see_the_types(tmp_path: Path) -> None:
    """Otherwise everything is Any in their code, and a wrong argument is found at run time."""
    assert (ROOT / "triton_ensembles" / "py.typed").is_file()
    (tmp_path / "use.py").write_text(
        "from triton_ensembles import build, check, read_recipe\n"
        "reveal_type(check('models').errors)\nreveal_type(build('x').changed)\nreveal_type(read_recipe('x').description)\n"
        "check(3)\n"
    )
    command = (sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache")
    done = outcome(*command, tmp_path / "use.py")
    lines = done.stdout.splitlines()
    assert [line.rpartition(" ")[2] for line in lines[:3]] == ['"int"', '"bool"', '"str"'], done.stdout
    assert "[arg-type]" in lines[3]


@pytest.mark.parametrize("page", ["unit-tests.md", "pytest.md"])
def test_the_tests_of_a_page_pass(page: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the project of the README's smallest ensemble."""
    type_smallest_ensemble(pytester.path)
    for block in blocks_of(ROOT / "docs" / page):
        if name := block.kind.partition(" ")[2]:
            (pytester.path / name).write_text(block.text)
    if page == "pytest.md":
        test = "def test_region(sagemaker_endpoint):\n    assert sagemaker_endpoint.region == 'eu-central-1'\n"
        (pytester.path / "test_settings.py").write_text(test)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plugin = ("-p", "triton_ensembles.pytest_plugin", "-p", "no:cacheprovider")
    pytester.run(sys.executable, "-m", "pytest", *plugin).assert_outcomes(passed=4)
