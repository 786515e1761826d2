"""The room: many archives by name over one tritonserver, loaded when they are requested and unloaded for others."""
