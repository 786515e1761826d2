"""The three forms in which a model repository comes."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    FOLDER = "folder"  # a model repository as Triton reads it
    ARCHIVE = "archive"  # what SageMaker downloads and unpacks
    SOURCE = "source"  # a folder of ensembles/: the build renames its models and makes their files
