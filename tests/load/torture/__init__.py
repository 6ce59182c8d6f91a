"""The long proofs: the real program under what a rack, a slow link and an attacker do, with figures (docs/torture.md).

Each module holds proofs that take their sizes as parameters, so that the tests can run the same ones small. None of
them knows the program's inside; they see sockets, signals, its log and ``/proc``.
"""
