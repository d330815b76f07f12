"""Prometheus metrics, one file for each memory; :mod:`commonplace.web.monitoring` collects them.

Metrics of a database are gauges, equal in every process. Counters (``_total``) and request times belong to this
process, since its start. No metric has apps, users or tenants as labels.
"""
