"""Keeps the SageMaker port of the installed tritonserver on the loopback interface.

tritonserver has no option for the address of its SageMaker port: it listens on 0.0.0.0, and anyone who can connect may
load any folder of the machine as a model, that is, run code. This is safe inside a SageMaker container, but not on a
laptop in a public network. The default address is a constant of the binary ("0.0.0.0", written by three instructions in
the constructor of TritonServerParameters, src/command_line_parser.h). Here it becomes "127.0.1", which has the same
length and which inet_addr(3) reads as 127.0.0.1.
"""

from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError

# movl $"0.0.",0x918(%rbx) and movb $'0',0x91e(%rbx): the first four and the last character of sagemaker_address_.
_PATCHES = (
    (bytes.fromhex("c78318090000") + b"0.0.", bytes.fromhex("c78318090000") + b"127."),
    (bytes.fromhex("c6831e090000") + b"0", bytes.fromhex("c6831e090000") + b"1"),
)


def is_bound_to_loopback(tritonserver: Path) -> bool:
    """Whether this executable file has the changed address."""
    code = tritonserver.read_bytes()
    return all(code.count(new) == 1 for _, new in _PATCHES)


def bind_sagemaker_to_loopback(tritonserver: Path) -> None:
    """Change the default address in the executable file of tritonserver 2.51.0 of the wheel nvidia-pytriton 0.7.0."""
    code = tritonserver.read_bytes()
    for old, new in _PATCHES:
        if code.count(old) != 1:
            message = "this is not the tritonserver whose SageMaker address can be changed"
            cure = "install the wheel that triton/requirements/triton.txt names"
            raise EnsembleError(message, path=tritonserver, cure=cure)
        code = code.replace(old, new)
    tritonserver.write_bytes(code)
