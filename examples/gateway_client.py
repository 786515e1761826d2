"""Call the models of the gateway by name and version, with plain boto3.

    python examples/gateway_client.py ENDPOINT photograph.jpg …

docs/gateway.md says how the endpoint is created: on AWS, or on this machine, with the variables that `make endpoint`
prints.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import boto3


def main(endpoint: str, photographs: list[str]) -> None:
    runtime = boto3.client("sagemaker-runtime")

    def invoke(name: str, payload: dict[str, str], version: str = "") -> Any:
        body = json.dumps({"modelname": name, "version": version, "payload": payload})
        answer = runtime.invoke_endpoint(EndpointName=endpoint, ContentType="application/json", Body=body)
        return json.load(answer["Body"])["result"]

    for photograph in photographs:
        image = {"img": base64.b64encode(Path(photograph).read_bytes()).decode()}
        print(f"{photograph}: {invoke('resnet', image, version='2')}")
        print(f"{photograph}: {invoke('yolov5', image)}")
    print(invoke("bert_base", {"text": "The capital of France is [MASK]."}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
