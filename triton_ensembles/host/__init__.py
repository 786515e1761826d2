"""The host: many ensembles by name on plain Triton. KServe v2 in front of a room, which loads what is requested."""
