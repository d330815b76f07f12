"""The sample home: a small set of memories that shows each page of the dashboard at work.

- ``table`` lists the memories; ``loading`` stores and removes them.
- Every sample memory has the mark ``sample``, so that removing them leaves all other memories unchanged.
"""

from commonplace.services.sample.loading import SampleReceipt as SampleReceipt
from commonplace.services.sample.loading import drop as drop
from commonplace.services.sample.loading import is_loaded as is_loaded
from commonplace.services.sample.loading import load as load
from commonplace.services.sample.table import MARK as MARK
