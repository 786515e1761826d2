"""The models of a repository in the real server: each is loaded once, and sent one request."""

import os

# Before gRPC is imported: its handlers abort some of the processes that are started beside a client (pytest_plugin).
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
