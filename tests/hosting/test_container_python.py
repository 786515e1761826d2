"""The image of a container decides which Python runs its steps."""

import json

import pytest

from tests.hosting import archives
from tests.hosting.conftest import Host
from tests.pythons import python_or_skip
from triton_ensembles.hosting.errors import ModelError
from triton_ensembles.server import stubs
from triton_ensembles.server.interpreter import Interpreter, find_interpreter
from triton_ensembles.triton.pip_server import server_python

pytestmark = [pytest.mark.slow, pytest.mark.anyio]
IMAGE = "123.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:{}"
ANSWER = "import sys; x = np.array(sys.version_info[:2], np.float32)"


async def answered(host: Host) -> str:
    """The Python that a step says it runs under."""
    host.put("a.tar.gz", archives.model(execute=ANSWER))
    return ".".join(f"{number:.0f}" for number in await host.ask("a.tar.gz", 1.0, 2.0))


@pytest.mark.parametrize(
    ("image", "python"),
    [
        (IMAGE.format("22.05-py3"), "3.8"),  # AWS's notebooks of 2022
        (IMAGE.format("24.09-py3"), "3.10"),
        (IMAGE.format("25.04-py3-cpu"), "3.12"),
        ("triton-ensembles/tritonserver:2.51.0-pip", server_python()),  # without a release: the running one
    ],
)
async def test_steps_run_under_the_python_of_the_image(host: Host, image: str, python: str) -> None:
    python_or_skip(python)
    await host.start(image=image)
    assert host.variant.snapshot().python == await answered(host) == python
    assert "Python" not in str(host.told("warning"))


async def test_the_error_of_a_load_names_the_python_that_the_archive_was_built_for(host: Host) -> None:
    """Otherwise one reads that a module is missing, and looks for it in the archive, where it is."""
    built_for = {"manifest.json": json.dumps({"python": server_python()}).encode()}
    host.put("a.tar.gz", archives.model(initialize="import for_one_python_only") | built_for)
    await host.start(image=IMAGE.format("24.09-py3" if server_python() != "3.10" else "25.04-py3"))
    with pytest.raises(ModelError) as caught:
        await host.ask("a.tar.gz")
    other = host.variant.snapshot().python
    assert "No module named 'for_one_python_only'" in str(caught.value)
    assert f"built for Python {server_python()}, and this container's steps run Python {other}" in str(caught.value)
    assert "--image RELEASE" in caught.value.cure


async def test_a_python_that_is_missing_here_is_replaced_loudly(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what is rehearsed is taken for what the image does."""

    def only_the_running_one(minor: str) -> Interpreter | None:
        return find_interpreter(minor) if minor == server_python() else None

    monkeypatch.setattr(stubs, "find_interpreter", only_the_running_one)
    await host.start(image=IMAGE.format("24.09-py3"))
    assert await answered(host) == host.variant.snapshot().python == server_python()
    (event,) = host.told("warning")
    assert "the image of Triton 24.09 runs Python steps with Python 3.10" in event
    assert f"here they run with Python {server_python()}" in event and "pyenv install 3.10" in event
    assert [error.text for error in host.variant.snapshot().errors if "Python 3.10" in error.text]
    assert host.log.read_text().startswith("WARNING: the image of Triton 24.09 runs")
