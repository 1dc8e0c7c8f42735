import math

import lend


@lend.kernel
def root():
    return math.sqrt


root()
