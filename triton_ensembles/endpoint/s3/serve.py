"""The process that serves S3: ``python -m triton_ensembles.endpoint.s3.serve [BUCKET=FOLDER]...``

It listens on a free port of the loopback interface, writes the port as its only line, and ends on SIGTERM. Objects are
files without a name in the folder that TMPDIR names, and vanish with the process.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
from pathlib import Path

# Read by moto at import. Larger values go to a file at once: by moto's own default, 5 MB of each stay in memory.
os.environ.setdefault("MOTO_S3_DEFAULT_KEY_BUFFER_SIZE", str(64 * 1024))

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from triton_ensembles.endpoint.s3 import disk
from triton_ensembles.endpoint.s3.folders import FolderBucket, Folders


def main(arguments: list[str]) -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one open file for each object
    disk.install()
    region = os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
    buckets = {}
    for argument in arguments:
        name, _, folder = argument.partition("=")
        buckets[name] = FolderBucket(name, Path(folder), DEFAULT_ACCOUNT_ID, region)
    application = Folders(DomainDispatcherApplication(create_backend_app), buckets)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: our parent stops us in order
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()  # returns on KeyboardInterrupt


if __name__ == "__main__":
    main(sys.argv[1:])
