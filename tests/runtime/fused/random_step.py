"""model.py of the steps of random DAGs: every output depends on all that the step can see of the request and of itself.

What else it does is in the parameter ``habits`` of its config. Some habits show only for requests whose digest says so.
"""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import helper
import numpy as np
import triton_python_backend_utils as pb_utils

from . import helper as same_helper

CODES = ("UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")


class OwnError(Exception):
    pass


class TritonPythonModel:
    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.habits = set(self.config["parameters"]["habits"]["string_value"].split())
        self.calls = json.loads(self.config["parameters"]["calls"]["string_value"])
        self.prefix = args["model_name"].rpartition(".")[0]
        # The instances of a fused ensemble are those of all its steps.
        seen = {key: value for key, value in self.config.items() if key != "instance_group"}
        assert helper.WORD == same_helper.WORD and helper is not same_helper
        folder = Path(pb_utils.get_model_dir())
        places = [folder == Path(args["model_repository"], args["model_version"]), (folder / "model.py").exists()]
        about = [seen, sorted(args), args["model_name"], args["model_version"], places, __name__]
        self.me = json.dumps(about, sort_keys=True)
        self.me += args["model_instance_name"] + args["model_instance_kind"] + args["model_instance_device_id"]
        self.kept = {}
        if "metrics" in self.habits:
            self.family = pb_utils.MetricFamily("seen_by_steps", "Requests", pb_utils.MetricFamily.COUNTER)
            self.counter = self.family.Metric(labels={"step": args["model_name"]})
        if "async" in self.habits:
            self.execute = self.execute_async

    async def execute_async(self, requests):
        await asyncio.sleep(0)
        return await asyncio.gather(*(asyncio.to_thread(self.answer, request) for request in requests))

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def rare(self, digest):
        return digest[0] % 3 == 0

    def answer(self, request):
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        digest = self.digest(request, given)
        if "lazy" in self.habits:
            import late

            from . import late as same_late

            digest = hashlib.sha256(digest + late.WORD + same_late.WORD).digest()
        if "logs" in self.habits:
            pb_utils.Logger.log_verbose("a line")
            pb_utils.Logger.log("another", pb_utils.Logger.VERBOSE)
        if "metrics" in self.habits:
            before = self.counter.value()
            self.counter.increment(2)
            assert self.counter.value() >= before + 2  # other requests may be answered in other threads
        if self.rare(digest):
            if "raises" in self.habits:
                raise OwnError(f"the request {request.request_id()} is bad: ü\nand so on")
            if "exits" in self.habits:
                raise SystemExit(3)
            if "divides" in self.habits:
                helper.divide(digest[1])
            if "refuses" in self.habits:
                code = getattr(pb_utils.TritonError, CODES[digest[1] % len(CODES)])
                return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"refused, as ü {digest[2]}", code))
        for name, callee in self.calls.items():
            response = self.call(f"{self.prefix}.{name}", callee, digest)
            if response.has_error():
                return pb_utils.InferenceResponse(error=response.error())
            tensors = [(tensor.name(), tensor.as_numpy()) for tensor in response.output_tensors()]
            digest = self.digest(request, dict(tensors), digest)
        outputs = {each["name"]: self.output(each, digest, given) for each in self.config["output"]}
        if "overwrites" in self.habits:
            for array in given.values():
                array[...] = b"overwritten" if array.dtype == object else 1
        if self.rare(digest):
            name = sorted(outputs)[digest[1] % len(outputs)]
            if "omits" in self.habits:
                del outputs[name]
            if "retypes" in self.habits:
                outputs[name] = np.zeros(outputs[name].shape, np.int16)
            if "reshapes" in self.habits and not any("reshape" in each for each in self.config["output"]):
                outputs[name] = np.concatenate([outputs[name], outputs[name]])
            if "expands" in self.habits:
                outputs[name] = outputs[name][..., None]
        if "adds" in self.habits:
            outputs["unknown"] = np.zeros(3, np.float32)
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in outputs.items()])

    def call(self, name, callee, digest):
        """The response of another model to a random request, which may be wrong."""
        random, wrong = np.random.RandomState(np.frombuffer(digest[:16], np.uint32)), digest[4] % 40
        inputs = []
        rows = 9 if wrong == 1 else 1 + digest[5] % 3
        for index, (tensor, kind, dims) in enumerate(callee["X"]):
            shape = [rows] * bool(callee["rows"]) + [2 if size == -1 else size for size in dims]
            shape += [1] * (wrong == 2)
            dtype = np.dtype(object if kind == "STRING" else pb_utils.triton_string_to_numpy(f"TYPE_{kind}"))
            array = random.randint(0, 2, shape).astype(np.int16 if wrong == 3 else dtype)
            inputs.append(pb_utils.Tensor("unknown" if wrong == 4 and index == 0 else tensor, array))
        if wrong == 5:
            inputs.append(pb_utils.Tensor("unknown", array))
        if wrong == 6:
            del inputs[0]
        if wrong == 7:
            inputs.append(inputs[0])
        outputs = [tensor for tensor, *_ in callee["Y"]]
        outputs = {8: ["unknown"], 9: [], 10: outputs[::-1], 11: outputs[:1]}.get(wrong, outputs)
        call = pb_utils.InferenceRequest(
            request_id="ü" * (digest[6] % 2),
            correlation_id=digest[7] % 3,
            inputs=inputs,
            requested_output_names=outputs,
            model_name="unknown" if wrong == 12 else name,
            model_version={13: 99, 14: 1}.get(wrong, -1),
            parameters={"a": 1, "b": True, "c": "ü"} if digest[8] % 2 else None,
        )
        assert pb_utils.is_model_ready(name)
        if "awaits" in self.habits:
            return asyncio.run(self.awaited(call))
        return call.exec()

    async def awaited(self, call):
        return await call.async_exec()

    def digest(self, request, given, before=b""):
        found = hashlib.sha256((self.me + helper.WORD).encode() + before)
        about = [request.request_id(), request.correlation_id(), request.flags(), request.timeout()]
        about += [sorted(json.loads(request.parameters()).items()), sorted(request.requested_output_names())]
        about += [request.is_cancelled()]
        found.update(repr(about).encode())
        for name, array in sorted(given.items()):
            found.update(f"{name} {array.dtype} {array.shape} {array.flags.writeable}".encode())
            found.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
        return found.digest()

    def output(self, declared, digest, given):
        random = np.random.RandomState(np.frombuffer(digest[:16], np.uint32) ^ len(declared["name"]))
        dims = declared["reshape"]["shape"] if "reshape" in declared else declared["dims"]
        variable = digest[3] % 3
        shape = [max(variable, int(axis == 0)) if dim == -1 else dim for axis, dim in enumerate(dims)]
        if self.config["max_batch_size"]:
            shape.insert(0, max([len(array) for array in given.values()], default=1))
        kind = declared["data_type"]
        if kind == "TYPE_STRING":
            texts = [b"", b"\xff\x00 bytes", "grüße", "a" * 300, b"x", 17, 1.5]
            array = np.array([texts[i] for i in random.randint(0, len(texts), int(np.prod(shape)))] + [None], object)
            array = array[:-1].reshape(shape)
            if "fixed_bytes" in self.habits:
                array = np.array([str(item).encode() for item in array.ravel()], np.bytes_).reshape(shape)
        else:
            dtype = np.dtype(pb_utils.triton_string_to_numpy(kind))
            raw = random.bytes(int(np.prod(shape)) * dtype.itemsize)
            array = np.frombuffer(raw, np.uint8 if kind == "TYPE_BOOL" else dtype).reshape(shape)
            array = array % 2 == 1 if kind == "TYPE_BOOL" else array.copy()
        same = [each for each in given.values() if each.dtype == array.dtype and each.shape == array.shape]
        if same and "echoes" in self.habits:
            return same[0]
        if "strided" in self.habits:
            array = np.asfortranarray(array)
        if "views" in self.habits and array.ndim:
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        if "keeps" in self.habits:
            kept = self.kept.setdefault((declared["name"], array.shape, array.dtype), array)
            kept[...] = array
            return kept
        return array

    def finalize(self):
        os.environ.pop("nothing", None)
