"""The Solver answers: new tasks without a plan, assigned tasks with the plan that passed, and the gate's trials.

Takes: `TaskJudged`, `PlanJudged`, `PlanMalformed`, `TrialRequested`, and `AnswerGraded` to learn what its answer was worth.
Gives: `AnswerProposed`, each as soon as it is there, and an experience for each answer that is trained on.
Remembers: nothing.
Never: sees a `Key`, or a plan that the Critic did not let pass.
"""
