"""`sagepace replay`: a recording published again, on a bus of its own, for observers and for a service under a debugger.

* `tape` is the recording: read-only, checked as it is read, damaged facts passed over.
* `player` moves the *head*, the last fact that observers see, at its pace; `pace` says which paces there are.
* `desk` answers observers (`shared.bus.server.Desk`): it reads from the tape up to the head and keeps nothing it is given.
  `consumers` knows who reads and how far they are, `tally` holds what services say against what the recording has.
* `orders` are the words that move a replay, whoever gives them: `keys` and `terminal` on the keyboard, or `control`
  (`sagepace control`) by message.
* `picture` and `screen` draw it; `place` finds it an address; `command` puts all of it together.

Order is the order of the log, by sequence number, and sequence numbers are the recorded ones. Nothing is ever written to the
recording. When the head moves back, the epoch goes up and clients are told (`shared.bus.port.Rewound`).
"""
