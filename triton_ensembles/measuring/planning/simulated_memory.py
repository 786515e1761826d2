"""The memory and the disk of a simulated instance."""

from collections import OrderedDict
from collections.abc import Iterator

from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.simulated_model import SimulatedModel
from triton_ensembles.sagemaker.eviction import evictable


class SimulatedMemory:
    """The models in memory, and the bytes that they take beyond the server: as the endpoint measures them.

    Attributes:
        loaded: the least recently used first.
        loaded_bytes, unloading_bytes: of models.
    """

    def __init__(self) -> None:
        self.loaded: OrderedDict[SimulatedModel, None] = OrderedDict()
        self.loaded_bytes = 0
        self.unloading_bytes = 0
        self._loading: dict[SimulatedModel, int] = {}
        self._loading_bytes = 0

    @property
    def used(self) -> int:
        return self.loaded_bytes + self.unloading_bytes + self._loading_bytes

    @property
    def has_loaded(self) -> bool:
        return bool(self.loaded)

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def idle(self) -> Iterator[SimulatedModel]:
        return evictable(self.loaded)

    def of_load(self, model: SimulatedModel) -> int:
        return self._loading.get(model, 0)

    def of_loaded(self, model: SimulatedModel) -> int:
        return model.load_bytes

    def begin_load(self, model: SimulatedModel, reserved: int) -> None:
        """A load takes what it has reserved from its beginning on."""
        self._loading[model] = reserved
        self._loading_bytes += reserved

    def end_load(self, model: SimulatedModel) -> None:
        self._loading_bytes -= self._loading.pop(model)
        self.loaded[model] = None
        self.loaded_bytes += model.load_bytes

    def begin_unload(self, model: SimulatedModel) -> None:
        del self.loaded[model]
        self.loaded_bytes -= model.load_bytes
        self.unloading_bytes += model.load_bytes

    def end_unload(self, model: SimulatedModel) -> None:
        self.unloading_bytes -= model.load_bytes


class SimulatedDisk:
    """The archives on the disk, and its reads and writes, one after the other.

    Attributes:
        used: bytes.
        idle: models that are on the disk only and not being loaded, the least recently used first.
        seconds: that its reads and writes so far take.
    """

    def __init__(self, host: Host) -> None:
        self.used = 0
        self.idle: OrderedDict[SimulatedModel, None] = OrderedDict()
        self.seconds = 0.0
        self._bytes = float("inf") if host.disk_bytes is None else float(host.disk_bytes)
        self._rate = host.disk_rate
        self._free_at = 0.0

    def has_room(self, model: SimulatedModel) -> bool:
        return self.used + model.disk_bytes <= self._bytes

    def delete_idle(self) -> SimulatedModel | None:
        """Delete the least recently used model that is not loaded; None: there is none."""
        victim = next(evictable(self.idle), None)
        if victim is not None:
            del self.idle[victim]
            self.used -= victim.disk_bytes
        return victim

    def job(self, now: float, read_bytes: float, least: float) -> float:
        """Return the seconds that a read or write of so many bytes takes beside those before it, ``least`` at least."""
        if self._rate is None:
            return least
        seconds = read_bytes / self._rate
        self.seconds += seconds
        self._free_at = max(self._free_at, now) + seconds
        return max(least, self._free_at - now)
