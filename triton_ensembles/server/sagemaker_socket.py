"""Puts the SageMaker port of the installed tritonserver on a Unix socket.

tritonserver has no option for the address of its SageMaker port: it listens on 0.0.0.0, and whoever can connect may
load any folder of the machine as a model, that is, run code. This is safe inside a SageMaker container, but not on a
laptop, where a web page can connect even to loopback. The default address is a constant of the binary, "0.0.0.0",
stored by instructions in the constructor of TritonServerParameters (src/command_line_parser.h). Here it becomes
"unix:sm", of the same length: a socket in the folder in which the server is started.
"""

from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError

NAME = "sm"
# The first stores the characters 0 to 3 of sagemaker_address_, at 0x918(%rbx). A register that others share has 4 and
# 5, so the second, which comes later, stores 4 to 7: it stored the characters 0 to 3 of vertex_ai_address_, at
# 0x950(%rbx), a port that is off, as open as this one, and without an address now.
_PATCHES = (
    (bytes.fromhex("c78318090000") + b"0.0.", bytes.fromhex("c78318090000") + b"unix"),
    (bytes.fromhex("c78350090000") + b"0.0.", bytes.fromhex("c7831c090000") + b":sm\0"),
)


def has_sagemaker_socket(tritonserver: Path) -> bool:
    """Return whether this executable file has the changed address."""
    code = tritonserver.read_bytes()
    return all(code.count(new) == 1 for _, new in _PATCHES)


def put_sagemaker_on_socket(tritonserver: Path) -> None:
    """Change the default address in the executable file of tritonserver 2.51.0 of the wheel nvidia-pytriton 0.7.0."""
    code = tritonserver.read_bytes()
    for old, new in _PATCHES:
        if code.count(old) != 1:
            message = "this is not the tritonserver whose SageMaker address can be changed"
            cure = "install the wheel that server/requirements/triton.txt names"
            raise EnsembleError(message, path=tritonserver, cure=cure)
        code = code.replace(old, new)
    tritonserver.write_bytes(code)
