"""Exception flags as a set."""

from enum import IntFlag


class Flags(IntFlag):
    """Exception flags of IEEE 754 and Tesla's paper; `docs/semantics.md` S3 says what raises them.

    >>> from smallfloat import Flags
    >>> Flags.OVERFLOW in Flags.OVERFLOW | Flags.INEXACT
    True
    """

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVISION_BY_ZERO = 8
    INVALID = 16
    DENORMAL = 32
