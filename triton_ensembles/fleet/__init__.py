"""Many hosts behind a stock balancer: the files for HAProxy and for Kubernetes."""
