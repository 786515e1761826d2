"""Python files of a model as the rules see them: parsed, never run; what is not certain is unknown."""
