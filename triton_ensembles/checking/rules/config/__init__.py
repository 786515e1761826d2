"""Rules about the fields of a config.pbtxt."""
