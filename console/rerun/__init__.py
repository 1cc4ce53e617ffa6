"""One role again, on a recording: the same code as in the run, and every fact it gives held against the recorded one.

The role runs in this process on the real `shared.runtime.Runtime` and `shared.engine.durable.DurableEngine`. Only the bus is
another: it reads from the log, and what the role publishes is compared instead of written. No broker, socket or model.

Files: command.py what `sagepace rerun` does; role.py the role put together and watched; bus.py the recording as a bus;
excerpt.py what of the log concerns the role; loop.py the event loop whose clock stands still; compare.py and fields.py what is
the same and what is not; whatif.py other settings; weights.py where policies come from; live.py the real model instead of the
recorded answers; result.py and report.py what is said in the end.
"""
