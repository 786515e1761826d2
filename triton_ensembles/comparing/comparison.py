"""The differences between two repositories, and those that a client notices."""

import difflib
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from triton_ensembles.archive.tree import Entry
from triton_ensembles.checking.fused_plan import is_fused
from triton_ensembles.checking.repository import Model
from triton_ensembles.comparing.configs import config_of, fields_of, notices
from triton_ensembles.comparing.content import Content, matched
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.triton.model_config import CONFIG

_CODE = (".py", ".sh")
_OWN = ("manifest.json",)  # of our archives: what counts of it is in Content.facts and Content.packages


@dataclass(frozen=True)
class Change:
    """A difference.

    Attributes:
        model: its folder; "" for the repository as a whole.
        kind: ``model``, ``config``, ``code``, ``file``, ``weights``, ``accuracy``, ``package`` or ``server``.
        name: a field of the config, a file, a package, or a fact about the server.
        before, after: in words; "" where there is none.
        lines: of a unified diff, for texts.
    """

    model: str
    kind: str
    name: str
    before: str = ""
    after: str = ""
    lines: tuple[str, ...] = ()


@dataclass
class Comparison:
    """The differences between two repositories of one ``name``; ``identical`` counts the weights that are equal, and
    ``identical_bytes`` what they take. ``client`` has a line for each difference that a client notices. ``sizes``
    are the bytes of all files, before they are packed."""

    name: str
    changes: list[Change] = field(default_factory=list)
    client: list[str] = field(default_factory=list)
    identical: int = 0
    identical_bytes: int = 0
    sizes: tuple[int, int] = (0, 0)

    @property
    def answers_may_differ(self) -> bool:
        """Return whether something that computes answers was changed."""
        return any(change.kind in ("code", "file", "weights", "package") for change in self.changes)

    def document(self) -> dict[str, Any]:
        """As a value for JSON."""
        return asdict(self) | {"client_notices": bool(self.client), "answers_may_differ": self.answers_may_differ}


def one_sided(name: str, *, is_new: bool) -> Comparison:
    """Describe a repository that only one side has."""
    words = ("", "there") if is_new else ("there", "")
    client = f"{name} is {'new' if is_new else 'gone'}"
    return Comparison(name, [Change("", "model", name, *words)], [client])


def compare(old: Content, new: Content) -> Comparison:
    """Compare two repositories; models are matched by their names, without what a build puts before them."""
    return _Comparing(old, new).result()


class _Comparing:
    def __init__(self, old: Content, new: Content) -> None:
        self.old, self.new = old, new
        self.found = Comparison(new.name, sizes=(old.size, new.size))

    def result(self) -> Comparison:
        if self.old.facts and self.new.facts:  # else one of them does not say it
            self._pairs("", "server", self.old.facts, self.new.facts)
        for earlier, later in matched(self.old, self.new):
            if earlier and later:
                self._models(earlier, later)
            else:
                self._missing(earlier, later)
        self._files("", None, None)
        self._accuracy()
        self._pairs("", "package", self.old.packages, self.new.packages)
        if self.old.packages == self.new.packages:
            self._pairs("", "package", self.old.package_digests, self.new.package_digests)
        return self.found

    def _missing(self, earlier: Model | None, later: Model | None) -> None:
        model, content, across = (later, self.new, self.old) if later else (earlier, self.old, self.new)
        assert model
        if across.fuses:  # its steps are in the one model
            return
        gone = one_sided(model.folder, is_new=later is not None)
        self.found.changes.append(replace(gone.changes[0], model=model.folder))
        self.found.client += gone.client if model.folder in content.tops else ()

    def _models(self, earlier: Model, later: Model) -> None:
        before, after = ("fused" if is_fused(model) else "as drawn" for model in (earlier, later))
        if before != after:  # nothing in it is comparable, but clients see the same tensors
            self.found.changes.append(Change(later.folder, "model", "form", before, after))
            self._client(earlier, later)
            return
        if earlier.file.faults or later.file.faults:
            texts = [model.file.content or "" for model in (earlier, later)]
            self._text(later.folder, "config", CONFIG, *texts)
        else:
            self._pairs(later.folder, "config", fields_of(self.old, earlier), fields_of(self.new, later))
        if later.folder in self.new.tops or earlier.folder in self.old.tops:
            self._client(earlier, later)
        self._files(later.folder, earlier, later)

    def _client(self, earlier: Model, later: Model) -> None:
        names = self.old.shown(earlier), self.new.shown(later)
        name = names[1]
        if names[0] != name:
            self.found.client.append(f"{names[0]} is now called {name}")
            self.found.changes.append(Change(later.folder, "model", "name", *names))
        if (earlier.folder in self.old.tops) != (is_called := later.folder in self.new.tops):
            self.found.client.append(f"{name} is {'' if is_called else 'no longer '}called by clients")
        self.found.client += [f"{name}: {notice}" for notice in notices(config_of(earlier), config_of(later))]
        before, after = self.old.versions(earlier), self.new.versions(later)
        if before != after:
            earlier_words, words = (", ".join(map(str, versions)) or "none" for versions in (before, after))
            self.found.client.append(f"{name}: it has the versions {words} instead of {earlier_words}")
            self.found.changes.append(Change(later.folder, "model", "versions", earlier_words, words))

    def _pairs(self, model: str, kind: str, before: dict[str, str], after: dict[str, str]) -> None:
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                self.found.changes.append(Change(model, kind, name, before.get(name, ""), after.get(name, "")))

    def _accuracy(self) -> None:
        """Compare accuracies where artifacts differ: another processor measures the same file a little differently."""
        before, after = self.old.artifacts, self.new.artifacts
        for path in sorted(before.keys() | after.keys()):
            (digest, text), (new_digest, new_text) = before.get(path, ("", "")), after.get(path, ("", ""))
            if digest != new_digest and text != new_text:
                self.found.changes.append(Change("", "accuracy", path, text, new_text))

    def _files(self, folder: str, earlier: Model | None, later: Model | None) -> None:
        before = self.old.files(earlier) if earlier or not folder else {}
        after = self.new.files(later) if later or not folder else {}
        for path in sorted(before.keys() | after.keys()):
            if path in (CONFIG, *_OWN) or path.endswith(f"/{PLAN}"):
                continue
            first, second = before.get(path), after.get(path)
            is_text = all(entry is None or entry.data is not None for entry in (first, second))
            is_equal = first and second and self._equal(first, second)
            if is_text and not is_equal:
                kind = "code" if path.endswith(_CODE) else "file"
                self._text(folder, kind, path, *((entry and entry.text) or "" for entry in (first, second)))
            elif is_equal and not is_text and second:
                self.found.identical += second.size > 0
                self.found.identical_bytes += second.size
            elif not is_equal:
                self.found.changes.append(Change(folder, "weights", path, _size(first), _size(second)))

    def _equal(self, first: Entry, second: Entry) -> bool:
        return first.size == second.size and self.old.digest(first) == self.new.digest(second)

    def _text(self, model: str, kind: str, path: str, before: str, after: str) -> None:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
        diff = list(lines)[2:]
        gone, added = (f"{sum(line.startswith(sign) for line in diff)} lines" for sign in "-+")
        self.found.changes.append(Change(model, kind, path, gone, added, tuple(diff) if before and after else ()))


def _size(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return f"-> {entry.target}" if entry.target and not entry.size else f"{entry.size:,} bytes"
