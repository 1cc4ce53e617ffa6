"""`sagepace log ...`: looking into a recording, also while the run that writes it goes on.

* `cli` has the commands' options; each command is a module of its own, imported when it is called.
* `info` (its contents in `summary`), `cat`, `verify` and `diff` (its order in `order`) go over the log; `selected` reads the
  options that cut it, `times` tells its times.
* `trace` follows one task: `story` finds what belongs to it, `tree` orders that by causes, `branches` draws it.
* `why` says what everybody waits for: `work` lists unfinished work of the current step or test, `standstill` adds it up.
* `exporting` writes other formats and reads them again: `jsonl_format` and `mcap_format` (`formats` has their names), by way of
  `lines`, which checks what comes back.
* `slices` cuts a small log that can be re-run: `context` says what it needs of what lies before.

All of them print for people, or with --json for programs. What cannot be read is passed over, counted, and said at the end.
"""
