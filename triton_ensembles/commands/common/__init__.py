"""Parts that several commands share: arguments, options, progress, output and reports."""
