"""Counts and times by CloudWatch's names: for Prometheus, for CloudWatch's own API and for the status page."""
