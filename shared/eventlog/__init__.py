"""The log: numbered facts on disk, each row's checksum chained to the row before.

`port` is what a bus needs of a log; `memory` and `sqlite` keep one; `entry` says what may enter it; `reader` and `verify` look
at a file that somebody else may still be writing. `schema`, `tail` and `lock` serve `sqlite`.
"""
