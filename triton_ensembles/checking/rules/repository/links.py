"""Symbolic links of a repository, which Triton follows."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind
from triton_ensembles.checking.rule import Finding, Form, Repository, rule


@rule("Links in a repository and in its models lead somewhere", source="core r24.10 filesystem local.h IsDirectory")
def link_broken(repository: Repository) -> Iterator[Finding]:
    """Deeper ones do no harm. Editors lock a file by such a link: Emacs by .#config.pbtxt."""
    for entry in repository.tree.members if repository.form is Form.FOLDER else ():
        depth = entry.path.count("/") + repository.is_one_model
        if entry.kind is Kind.SYMLINK and depth < 2 and not (repository.path / entry.path).exists():
            unloaded = "does not load the model" if depth else "loads no model of the repository"
            effect = f"Triton {unloaded}: failed to stat file"
            message = f"the link '{entry.path}' leads nowhere ('{entry.target}')"
            yield Finding(repository.place(entry.path), message, effect, "remove it, or correct its target")
