"""Inference: the one process that holds the model.

Takes   `SampleRequested`: a prompt, a policy, how to sample, and a seed; and its own answers, so that after a restart it does
        nothing again that the log has an answer to.
Gives   `SampleCompleted`: token ids in and out with their log-probabilities; or `SampleFailed` with the reason, for one request
        that cannot be answered or for every request of a policy that cannot be loaded.
Keeps   nothing that matters: a few policies in memory, the rows it is answering, and which requests wait for an answer.
Never   lets one request's company change its answer: with one thread on a CPU tokens and log-probabilities repeat bit for bit.
"""
