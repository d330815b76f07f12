"""Figures for Prometheus, a file for each memory; :mod:`commonplace.web.monitoring` gathers them.

Those of a database are gauges, equal in every process that serves it. Those that end in ``_total``, and the times of
requests, are what this process did since it was started. No figure has apps, users or tenants among its labels.
"""
