"""Example requests of an ensemble, and how its answers are shown. They are data, and lie with the ensemble.

``ensembles/NAME/ensemble/examples/`` holds requests: each ``*.json`` is one, as KServe v2 has it, with the batch axis.
The folder is inside that of the ensemble model, where Triton ignores it, and archives leave it out.

    {
      "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [2, 1], "data": ["one sentence", "another"]}],
      "outputs": [{"name": "CLASS", "parameters": {"classification": 3}}]
    }

``outputs`` may be left out: all are requested then. ``classification`` is Triton's extension: the server sorts the
classes and adds their labels. Instead of ``data``, the parameter ``file`` of an input names a file beside the request:

    {"name": "IMAGE", "datatype": "UINT8", "shape": [1, -1], "parameters": {"file": "flower.jpg"}}

One size may be -1 there: the file decides. What the file's content becomes depends on its suffix and the datatype:

    *.npy                    the array, of the same dtype
    *.txt           BYTES    one element a line; empty lines and those that begin with # are left out
    any other file  BYTES    one element, the whole file
    any other file  UINT8    one number a byte
    an image        FP32     pixels, RGB with channels first, resized to the last two sizes of the shape, from 0 to 1;
                             the parameters "mean" and "std" (such as "0.485 0.456 0.406") normalize them

``demo`` and ``invoke`` send every request as it stands. ``perf`` sends their rows, one a request; where there is a
``perf.json``, it sends the rows of that one, which ``demo`` and ``invoke`` leave alone.

Answers are shown with name, dtype, shape and first values, classes as lines of value, index and label. A ``show.py``
beside the requests may do better: ``show(inputs, outputs)`` is given NumPy arrays by tensor name and yields lines.
"""
