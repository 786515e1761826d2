"""The forms that browsers post to a bucket, read without losing a byte.

werkzeug takes a file that comes without a name for text, and replaces what is not UTF-8 in it.
"""

from __future__ import annotations

import io
from tempfile import SpooledTemporaryFile
from typing import IO

from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from triton_ensembles.endpoint.s3.fault import Fault

_PIECE = 256 * 1024
_IN_MEMORY = 1 << 20
_FIELD_BYTES = 20 << 10  # S3's limit of all fields before the file
_FILE = "file"


def read_form(stream: IO[bytes], boundary: bytes) -> tuple[MultiDict[str, str], MultiDict[str, FileStorage]]:
    """The fields by their names in lower case, as S3 reads them, and the file. What comes after the file is left out.

    Raises:
        Fault: it breaks off, its fields are too long, or it has no key or no file.
    """
    decoder = MultipartDecoder(boundary)
    fields: MultiDict[str, str] = MultiDict()
    name, value, size = "", bytearray(), 0
    file: FileStorage | None = None
    while not isinstance(event := _next(decoder, stream), Epilogue):
        if isinstance(event, Field | File):
            name, value = event.name.lower(), bytearray()
            if name == _FILE and file is None:
                kept: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (moto closes it)
                file = FileStorage(kept, getattr(event, "filename", ""), _FILE, headers=event.headers)
        elif isinstance(event, Data) and name == _FILE and file is not None:
            file.stream.write(event.data)
        elif isinstance(event, Data) and file is None:
            value += event.data
            size += len(event.data)
            if size > _FIELD_BYTES:
                raise Fault("MaxPostPreDataLengthExceeded", f"The fields before the file exceed {_FIELD_BYTES} bytes")
            if not event.more_data:
                fields.add(name, value.decode("utf-8", "replace"))
    if "key" not in fields:
        raise Fault("InvalidArgument", "Bucket POST must contain a field named 'key', before the file.")
    if file is None:
        raise Fault("InvalidArgument", "POST requires exactly one file upload per request.")
    if fields.get("success_action_status") not in ("200", "201", "204"):
        fields.poplist("success_action_status")
    file.stream.seek(0)
    return fields, MultiDict([(_FILE, file)])


def _next(decoder: MultipartDecoder, stream: IO[bytes]) -> Field | File | Data | Epilogue | object:
    try:
        while isinstance(event := decoder.next_event(), NeedData):
            decoder.receive_data(stream.read(_PIECE) or None)
    except (ValueError, io.UnsupportedOperation) as error:
        raise Fault("MalformedPOSTRequest", f"The body is not multipart/form-data: {error}") from error
    return event
