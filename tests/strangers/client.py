"""What a client runs: boto3 as on AWS, with archives and requests for them. It imports nothing of ours.

    python client.py RELEASE ARCHIVE=REQUEST.json ...

Prints a line of JSON for each archive: the outputs by name, or {"error": message}.
"""

import json
import sys
import uuid
from pathlib import Path

import boto3
from botocore.exceptions import ClientError


def main(release: str, *pairs: str) -> None:
    name = f"mme-{uuid.uuid4().hex[:8]}"
    s3, sagemaker, runtime = (boto3.client(service) for service in ("s3", "sagemaker", "sagemaker-runtime"))
    s3.create_bucket(Bucket=name)
    container = {
        "Image": f"785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:{release}-py3",
        "ModelDataUrl": f"s3://{name}/models/",
        "Mode": "MultiModel",
    }
    role = "arn:aws:iam::123456789012:role/execution"
    sagemaker.create_model(ModelName=name, ExecutionRoleArn=role, PrimaryContainer=container)
    variant = {"VariantName": "all", "ModelName": name, "InstanceType": "ml.c5.xlarge", "InitialInstanceCount": 1}
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig={"Delay": 1})
    for pair in pairs:
        archive, request = map(Path, pair.split("="))
        s3.upload_file(str(archive), name, f"models/{archive.name}")
        try:
            reply = runtime.invoke_endpoint(
                EndpointName=name, TargetModel=archive.name, ContentType="application/json", Body=request.read_bytes()
            )
            outputs = json.loads(reply["Body"].read())["outputs"]
            print(json.dumps({output["name"]: output["data"] for output in outputs}))
        except ClientError as error:
            print(json.dumps({"error": error.response["Error"]["Message"]}))
    sagemaker.delete_endpoint(EndpointName=name)


if __name__ == "__main__":
    main(*sys.argv[1:])
