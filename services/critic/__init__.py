"""The Critic scores new tasks and plans. It never judges whether an answer is right; that is the Verifier's.

Takes: `TaskChecked` (a task without its key) and `PlanProposed`.
Gives: `TaskJudged` and `PlanJudged`, and for each of its replies an experience; its reward is the form of its own reply.
Remembers: nothing.
Never: sees a `Key`, or makes up a score where its reply states none.
"""
