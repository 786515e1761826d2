"""What people run instead of the gateway: the older pattern of AWS's example, a web server in front of Triton.

As in aws-samples/aws-sm-mmo (2022): nginx, gunicorn with a gevent worker for each core, and a Flask application in one
container with tritonserver. The workers decode the image or tokenize the text, make a new client for each request, send
the tensors to plain ONNX models in Triton, and compute the answer from what comes back: resnet and yolov5 over gRPC,
bert_base over HTTP, with all logits of all tokens as JSON and a tokenizer that is read from its files every time. No
line is the example's; ``program/`` is what runs in the container, in Python packages of its own (requirements.txt).

Different from the example, so that both gateways have the same models and give the same answers: ONNX Runtime in place
of TensorRT, and pixels prepared as the weights were trained. Different to the reference's advantage: the tokenizer
comes from a folder and not from the hub, resnet has no warm-up with 128 images, nothing is printed for a request, and
one client is made for a request of yolov5, not two.
"""
