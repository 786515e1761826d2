"""Hosting: what SageMaker does between InvokeEndpoint and the container.

spec.py               a container's definition, and the limits of an instance
variant.py            a production variant: its instances, and which of them takes a request
instance.py           one container with its models, and the requests that it answers
container_process.py  one tritonserver, restarted when it ends; container_python.py: of which Python its stubs are
admission.py          when a load begins, by the rules of loading.py; model_processes.py: the processes of models
model_cache.py        the models of one instance, from their first request to their deletion
memory_cache.py       those that are loaded; disk_cache.py: those on the disk; policy.py: which is evicted first
single_model.py       the same for an instance with one model
triton_api.py         requests to the container; container_calls.py: which loads may overlap
disk.py               downloads, unpacks and deletes archives; extract.py: safely; objects.py: from S3
cpu.py                the container's processor time
environment_sizes.py  what the container itself unpacks into /tmp
faults.py             errors that say what is wrong with a model; errors.py: those of InvokeEndpoint
report.py             metrics, events and recent errors; status.py: the state for the status page
"""
