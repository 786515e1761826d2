WORDS = ["[PAD]", "[UNK]", "a", "the", "movie", "plot", "was", "is", "not", "good", "great", "funny", "bad", "boring"]
