"""manifest.json, at the root of every archive that this project builds: its inputs and its target."""

MANIFEST = "manifest.json"
