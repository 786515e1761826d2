"""Puts the parts of the platform together."""

import asyncio
import itertools

import aiohttp
import boto3
from aiohttp import web
from botocore.config import Config

from triton_ensembles.endpoint.api.configs import Configs
from triton_ensembles.endpoint.api.endpoints import Endpoints
from triton_ensembles.endpoint.api.models import Models
from triton_ensembles.endpoint.api.operations import ControlPlane
from triton_ensembles.endpoint.api.refusal import refusal
from triton_ensembles.endpoint.api.runtime import Runtime
from triton_ensembles.endpoint.api.signature import signed_service
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.aws_services.forward import Forward
from triton_ensembles.endpoint.aws_services.process import Backing
from triton_ensembles.endpoint.endpoint_state import Endpoint, Status
from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.page.pages import Pages
from triton_ensembles.endpoint.router import Router
from triton_ensembles.endpoint.running import RunningEndpoint
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.endpoint.variants.spec import VariantPlan
from triton_ensembles.endpoint.variants.variant import Context, Variant
from triton_ensembles.hosting.objects import S3Objects

_CONNECTIONS = 32
_PUT_AT_ONCE = 500  # metrics of one PutMetricData


class Platform:
    """Everything behind the URL that it listens on; moto serves the other services as ``backing``, which ``session``
    is for."""

    def __init__(self, settings: Settings, url: str, backing: Backing, session: aiohttp.ClientSession) -> None:
        self._settings = settings
        self._forward = Forward(session, backing.url)
        # Of moto, which accepts any credentials.
        moto = RunningEndpoint(backing.url, settings.region)
        self._cloudwatch = backing.admit(moto.client("cloudwatch"))
        self._events = RecentEvents()
        self._metrics = Metrics()
        config = Config(max_pool_connections=_CONNECTIONS)
        if settings.s3_url:
            self._objects = S3Objects(boto3.client("s3", endpoint_url=settings.s3_url, config=config))
        else:
            self._objects = S3Objects(backing.admit(moto.client("s3", max_pool_connections=_CONNECTIONS)))
        self._numbers = itertools.count(1)
        self._publishing = asyncio.Lock()
        tags = Tags()
        models = Models(settings, tags)
        configs = Configs(settings, tags, models)
        self.endpoints = Endpoints(settings, tags, configs, self._make_endpoint, self._metrics.forget_endpoint)
        self._pages = Pages(url, self.endpoints, self._metrics, self._events)
        self.router = Router(
            ControlPlane(models, configs, self.endpoints, tags),
            Runtime(settings, self.endpoints.find, self._metrics),
            self._forward_to_moto,
            self._pages,
        )

    async def stop(self) -> None:
        """Let running requests end, and stop all endpoints."""
        await self.endpoints.stop()

    def _make_endpoint(self, name: str, arn: str) -> Endpoint:
        def make_variant(plan: VariantPlan) -> Variant:
            root = self._settings.scratch / "endpoints" / f"{next(self._numbers)}.{name}.{plan.name}"
            log, server = self._settings.log(name), self._settings.server
            return Variant(plan, Context(name, self._objects, root, log, self._metrics, self._events, server))

        return Endpoint(name, arn, make_variant, self._changed)

    def _changed(self, endpoint: Endpoint) -> None:
        self._events.add(endpoint.name, endpoint.status, endpoint.failure)
        if endpoint.status is Status.IN_SERVICE:  # what an update has replaced is gone
            running = {variant.plan.name: variant.snapshot().instances for variant in endpoint.running}
            instances = [(name, instance) for name, status in running.items() for instance in status]
            models = {(name, model.target_model) for name, instance in instances for model in instance.models}
            kept = {(name, str(instance.index)) for name, instance in instances}
            self._metrics.prometheus.keep(endpoint.name, models | {(name, "") for name in running}, kept)

    async def _forward_to_moto(self, request: web.BaseRequest) -> web.StreamResponse:
        service = signed_service(request.raw_path, request.headers)
        if service in ("s3", None) and self._settings.s3_url:
            message = f"S3 is at {self._settings.s3_url}: export AWS_ENDPOINT_URL_S3={self._settings.s3_url}"
            return refusal(request, service, "NotImplemented", message, 501)
        if service == "monitoring":
            await self._publish()
        return await self._forward.handle(request)

    async def _publish(self) -> None:
        """Send moto's CloudWatch the statistics since the last time, now that they are requested."""
        async with self._publishing:
            put = self._cloudwatch.put_metric_data
            for namespace, statistics in self._metrics.minutes.take().items():
                for start in range(0, len(statistics), _PUT_AT_ONCE):
                    part = statistics[start : start + _PUT_AT_ONCE]
                    await asyncio.to_thread(put, Namespace=namespace, MetricData=part)
