"""The commands: options and printing. All work is done elsewhere."""
