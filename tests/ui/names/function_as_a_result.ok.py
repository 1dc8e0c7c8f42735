import math

import lend


@lend.kernel
def root():
    return math.sqrt(2.0)


root()
