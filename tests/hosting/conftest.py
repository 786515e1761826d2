"""A variant with real tritonservers that takes its archives from a folder."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.hosting import archives
from tests.processes import eventually
from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.variants.spec import ContainerSpec, VariantPlan
from triton_ensembles.endpoint.variants.variant import Context, Variant
from triton_ensembles.ground.processes import descendants
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.errors import ModelError
from triton_ensembles.hosting.faults import object_missing
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.objects import S3Objects
from triton_ensembles.hosting.request import Invocation, Reply
from triton_ensembles.sagemaker.model_state import ModelState

GIB = 1 << 30
# The configs here are complete. Otherwise Triton starts every model once more, and sleeps for a second.
COMPLETE = {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--disable-auto-complete-config"}


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop that the endpoint runs on."""
    return "asyncio", {"use_uvloop": True}


class FolderBucket(S3Objects):
    """The bucket "models", whose objects are the files of a folder: no S3 server has to run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def size(self, url: str) -> int:
        return self._file(url).stat().st_size

    async def fetch(self, url: str, destination: Path) -> None:
        await asyncio.to_thread(shutil.copyfile, self._file(url), destination)

    def _file(self, url: str) -> Path:
        key = url.removeprefix("s3://models/")
        if not (file := self._folder / key).is_file():
            raise object_missing("models", key)
        return file


class Host:
    """One variant under test."""

    def __init__(self, folder: Path) -> None:
        self.bucket = folder / "bucket"
        self.bucket.mkdir()
        self.root = folder / "variant"
        self.log = folder / "endpoint.log"
        self.metrics, self.events = Metrics(), RecentEvents()
        self.objects: S3Objects = FolderBucket(self.bucket)
        self._started: Variant | None = None

    @property
    def variant(self) -> Variant:
        assert self._started is not None
        return self._started

    def put(self, key: str, files: Mapping[str, bytes] | bytes) -> None:
        """Upload an archive."""
        target = self.bucket / key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files if isinstance(files, bytes) else archives.packed(files))

    async def start(
        self,
        *,
        instances: int = 1,
        url: str = "s3://models/",
        mode: str = "MultiModel",
        environment: Mapping[str, str] = {},
        image: str = "image",
        cache: str = "Enabled",
        **budgets: Any,
    ) -> None:
        # AWS waits 60 s for a model; a test waits as long as a busy machine needs.
        limits = {"memory_bytes": 4 * GIB, "disk_bytes": 4 * GIB, "invoke_seconds": 500, "drain_seconds": 5} | budgets
        spec = ContainerSpec(image, url, mode, COMPLETE | dict(environment), cache)  # type: ignore[arg-type]
        self._started = Variant(
            VariantPlan("AllTraffic", spec, Budgets(**limits), instances, "ml.m5.large", 1.0),
            Context("tested", self.objects, self.root, self.log, self.metrics, self.events),
        )
        await self._started.start()

    async def ask(self, target: str | None, *numbers: float) -> list[float]:
        """Invoke with these numbers; the numbers of the answer."""
        return archives.values(await self.send(target, archives.body(*(numbers or (1.0,)))))

    async def send(self, target: str | None, body: bytes, content_type: str = "application/json") -> bytes:
        reply = await self.variant.invoke(Invocation(body, target, {"Content-Type": content_type}))
        return await whole(reply)

    async def model_error(self, target: str | None, message: str, status: int, *numbers: float) -> ModelError:
        """The error that the request must end with, with the container's status."""
        with pytest.raises(ModelError, match=message) as caught:
            await self.ask(target, *numbers)
        assert caught.value.original_status == status
        return caught.value

    def model(self, target: str, instance: int = 0) -> Model | None:
        models = self.variant.snapshot().instances[instance].models
        return next((each for each in models if each.target_model == target), None)

    def status(self, target: str) -> Model:
        """Of a model that there is."""
        status = self.model(target)
        assert status is not None
        return status

    def loaded(self, instance: int = 0) -> list[str]:
        """The loaded models of an instance, sorted."""
        models = self.variant.snapshot().instances[instance].models
        return sorted(each.target_model for each in models if each.state is ModelState.LOADED)

    def pid(self, instance: int = 0) -> int:
        pid = self.variant.snapshot().instances[instance].pid
        assert pid is not None
        return pid

    def processes(self) -> list[int]:
        pids = [each.pid for each in self.variant.snapshot().instances if each.pid]
        return [pid for each in pids for pid in (each, *descendants(each))]

    def kill(self, instance: int = 0) -> None:
        os.kill(self.pid(instance), signal.SIGKILL)

    async def die(self) -> None:
        """Kill the server, and come back when the next one is up."""
        before = self.variant.snapshot().instances[0].restarts
        self.kill()
        await eventually(lambda: self.variant.snapshot().instances[0].restarts > before)

    def told(self, kind: str) -> list[str]:
        """The latest events of a kind, in their order."""
        return [event.text for event in reversed(self.events.latest) if event.kind == kind]

    def metric(self, name: str) -> dict[str, float]:
        """How often it was measured by target model, or a gauge by instance, as in /metrics."""
        families = text_string_to_metric_families(self.metrics.prometheus.text().decode())
        samples = [each for family in families for each in family.samples if each.name.startswith(f"sagemaker_{name}_")]
        places = [each for each in samples if not each.name.endswith("_sum")]
        return {each.labels.get("target_model") or each.labels["instance"]: each.value for each in places}

    def files(self) -> list[str]:
        """What lies below the folder of models, two levels deep."""
        return sorted(path.name for path in self.root.glob("*/models/*"))

    async def close(self) -> None:
        if self._started is not None:
            await self._started.stop()

    async def discard(self) -> None:
        """Close it without the seconds in which Triton ends its models."""
        for pid in self.processes() if self._started is not None else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self.close()


async def whole(reply: Reply) -> bytes:
    if isinstance(reply.body, bytes):
        return reply.body
    return b"".join([piece async for piece in reply.body])


@pytest.fixture
async def host(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Host]:
    """A variant of one's own: start it with the options that the test is about."""
    host = Host(tmp_path)
    yield host
    await host.discard()


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: object) -> AsyncIterator[Host]:
    """The variant of the tests of a module that neither kill it nor fill its memory; each has keys of its own."""
    host = Host(tmp_path_factory.mktemp("shared"))
    await host.start()
    yield host
    await host.discard()
