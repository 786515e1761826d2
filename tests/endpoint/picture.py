"""The picture of the status page in the README: ``python -m tests.endpoint.picture [FILE]``.

Both of the project's ensembles and a second copy of one, on an endpoint whose memory is too small for all three.
"""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from checkout import DIST, ENSEMBLES, ROOT
from tests.endpoint.browser import Browser
from tests.endpoint.conftest import BUCKET, Deployer
from triton_ensembles.deploy.payload import Payload, payload_of
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.project.examples.folder import read_examples

PICTURE = ROOT / "docs" / "images" / "endpoint.png"


def main(picture: Path) -> None:
    examples = (read_examples(ENSEMBLES / name).requests[0] for name in ("bert_trt", "dali_inception"))
    texts, image = (payload_of(request) for request in examples)
    with tempfile.TemporaryDirectory() as folder, LocalEndpoint(Path(folder), "--memory-budget", "650M") as local:
        s3 = local.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        for name in ("bert_trt", "dali_inception"):
            for prefix in ("", "tenant-b/"):
                s3.upload_file(str(DIST / "cpu" / f"{name}.tar.gz"), BUCKET, f"{prefix}{name}.tar.gz")
        Deployer(local).multi_model("ensembles")
        runtime = local.client("sagemaker-runtime", read_timeout=120)
        ask(runtime, "bert_trt.tar.gz", texts, 40)
        ask(runtime, "dali_inception.tar.gz", image, 12)
        ask(runtime, "tenant-b/dali_inception.tar.gz", image, 5)
        ask(runtime, "bert_trt.tar.gz", texts, 30)
        with suppress(runtime.exceptions.ClientError):
            ask(runtime, "bert-trt.tar.gz", texts, 1)
        picture.parent.mkdir(parents=True, exist_ok=True)
        with Browser(1500, 900) as browser:
            browser.open(local.url)
            browser.wait("document.getElementById('connection')?.textContent == 'live'")
            browser.picture(picture)


def ask(runtime: Any, model: str, payload: Payload, times: int) -> None:
    for _ in range(times):
        call = {"EndpointName": "ensembles", "TargetModel": model, "ContentType": payload.content_type}
        runtime.invoke_endpoint(Body=payload.body, **call)["Body"].read()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
