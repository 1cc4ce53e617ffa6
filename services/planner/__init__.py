"""The Planner writes a plan for a task of the dataset.

Takes: `TaskAssigned`, and `PlanJudged` to learn what its plan was worth.
Gives: `PlanProposed` or `PlanMalformed`, and an experience for each of its replies.
Remembers: nothing.
Never: sees a `Key`, or waits for an answer to the task.
"""
