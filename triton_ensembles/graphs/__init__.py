"""The DAG of an ensemble, drawn as mermaid or as a picture."""
