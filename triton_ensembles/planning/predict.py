"""One question to either engine: what a number of instances does with a traffic."""

from triton_ensembles.errors import EnsembleError
from triton_ensembles.planning.closed_form import closed_form
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.prediction import Prediction
from triton_ensembles.planning.traffic import Traffic
from triton_ensembles.planning.workload import Shares, Workload, workload


def predict(profiles: Shares, traffic: Traffic, host: Host, count: int = 1, batch: int = 0) -> Prediction:
    """The steady state, in closed form.

    Args:
        profiles: of archives, each with its share of the models.
        traffic: how often each model is asked.
        host: what each instance has.
        count: of instances.
        batch: rows in a request; 0: the least that was profiled.

    Raises:
        EnsembleError: a model does not fit into an instance, or there is no instance.
    """
    return closed_form(workload_for(profiles, traffic, host, count, batch), host, count)


def workload_for(profiles: Shares, traffic: Traffic, host: Host, count: int = 1, batch: int = 0) -> Workload:
    """The models of a plan. Raises EnsembleError when an instance cannot load one of them, or there is no instance."""
    if count < 1:
        raise EnsembleError(f"{count} instances answer nothing", cure="plan with 1 or more")
    work = workload(profiles, traffic, host, batch)
    for (profile, _), demand in zip(profiles, work.demands[::2], strict=True):
        least = work.overhead_bytes + demand.memory_bytes
        if least > host.memory_bytes:
            raise EnsembleError(
                f"one {profile.archive} ({least / 2**20:.0f} MiB with the server) does not fit into the "
                f"{host.memory_bytes / 2**20:.0f} MiB for models of {host.name}",
                cure="choose an instance with more memory, or leave less of it unused with --slack",
            )
        if host.disk_bytes is not None and demand.disk_bytes > host.disk_bytes:
            raise EnsembleError(
                f"one {profile.archive} ({demand.disk_bytes / 2**20:.0f} MiB unpacked) does not fit on the "
                f"{host.disk_bytes / 2**20:.0f} MiB of disk of {host.name}",
                cure="choose an instance with a larger disk",
            )
    return work
