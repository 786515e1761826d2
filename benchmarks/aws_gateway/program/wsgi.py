"""The Flask application: gunicorn --chdir benchmarks/aws_gateway/program wsgi:app

TRITON_GRPC, TRITON_HTTP: where Triton listens. FILES: a folder with labels and tokenizer.
"""

import flask
from bert_base import BertBase
from resnet import Resnet
from yolov5 import Yolov5

MODELS = {"resnet": Resnet, "yolov5": Yolov5, "bert_base": BertBase}

app = flask.Flask(__name__)


@app.get("/ping")
def ping():
    return flask.Response("\n", mimetype="application/json")


@app.post("/invocations")
def invocations():
    asked = flask.request.get_json(force=True)
    name = asked.get("modelname")
    result = MODELS[name]().infer(asked["payload"]) if name in MODELS else None
    return flask.jsonify(modelname=name, result=result)
