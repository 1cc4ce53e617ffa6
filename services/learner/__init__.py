"""The Learner: turns a step's experiences into new weights, for all roles at once.

Takes `RunStarted` (opens step 1) and `StepOpened` (gathers, trains, opens the next). To gather, it watches `TaskProposed`,
`TaskJudged` and `PlanProposed` (what will be owed), `ExperienceRecorded`, `ExperienceDropped` and `WorkFailed` (what came of
it) and `SampleCompleted` (the tokens). When the deadline passes first it gives `StepExpired`, and the step ends where that
stands in the log. Gives `StepClosed`, then `PolicyTrained`; every few steps and after the last one `CandidateNominated`, whose
`CandidateJudged` it waits for; then the next `StepOpened`, or `TrainingEnded` with the reason.

Remembers the current step's ledger and tokens, and which policy is trained, committed (`PolicyCommitted`) or refused. After a
`PolicyRolledBack` it goes on from the committed policy with a fresh optimizer; after any other verdict from its own.

Never commits a policy, never makes up a reward, never trains on part of a Solver group that a fault has broken, never lets
the order of arrival decide, and ends training rather than go on when too much of a step was lost to faults of ours.

Files: service.py the flow; ledger.py what is owed and came, outcome.py what it adds up to; samples.py tokens and advantages;
history.py which policy is what; workshop.py trainer, store and optimizer files; train.py the model; batch.py padding and
packing; algorithms/ the formulas.
"""
