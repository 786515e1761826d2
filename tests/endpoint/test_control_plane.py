"""The control plane, called by unchanged boto3 code."""

import http.client
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from botocore.exceptions import WaiterError
from botocore.validate import ParamValidator

from tests.endpoint.conftest import BUCKET, IMAGE, Deployer, ask, in_service, refused
from tests.hosting import archives
from triton_ensembles.endpoint.api.endpoints import WAITER_SECONDS
from triton_ensembles.endpoint.api.validation import operation_model, validate
from triton_ensembles.endpoint.local import LocalEndpoint


def raw(local: LocalEndpoint, operation: str, body: bytes | dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """A request that boto3 would not send, and the whole reply, including members that boto3 would drop."""
    data = json.dumps(body) if isinstance(body, dict) else body
    reply = requests.post(local.url, data, headers={"X-Amz-Target": f"SageMaker.{operation}"}, timeout=300)
    assert reply.headers["Content-Type"] == "application/x-amz-json-1.1"
    return reply.status_code, reply.json()


def test_what_is_created_is_described_listed_and_deleted(deployer: Deployer, sagemaker: Any) -> None:
    began = time.time()
    arn = sagemaker.create_model(
        ModelName="Kept",
        PrimaryContainer={"Image": IMAGE, "ModelDataUrl": "s3://b/p/", "Mode": "MultiModel", "Environment": {"A": "b"}},
        ExecutionRoleArn="arn:aws:iam::123456789012:role/any",
    )["ModelArn"]
    assert arn == "arn:aws:sagemaker:us-east-1:123456789012:model/kept"
    model = sagemaker.describe_model(ModelName="Kept")
    assert model["PrimaryContainer"]["Environment"] == {"A": "b"}
    assert model["ModelArn"] == arn
    assert began - 1 <= model["CreationTime"].timestamp() <= time.time() + 1
    assert "Kept" in [each["ModelName"] for each in sagemaker.list_models()["Models"]]

    deployer.config("kept", "Kept", InitialVariantWeight=0.5)
    (variant,) = sagemaker.describe_endpoint_config(EndpointConfigName="kept")["ProductionVariants"]
    assert (variant["ModelName"], variant["InitialVariantWeight"]) == ("Kept", 0.5)

    sagemaker.delete_endpoint_config(EndpointConfigName="kept")
    sagemaker.delete_model(ModelName="Kept")
    assert refused(sagemaker.describe_model, ModelName="Kept") == (
        "ValidationException",
        f'Could not find model "{arn}".',
    )


def test_members_that_are_null_are_absent(local: LocalEndpoint) -> None:
    """SDKs other than boto3 send them."""
    assert raw(local, "ListModels", {"NameContains": None, "MaxResults": None, "SortBy": None})[0] == 200
    container = {"Image": IMAGE, "ModelDataUrl": "s3://b/p/", "Mode": None, "Environment": None}
    body = {"ModelName": "nulls", "PrimaryContainer": container, "Containers": None, "Tags": None, "VpcConfig": None}
    status, reply = raw(local, "CreateModel", body)
    assert status == 200, reply
    assert raw(local, "DeleteModel", {"ModelName": "nulls"})[0] == 200
    assert raw(local, "CreateEndpointConfig", {"EndpointConfigName": "x", "ProductionVariants": [None]})[0] == 400


def test_an_endpoint_in_progress_is_left_alone_and_its_waiter_returns_as_soon_as_it_serves(
    deployer: Deployer, sagemaker: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """boto3 asks every 30 s, which is too long to wait for an endpoint that starts within a second."""
    gate = archives.Gate(tmp_path)
    deployer.single_model("lazy", archives.model("lazy", gate.wait), wait=False)
    assert sagemaker.describe_endpoint(EndpointName="lazy")["EndpointStatus"] == "Creating"
    share = {"VariantName": "AllTraffic", "DesiredInstanceCount": 2}
    for call, parameters in (
        (sagemaker.update_endpoint, {"EndpointConfigName": "lazy"}),
        (sagemaker.update_endpoint_weights_and_capacities, {"DesiredWeightsAndCapacities": [share]}),
        (sagemaker.delete_endpoint, {}),
    ):
        code, message = refused(call, EndpointName="lazy", **parameters)
        assert code == "ValidationException"
        assert message.startswith("Cannot update in-progress endpoint")
    pauses: list[float] = []
    monkeypatch.setattr("botocore.waiter.time", SimpleNamespace(sleep=pauses.append))
    started = time.monotonic()
    gate.open()
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName="lazy")
    assert len(pauses) <= (time.monotonic() - started) / WAITER_SECONDS
    found = sagemaker.describe_endpoint(EndpointName="lazy")
    (variant,) = found["ProductionVariants"]
    assert (found["EndpointStatus"], variant["CurrentInstanceCount"]) == ("InService", 1)
    assert variant["DeployedImages"][0]["SpecifiedImage"] == IMAGE


def test_a_model_that_cannot_start_fails_the_endpoint_with_its_own_reason(deployer: Deployer, sagemaker: Any) -> None:
    """The reason has the paths of a container on AWS."""
    deployer.single_model("broken", archives.model("broken", "raise ValueError(__file__)"), wait=False)
    with pytest.raises(WaiterError):
        in_service(sagemaker, "broken")
    found = sagemaker.describe_endpoint(EndpointName="broken")
    assert (found["EndpointStatus"], found["ProductionVariants"]) == ("Failed", [])
    assert "ValueError: /opt/ml/model/broken/1/model.py" in found["FailureReason"]
    assert "endpoints/" not in found["FailureReason"]


@pytest.mark.parametrize("kind", ["model", "endpoint_config", "endpoint"])
def test_unknown_and_existing_names_are_refused_with_awss_messages(kind: str, shared: str, sagemaker: Any) -> None:
    words = kind.replace("_config", " configuration")
    parameter = "".join(word.capitalize() for word in kind.split("_")) + "Name"
    arn = f"arn:aws:sagemaker:us-east-1:123456789012:{kind.replace('_', '-')}"
    for verb in ("describe", "delete"):
        code, message = refused(getattr(sagemaker, f"{verb}_{kind}"), **{parameter: "nobody"})
        assert (code, message) == ("ValidationException", f'Could not find {words} "{arn}/nobody".')
    variant = {"VariantName": "v", "ModelName": shared, "InitialInstanceCount": 1, "InstanceType": "ml.g5.xlarge"}
    rest: dict[str, Any] = {
        "model": {"PrimaryContainer": {"Image": IMAGE, "ModelDataUrl": "s3://b/p/"}},
        "endpoint_config": {"ProductionVariants": [variant]},
        "endpoint": {"EndpointConfigName": shared},
    }[kind]
    code, message = refused(getattr(sagemaker, f"create_{kind}"), **{parameter: shared}, **rest)
    assert (code, message) == ("ValidationException", f'Cannot create already existing {words} "{arn}/{shared}".')


def test_what_is_made_of_something_unknown_is_refused(deployer: Deployer) -> None:
    code, message = refused(lambda: deployer.config("c", "nobody"))
    assert code == "ValidationException" and "Could not find model" in message
    code, message = refused(lambda: deployer.endpoint("e", "nobody"))
    assert code == "ValidationException" and "Could not find endpoint configuration" in message


INVALID, MUST = "ValidationException", "failed to satisfy constraint: Member must"
WRONG_VARIABLE = {"ModelName": "m", "PrimaryContainer": {"Environment": {"1A": "b"}}}
POOL = {"InstanceType": "ml.g5.xlarge", "Priority": 1}


def of_variant(**members: Any) -> dict[str, Any]:
    """A configuration of one variant with these members."""
    return {"EndpointConfigName": "c", "ProductionVariants": [{"VariantName": "v", "ModelName": "any", **members}]}


@pytest.mark.parametrize(
    ("operation", "body", "code", "words"),
    [
        ("CreateEndpoint", b"{", "SerializationException", "not JSON"),
        ("CreateEndpoint", b"[1]", "SerializationException", "not a JSON object"),
        ("CreateEndpoint", {"EndpointName": 1}, "SerializationException", "endpointName must be of type string"),
        ("CreateEndpoint", b" " * (1 << 20) + b"{}", "SerializationException", "larger than"),
        ("ListModels", {"CreationTimeAfter": "2026-01-01"}, "SerializationException", "of type timestamp, not str"),
        ("ListEndpoints", {"MaxResults": 101}, INVALID, f"'maxResults' {MUST} have value less than or equal to 100"),
        ("ListEndpoints", {"MaxResults": 0}, INVALID, f"'maxResults' {MUST} have value greater than or equal to 1"),
        ("CreateModel", WRONG_VARIABLE, INVALID, f"'primaryContainer.environment.key' {MUST} satisfy regular"),
        ("AddTags", {"ResourceArn": "arn", "Tags": []}, INVALID, f"'resourceArn' {MUST} satisfy regular expression"),
        ("ListModels", b'{"CreationTimeAfter": NaN}', "SerializationException", "NaN is not a JSON value"),
        ("ListModels", b"[" * 100_000, "SerializationException", "nested too deeply"),
        ("ListModels", b'{"NameContains": "\\ud800"}', "SerializationException", "surrogates not allowed"),
        ("FlyToTheMoon", {}, "UnknownOperationException", "SageMaker does not have the operation 'FlyToTheMoon'"),
        ("CreateTrainingJob", {}, "NotSupportedLocally", "CreateTrainingJob is not supported locally"),
        ("CreateInferenceRouter", {}, "NotSupportedLocally", "call the endpoint itself"),
        ("ListInferenceRouters", {}, "NotSupportedLocally", "call the endpoint itself"),
        ("CreateInferenceComponent", {}, "NotSupportedLocally", "use a multi-model endpoint"),
        ("CreateEndpointConfig", of_variant(ModelName=None), "NotSupportedLocally", "use a multi-model endpoint"),
        ("CreateEndpointConfig", of_variant(InstancePools=[POOL]), "NotSupportedLocally", "give one InstanceType"),
        ("CreateEndpointConfig", of_variant(AcceleratorPartitionLayouts=[{}]), "NotSupportedLocally", "leave it out"),
        (
            "CreateEndpoint",
            {"EndpointName": "not a name"},
            "ValidationException",
            "2 validation errors detected: Value 'not a name' at 'endpointName' failed to satisfy constraint: Member "
            "must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}; Value null at "
            "'endpointConfigName' failed to satisfy constraint: Member must not be null",
        ),
    ],
)
def test_unusable_requests_are_refused(local: LocalEndpoint, operation: str, body: Any, code: str, words: str) -> None:
    status, reply = raw(local, operation, body)
    assert (status, reply["__type"]) == (400, code), reply
    assert words in reply["message"]


@pytest.mark.parametrize(
    ("service", "call", "name"),
    [
        ("dynamodb", "list_tables", "dynamodb:ListTables"),  # JSON
        ("iam", "list_roles", "iam"),  # query
        ("sqs", "list_queues", "sqs:ListQueues"),  # JSON, with the error's code of query beside it
        ("lambda", "list_functions", "lambda"),  # rest-json
    ],
)
def test_other_services_are_refused_by_name(local: LocalEndpoint, service: str, call: str, name: str) -> None:
    """A client that reads XML finds no error in JSON, and reports nothing but a status."""
    code, message = refused(getattr(local.client(service), call))
    assert code == "NotSupportedLocally"
    assert message.startswith(name) and "is not supported locally" in message


S3_SOURCE = {"S3Uri": "s3://b/p/", "S3DataType": "S3Prefix", "CompressionType": "None"}
NEWER = "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"
STREAMS = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate_stream"}


@pytest.mark.parametrize(
    ("kind", "members", "words"),
    [
        ("model", {"Image": "1.dkr.ecr/xgboost:1.7"}, "use an image of sagemaker-tritonserver"),
        ("model", {"ModelDataUrl": "https://b.s3.amazonaws.com/m.tar.gz"}, "give it as s3://"),
        ("model", {"ModelDataSource": {"S3DataSource": S3_SOURCE}}, "ModelDataSource in the container"),
        ("model", {"Mode": "SingleModel", "MultiModelConfig": {"ModelCacheSetting": "Disabled"}}, "is for containers"),
        ("model", {"Image": NEWER, "Environment": STREAMS}, "the local endpoint has infer alone"),
        ("config", {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}, "ServerlessConfig in a"),
        ("config", {"RoutingConfig": {"RoutingStrategy": "RANDOM"}}, "RoutingStrategy RANDOM"),
        ("config", {"InitialVariantWeight": 0.0}, "InitialVariantWeight of every production variant is 0"),
        ("config", {"InstanceType": "ml.huge"}, "Value 'ml.huge' at 'productionVariants.1.member.instanceType'"),
    ],
)
def test_models_and_variants_that_cannot_run_here_are_refused(
    deployer: Deployer, shared: str, kind: str, members: dict[str, Any], words: str
) -> None:
    names = ("other",) if kind == "model" else ("other", shared)
    assert words in refused(lambda: getattr(deployer, kind)(*names, **members))[1]


def test_lists_come_in_pages_filtered_and_sorted(deployer: Deployer, shared: str, sagemaker: Any) -> None:
    names = [f"paged-{n:02}" for n in range(12)]
    for name in names:
        deployer.model(name)
    pages = sagemaker.get_paginator("list_models").paginate(
        NameContains="paged-", SortBy="Name", SortOrder="Ascending", PaginationConfig={"PageSize": 5}
    )
    found = [[each["ModelName"] for each in page["Models"]] for page in pages]
    assert [len(page) for page in found] == [5, 5, 2]
    assert [name for page in found for name in page] == names
    newest = sagemaker.list_models(NameContains="paged-", MaxResults=1)["Models"][0]
    assert newest["ModelName"] == "paged-11"
    assert refused(sagemaker.list_models, CreationTimeBefore=time.time())[0] == "NotSupportedLocally"
    assert refused(sagemaker.list_models, NextToken="bm9uc2Vuc2U=")[0] == "ValidationException"
    for name in names:
        sagemaker.delete_model(ModelName=name)
    serving = sagemaker.list_endpoints(StatusEquals="InService")["Endpoints"]
    assert shared in [each["EndpointName"] for each in serving]
    assert not sagemaker.list_endpoints(StatusEquals="OutOfService")["Endpoints"]


def test_updates_change_the_model_and_failed_ones_do_not(deployer: Deployer, sagemaker: Any, runtime: Any) -> None:
    for name, files in (
        ("first", archives.model()),
        ("second", archives.model(execute="x = x * 2")),
        ("third", archives.model("third", 'raise ValueError("not this one")')),
    ):
        deployer.put(f"{name}.tar.gz", files)
        deployer.config(name, deployer.model(name, f"s3://{BUCKET}/{name}.tar.gz", "SingleModel"))
    deployer.endpoint("changing", "first")
    assert ask(runtime, "changing", None, 3) == [3]
    sagemaker.update_endpoint(EndpointName="changing", EndpointConfigName="second")
    while (found := sagemaker.describe_endpoint(EndpointName="changing"))["EndpointStatus"] == "Updating":
        assert ask(runtime, "changing", None, 3) in ([3], [6])  # some answer at any time
    assert (found["EndpointStatus"], found["EndpointConfigName"]) == ("InService", "second")
    assert ask(runtime, "changing", None, 3) == [6]

    sagemaker.update_endpoint(EndpointName="changing", EndpointConfigName="third")
    in_service(sagemaker, "changing")
    found = sagemaker.describe_endpoint(EndpointName="changing")
    assert found["EndpointConfigName"] == "second"
    assert "not this one" in found["FailureReason"]
    assert ask(runtime, "changing", None, 3) == [6]


def test_a_request_whose_body_arrives_after_an_update_is_answered(deployer: Deployer, local: LocalEndpoint) -> None:
    """Otherwise a few requests fail in each update, although one of the two deployments serves all the time."""
    deployer.single_model("slow-body", archives.model())
    deployer.config("slow-body-2", "slow-body")
    body = archives.body(3)
    client = http.client.HTTPConnection(local.url.removeprefix("http://"))
    client.putrequest("POST", "/endpoints/slow-body/invocations")
    client.putheader("Content-Length", str(len(body)))
    client.endheaders(body[:5])
    deployer.sagemaker.update_endpoint(EndpointName="slow-body", EndpointConfigName="slow-body-2")
    in_service(deployer.sagemaker, "slow-body")
    client.send(body[5:])
    answer = client.getresponse().read()
    client.close()
    assert archives.values(answer) == [3], answer


def test_names_that_differ_only_in_case_are_one_except_when_an_endpoint_is_called(
    deployer: Deployer, shared: str, sagemaker: Any, runtime: Any
) -> None:
    """The API reference of CreateEndpoint; the ARNs of models and configurations would be the same, too."""
    deployer.model("Case")
    assert "Cannot create already existing model" in refused(deployer.model, name="CASE")[1]
    deployer.config("Case", "casE")
    deployer.endpoint("Case", "cASE", wait=False)
    assert "already existing endpoint" in refused(lambda: deployer.endpoint("case", "Case", wait=False))[1]
    in_service(sagemaker, "cAse")
    assert sagemaker.describe_endpoint(EndpointName="CASE")["EndpointName"] == "Case"
    assert ask(runtime, "Case", "one.tar.gz", 1) == [1]
    assert "Endpoint case of account" in refused(lambda: ask(runtime, "case", "one.tar.gz", 1))[1]
    sagemaker.delete_endpoint(EndpointName="CASE")


@pytest.mark.parametrize("kind", ["Model", "EndpointConfig", "Endpoint"])
@pytest.mark.parametrize("verb", ["Describe", "List"])
def test_replies_have_the_members_that_boto3_knows(local: LocalEndpoint, shared: str, verb: str, kind: str) -> None:
    """boto3 drops what it does not know: a misspelled member would be missing without a word."""
    operation = f"{verb}{kind}" + "s" * (verb == "List")
    model = operation_model("sagemaker", operation)
    assert model is not None
    status, reply = raw(local, operation, {f"{kind}Name": shared} if verb == "Describe" else {})
    assert status == 200
    report = ParamValidator().validate(reply, model.output_shape)
    assert not report.has_errors(), report.generate_report()
    validate(model.output_shape, reply)  # a time is a number
