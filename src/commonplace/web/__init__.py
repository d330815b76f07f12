"""The service: the HTTP door of the memories, for administrators, dashboards and monitoring.

:mod:`.service` puts it together, :mod:`.serving` runs it. Routes are thin: they call one function of a memory and
give its answer a shape; none of them knows how memories are stored.
"""
