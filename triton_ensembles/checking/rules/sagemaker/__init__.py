"""Rules about archives and endpoints of SageMaker."""
