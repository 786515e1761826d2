"""manifest.json at the root of every archive that this project builds: what it was built from, and for which target."""

MANIFEST = "manifest.json"
