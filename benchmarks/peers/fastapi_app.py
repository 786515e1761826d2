"""sentence-transformers behind FastAPI, as people write it. Runs in the peers' environment:

MODEL=folder uvicorn --app-dir benchmarks/peers fastapi_app:app
"""

import os

from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

app = FastAPI()
model = SentenceTransformer(os.environ["MODEL"], device="cpu")


class Texts(BaseModel):
    input: list[str]


@app.post("/embeddings")
def embeddings(texts: Texts) -> dict[str, list[dict[str, list[float]]]]:
    return {"data": [{"embedding": vector} for vector in model.encode(texts.input).tolist()]}
