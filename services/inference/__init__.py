"""Inference: the one process that holds the model.

Takes   `SampleRequested`: a prompt, a policy, how to sample, and a seed.
Gives   `SampleCompleted`: token ids in and out with their log-probabilities; or `SampleFailed` with the reason, for one request
        that cannot be answered or for every request of a policy that cannot be loaded.
Keeps   nothing that matters: a few policies in memory, and the rows it is answering.
Never   lets one request's company change its answer: with one thread on a CPU tokens and log-probabilities repeat bit for bit.
"""
