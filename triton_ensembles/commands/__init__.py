"""The commands of build.py: options and printing. All work is done elsewhere."""
