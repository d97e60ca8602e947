"""Makes the n-th system call of the one writing module fail, in every way a disk can fail."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

from experience_forge.store import files

ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")
CALLS = ("open", "write", "fsync", "close", "replace", "unlink", "mkdir", "rmdir", "chmod", "rename", "truncate")


class Killed(BaseException):
    """Stands for kill -9: from here on no call of the process happens any more."""


class Shim:
    """Counts the calls; the `at`-th fails with `fault` (an errno name, `kill` or `short`), once or from then on."""

    def __init__(self, at=0, fault="", lasting=False):
        self.at, self.fault, self.lasting = at, fault, lasting
        self.names = []
        self.dead = False
        for name in CALLS:
            setattr(self, name, self._wrapped(name, getattr(files.Calls, name)))
        self.chown = files.Calls.chown

    def _wrapped(self, name, real):
        if name == "fsync":
            # The order of the calls is what is tested here; waiting for the disk hundreds of times is not.
            def real(descriptor):
                os.fstat(descriptor)

        def call(*arguments, **keywords):
            if self.dead:
                raise Killed(name)
            self.names.append(name)
            due = len(self.names) == self.at or (self.lasting and len(self.names) > self.at > 0)
            if not due:
                return real(*arguments, **keywords)
            if self.fault == "kill":
                self.dead = True
                raise Killed(name)
            if self.fault == "short":
                # A short write is no error: the rest must be written by a second one.
                return real(arguments[0], bytes(arguments[1])[:1]) if name == "write" else real(*arguments, **keywords)
            if name == "close":
                # The descriptor is gone whatever close reports.
                real(*arguments, **keywords)
            raise OSError(getattr(errno, self.fault), os.strerror(getattr(errno, self.fault)))

        return call


@contextmanager
def faulty(at=0, fault="", lasting=False):
    """Put a shim in place of the system calls of `store.files`; yields it."""
    shim = Shim(at, fault, lasting)
    before = files.set_calls(shim)
    try:
        yield shim
    finally:
        files.set_calls(before)
        # A killed process holds no lock; this one lives on.
        files._held.clear()


def pairs(count):
    """Every (call, fault) of a run with `count` calls: once, and for a full disk from then on."""
    for at in range(1, count + 1):
        for fault in (*ERRORS, "kill", "short"):
            yield at, fault, False
        yield at, "ENOSPC", True
