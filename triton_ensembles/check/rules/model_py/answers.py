"""What execute returns: a list of InferenceResponse."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.python.flow import CLASS, Function, When, flow_of, own_nodes, requests_of
from triton_ensembles.check.python.kinds import NONE, RESPONSE, TENSOR
from triton_ensembles.check.python.source import UTILS, PythonFile, all_files, model_files
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.sagemaker.served import for_sagemaker
from triton_ensembles.triton.destination import Destination

SOURCE = "python_backend r24.10 src/pb_stub.cc ProcessReturnedResponses; measured on 2.51.0"
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
HEAD = f"class {CLASS}:\n    def execute(self, requests):\n"
LOOP = """\
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            response = pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])
"""
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_NONE = "None in place of a response"
_DEEPEST = 3  # helpers that pass requests on
# What a request may be given to without being answered there.
_HARMLESS = frozenset(
    {"len", "enumerate", "zip", "range", "list", "tuple", "reversed", "print", "str", "repr", "isinstance", "id", "map"}
)


@rule(
    "execute returns something, or sends responses",
    bad=script_model(f"{HEAD}        responses = []\n{LOOP}            responses.append(response)\n"),
)
def model_py_returns_nothing(model: Model) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    for file, execute in executes(model):
        returns = [node for node in own_nodes(execute) if isinstance(node, ast.Return)]
        ends = any(isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom) for node in own_nodes(execute))
        valued = any(node.value is not None and not _is_nothing(file, node.value) for node in returns)
        first = next((node for node in execute.body if isinstance(node, ast.Return)), None)
        if first and (first.value is None or _is_none(first.value)) and returns[0] is first:
            valued = False  # nothing after it ever runs
        if ends or valued or gives_away(model, file, execute):
            continue
        yield Finding(
            file.place(returns[0] if returns else execute),
            "nothing ever sends a response, and the model is decoupled" if decoupled else "execute returns nothing",
            "the model loads, and no request is ever answered: clients wait until their time is over",
            "send the responses with request.get_response_sender()"
            if decoupled
            else "end it with return responses, a list with one InferenceResponse for each request",
        )


@rule(
    "execute returns a list of InferenceResponse, or nothing when the model is decoupled",
    bad=script_model(f"{HEAD}{LOOP}        return response\n"),
)
def model_py_returns_no_list(model: Model, destination: Destination) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    if decoupled and for_sagemaker(model.repository, destination):
        return  # sagemaker-decoupled: the policy itself is the fault
    for file, execute in executes(model):
        flow = flow_of(file)
        for node in own_nodes(execute):
            kind = ""
            if isinstance(node, ast.Yield | ast.YieldFrom):
                kind = "a generator, because it has yield"
            elif isinstance(node, ast.Return) and node.value is not None and flow.when(node) is When.REQUEST:
                kind = _kind(file, execute, node.value)
            if not kind or (kind == "a list" and not decoupled) or (kind.startswith("None") and decoupled):
                continue
            if kind.endswith(_NONE) and not decoupled and gives_away(model, file, execute):
                continue
            yield Finding(
                file.place(node),
                f"execute returns {kind}" + (", and the model is decoupled" if decoupled else ""),
                "the model loads, and every request fails: "
                + ("the execute function must return None" if decoupled else _complaint(kind)),
                "send the responses with request.get_response_sender(), and return nothing"
                if decoupled
                else "return a list with one InferenceResponse for each request",
            )
            break


def executes(model: Model) -> Iterator[tuple[PythonFile, Function]]:
    """The method execute of each version, if nothing wraps or replaces it."""
    for file in model_files(model):
        flow = flow_of(file)
        if any(each.decorator_list or each.keywords for each in flow.lineage):
            continue
        named = [node for each in flow.lineage for node in each.body if getattr(node, "name", "") == "execute"]
        execute = flow.method("execute")
        if execute and len(named) == 1 and not execute.decorator_list and requests_of(execute):
            yield file, execute


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_nothing(file: PythonFile, node: ast.expr) -> bool:
    """Whether it is None, or what ``responses.append(…)`` gives."""
    found = types_of(file).kind(node)
    return _is_none(node) or (isinstance(node, ast.Call) and found is not None and found.name == NONE)


def _gives_none(function: Function) -> bool:
    """Whether a function returns None whatever happens in it."""
    nodes = list(own_nodes(function))
    valued = any(isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value) for node in nodes)
    return not valued and not any(isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom) for node in nodes)


def gives_away(model: Model, file: PythonFile, execute: Function) -> bool:
    """Whether the requests may be answered elsewhere: by their response senders, or by whoever gets them."""
    for each in all_files(model, file):
        if each.module is None or b"response_sender" in each.data or b"release_flags" in each.data:
            return True
    return _passes_on(file, execute, requests_of(execute), _DEEPEST)


def _passes_on(file: PythonFile, function: Function, requests: str, depth: int) -> bool:
    """Whether somebody outside of the file gets ``requests``, an argument of the function, or one of them."""
    given = {requests}
    for node in own_nodes(function):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and is_over(node.iter, requests):
            given |= {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            name = file.full_name(node.func)
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            passed = any(
                isinstance(each, ast.Name) and each.id in given for part in arguments for each in [_plain(part)]
            )
            if not passed or name in _HARMLESS or name.startswith(f"{UTILS}."):
                continue
            helper = flow_of(file).helper(node)
            plain = all(isinstance(each, ast.Name | ast.Constant) for each in arguments) and not node.keywords
            if helper is None or not depth or not plain or helper.args.vararg or helper.args.kwonlyargs:
                return True
            taken = [each.arg for each in (*helper.args.posonlyargs, *helper.args.args)]
            taken = taken[isinstance(node.func, ast.Attribute) :]
            for argument, parameter in zip(arguments, taken, strict=False):
                if getattr(argument, "id", "") in given and _passes_on(file, helper, parameter, depth - 1):
                    return True
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr | ast.AnnAssign | ast.Lambda | ast.Return):
            value = getattr(node, "value", None) or getattr(node, "body", None)
            if isinstance(value, ast.Name) and value.id == requests:
                return True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return True
    return False


def _plain(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def is_over(iterated: ast.expr, requests: str) -> bool:
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
        return iterated.func.id in ("enumerate", "list", "reversed") and is_over(iterated.args[0], requests)
    return isinstance(iterated, ast.Name) and iterated.id == requests


def _kind(file: PythonFile, execute: Function, value: ast.expr, depth: int = 0) -> str:
    """What an expression surely is, "" when that is not known. Of a list, what is wrong with it comes first."""
    if isinstance(value, ast.Name):
        bound = flow_of(file).names(execute, value.id)
        stores = [node for node in bound if not isinstance(node.ctx, ast.Load)]
        parent = flow_of(file).parents.get(stores[0]) if len(stores) == 1 else None
        if not isinstance(parent, ast.Assign) or parent.targets != stores or depth == _DEEPEST:
            found = types_of(file).kind(value)  # one of several bindings
            return "one InferenceResponse" if found and found.name == RESPONSE else ""
        kind = _kind(file, execute, parent.value, depth + 1)
        if kind != "an empty list":
            return kind
        # It is filled by whatever else happens to it.
        return kind if len(bound) == 2 else _filled(file, bound)
    if isinstance(value, ast.List):
        if not value.elts:
            return "an empty list"
        wrong = next(filter(None, (_wrong_response(file, each) for each in value.elts)), "")
        return f"a list with {wrong}" if wrong else "a list"
    if isinstance(value, ast.ListComp):
        wrong = _wrong_response(file, value.elt)
        return f"a list with {wrong}" if wrong else "a list"
    kinds = {
        ast.Tuple: "a tuple", ast.GeneratorExp: "a generator", ast.Dict: "a dictionary", ast.DictComp: "a dictionary",
        ast.Set: "a set", ast.SetComp: "a set", ast.JoinedStr: "a text",
    }  # fmt: skip
    if type(value) in kinds:
        return kinds[type(value)]
    if isinstance(value, ast.Constant):
        shown = "a number" if isinstance(value.value, int) and abs(value.value) >= _LARGEST else repr(value.value)[:40]
        return "" if value.value is None else f"a constant, {shown}"
    if isinstance(value, ast.Call):
        name = file.full_name(value.func)
        helper = flow_of(file).helper(value)
        if helper and isinstance(helper, ast.FunctionDef) and _gives_none(helper):
            return f"None, which is all that {helper.name} returns: {_NONE}"
        if name == f"{UTILS}.InferenceResponse":
            return "one InferenceResponse"
        if name == f"{UTILS}.Tensor":
            return "a tensor"
        if name in ("tuple", "dict", "set", "map", "filter", "zip", "iter") and name not in file.names:
            return f"what {name}() makes"
        if name == "list" and not value.args:
            return "an empty list"
    found = types_of(file).kind(value)
    if found is None or found.name == NONE:
        return ""
    return {RESPONSE: "one InferenceResponse", TENSOR: "a tensor"}.get(found.name, found.name)


def _filled(file: PythonFile, bound: list[ast.Name]) -> str:
    """A list that begins empty: what is wrong with all that is appended to it."""
    parents = flow_of(file).parents
    appended: list[str] = []
    for node in bound:
        parent = parents.get(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(parent, ast.Return):
            continue
        call = parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr == "append" else None
        if not isinstance(call, ast.Call) or call.func is not parent or len(call.args) != 1:
            return "a list"
        appended.append(_wrong_response(file, call.args[0]))
    return f"a list with {appended[0]}" if appended and all(appended) else "a list"


def _wrong_response(file: PythonFile, value: ast.expr) -> str:
    """What an element surely is, if it is no response."""
    bound = flow_of(file).value(value)
    if bound is not None and bound is not value:
        return "" if isinstance(bound, ast.Name) else _wrong_response(file, bound)
    if isinstance(value, ast.Call) and file.full_name(value.func) == f"{UTILS}.Tensor":
        return "a tensor in place of a response"
    if isinstance(value, ast.Call) and (helper := flow_of(file).helper(value)):
        if isinstance(helper, ast.AsyncFunctionDef):
            return f"a coroutine, since {helper.name} is not awaited, in place of a response"
        return _NONE if _gives_none(helper) else ""
    if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("as_numpy", "astype"):
        return "an array in place of a response"
    if isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.JoinedStr):
        return "something else in place of a response"
    if _is_none(value):
        return _NONE
    found = types_of(file).kind(value)
    return "" if found is None or found.name in (RESPONSE, NONE) else f"{found.name} in place of a response"


def _complaint(kind: str) -> str:
    if kind == "an empty list":
        return "Number of InferenceResponse objects do not match the number of InferenceRequest objects"
    if kind.endswith(_NONE):
        return "nobody answers it, and clients wait until their time is over"
    if kind.startswith("a list with"):
        return "Expected an 'InferenceResponse' object in the execute function return list"
    return "Expected a list in the execute return"
