"""Rules about ensembles: their steps, and the tensors that flow between them."""
