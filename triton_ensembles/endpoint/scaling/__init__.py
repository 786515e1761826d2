"""Application Auto Scaling of an endpoint's instances: moto keeps targets and policies, this follows them."""
