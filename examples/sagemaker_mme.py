"""Two ensembles behind one SageMaker multi-model endpoint: upload, create, ask both, delete. Plain boto3.

The steps of AWS's own notebook (amazon-sagemaker-examples, sm-triton_mme_gpu_ensemble_dali) with this project's
archives. boto3 decides where it runs: on AWS with your credentials, or on the local endpoint after the three export
lines that `make endpoint` prints.

    python examples/sagemaker_mme.py --role arn:aws:iam::<account>:role/<execution role>
"""

import argparse
import json
import os
import tarfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import sklearn.datasets
import tritonclient.http as http
from botocore.exceptions import ClientError

DIST = Path(__file__).resolve().parents[1] / "dist" / "cpu"
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
SENTENCES = ["A cat sleeps on the sofa.", "The kitten naps on the couch.", "Interest rates rose by half a point."]


def main() -> None:
    arguments = parse_arguments()
    name = f"triton-mme-{uuid.uuid4().hex[:8]}"
    s3, sagemaker, runtime = (boto3.client(service) for service in ("s3", "sagemaker", "sagemaker-runtime"))
    try:
        create_bucket(s3, name)
        for archive in arguments.archives:
            print(f"upload {archive.name} (weights: {weights(archive)})")
            s3.upload_file(str(archive), name, f"models/{archive.name}")
        create_endpoint(sagemaker, name, f"s3://{name}/models/", arguments)
        print("dali_inception:", classify(runtime, name, photograph()))
        for sentence, likeness in zip(SENTENCES, embed(runtime, name, SENTENCES), strict=True):
            print(f"bert_trt: {likeness:6.3f}  {sentence}")
    finally:
        delete_everything(s3, sagemaker, name)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    placeholder = "arn:aws:iam::000000000000:role/execution-role"
    parser.add_argument("--role", default=os.environ.get("SAGEMAKER_ROLE", placeholder), help="execution role")
    parser.add_argument(
        "--image", default="triton-ensembles/tritonserver:2.51.0-pip", help="what the archives are built for"
    )
    parser.add_argument("--instance", default="ml.c5.xlarge")
    both = [DIST / "bert_trt.tar.gz", DIST / "dali_inception.tar.gz"]
    parser.add_argument("--archives", type=Path, nargs="+", default=both)
    return parser.parse_args()


def create_bucket(s3: Any, bucket: str) -> None:
    region = s3.meta.region_name
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=bucket, **where)


def create_endpoint(sagemaker: Any, name: str, prefix: str, arguments: argparse.Namespace) -> None:
    """Every archive under ``prefix`` can be asked for, also one that is uploaded later."""
    container = {"Image": arguments.image, "ModelDataUrl": prefix, "Mode": "MultiModel"}
    sagemaker.create_model(ModelName=name, ExecutionRoleArn=arguments.role, PrimaryContainer=container)
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": name,
        "InstanceType": arguments.instance,
        "InitialInstanceCount": 1,
        "InitialVariantWeight": 1,
    }
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    print(f"create endpoint {name}")
    started = time.monotonic()
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name)
    print(f"in service after {time.monotonic() - started:.0f} s")


def classify(runtime: Any, endpoint: str, image: bytes) -> str:
    """dali_inception with JSON: the whole JPEG file as numbers, about 3.6 characters for each byte of it.

    InvokeEndpoint takes 6 MiB, so this form ends near images of 1.5 MB; embed() shows the other form, which has no
    such overhead.
    """
    tensor = {"name": "INPUT", "shape": [1, len(image)], "datatype": "UINT8", "data": [list(image)]}
    body = json.dumps({"inputs": [tensor]}, separators=(",", ":"))
    reply = invoke(runtime, endpoint, "dali_inception.tar.gz", "application/octet-stream", body.encode())
    probabilities = json.loads(reply["Body"].read())["outputs"][0]["data"]
    best = int(np.argmax(probabilities))
    return f"class {best} with {probabilities[best]:.3f}"


def embed(runtime: Any, endpoint: str, sentences: list[str]) -> list[float]:
    """bert_trt with JSON and binary tensors: the likeness of each sentence to the first one."""
    rows = http.InferInput("INPUT0", [len(sentences), 1], "BYTES")
    rows.set_data_from_numpy(np.array([[each.encode()] for each in sentences], dtype=np.object_), binary_data=True)
    output = http.InferRequestedOutput("finaloutput", binary_data=True)
    body, header = http.InferenceServerClient.generate_request_body([rows], outputs=[output])
    reply = invoke(runtime, endpoint, "bert_trt.tar.gz", f"{BINARY}{header}", body)
    header = int(reply["ContentType"].removeprefix(BINARY))
    result = http.InferenceServerClient.parse_response_body(reply["Body"].read(), header_length=header)
    vectors = result.as_numpy("finaloutput")
    return [float(vectors[0] @ vector) for vector in vectors]


def invoke(runtime: Any, endpoint: str, model: str, content_type: str, body: bytes) -> dict[str, Any]:
    """The first request for a model has it downloaded and loaded, which may take minutes. boto3 does not wait then."""
    for attempt in range(40):
        try:
            started = time.monotonic()
            reply: dict[str, Any] = runtime.invoke_endpoint(
                EndpointName=endpoint, TargetModel=model, ContentType=content_type, Body=body
            )
            print(f"{model} answered after {time.monotonic() - started:.2f} s")
            return reply
        except runtime.exceptions.ModelNotReadyException:
            print(f"{model} is still being loaded ({attempt + 1})")
            time.sleep(10)
    raise TimeoutError(f"{model} was not loaded after all this time")


def delete_everything(s3: Any, sagemaker: Any, name: str) -> None:
    """The endpoint first: it is what costs money. What was never made is passed over."""
    steps: list[Callable[[], Any]] = [
        lambda: wait_until_settled(sagemaker, name),
        lambda: sagemaker.delete_endpoint(EndpointName=name),
        lambda: sagemaker.get_waiter("endpoint_deleted").wait(EndpointName=name, WaiterConfig={"Delay": 5}),
        lambda: sagemaker.delete_endpoint_config(EndpointConfigName=name),
        lambda: sagemaker.delete_model(ModelName=name),
        lambda: [
            s3.delete_object(Bucket=name, Key=each["Key"])
            for each in s3.list_objects_v2(Bucket=name).get("Contents", ())
        ],
        lambda: s3.delete_bucket(Bucket=name),
    ]
    for step in steps:
        try:
            step()
        except ClientError as error:
            print(f"not deleted: {error}")
    print("deleted")


def wait_until_settled(sagemaker: Any, name: str) -> None:
    """SageMaker refuses to delete an endpoint that is being created."""
    while sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"] == "Creating":
        time.sleep(5)


def weights(archive: Path) -> str:
    """What the build wrote into manifest.json. Random weights give answers that mean nothing."""
    with tarfile.open(archive) as tar, tar.extractfile("manifest.json") as manifest:  # type: ignore[union-attr]
        return str(json.load(manifest)["weights"])


def photograph() -> bytes:
    return (Path(sklearn.datasets.__file__).parent / "images" / "flower.jpg").read_bytes()


if __name__ == "__main__":
    main()
