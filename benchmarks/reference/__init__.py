"""The reference, which people would use instead of bert_trt: the text ensemble of AWS's multi-model example, rewritten.

Same DAG, tensors, weights and engine as ensembles/bert_trt. As in the example: every sentence is padded to 128 tokens
by transformers' tokenizer; pooling is torch's; no step has dynamic batching; both Python steps run in one conda
environment with torch and transformers, of which each step has its own packed copy.

Different from the example, each to the reference's advantage or needed to run at all: the tokenizer's files travel in
the archive (the example downloads them at every load); texts are truncated to 128 tokens (the example refuses longer
ones); nothing is logged and no file is opened per request; torchvision and torchaudio are left out; a request may have
64 rows (the example takes 16).
"""
