"""The DAG of an ensemble as values, and its drawings."""
