"""The broker process: `shared.bus.broker` over `shared.eventlog.sqlite`.

Takes requests of every process of a run; gives acknowledgements, pages of the log, and a doorbell. Remembers the log and the
cursors, on disk. Never changes, drops or invents a fact, and never acknowledges what is not on disk.
"""
