"""The Gate: commits new weights only on decisive paired evidence (PACE).

Takes `CandidateNominated` (compare these two policies), `AnswerGraded` of trials and `WorkFailed` (what became of a trial), and
`TrainingEnded` (evaluate base and committed policy). Gives `InstanceDrawn` and `TrialRequested` to the Solver and the Verifier;
`PairEvaluated` and `WealthUpdated` pair by pair; `CandidateJudged`, with `PolicyCommitted` after a commit and
`PolicyRolledBack` after proven harm; at the end `EvaluationCompleted`, one per temperature.

Remembers the verdicts of trials, by lineage. Draws fresh instances for every candidate, from the gate's side of the hold-out,
and the final evaluation from the test side. Never trains, never speaks to the model, never lets the order of arrival decide,
and never takes a fault of ours for a wrong answer: such a pair is dropped and counted.

Files: logic.py the test, bettors/ its strategies, trials.py questions out and verdicts in, evaluation.py the final counts.
"""
