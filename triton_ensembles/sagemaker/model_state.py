"""The states of a model on one instance."""

from enum import StrEnum


class ModelState(StrEnum):
    """A model goes through these states in order, and from ON_DISK back to LOADING when it is requested again."""

    WAITING = "waiting"  # for disk space, or to be downloaded
    DOWNLOADING = "downloading"
    EXTRACTING = "extracting"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"
    ON_DISK = "on disk"
