"""How the tiny model in models/tiny was made: `sagepace bootstrap` (seeded, reproducible, under an hour on two cores).

corpus.py writes synthetic role transcripts whose habits are mixed on purpose, tokenizer.py cuts them into words and whole
numbers, pretrain.py trains a small Llama on them. Reinforcement then has something to find, as with a real pretrained model.
"""
