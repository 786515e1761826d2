"""The process that serves S3: ``python -m triton_ensembles.endpoint.aws_services.serve DESCRIPTOR``

It reads the secret that requests must have from its standard input, serves the listening socket whose descriptor is its
argument, prints a line as soon as it does, and ends on SIGTERM. Objects are unnamed files in the folder TMPDIR, and
vanish with the process.
"""

import logging
import os
import signal
import sys

# Read by moto at import. Larger values go to a file at once: by moto's own default, 5 MB of each stay in memory.
os.environ.setdefault("MOTO_S3_DEFAULT_KEY_BUFFER_SIZE", str(64 * 1024))

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from triton_ensembles.endpoint.aws_services import cloudwatch, disk
from triton_ensembles.endpoint.aws_services.application import Application


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    disk.install()
    cloudwatch.install()
    secret = sys.stdin.readline().strip()
    if not secret:
        sys.exit("the secret is missing on standard input")
    options = {"threaded": True, "request_handler": MotoRequestHandler, "fd": int(sys.argv[1])}
    server = make_server("127.0.0.1", 0, Application(secret), **options)
    # Ctrl-C reaches the whole process group; this process ends when its parent tells it to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve_forever()  # returns on KeyboardInterrupt


if __name__ == "__main__":
    main()
