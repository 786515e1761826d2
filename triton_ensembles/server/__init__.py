"""tritonserver as a process: its installation from a wheel, its stubs, ports, sockets and secrets."""
