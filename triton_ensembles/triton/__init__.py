"""The server and its facts: tritonserver as a process, releases and images, targets, config.pbtxt as a protobuf."""
