"""The Verifier: code, not the model. It tries every new key and grades every answer.

Takes: `TaskSeeded`, `TaskProposed`, `InstanceDrawn` (the facts that carry a `Key`) and `AnswerProposed`.
Gives: `TaskChecked` for a new task, public part only; `AnswerGraded` for an answer, with everything a reward needs.
Remembers: the key of every task.
Never: runs a line of model text, lets a key out, or turns a fault of ours into a wrong answer (that is `NO_VERDICT`).
"""
