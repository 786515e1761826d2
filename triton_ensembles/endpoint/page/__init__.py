"""The status page: what a browser sees at /."""
