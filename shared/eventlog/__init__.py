"""The log: numbered facts on disk, each row's checksum chained to the row before.

`port` is what a bus needs of a log; `memory` and `sqlite` keep one; `entry` says what may enter it. `schema`, `tail` and `lock`
serve `sqlite`; `fresh` writes a whole log in one go.

`reader` looks at a file that somebody else may still be writing: `opening` opens it, `scan` walks through it, `selection` says
which facts are wanted, `carve` finds rows where SQLite finds none, and `sound` holds each against its checksum. `verify` (rows,
pure), `check` (the whole file) and `waiting` (its write-ahead log) say what is wrong with one.
"""
