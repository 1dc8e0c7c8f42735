import numpy as np

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import N


lend.as_unique(np.arange(3), 3)
