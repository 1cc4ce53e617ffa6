"""The Challenger opens a step's work: it invents tasks with their keys, and draws tasks of the dataset for planning.

Takes: `StepOpened`; `TaskSeeded` and `TaskAccepted` (the dataset); `TaskProposed`, `TaskJudged` and `AnswerGraded` (what became
of its proposals).
Gives: `TaskAssigned`, `TaskProposed` or `TaskMalformed`; then `TaskAccepted` or `TaskRefused`; an experience for each reply.
Remembers: the dataset and the proposals of the latest steps.
Never: proposes a task of the held-out side, or lets the order in which things arrive change a draw.
"""
