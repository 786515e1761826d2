"""The differences between two archives, folders or git revisions: configs, weights, code, packages, servers, and what a
client would notice of them. Nothing is unpacked, built or run."""
