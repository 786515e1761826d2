"""The models that a host has, by name: archives and models of a folder, or archives below an S3 prefix."""

import asyncio
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import botocore.exceptions

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting.archive_steps import is_model, steps_of
from triton_ensembles.hosting.objects import Objects

SUFFIX = ".tar.gz"
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}")
_UNFIT = "a model's name has letters, digits and . _ - only, and 200 of them at most: rename it"


@dataclass(frozen=True)
class Entry:
    """A model of the catalog. ``mark`` changes with the content of what ``url`` names."""

    name: str
    url: str
    mark: str

    @cached_property
    def key(self) -> str:
        """A name for this content alone: Triton has the old and the new one beside each other while it changes, and
        knows the steps of all archives by their own names, which may be those of other archives."""
        return f"{self.name}-{hashlib.sha256(f'{self.url} {self.mark}'.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Listing:
    """The models at one moment, by name, and why others are none."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


class Folder:
    """A folder with archives (NAME.tar.gz), models (NAME/config.pbtxt) and repositories (NAME/MODEL/config.pbtxt).

    Raises EnsembleError where nothing can be seen, as :class:`Prefix` does.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def list(self) -> Listing:
        return await asyncio.to_thread(self._list)

    def _list(self) -> Listing:
        try:
            # Of an archive and a folder of one name, the archive is served: the folder may be what it was packed from.
            paths = sorted(self._folder.iterdir(), key=lambda path: (not path.name.endswith(SUFFIX), path.name))
        except OSError as error:
            cure = "give the folder that the archives or models are in"
            raise EnsembleError(f"it cannot be read: {error.strerror}", path=self._folder, cure=cure) from None
        refused: dict[str, str] = {}
        found = [(path.name.removesuffix(SUFFIX), os.fspath(path), mark) for path, mark in _marked(paths, refused)]
        return _listing(found, refused)


class Prefix:
    """An S3 prefix with archives directly below it."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url
        self._bucket, _, prefix = url.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""

    async def list(self) -> Listing:
        try:
            return await asyncio.to_thread(self._list)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            cure = "check the address, and the permissions s3:ListBucket and s3:GetObject"
            raise EnsembleError(f"{self._url} cannot be listed: {error}", cure=cure) from None

    def _list(self) -> Listing:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix, Delimiter="/"
        )
        objects = [item for page in pages for item in page.get("Contents", ()) if item["Key"].endswith(SUFFIX)]
        found = (
            (
                item["Key"].removeprefix(self._prefix).removesuffix(SUFFIX),
                f"s3://{self._bucket}/{item['Key']}",
                item["ETag"],
            )
            for item in objects
        )
        return _listing(found, {})


Catalog = Folder | Prefix


@dataclass(frozen=True)
class Source:
    """The place of the models: what lists them, and what fetches them."""

    catalog: Catalog
    objects: Objects


def _listing(found: Iterable[tuple[str, str, str]], refused: dict[str, str]) -> Listing:
    entries: dict[str, Entry] = {}
    for name, url, mark in found:
        if not _NAME.fullmatch(name):
            refused[name] = f"{url}: {_UNFIT}"
        elif name in entries:
            refused[f"{name}/"] = f"{url} has the name of {entries[name].url}, which is served: rename one"
        else:
            entries[name] = Entry(name, url, mark)
    return Listing(entries, refused)


def _marked(paths: Iterable[Path], refused: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """The archives and models among these paths, each with a mark that changes with its content. ``refused`` gets what
    was meant for a model and is none."""
    for path in paths:
        try:
            if path.name.endswith(SUFFIX) and path.is_file():
                yield path, _mark([path])
            elif path.is_dir() and not path.name.startswith("."):
                models = [path] if is_model(path) else [child for child in path.iterdir() if is_model(child)]
                steps = [path.parent / step for step in steps_of(path)]
                if models:
                    yield path, _mark(file for folder in (*models, *steps) for file in sorted(folder.rglob("*")))
                elif any(child.name.isdecimal() for child in path.iterdir()):
                    refused[path.name] = f"{path}: it has no config.pbtxt; `triton-ensembles build` packs it with one"
        except FileNotFoundError:  # it is being replaced; the next look sees it
            continue
        except OSError as error:
            refused[path.name] = f"{path} cannot be read: {error.strerror}"


def _mark(files: Iterable[Path]) -> str:
    facts = ((os.fspath(file), file.stat()) for file in files)
    return repr([(path, fact.st_ino, fact.st_size, fact.st_mtime_ns) for path, fact in facts])
