"""nginx from the distribution's package, as the example configures it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.debian import unpacked
from triton_ensembles.programs import output_of

_CONFIG = """
daemon off;
worker_processes 1;
user {user};
pid {scratch}/pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    {temporary}
    server {{
        listen 127.0.0.1:{port};
        keepalive_timeout 5;
        keepalive_requests 1000000;
        client_max_body_size 5m;
        proxy_read_timeout 1200s;
        location / {{ return 404; }}
        location ~ ^/(ping|invocations) {{ proxy_pass http://unix:{socket}:; }}
    }}
}}
"""
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def unpacked_nginx(folder: Path) -> Path:
    """The program in ``folder``, where it is unpacked if it is not there. Raises ProgramError where apt has none."""
    program = unpacked(folder, "nginx") / "usr" / "sbin" / "nginx"
    output_of([program, "-v"])  # its libraries are here
    return program


def write_config(path: Path, socket: Path, port: int, user: str) -> None:
    """What the example's does: one worker, connections that stay open for 5 s, bodies of 5 MB. It has its temporary
    files beside ``path``."""
    temporary = "\n    ".join(f"{name}_temp_path {path.parent}/{name};" for name in _TEMPORARY)
    path.write_text(_CONFIG.format(scratch=path.parent, temporary=temporary, socket=socket, port=port, user=user))
