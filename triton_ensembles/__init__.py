"""Triton ensembles for SageMaker multi-model endpoints: built, checked, served and deployed."""

__version__ = "0.2.0"
